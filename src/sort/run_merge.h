/*
 * run_merge.h
 *	  The rows of several sorted runs in key order.
 */
#ifndef GPUSORT_RUN_MERGE_H
#define GPUSORT_RUN_MERGE_H

#include "postgres.h"

#include "executor/tuptable.h"

#include "sort/reader.h"
#include "sort/spill.h"

typedef struct GpuSortRunMerge GpuSortRunMerge;

/* Merges the runs from number first on by comparing keys.  slot: for their rows, of the format's kind.
 * Memory: the current context. */
extern GpuSortRunMerge *gpusort_run_merge_begin(GpuSortSpill *spill, int first, TupleTableSlot *slot);

/* Before the first row of all runs, of an ordering whose words decide all: merges by the order that the
 * device has computed instead, job having been merged.  If job fails it is closed,
 * and keys tell how to go on. */
extern void gpusort_run_merge_follow_order(GpuSortRunMerge *merge, GpuSortJob *job);

/* True while the device's order is followed. */
extern bool gpusort_run_merge_follows_order(const GpuSortRunMerge *merge);

/* Goes back before the first row; the order of the rows will be the same. */
extern void gpusort_run_merge_rewind(GpuSortRunMerge *merge);

/* The next row's bytes, valid until the next call.  False: there is none. */
extern bool gpusort_run_merge_next(GpuSortRunMerge *merge, const char **row);

/* Of a spill that has no room for a run more: makes one run of many. */
extern void gpusort_run_merge_round(GpuSortSpill *spill, TupleTableSlot *slot);

#endif							/* GPUSORT_RUN_MERGE_H */
