/*
 * progress.h
 *	  Sorts report their progress, for the view gpusort_progress.
 *
 * Only the leader writes a sort's entry, and any process may read it, as in
 * PostgreSQL's own backend_progress.c.  Data that belong together are written
 * between two counts of changes.  Numbers that grow are atomics, and feeders
 * add to them too.  No lock is taken.
 */
#ifndef GPUSORT_PROGRESS_H
#define GPUSORT_PROGRESS_H

#include "postgres.h"

#include "portability/instr_time.h"

#include "job/release.h"
#include "job/shmem.h"

/* A sort's hold on its entry.  All zeroes: it has no entry, and its reports go
 * nowhere. */
typedef struct GpuSortProgress
{
	GpuSortProgressEntry *entry;
	GpuSortHold hold;			/* while there is an entry */
} GpuSortProgress;

/*
 * Enters a sort that has begun at this time and asks for a job: it waits.  If
 * all entries are taken, the sort is not listed.  The entry ends with the
 * current resource owner or with context at the latest.  progress must lie in
 * context.
 */
extern void gpusort_progress_begin(GpuSortProgress *progress, MemoryContext context,
								   uint64 rows_expected, instr_time begun);

/* The sort has got the job in slot job, and is fed. */
extern void gpusort_progress_set_job(GpuSortProgress *progress, int job, uint64 generation);

/* Enters a phase, while the sort has its job, if it has one. */
extern void gpusort_progress_set_phase(GpuSortProgress *progress, GpuSortPhase phase);

/* The sort has ended, or does not use the device any more. */
extern void gpusort_progress_end(GpuSortProgress *progress);

/* Sets the number of complete runs, and the bytes written, including those of
 * the incomplete run. */
extern void gpusort_progress_set_spilled(GpuSortProgress *progress, uint64 runs, uint64 bytes);

/* Sets the rows returned so far: the place of the reader, if it reads back and
 * forth. */
static inline void
gpusort_progress_set_returned(GpuSortProgress *progress, uint64 rows)
{
	if (progress->entry != NULL)
		pg_atomic_write_u64(&progress->entry->figures[GPUSORT_PROGRESS_ROWS_RETURNED], rows);
}

/* Reads an entry, all of it of one sort.  False: no sort has it. */
extern bool gpusort_progress_read(GpuSortProgressEntry *entry, GpuSortProgressState *state,
								  uint64 figures[GPUSORT_PROGRESS_FIGURES]);

#endif							/* GPUSORT_PROGRESS_H */
