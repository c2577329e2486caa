/*
 * pairs_engine.h
 *	  The engines that sort (key, row) pairs on CUDA, and which of them sorts
 *	  these.
 *
 * In:  a gsort_pairs (gsort.h says what its fields mean) whose shape cuda/api
 *	    has checked, scratch of the caller.
 * Out: the sorted rows and, if wanted, keys.
 *
 * All of it works on the current CUDA device, by one host thread.  Nothing is
 * allocated, waited for or read back.  Nothing in this folder knows of a
 * gsort_device or of jobs: the sorts return errors of CUDA, of which
 * cuda/device makes statuses.
 */
#ifndef GSORT_PAIRS_ENGINE_H
#define GSORT_PAIRS_ENGINE_H

#include "sort/launch_plan.cuh"
#include "sort/pairs_choice.h"

/* --- any engine (pairs_engine.cu) ----------------------------------------- */

/* Pairs of all the keys below bit bits; the keys may be used up; any engine. */
gsort_pairs cuda_describe_pairs(uint64_t n, uint32_t key_bits, uint32_t bits, void *d_keys,
								void *d_keys_out, const uint32_t *d_rows, uint32_t *d_rows_out);

/* The choice of pairs_choice.h for these pairs and this device. */
gsort_engine cuda_pairs_engine(const gsort_pairs *pairs);

/* By the engine that was chosen: scratch, and the sort, which only enqueues. */
size_t		cuda_engine_scratch_bytes(gsort_engine engine, const gsort_pairs *pairs);
cudaError_t cuda_engine_sort(gsort_engine engine, const gsort_pairs *pairs, void *d_scratch,
							 size_t scratch_bytes, cudaStream_t stream);

/* Scratch for any sort of up to n pairs with cuda_describe_pairs; rises with
 * n. */
size_t		cuda_pairs_scratch_at_most(gsort_engine wanted, uint64_t n);

/* --- each engine ---------------------------------------------------------- */

/*
 * Each engine says how much scratch these pairs take; 0 where it does not take
 * them.  Its sort is stable, and only enqueues.  cudaErrorInvalidValue:
 * scratch_bytes too small, d_scratch not 256-byte aligned, or pairs that the
 * engine does not take; any other error: a launch failed.
 */

/* The partition (pairs_partition.cu) takes keys that have significant bits.  It
 * does not give sorted keys of 32 bits: it would fetch each from anywhere,
 * where the radix sort moves them along. */
size_t		pairs_partition_scratch_bytes(const gsort_pairs *pairs);
cudaError_t pairs_partition_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
								 cudaStream_t stream);

static inline bool
partition_takes(const gsort_pairs *pairs)
{
	return pairs->key_bits == 64 || pairs->d_keys_out == NULL;
}

/* The salt of all sorts (sample_position), set before the first of them. */
inline uint32_t pairs_partition_salt = 0;

/* The radix sort (pairs_radix.cu) takes RADIX_PAIRS_MAX pairs. */
size_t		pairs_radix_scratch_bytes(const gsort_pairs *pairs);
cudaError_t pairs_radix_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
							 cudaStream_t stream);

/* The same, done only if *wanted, in device memory, is not 0 when the kernels
 * run.  It does not take keys of no more significant bits than one pass sorts
 * by. */
cudaError_t pairs_radix_sort_if(const uint32_t *wanted, const gsort_pairs *pairs, void *d_scratch,
								size_t scratch_bytes, cudaStream_t stream);

/* The merge sort of few pairs (pairs_few.cu): three launches, whatever the keys
 * are.  Its scratch rises with the number of pairs up to FEW_ROW::PAIRS_MAX,
 * the most that any device sorts. */
size_t		pairs_few_scratch_bytes(const gsort_pairs *pairs);
cudaError_t pairs_few_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
						   cudaStream_t stream);

/* Whether the device sorts so many. */
bool		pairs_few_serves(uint64_t n, const sort_device *device);

/* CUB's radix sort (pairs_cub_radix.cu) takes all pairs. */
size_t		pairs_cub_radix_scratch_bytes(const gsort_pairs *pairs);
cudaError_t pairs_cub_radix_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
								 cudaStream_t stream);

#endif							/* GSORT_PAIRS_ENGINE_H */
