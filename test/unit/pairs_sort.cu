/*
 * pairs_sort.cu
 *	  Sorts of pairs on either kind of device.
 */
#include "pairs_sort.h"

#include "api/gsort_device.h"
#include "sort/pairs_engine.h"

static bool
is_host(const gsort_device *device)
{
	return device->ops == &gsort_host_ops;
}

extern "C" size_t
pairs_scratch_bytes(gsort_device *device, const gsort_pairs *pairs)
{
	return is_host(device) ? pairs_on_host_scratch_bytes(pairs) :
		cuda_engine_scratch_bytes(cuda_pairs_engine(pairs), pairs);
}

extern "C" int
pairs_sort(gsort_device *device, const gsort_pairs *pairs, void *scratch, size_t scratch_bytes)
{
	return is_host(device) ? pairs_on_host(device, pairs, scratch, scratch_bytes) :
		cuda_engine_sort(cuda_pairs_engine(pairs), pairs, scratch, scratch_bytes, NULL) == cudaSuccess;
}
