/*
 * host_pairs.h
 *	  gsort_pairs_sort on the host device.
 */
#ifndef GSORT_HOST_PAIRS_H
#define GSORT_HOST_PAIRS_H

#include "api/gsort_device.h"

size_t		host_pairs_scratch_bytes(gsort_device *device, const gsort_pairs *pairs);
gsort_status host_pairs_sort(gsort_device *device, const gsort_pairs *pairs,
							 void *d_scratch, size_t scratch_bytes, void *stream);

#endif							/* GSORT_HOST_PAIRS_H */
