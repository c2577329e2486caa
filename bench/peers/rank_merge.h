/*
 * rank_merge.h
 *	  Two merges of two sorted runs of (key, row) pairs by ranks: peers of the
 *	  product's merge, for gsort_bench.
 *
 * In:  two runs, each ascending by key.
 * Out: all pairs, ascending by key, then by run, then by place in the run.
 *
 * An item's place in the output is the sum of its place in its own run and its
 * rank in the other run.  A binary search finds the rank: the number of
 * preceding items there.  Equal items count if they lie in the first run.
 *
 * Both use the current CUDA device and only enqueue.  The caller owns runs,
 * outputs and scratch.
 */
#ifndef GSORT_RANK_MERGE_H
#define GSORT_RANK_MERGE_H

#include "gsort.h"
#include "peers/pair_run.h"
#include "sort/launch.cuh"

/*
 * Direct: one thread per item ranks it by a search of the whole other run
 * (Shiloach, Vishkin, "Finding the maximum, merging, and sorting in a parallel
 * computation model", 1981, with as many processors as items).
 *
 * Both merges: keys of key_bits (32 or 64) and rows; no output overlaps an
 * input.  BAD_ARG: key_bits, or at least 2^31 pairs, or scratch that is too
 * small or not 256-byte aligned.  DEVICE_LOST: a launch failed.
 */
gsort_status rank_merge(const pair_run *first, const pair_run *second, uint32_t key_bits,
						void *d_keys_out, uint32_t *d_rows_out, cudaStream_t stream);

size_t		segmented_rank_merge_scratch_bytes(uint64_t pairs);

/*
 * Segmented: only samples, evenly spaced in both runs, are ranked in the whole
 * other run.  The samples divide both runs into segments of bounded length,
 * which blocks merge by ranks in shared memory (Satish, Harris, Garland,
 * "Designing efficient sorting algorithms for manycore GPUs", 2009).
 */
gsort_status segmented_rank_merge(const pair_run *first, const pair_run *second, uint32_t key_bits,
								  void *d_keys_out, uint32_t *d_rows_out, void *d_scratch,
								  size_t scratch_bytes, cudaStream_t stream);

#endif							/* GSORT_RANK_MERGE_H */
