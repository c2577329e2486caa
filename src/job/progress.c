/*
 * progress.c
 *	  Sorts report their progress.
 *
 * In:  the steps of a sort, from the process that leads it.
 * Out: its entry in shared memory; copies of entries, for progress_view.c.
 *
 * Runs in the backend that leads the sort, and in backends that look on.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/backend_status.h"

#include "job/progress.h"

/* Processes begin their search at different entries. */
static GpuSortProgressEntry *
claim_entry(void)
{
	for (int i = 0; i < GPUSORT_PROGRESS_ENTRIES; i++)
	{
		GpuSortProgressEntry *entry =
			&gpusort_shared->progress[(MyProcPid + i) % GPUSORT_PROGRESS_ENTRIES];
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

/* The figures are reset before the entry is visible. */
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
	for (int i = 0; i < GPUSORT_PROGRESS_FIGURES; i++)
		pg_atomic_write_u64(&entry->figures[i], 0);
	write_state(entry, &state);
}

static void
enter_phase(GpuSortProgressEntry *entry, GpuSortPhase phase, int job, uint64 generation)
{
	GpuSortProgressState state = entry->state;

	state.phase = phase;
	state.phase_start = GetCurrentTimestamp();
	state.job = job;
	state.generation = generation;
	write_state(entry, &state);
}

void
gpusort_progress_set_job(GpuSortProgress *progress, int job, uint64 generation)
{
	if (progress->entry == NULL)
		return;
	gpusort_shared->jobs[job].progress = progress->entry - gpusort_shared->progress;
	enter_phase(progress->entry, GPUSORT_PHASE_FEEDING, job, generation);
}

void
gpusort_progress_set_phase(GpuSortProgress *progress, GpuSortPhase phase)
{
	GpuSortProgressEntry *entry = progress->entry;

	if (entry != NULL)
		enter_phase(entry, phase, entry->state.job, entry->state.generation);
}

void
gpusort_progress_set_spilled(GpuSortProgress *progress, uint64 runs, uint64 bytes)
{
	if (progress->entry == NULL)
		return;
	pg_atomic_write_u64(&progress->entry->figures[GPUSORT_PROGRESS_RUNS_SPILLED], runs);
	pg_atomic_write_u64(&progress->entry->figures[GPUSORT_PROGRESS_BYTES_SPILLED], bytes);
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

/* Reads again until the counts of changes before and after agree. */
bool
gpusort_progress_read(GpuSortProgressEntry *entry, GpuSortProgressState *state,
					  uint64 figures[GPUSORT_PROGRESS_FIGURES])
{
	for (;;)
	{
		int			before;
		int			after;

		/* this lasts as long as a writer in between is not scheduled */
		CHECK_FOR_INTERRUPTS();
		pgstat_begin_read_activity(entry, before);
		*state = entry->state;
		for (int i = 0; i < GPUSORT_PROGRESS_FIGURES; i++)
			figures[i] = pg_atomic_read_u64(&entry->figures[i]);
		pgstat_end_read_activity(entry, after);
		if (pgstat_read_activity_complete(before, after))
			return state->pid != 0;
	}
}
