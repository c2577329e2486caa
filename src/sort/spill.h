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
	int			n_merged;		/* of them, the first ones: each was several */
	bool		by_keys;		/* the device does not know all runs as they are: it cannot order them */
	int			n_spilled;		/* runs, before any were merged */
	uint64		rows;
	uint64		bytes;
} GpuSortSpill;

/* Memory: the current context. */
extern GpuSortSpill *gpusort_spill_begin(GpuSortOrdering *ordering, GpuSortProgress *progress);

/* Writes the run that job has been cut to, in its full order; there is room for one. */
extern void gpusort_spill_add_run(GpuSortSpill *spill, GpuSortJob *job);

/* Writes a row that is in no job, as a run of its own; there is room for one. */
extern void gpusort_spill_add_row(GpuSortSpill *spill, const char *row);

/* Removes the files.  May be called twice. */
extern void gpusort_spill_end(GpuSortSpill *spill);

#endif							/* GPUSORT_SPILL_H */
