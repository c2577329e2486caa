/*
 * pivot_merge.h
 *	  Merges sorted runs of keys between pivots: a peer of the product's merge,
 *	  for gsort_bench.
 *
 * In:  up to PIVOT_RUNS_MAX runs, each ascending by key.
 * Out: as order_merge.h: the run that each row of the whole order comes from.
 *
 * Samples of all runs are ranked in every run, and one of so many becomes a
 * pivot.  A block merges what all runs have between two pivots at once, in
 * shared memory (Koike, Sadakane, "A novel computational model for GPUs with
 * applications to efficient algorithms").  There the block merges by a tree of
 * buffers; here it does so in rounds of merge path, with the product's
 * functions.
 *
 * The product's merge cuts its output in tiles of one length, for which it
 * searches after it has sampled.  Here the samples alone decide, so parts
 * differ in length.  Samples are so close that none is longer than a tile,
 * whatever the keys (regular sampling: Shi, Schaeffer, "Parallel sorting by
 * regular sampling", 1992).
 *
 * Works on the current CUDA device; only enqueues.  Runs, outputs and scratch
 * are the caller's.
 */
#ifndef GSORT_PIVOT_MERGE_H
#define GSORT_PIVOT_MERGE_H

#include "sort/order_merge.h"

#define PIVOT_RUNS_MAX	48

size_t		pivot_merge_scratch_bytes(uint64_t rows, uint32_t n_runs);

/*
 * As order_merge, but nothing is written behind the last row.
 * cudaErrorInvalidValue: no run or too many, or 2^32 rows and more; any other
 * error: a launch failed.
 */
cudaError_t pivot_merge(const key_plan *plan, const merge_run *runs, uint32_t n_runs,
						void *d_scratch, uint8_t *d_order, cudaStream_t stream);

#endif							/* GSORT_PIVOT_MERGE_H */
