/*
 * progress.h
 *	  A sort tells how far it is, for the view gpusort_progress.
 *
 * Its leader alone writes the sort's entry, and anybody may read it, as PostgreSQL's own backend_progress.c
 * has it: what belongs together is written between two counts of changes, and numbers that grow are atomics,
 * to which feeders add too.  No lock is taken.
 */
#ifndef GPUSORT_PROGRESS_H
#define GPUSORT_PROGRESS_H

#include "postgres.h"

#include "portability/instr_time.h"

#include "shared/release.h"
#include "shared/shmem.h"

/* A sort's hold on its entry.  All zeroes: it has none, and what it tells goes nowhere. */
typedef struct GpuSortProgress
{
	GpuSortProgressEntry *entry;
	GpuSortHold hold;			/* while there is an entry */
} GpuSortProgress;

/*
 * The sort, which has begun then, asks for a job: it waits.  Where all entries are taken it is not listed.
 * The entry ends with the current resource owner or with context at the latest, which progress must be in.
 */
extern void gpusort_progress_begin(GpuSortProgress *progress, MemoryContext context,
								   uint64 rows_expected, instr_time begun);

/* It has got the job in slot job, and is fed. */
extern void gpusort_progress_set_job(GpuSortProgress *progress, int job, uint64 generation);

/* Enters a phase; while the sort has its job, if it has one. */
extern void gpusort_progress_set_phase(GpuSortProgress *progress, GpuSortPhase phase);

/* The sort is not under way any more, or not on the device. */
extern void gpusort_progress_end(GpuSortProgress *progress);

/* Runs that are complete, and bytes written of these and of the one that is not. */
extern void gpusort_progress_set_spilled(GpuSortProgress *progress, uint64 runs, uint64 bytes);

/* Rows returned so far: the place where reading stands, if rows are read to and fro. */
static inline void
gpusort_progress_set_returned(GpuSortProgress *progress, uint64 rows)
{
	if (progress->entry != NULL)
		pg_atomic_write_u64(&progress->entry->figures[GPUSORT_PROGRESS_ROWS_RETURNED], rows);
}

/* Reads an entry: all of it is one sort's.  False: no sort has it. */
extern bool gpusort_progress_read(GpuSortProgressEntry *entry, GpuSortProgressState *state,
								  uint64 figures[GPUSORT_PROGRESS_FIGURES]);

#endif							/* GPUSORT_PROGRESS_H */
