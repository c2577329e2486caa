/*
 * pairs_sort.h
 *	  Sorts of pairs that belong to no job, on either kind of device: what the
 *	  jobs' sorts are made of, for tests and benches.
 *
 * Programs link pairs_on_host.c and pairs_sort.c or, with CUDA, pairs_sort.cu.
 * For the host device all arrays are plain memory.
 */
#ifndef PAIRS_SORT_H
#define PAIRS_SORT_H

#include "sort/pairs_choice.h"

#ifdef __cplusplus
extern "C"
{
#endif

size_t		pairs_scratch_bytes(gsort_device *device, const gsort_pairs *pairs);

/* False: the scratch is too small, or a call failed.  With CUDA, only enqueues
 * on the default stream. */
int			pairs_sort(gsort_device *device, const gsort_pairs *pairs, void *scratch,
					   size_t scratch_bytes);

size_t		pairs_on_host_scratch_bytes(const gsort_pairs *pairs);
int			pairs_on_host(gsort_device *device, const gsort_pairs *pairs, void *scratch,
						  size_t scratch_bytes);

#ifdef __cplusplus
}
#endif

#endif							/* PAIRS_SORT_H */
