/*
 * progress_view.c
 *	  The function behind the view gpusort_progress.
 *
 * In:  the slots of jobs.
 * Out: a row for each sort that is under way, in the executor's tuplestore.
 *
 * Runs in any backend.  A slot is read under the shared lock, but feeders and
 * the reader count without it.  As in PostgreSQL's views of progress, everybody
 * sees that there is a sort.  Only the session's own role, and roles that may
 * read all statistics, see more of it.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "job/shmem.h"
#include "sql_version.h"

PG_FUNCTION_INFO_V1(gpusort_progress);

#define PROGRESS_COLUMNS	15

static const char *
phase_name(GpuSortPhase phase)
{
	static const char *const names[] = {"waiting", "feeding", "sorting", "spilling", "merging",
										"output"};

	return (uint32) phase < lengthof(names) ? names[phase] : "unknown";
}

/* A sort that waits has no device yet, and one that merges by itself has none
 * any more. */
static bool
has_device(const GpuSortJobSlot *job)
{
	return job->phase != GPUSORT_PHASE_WAITING && job->state != GPUSORT_JOB_RELEASED;
}

/* Copies a job, and its device while it has one.  False: it is no sort that is
 * under way.  If the device has failed it is over, unless its rows are in runs
 * elsewhere. */
static bool
read_job(int i, GpuSortJobSlot *job, gsort_device_info *device)
{
	memset(device, 0, sizeof(*device));
	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	*job = gpusort_shared->jobs[i];
	if (has_device(job))
		*device = gpusort_shared->services[job->service].info;
	LWLockRelease(gpusort_shared_lock());
	return job->state != GPUSORT_JOB_FREE && job->state != GPUSORT_JOB_REFUSED &&
		job->state != GPUSORT_JOB_ABANDONED &&
		(job->state != GPUSORT_JOB_FAILED || job->merging);
}

/* The rule is that of PostgreSQL's HAS_PGSTAT_PERMISSIONS. */
static bool
may_see(Oid role)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ||
		has_privs_of_role(GetUserId(), role);
}

static Datum
figure(GpuSortJobSlot *job, GpuSortFigure figure)
{
	return Int64GetDatum((int64) pg_atomic_read_u64(&job->figures[figure]));
}

/* Sets the columns from leader_pid on. */
static void
set_details(GpuSortJobSlot *job, const gsort_device_info *device, Datum *values, bool *nulls)
{
	uint64		reserved_bytes = has_device(job) ? job->stats.reserved_bytes : 0;
	int			n = 0;

	nulls[n] = job->leader_pid == 0;
	values[n++] = Int32GetDatum(job->leader_pid);
	values[n++] = CStringGetTextDatum(phase_name(job->phase));
	nulls[n] = job->options.expected_rows == 0;
	values[n++] = Int64GetDatum((int64) job->options.expected_rows);
	values[n++] = figure(job, GPUSORT_ROWS_FED);
	values[n++] = figure(job, GPUSORT_ROWS_RETURNED);
	values[n++] = figure(job, GPUSORT_BYTES_FED);
	values[n++] = figure(job, GPUSORT_RUNS_SPILLED);
	values[n++] = figure(job, GPUSORT_BYTES_SPILLED);
	values[n++] = Int64GetDatum((int64) reserved_bytes);
	nulls[n] = !has_device(job);
	values[n++] = Int32GetDatum(job->service);
	nulls[n] = device->name[0] == '\0';
	values[n++] = CStringGetTextDatum(device->name);
	values[n++] = TimestampTzGetDatum(job->options.sort_start);
	values[n++] = TimestampTzGetDatum(job->phase_start);
}

/* The SQL function: returns a row for each sort that has a job. */
Datum
gpusort_progress(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	gpusort_check_module();
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
	{
		Datum		values[PROGRESS_COLUMNS] = {0};
		bool		nulls[PROGRESS_COLUMNS] = {false};
		GpuSortJobSlot job;
		gsort_device_info device;

		if (!read_job(i, &job, &device))
			continue;
		values[0] = Int32GetDatum(job.pid);
		values[1] = ObjectIdGetDatum(job.database);
		if (may_see(job.role))
			set_details(&job, &device, &values[2], &nulls[2]);
		else
			memset(&nulls[2], true, sizeof(nulls) - 2 * sizeof(nulls[0]));
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
