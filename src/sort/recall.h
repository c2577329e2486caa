/*
 * recall.h
 *	  Takes rows back that were packed for the device, to sort them natively.
 */
#ifndef GPUSORT_RECALL_H
#define GPUSORT_RECALL_H

#include "postgres.h"

#include "utils/tuplesort.h"

#include "sort/feed.h"
#include "sort/spill.h"

typedef struct GpuSortRecall GpuSortRecall;

/* native: where the rows go; slot: of the format's kind, to carry them.  Memory: the current
 * context; gpusort_recall_end frees it. */
extern GpuSortRecall *gpusort_recall_begin(const GpuSortRowFormat *format,
										   Tuplesortstate *native, TupleTableSlot *slot);

/* All rows of a job that have not been spilled, wherever they are.  A long row that was refused
 * in its middle is left out: its feeder still has it. */
extern void gpusort_recall_job(GpuSortRecall *recall, GpuSortJob *job);

/* The rows that the feed still has in private memory; frees them. */
extern void gpusort_recall_private(GpuSortRecall *recall, GpuSortFeed *feed);

/* Returns the number of rows put. */
extern uint64 gpusort_recall_end(GpuSortRecall *recall);

/* Puts the rows of all runs too, and ends the spill. */
extern void gpusort_recall_runs(GpuSortSpill *spill, Tuplesortstate *native, TupleTableSlot *slot);

#endif							/* GPUSORT_RECALL_H */
