/*
 * progress_view.c
 *	  The function behind the view gpusort_progress.
 *
 * In:  the entries of sorts under way, and the slots of their jobs.
 * Out: a row for each, in a tuplestore of the executor's.
 *
 * Any backend.  An entry is read without a lock, then its job under the shared lock; so a row's numbers may
 * be apart by an event.  As in PostgreSQL's views of progress, everybody sees that there is a sort, but only
 * the session's own role, and those that may read all statistics, see more of it.
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

#include "shared/progress_entry.h"
#include "shared/shmem.h"
#include "sql_version.h"

PG_FUNCTION_INFO_V1(gpusort_progress);

#define PROGRESS_COLUMNS	15

/* What a sort's job adds to its entry. */
typedef struct JobProgress
{
	bool		failed;			/* by the device */
	uint64		rows_sent;
	uint64		bytes_sent;
	uint64		granted_bytes;
	TimestampTz waits_since;	/* 0: it does not wait */
	TimestampTz waited_until;
	int			service;		/* that has it; -1: the sort has no job now */
	char		device[sizeof(gpusort_shared->services[0].info.name)];
} JobProgress;

static void
read_job(const GpuSortProgressState *state, JobProgress *job)
{
	GpuSortJobSlot *slot;

	memset(job, 0, sizeof(*job));
	job->service = -1;
	if (state->job < 0)
		return;
	slot = &gpusort_shared->jobs[state->job];
	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	if (slot->generation == state->generation &&
		slot->state != GPUSORT_JOB_FREE && slot->state != GPUSORT_JOB_ABANDONED)
	{
		job->failed = slot->state == GPUSORT_JOB_FAILED;
		job->rows_sent = pg_atomic_read_u64(&slot->rows_sent);
		job->bytes_sent = pg_atomic_read_u64(&slot->bytes_sent);
		job->granted_bytes = slot->granted_bytes;
		job->waits_since = slot->waits_since;
		job->waited_until = slot->waited_until;
		job->service = slot->service;
		strlcpy(job->device, gpusort_shared->services[slot->service].info.name, sizeof(job->device));
	}
	LWLockRelease(gpusort_shared_lock());
}

static const char *
phase_name(GpuSortPhase phase)
{
	switch (phase)
	{
		case GPUSORT_PHASE_WAITING:
			return "waiting";
		case GPUSORT_PHASE_FEEDING:
			return "feeding";
		case GPUSORT_PHASE_SORTING:
			return "sorting";
		case GPUSORT_PHASE_SPILLING:
			return "spilling";
		case GPUSORT_PHASE_MERGING:
			return "merging";
		case GPUSORT_PHASE_OUTPUT:
			return "output";
	}
	return "unknown";
}

/* As PostgreSQL's HAS_PGSTAT_PERMISSIONS. */
static bool
may_see(Oid role)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) || has_privs_of_role(GetUserId(), role);
}

/* The columns from leader_pid on. */
static void
set_details(const GpuSortProgressState *state, const GpuSortProgressFigures *figures,
			const JobProgress *job, Datum *values, bool *nulls)
{
	bool		waits = job->waits_since != 0;
	int			n = 0;

	nulls[n] = state->leader_pid == 0;
	values[n++] = Int32GetDatum(state->leader_pid);
	values[n++] = CStringGetTextDatum(phase_name(waits ? GPUSORT_PHASE_WAITING : state->phase));
	nulls[n] = state->rows_expected == 0;
	values[n++] = Int64GetDatum((int64) state->rows_expected);
	values[n++] = Int64GetDatum((int64) Max(figures->rows_fed, job->rows_sent));
	values[n++] = Int64GetDatum((int64) figures->rows_returned);
	values[n++] = Int64GetDatum((int64) Max(figures->bytes_fed, job->bytes_sent));
	values[n++] = Int64GetDatum((int64) figures->runs_spilled);
	values[n++] = Int64GetDatum((int64) figures->bytes_spilled);
	values[n++] = Int64GetDatum((int64) job->granted_bytes);
	nulls[n] = job->service < 0;
	values[n++] = Int32GetDatum(job->service);
	nulls[n] = job->device[0] == '\0';
	values[n++] = CStringGetTextDatum(job->device);
	values[n++] = TimestampTzGetDatum(state->sort_start);
	values[n++] = TimestampTzGetDatum(waits ? job->waits_since :
									  Max(state->phase_start, job->waited_until));
}

/* One sort's row.  A sort whose device has failed is over, unless its rows are in runs elsewhere. */
static void
put_row(ReturnSetInfo *result, const GpuSortProgressState *state, const GpuSortProgressFigures *figures)
{
	Datum		values[PROGRESS_COLUMNS] = {0};
	bool		nulls[PROGRESS_COLUMNS] = {false};
	JobProgress job;

	read_job(state, &job);
	if (job.failed && state->phase != GPUSORT_PHASE_MERGING)
		return;
	values[0] = Int32GetDatum(state->pid);
	values[1] = ObjectIdGetDatum(state->database);
	if (may_see(state->role))
		set_details(state, figures, &job, &values[2], &nulls[2]);
	else
		memset(&nulls[2], true, sizeof(nulls) - 2 * sizeof(nulls[0]));
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

Datum
gpusort_progress(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	gpusort_check_module();
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < GPUSORT_PROGRESS_ENTRIES; i++)
	{
		GpuSortProgressState state;
		GpuSortProgressFigures figures;

		if (gpusort_progress_read(&gpusort_shared->progress[i], &state, &figures))
			put_row(result, &state, &figures);
	}
	return (Datum) 0;
}
