/*
 * order_merge.h
 *	  From which run does each row of the whole order come?
 *
 * In:  sorted runs of raw key columns, the plan that makes one word of them.
 * Out: a byte for each row: the number of its run.
 *
 * Works on the current CUDA device; only enqueues.
 */
#ifndef GSORT_ORDER_MERGE_H
#define GSORT_ORDER_MERGE_H

#include "rows/key_plan.h"
#include "sort/launch.cuh"
#include "sort/merge_run.h"

/* Device memory that order_merge works in. */
size_t		order_merge_scratch_bytes(uint64_t rows, uint32_t n_runs);

/*
 * Enqueues the merge of 1 to MERGE_RUNS_MAX runs, equal keys by run.  plan: of
 * at most one word.  d_order: 8-byte aligned, room for all rows rounded up to a
 * multiple of 8; the bytes behind the last row become 0.  d_scratch: 256-byte
 * aligned.  cudaErrorInvalidValue: no run or too many; any other error is a
 * launch's.
 */
cudaError_t order_merge(const key_plan *plan, const merge_run *runs, uint32_t n_runs,
						void *d_scratch, uint8_t *d_order, cudaStream_t stream);

#endif							/* GSORT_ORDER_MERGE_H */
