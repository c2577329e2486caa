/*
 * spill.h
 *	  The runs of a sort that is larger than its device's budget, and their
 *	  rows.
 */
#ifndef GPUSORT_SPILL_H
#define GPUSORT_SPILL_H

#include "postgres.h"

#include "executor/tuptable.h"

#include "job/job.h"
#include "sort/ordering.h"
#include "sort/output.h"
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

/* The rows of runs.  by_order: their job has been merged, and they are read in
 * its order.  Else their keys are compared. */
extern GpuSortOutput *gpusort_output_spilled_begin(GpuSortSlots *slots, GpuSortSpill *spill,
												   bool by_order, bool random_access,
												   const GpuSortDeviceFigures *figures);

#endif							/* GPUSORT_SPILL_H */
