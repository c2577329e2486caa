/*
 * spill.h
 *	  The runs of a sort that is larger than its device's budget, and their
 *	  merge.
 */
#ifndef GPUSORT_SPILL_H
#define GPUSORT_SPILL_H

#include "postgres.h"

#include "executor/tuptable.h"

#include "job/job.h"
#include "sort/ordering.h"
#include "sort/run.h"

typedef struct GpuSortSpill
{
	MemoryContext context;
	GpuSortOrdering *ordering;
	/* of the format's kind: a run's row, while keys are taken from it */
	TupleTableSlot *slot;
	GpuSortJob *job;
	int			n_runs;
	GpuSortRun *runs[GPUSORT_RUNS_MAX];
	int			n_merged;		/* the first of these runs; each was several */
	/* the device does not know all runs as they are, so it cannot order them */
	bool		by_keys;
	int			n_spilled;		/* runs before any were merged */
	uint64		rows;
	uint64		bytes;
} GpuSortSpill;

/* Its arguments must outlive it.  Memory: the current context. */
extern GpuSortSpill *gpusort_spill_begin(GpuSortOrdering *ordering, TupleTableSlot *slot,
										 GpuSortJob *job);

/* Writes the run that the job has been finished to, in its full order. */
extern void gpusort_spill_add_run(GpuSortSpill *spill);

/* Writes a row that is in no job, as a run of its own. */
extern void gpusort_spill_add_row(GpuSortSpill *spill, const char *row);

/* Removes the files.  May be called twice. */
extern void gpusort_spill_end(GpuSortSpill *spill);

/* --- the rows of several runs in key order -------------------------------- */

typedef struct GpuSortRunMerge GpuSortRunMerge;

/*
 * Merges the runs from number first on, by comparing keys.  by_order: the job
 * has been merged, first is 0, and words decide all, so the device has computed
 * the order.  If the job fails the merge goes on by keys.  Memory: the current
 * context.
 */
extern GpuSortRunMerge *gpusort_run_merge_begin(GpuSortSpill *spill, int first, bool by_order);

/* Does the merge follow the device's order? */
extern bool gpusort_run_merge_follows_order(const GpuSortRunMerge *merge);

/* Goes back before the first row.  The order of the rows will be the same. */
extern void gpusort_run_merge_rewind(GpuSortRunMerge *merge);

/* Returns the next row's bytes, valid until the next call.  False: there is
 * none. */
extern bool gpusort_run_merge_next(GpuSortRunMerge *merge, const char **row);

#endif							/* GPUSORT_SPILL_H */
