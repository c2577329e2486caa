/*
 * progress.c
 *	  A sort tells how far it is.
 *
 * In:  a sort's steps, from the process that leads it.
 * Out: its entry in shared memory, which progress_view.c reads.
 *
 * Runs in the backend that leads the sort.  Rows on their way to the device are counted in the job's
 * slot, by all feeders (job_feed.c); what they have come to is noted here with each phase, since the
 * slot may go before the sort ends.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/backend_status.h"

#include "shared/progress.h"
#include "shared/shmem.h"

/* Processes begin to look at different places. */
static GpuSortProgressEntry *
claim_entry(void)
{
	for (int i = 0; i < GPUSORT_PROGRESS_ENTRIES; i++)
	{
		GpuSortProgressEntry *entry = &gpusort_shared->progress[(MyProcPid + i) % GPUSORT_PROGRESS_ENTRIES];
		uint32		free = 0;

		if (pg_atomic_read_u32(&entry->claimed) == 0 &&
			pg_atomic_compare_exchange_u32(&entry->claimed, &free, 1))
			return entry;
	}
	return NULL;
}

static void
write_state(GpuSortProgressEntry *entry, const GpuSortProgressState *state)
{
	PGSTAT_BEGIN_WRITE_ACTIVITY(entry);
	entry->state = *state;
	PGSTAT_END_WRITE_ACTIVITY(entry);
}

static void
end_held(void *arg)
{
	gpusort_progress_end((GpuSortProgress *) arg);
}

static TimestampTz
time_of(instr_time begun)
{
	instr_time	passed;

	INSTR_TIME_SET_CURRENT(passed);
	INSTR_TIME_SUBTRACT(passed, begun);
	return GetCurrentTimestamp() - (TimestampTz) INSTR_TIME_GET_MICROSEC(passed);
}

void
gpusort_progress_begin(GpuSortProgress *progress, MemoryContext context, uint64 rows_expected,
					   instr_time begun)
{
	GpuSortProgressEntry *entry = claim_entry();
	GpuSortProgressState state = {
		.pid = MyProcPid,
		.leader_pid = IsParallelWorker() ? MyProc->lockGroupLeader->pid : 0,
		.database = MyDatabaseId,
		.role = MyProc->roleId,
		.rows_expected = rows_expected,
		.sort_start = time_of(begun),
		.phase = GPUSORT_PHASE_WAITING,
		.phase_start = GetCurrentTimestamp(),
		.job = -1,
	};

	Assert(progress->entry == NULL);
	if (entry == NULL)
		return;
	progress->entry = entry;
	gpusort_hold_begin(&progress->hold, context, end_held, progress);
	pg_atomic_write_u64(&entry->rows_fed, 0);
	pg_atomic_write_u64(&entry->bytes_fed, 0);
	pg_atomic_write_u64(&entry->rows_returned, 0);
	pg_atomic_write_u64(&entry->runs_spilled, 0);
	pg_atomic_write_u64(&entry->bytes_spilled, 0);
	write_state(entry, &state);
}

void
gpusort_progress_set_job(GpuSortProgress *progress, int job, uint64 generation)
{
	GpuSortProgressState state;

	if (progress->entry == NULL)
		return;
	state = progress->entry->state;
	state.job = job;
	state.generation = generation;
	state.phase = GPUSORT_PHASE_FEEDING;
	state.phase_start = GetCurrentTimestamp();
	write_state(progress->entry, &state);
}

/* What the job has been sent; never less than before, should the slot be another sort's by now. */
static void
note_fed(GpuSortProgressEntry *entry)
{
	GpuSortJobSlot *slot = &gpusort_shared->jobs[entry->state.job];

	if (slot->generation != entry->state.generation ||
		pg_atomic_read_u64(&slot->rows_sent) <= pg_atomic_read_u64(&entry->rows_fed))
		return;
	pg_atomic_write_u64(&entry->rows_fed, pg_atomic_read_u64(&slot->rows_sent));
	pg_atomic_write_u64(&entry->bytes_fed, pg_atomic_read_u64(&slot->bytes_sent));
}

void
gpusort_progress_set_phase(GpuSortProgress *progress, GpuSortPhase phase)
{
	GpuSortProgressEntry *entry = progress->entry;
	GpuSortProgressState state;

	if (entry == NULL)
		return;
	if (entry->state.job >= 0)
		note_fed(entry);
	state = entry->state;
	state.phase = phase;
	state.phase_start = GetCurrentTimestamp();
	write_state(entry, &state);
}

void
gpusort_progress_set_spilled(GpuSortProgress *progress, uint64 runs, uint64 bytes)
{
	if (progress->entry == NULL)
		return;
	pg_atomic_write_u64(&progress->entry->runs_spilled, runs);
	pg_atomic_write_u64(&progress->entry->bytes_spilled, bytes);
}

void
gpusort_progress_end(GpuSortProgress *progress)
{
	GpuSortProgressEntry *entry = progress->entry;
	GpuSortProgressState nobody = {0};

	if (entry == NULL)
		return;
	progress->entry = NULL;
	gpusort_hold_end(&progress->hold);
	write_state(entry, &nobody);
	pg_write_barrier();
	pg_atomic_write_u32(&entry->claimed, 0);
}
