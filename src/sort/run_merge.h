/*
 * run_merge.h
 *	  The rows of several sorted runs in key order.
 */
#ifndef GPUSORT_RUN_MERGE_H
#define GPUSORT_RUN_MERGE_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/tuplesort.h"

#include "sort/reader.h"
#include "sort/spill.h"

typedef struct GpuSortRunMerge GpuSortRunMerge;

/*
 * Merges by comparing keys, and with the rows of a native sort that has been performed
 * (NULL: there is none).  slot: for rows of the runs, of the format's kind; native_slot:
 * minimal tuples.  Memory: the current context.
 */
extern GpuSortRunMerge *gpusort_run_merge_begin(GpuSortSpill *spill, TupleTableSlot *slot,
												Tuplesortstate *native,
												TupleTableSlot *native_slot);

/* Before the first row, without a native sort, of an ordering whose words decide all: merges by the
 * order that the device has computed instead, job having been merged.  If job fails it is closed,
 * and keys tell how to go on. */
extern void gpusort_run_merge_follow_order(GpuSortRunMerge *merge, GpuSortJob *job);

/* True while the device's order is followed. */
extern bool gpusort_run_merge_follows_order(const GpuSortRunMerge *merge);

/* Goes back before the first row; the order of the rows will be the same. */
extern void gpusort_run_merge_rewind(GpuSortRunMerge *merge);

/*
 * The next row.  False: there is none.
 * *row: its bytes, valid until the next call; NULL: it is the native sort's, in native_slot.
 */
extern bool gpusort_run_merge_next(GpuSortRunMerge *merge, const char **row);

#endif							/* GPUSORT_RUN_MERGE_H */
