/*
 * pairs_partition.h
 *	  The project's own sort of (key, row) pairs on CUDA.
 *
 * In:  a gsort_pairs (gsort.h says what its fields mean), scratch of the caller.
 * Out: the sorted rows and, if wanted, keys.
 *
 * Needs no gsort_device: it works on the current CUDA device.  One host thread;
 * nothing is allocated, nothing is waited for, nothing read back.
 */
#ifndef GSORT_PAIRS_PARTITION_H
#define GSORT_PAIRS_PARTITION_H

#include "gsort.h"
#include "sort/launch.cuh"

/* Sorted keys of 32 bits it does not give: it would fetch each from anywhere, where the radix sort moves them along. */
static inline bool
partition_takes(const gsort_pairs *pairs)
{
	return pairs->key_bits == 64 || pairs->d_keys_out == NULL;
}

/* The salt of all sorts (sample_position), set before the first of them. */
inline uint32_t pairs_partition_salt = 0;

/* 0: these pairs, for example keys without significant bits, or this device, are none that pairs_partition_sort takes. */
size_t		pairs_partition_scratch_bytes(const gsort_pairs *pairs);

/*
 * Enqueues the sort.  cudaErrorInvalidValue: scratch_bytes too small, d_scratch not 256-byte aligned, or
 * pairs that it does not take; any other error: a launch failed.
 */
cudaError_t pairs_partition_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
								 cudaStream_t stream);

#endif							/* GSORT_PAIRS_PARTITION_H */
