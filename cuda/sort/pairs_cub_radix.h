/*
 * pairs_cub_radix.h
 *	  The sort of (key, row) pairs by CUB's radix sort.
 *
 * In:  a gsort_pairs (gsort.h says what its fields mean), scratch of the caller.
 * Out: the sorted rows and, if wanted, keys.
 *
 * Needs no gsort_device: it works on the current CUDA device.  One host thread;
 * nothing is allocated, nothing is waited for, nothing read back.
 */
#ifndef GSORT_PAIRS_CUB_RADIX_H
#define GSORT_PAIRS_CUB_RADIX_H

#include "gsort.h"
#include "sort/launch.cuh"

size_t		pairs_cub_radix_scratch_bytes(const gsort_pairs *pairs);

/*
 * Enqueues the sort, stable.  cudaErrorInvalidValue: scratch_bytes too small or d_scratch not 256-byte aligned;
 * any other error: a launch failed.
 */
cudaError_t pairs_cub_radix_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes, cudaStream_t stream);

#endif							/* GSORT_PAIRS_CUB_RADIX_H */
