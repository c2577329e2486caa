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

#include "sort/launch_plan.cuh"

size_t
cuda_pairs_scratch_bytes(gsort_device *device, const gsort_pairs *pairs)
{
	/* tiles are of the size that suits the device */
	if (cuda_enter((cuda_device *) device) != GSORT_OK)
		return 0;
	return cuda_pairs_engine_scratch_bytes(pairs);
}

static cudaError_t
enqueue_pairs(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes, cudaStream_t stream)
{
	switch (cuda_pairs_engine(pairs))
	{
		case GSORT_ENGINE_PARTITION:
			return pairs_partition_sort(pairs, d_scratch, scratch_bytes, stream);
		case GSORT_ENGINE_MERGE:
			return pairs_few_sort(pairs, d_scratch, scratch_bytes, stream);
		case GSORT_ENGINE_CUB_RADIX:
			return pairs_cub_radix_sort(pairs, d_scratch, scratch_bytes, stream);
		default:
			return pairs_radix_sort(pairs, d_scratch, scratch_bytes, stream);
	}
}

/* Whatever is wrong with the arguments is told before anything is enqueued: what fails behind this is a launch. */
gsort_status
cuda_pairs_sort(gsort_device *base, const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes, void *stream)
{
	cuda_device *device = (cuda_device *) base;
	size_t		wanted_bytes;

	GSORT_TRY_STATUS(cuda_enter(device));
	wanted_bytes = cuda_pairs_engine_scratch_bytes(pairs);
	/* where the device did not answer, the first launch meets it too */
	(void) cudaGetLastError();
	if (scratch_bytes < wanted_bytes || (uintptr_t) d_scratch % SCRATCH_ALIGNMENT != 0)
		return gsort_fail(base, GSORT_BAD_ARG, "scratch too small or not aligned");
	GSORT_TRY(device, enqueue_pairs(pairs, d_scratch, scratch_bytes, (cudaStream_t) stream));
	return GSORT_OK;
}
