/*
 * pairs_engine.h
 *	  The engines that sort (key, row) pairs on CUDA, and the choice among them.
 *
 * In:  a gsort_pairs (its fields are defined in pairs_choice.h), scratch of the
 *	    caller.
 * Out: the sorted rows and, if requested, keys.
 *
 * The functions run on one host thread and use the current CUDA device, and do
 * not allocate, wait or read back.  This folder is independent of gsort_device
 * and of jobs: the sorts return CUDA errors, which cuda/device turns into
 * statuses.
 */
#ifndef GSORT_PAIRS_ENGINE_H
#define GSORT_PAIRS_ENGINE_H

#include "sort/launch_plan.cuh"
#include "sort/pairs_choice.h"

/* --- any engine (pairs_engine.cu) ----------------------------------------- */

/* The choice of pairs_choice.h for these pairs and this device. */
gsort_engine cuda_pairs_engine(const gsort_pairs *pairs);

/* Scratch and sort of the chosen engine; the sort only enqueues. */
size_t		cuda_engine_scratch_bytes(gsort_engine engine, const gsort_pairs *pairs);
cudaError_t cuda_engine_sort(gsort_engine engine, const gsort_pairs *pairs, void *d_scratch,
							 size_t scratch_bytes, cudaStream_t stream);

/* Scratch for any sort of up to n pairs; monotone in n. */
size_t		cuda_pairs_scratch_at_most(gsort_engine wanted, uint64_t n);

/* --- each engine ---------------------------------------------------------- */

/*
 * Each engine states its scratch for these pairs; 0 if it does not support
 * them.  Its sort is stable, and only enqueues.  cudaErrorInvalidValue:
 * scratch_bytes is too small, d_scratch is not 256-byte aligned, or the engine
 * does not support the pairs.  Any other error: a launch failed.
 */

/* The partition (pairs_partition.cu) supports keys that have significant bits.
 * The partition does not return sorted 32-bit keys: it would gather each at
 * random, where the radix sort moves them along. */
size_t		pairs_partition_scratch_bytes(const gsort_pairs *pairs);
cudaError_t pairs_partition_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
								 cudaStream_t stream);

static inline bool
partition_takes(const gsort_pairs *pairs)
{
	return pairs->key_bits == 64 || pairs->d_keys_out == NULL;
}

/* The salt of all sorts (sample_position), set before the first one. */
inline uint32_t pairs_partition_salt = 0;

/* The radix sort (pairs_radix.cu) supports RADIX_PAIRS_MAX pairs. */
size_t		pairs_radix_scratch_bytes(const gsort_pairs *pairs);
cudaError_t pairs_radix_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
							 cudaStream_t stream);

/* The same, conditional on *wanted, in device memory, not being 0 when the
 * kernels run.  Keys that fit one pass are not supported. */
cudaError_t pairs_radix_sort_if(const uint32_t *wanted, const gsort_pairs *pairs, void *d_scratch,
								size_t scratch_bytes, cudaStream_t stream);

/* CUB's merge sort (pairs_cub.cu) supports MERGE_PAIRS_MAX pairs. */
size_t		pairs_cub_merge_scratch_bytes(const gsort_pairs *pairs);
cudaError_t pairs_cub_merge_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
								 cudaStream_t stream);

/* CUB's radix sort (pairs_cub.cu) supports all pairs. */
size_t		pairs_cub_radix_scratch_bytes(const gsort_pairs *pairs);
cudaError_t pairs_cub_radix_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
								 cudaStream_t stream);

#endif							/* GSORT_PAIRS_ENGINE_H */
