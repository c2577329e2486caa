/*
 * cuda_pairs.cu
 *	  The pairs sort as gsort.c calls it: hands the pairs to their engine, and makes statuses of errors.
 *
 * In:  a gsort_pairs whose shape gsort.c has checked, scratch of the caller.
 * Out: as gsort.h says.
 *
 * Only enqueues.
 */
#include "device/cuda_device.cuh"

#include "sort/pairs_merge_sort.h"
#include "sort/pairs_partition.h"
#include "sort/pairs_radix.h"

size_t
cuda_pairs_scratch_bytes(gsort_device *device, const gsort_pairs *pairs)
{
	(void) device;
	return cuda_pairs_engine_scratch_bytes(pairs);
}

/* What our own engines return. */
static gsort_status
enqueued(cuda_device *device, cudaError_t error)
{
	if (error == cudaErrorInvalidValue)
		return gsort_fail(&device->common, GSORT_BAD_ARG, "scratch too small or not aligned");
	GSORT_TRY(device, error);
	return GSORT_OK;
}

gsort_status
cuda_pairs_sort(gsort_device *base, const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes, void *stream)
{
	cuda_device *device = (cuda_device *) base;

	switch (cuda_pairs_engine(pairs))
	{
		case GSORT_ENGINE_PARTITION:
			return enqueued(device, pairs_partition_sort(pairs, d_scratch, scratch_bytes, (cudaStream_t) stream));
		case GSORT_ENGINE_MERGE:
			return enqueued(device, pairs_merge_sort(pairs, d_scratch, scratch_bytes, (cudaStream_t) stream));
		default:
			return enqueued(device, pairs_radix_sort(pairs, d_scratch, scratch_bytes, (cudaStream_t) stream));
	}
}
