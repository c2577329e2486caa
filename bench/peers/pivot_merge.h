/*
 * pivot_merge.h
 *	  Merges sorted runs of (key, row) pairs between pivots: a peer of the product's merge, for gsort_bench.
 *
 * In:  up to PIVOT_RUNS_MAX runs, each ascending by key.
 * Out: all pairs, ascending, equal keys by run, within a run as they lie.
 *
 * Samples of all runs are ranked in every run, and one of so many becomes a pivot.  A block merges what all runs have
 * between two pivots at once, in shared memory (Koike, Sadakane, "A novel computational model for GPUs with
 * applications to efficient algorithms").  There the block merges by a tree of buffers; here it does so in
 * rounds of merge path, with the product's functions.
 *
 * The product's merge cuts its output in tiles of one length, for which it searches after it has sampled.  Here the
 * samples alone decide, so parts differ in length.  Samples are so close that none is longer than a tile, whatever
 * the keys (regular sampling: Shi, Schaeffer, "Parallel sorting by regular sampling", 1992).
 *
 * Works on the current CUDA device; only enqueues.  Runs, outputs and scratch are the caller's.
 */
#ifndef GSORT_PIVOT_MERGE_H
#define GSORT_PIVOT_MERGE_H

#include "gsort.h"
#include "sort/launch.cuh"
#include "sort/merge_run.h"

#define PIVOT_RUNS_MAX	48

size_t		pivot_merge_scratch_bytes(uint64_t pairs, uint32_t n_runs);

/*
 * Runs: keys of key_bits (32 or 64) and rows.  No output overlaps an input.  BAD_ARG: the number of runs or key_bits,
 * or 2^32 pairs and more, or scratch too small or not 256-byte aligned; DEVICE_LOST: a launch failed.
 */
gsort_status pivot_merge(const merge_run *runs, uint32_t n_runs, uint32_t key_bits, void *d_keys_out,
						 uint32_t *d_rows_out, void *d_scratch, size_t scratch_bytes, cudaStream_t stream);

#endif							/* GSORT_PIVOT_MERGE_H */
