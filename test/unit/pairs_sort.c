/*
 * pairs_sort.c
 *	  Sorts of pairs in a build without CUDA.
 */
#include "pairs_sort.h"

size_t
pairs_scratch_bytes(gsort_device *device, const gsort_pairs *pairs)
{
	(void) device;
	return pairs_on_host_scratch_bytes(pairs);
}

int
pairs_sort(gsort_device *device, const gsort_pairs *pairs, void *scratch, size_t scratch_bytes)
{
	return pairs_on_host(device, pairs, scratch, scratch_bytes);
}
