/*
 * progress_entry.c
 *	  Makes and reads the entries of sorts under way.
 *
 * In:  shared memory, which shmem.c has made.
 * Out: free entries; for progress_view.c, copies of those that sorts have.
 *
 * Runs in the postmaster, and in backends that look on.  No lock is taken.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/backend_status.h"

#include "shared/progress_entry.h"

void
gpusort_progress_init(GpuSortProgressEntry entries[GPUSORT_PROGRESS_ENTRIES])
{
	for (int i = 0; i < GPUSORT_PROGRESS_ENTRIES; i++)
	{
		pg_atomic_init_u32(&entries[i].claimed, 0);
		pg_atomic_init_u64(&entries[i].rows_fed, 0);
		pg_atomic_init_u64(&entries[i].bytes_fed, 0);
		pg_atomic_init_u64(&entries[i].rows_returned, 0);
		pg_atomic_init_u64(&entries[i].runs_spilled, 0);
		pg_atomic_init_u64(&entries[i].bytes_spilled, 0);
	}
}

bool
gpusort_progress_read(GpuSortProgressEntry *entry, GpuSortProgressState *state,
					  GpuSortProgressFigures *figures)
{
	for (;;)
	{
		int			before;
		int			after;

		/* a writer that is not scheduled just now can make this last */
		CHECK_FOR_INTERRUPTS();
		pgstat_begin_read_activity(entry, before);
		*state = entry->state;
		figures->rows_fed = pg_atomic_read_u64(&entry->rows_fed);
		figures->bytes_fed = pg_atomic_read_u64(&entry->bytes_fed);
		figures->rows_returned = pg_atomic_read_u64(&entry->rows_returned);
		figures->runs_spilled = pg_atomic_read_u64(&entry->runs_spilled);
		figures->bytes_spilled = pg_atomic_read_u64(&entry->bytes_spilled);
		pgstat_end_read_activity(entry, after);
		if (pgstat_read_activity_complete(before, after))
			return state->pid != 0;
	}
}
