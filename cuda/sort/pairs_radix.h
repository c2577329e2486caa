/*
 * pairs_radix.h
 *	  The project's radix sort of (key, row) pairs on CUDA.
 *
 * In:  a gsort_pairs (gsort.h says what its fields mean), scratch of the caller.
 * Out: the sorted rows and, if wanted, keys.
 *
 * Needs no gsort_device: it works on the current CUDA device.  One host thread;
 * nothing is allocated, nothing is waited for, nothing read back.
 */
#ifndef GSORT_PAIRS_RADIX_H
#define GSORT_PAIRS_RADIX_H

#include "gsort.h"
#include "sort/launch.cuh"
#include "sort/pairs_choice.h"

/* 0: more pairs than pairs_radix_sort takes, RADIX_PAIRS_MAX. */
size_t		pairs_radix_scratch_bytes(const gsort_pairs *pairs);

/*
 * Enqueues the sort.  cudaErrorInvalidValue: scratch_bytes too small, d_scratch not 256-byte aligned, or
 * too many pairs; any other error: a launch failed.
 */
cudaError_t pairs_radix_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes, cudaStream_t stream);

/*
 * The same, done only if *wanted, in device memory, is not 0 when the kernels run.  Also cudaErrorInvalidValue:
 * keys of no more significant bits than one pass sorts by.
 */
cudaError_t pairs_radix_sort_if(const uint32_t *wanted, const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
								cudaStream_t stream);

#endif							/* GSORT_PAIRS_RADIX_H */
