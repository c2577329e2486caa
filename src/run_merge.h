/*
 * run_merge.h
 *	  The rows of several sorted runs in key order.
 */
#ifndef GPUSORT_RUN_MERGE_H
#define GPUSORT_RUN_MERGE_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/tuplesort.h"

#include "reader.h"
#include "spill.h"

typedef struct GpuSortRunMerge GpuSortRunMerge;

/*
 * Merges by the order that the device has computed: job has been merged.
 * Memory: the current context.
 */
extern GpuSortRunMerge *gpusort_run_merge_by_order(GpuSortSpill *spill, GpuSortJob *job);

/*
 * Merges by comparing keys, and with the rows of a native sort that has been performed
 * (NULL: there is none).  slot: for rows of the runs, of the format's kind; native_slot:
 * minimal tuples.
 */
extern GpuSortRunMerge *gpusort_run_merge_by_keys(GpuSortSpill *spill, int n_keys,
												  const GpuSortKey *keys, TupleTableSlot *slot,
												  Tuplesortstate *native,
												  TupleTableSlot *native_slot);

/*
 * The next row.  False: there is none.  *row: its bytes, valid until the next call; NULL: it
 * is the native sort's, in native_slot.
 */
extern bool gpusort_run_merge_next(GpuSortRunMerge *merge, const char **row);

#endif							/* GPUSORT_RUN_MERGE_H */
