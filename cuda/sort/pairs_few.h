/*
 * pairs_few.h
 *	  The merge sort of few (key, row) pairs: three launches, whatever the keys.
 *
 * In:  a gsort_pairs (gsort.h says what its fields mean), scratch of the caller.
 * Out: the sorted rows and, if wanted, keys.
 *
 * Needs no gsort_device: it works on the current CUDA device.  One host thread;
 * nothing is allocated, nothing is waited for, nothing read back.
 */
#ifndef GSORT_PAIRS_FEW_H
#define GSORT_PAIRS_FEW_H

#include "gsort.h"
#include "sort/launch.cuh"
#include "sort/launch_plan.cuh"

/* Whether the device sorts so many at all; FEW_ROW::PAIRS_MAX is the most that any does. */
bool		pairs_few_serves(uint64_t n, const sort_device *device);

/* 0: no device sorts so many.  Rises with the number of pairs up to those. */
size_t		pairs_few_scratch_bytes(const gsort_pairs *pairs);

/*
 * Enqueues the sort, stable.  cudaErrorInvalidValue: too many pairs for the device, scratch_bytes too small or d_scratch not
 * 256-byte aligned; any other error: a launch failed.
 */
cudaError_t pairs_few_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes, cudaStream_t stream);

#endif							/* GSORT_PAIRS_FEW_H */
