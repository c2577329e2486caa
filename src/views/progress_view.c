/*
 * progress_view.c
 *	  The function behind the view gpusort_progress.
 *
 * In:  the entries of running sorts, and the slots of their jobs.
 * Out: a row for each, in the executor's tuplestore.
 *
 * Runs in any backend.  An entry is read without a lock, and then its job under
 * the shared lock, so a row's numbers may differ by an event.  As in
 * PostgreSQL's views of progress, everybody sees that there is a sort.  Only
 * the session's own role, and roles that may read all statistics, see more of
 * it.
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

#include "job/progress.h"
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

/* Copies the sort's job and its device.  All zeroes, and service -1: the sort
 * has no job now. */
static void
read_job(const GpuSortProgressState *state, GpuSortJobSlot *job, gsort_device_info *device)
{
	const GpuSortJobSlot *slot;

	memset(job, 0, sizeof(*job));
	memset(device, 0, sizeof(*device));
	job->service = -1;
	if (state->job < 0)
		return;
	slot = &gpusort_shared->jobs[state->job];
	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	if (slot->generation == state->generation &&
		slot->state != GPUSORT_JOB_FREE && slot->state != GPUSORT_JOB_ABANDONED)
	{
		*job = *slot;
		*device = gpusort_shared->services[slot->service].info;
	}
	LWLockRelease(gpusort_shared_lock());
}

/* The rule is that of PostgreSQL's HAS_PGSTAT_PERMISSIONS. */
static bool
may_see(Oid role)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ||
		has_privs_of_role(GetUserId(), role);
}

/* Sets the columns from leader_pid on. */
static void
set_details(const GpuSortProgressState *state, const uint64 *figures, const GpuSortJobSlot *job,
			const gsort_device_info *device, Datum *values, bool *nulls)
{
	int			n = 0;

	nulls[n] = state->leader_pid == 0;
	values[n++] = Int32GetDatum(state->leader_pid);
	values[n++] = CStringGetTextDatum(phase_name(state->phase));
	nulls[n] = state->rows_expected == 0;
	values[n++] = Int64GetDatum((int64) state->rows_expected);
	values[n++] = Int64GetDatum((int64) figures[GPUSORT_PROGRESS_ROWS_FED]);
	values[n++] = Int64GetDatum((int64) figures[GPUSORT_PROGRESS_ROWS_RETURNED]);
	values[n++] = Int64GetDatum((int64) figures[GPUSORT_PROGRESS_BYTES_FED]);
	values[n++] = Int64GetDatum((int64) figures[GPUSORT_PROGRESS_RUNS_SPILLED]);
	values[n++] = Int64GetDatum((int64) figures[GPUSORT_PROGRESS_BYTES_SPILLED]);
	values[n++] = Int64GetDatum((int64) job->stats.reserved_bytes);
	nulls[n] = job->service < 0;
	values[n++] = Int32GetDatum(job->service);
	nulls[n] = device->name[0] == '\0';
	values[n++] = CStringGetTextDatum(device->name);
	values[n++] = TimestampTzGetDatum(state->sort_start);
	values[n++] = TimestampTzGetDatum(state->phase_start);
}

/* Adds one sort's row.  A sort whose device has failed is over, unless its rows
 * are in runs elsewhere. */
static void
put_row(ReturnSetInfo *result, const GpuSortProgressState *state, const uint64 *figures)
{
	Datum		values[PROGRESS_COLUMNS] = {0};
	bool		nulls[PROGRESS_COLUMNS] = {false};
	GpuSortJobSlot job;
	gsort_device_info device;

	read_job(state, &job, &device);
	if (job.state == GPUSORT_JOB_FAILED && state->phase != GPUSORT_PHASE_MERGING)
		return;
	values[0] = Int32GetDatum(state->pid);
	values[1] = ObjectIdGetDatum(state->database);
	if (may_see(state->role))
		set_details(state, figures, &job, &device, &values[2], &nulls[2]);
	else
		memset(&nulls[2], true, sizeof(nulls) - 2 * sizeof(nulls[0]));
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* The SQL function: returns a row for each entry that is in use. */
Datum
gpusort_progress(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	gpusort_check_module();
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < GPUSORT_PROGRESS_ENTRIES; i++)
	{
		GpuSortProgressState state;
		uint64		figures[GPUSORT_PROGRESS_FIGURES];

		if (gpusort_progress_read(&gpusort_shared->progress[i], &state, figures))
			put_row(result, &state, figures);
	}
	return (Datum) 0;
}
