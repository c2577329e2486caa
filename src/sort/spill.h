/*
 * spill.h
 *	  The runs of a sort that is larger than its device's budget.
 */
#ifndef GPUSORT_SPILL_H
#define GPUSORT_SPILL_H

#include "postgres.h"

#include "shared/job.h"
#include "shared/progress.h"
#include "sort/ordering.h"
#include "sort/run.h"

typedef struct GpuSortSpill
{
	MemoryContext context;
	GpuSortOrdering *ordering;
	GpuSortProgress *progress;
	int			n_runs;
	GpuSortRun *runs[GPUSORT_RUNS_MAX];
	uint64		rows;
	uint64		bytes;
} GpuSortSpill;

/* Memory: the current context. */
extern GpuSortSpill *gpusort_spill_begin(GpuSortOrdering *ordering, GpuSortProgress *progress);

/* Writes the run that job has been cut to, in its full order; at most GPUSORT_RUNS_MAX of them. */
extern void gpusort_spill_add_run(GpuSortSpill *spill, GpuSortJob *job);

/* Removes the files.  May be called twice. */
extern void gpusort_spill_end(GpuSortSpill *spill);

#endif							/* GPUSORT_SPILL_H */
