/*
 * pivot_merge.h
 *	  Merges sorted runs of keys between pivots: a peer of the product's merge,
 *	  for gsort_bench.
 *
 * In:  up to PIVOT_RUNS_MAX runs, each ascending by key.
 * Out: as in order_merge.h: the run of each row of the whole order.
 *
 * Samples of all runs are ranked in every run, and evenly spaced ones become
 * pivots.  A block merges the items of all runs between two pivots at once, in
 * shared memory (Koike, Sadakane, "A novel computational model for GPUs with
 * applications to efficient algorithms").  The paper's block merges by a tree
 * of buffers; this one uses rounds of merge path, with the product's functions.
 *
 * The product's merge cuts its output into tiles of equal length, which takes a
 * search after sampling.  Here the samples alone decide, so parts differ in
 * length.  The samples are so dense that no part exceeds a tile for any keys
 * (regular sampling: Shi, Schaeffer, "Parallel sorting by regular sampling",
 * 1992).
 *
 * Uses the current CUDA device; only enqueues.  The caller owns runs, outputs
 * and scratch.
 */
#ifndef GSORT_PIVOT_MERGE_H
#define GSORT_PIVOT_MERGE_H

#include "sort/order_merge.h"

#define PIVOT_RUNS_MAX	48

size_t		pivot_merge_scratch_bytes(uint64_t rows, uint32_t n_runs);

/*
 * As order_merge, but without padding behind the last row.
 * cudaErrorInvalidValue: no run or too many, or at least 2^32 rows; any other
 * error: a launch failed.
 */
cudaError_t pivot_merge(const key_plan *plan, const merge_run *runs, uint32_t n_runs,
						void *d_scratch, uint8_t *d_order, cudaStream_t stream);

#endif							/* GSORT_PIVOT_MERGE_H */
