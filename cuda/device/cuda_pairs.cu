/*
 * cuda_pairs.cu
 *	  The pairs sort for cuda/api: chooses the engine, and turns errors into
 *	  statuses.
 *
 * In:  a gsort_pairs whose shape cuda/api has checked; scratch of the caller.
 * Out: the result that gsort.h defines.
 *
 * The functions only enqueue.
 */
#include "device/cuda_device.cuh"

size_t
cuda_pairs_scratch_bytes(gsort_device *device, const gsort_pairs *pairs)
{
	/* the tile size depends on the device */
	if (cuda_enter((cuda_device *) device) != GSORT_OK)
		return 0;
	return cuda_engine_scratch_bytes(cuda_pairs_engine(pairs), pairs);
}

/* The arguments are checked before anything is enqueued, so a later error is a
 * launch's. */
gsort_status
cuda_sort_by_engine(cuda_device *device, gsort_engine engine, const gsort_pairs *pairs,
					void *d_scratch, size_t scratch_bytes, cudaStream_t stream)
{
	size_t		wanted_bytes = cuda_engine_scratch_bytes(engine, pairs);

	/* if the device does not answer, the first launch fails too */
	(void) cudaGetLastError();
	if (scratch_bytes < wanted_bytes || (uintptr_t) d_scratch % SCRATCH_ALIGNMENT != 0)
		return gsort_fail(&device->common, GSORT_BAD_ARG, "scratch too small or not aligned");
	GSORT_TRY(device, cuda_engine_sort(engine, pairs, d_scratch, scratch_bytes, stream));
	return GSORT_OK;
}

gsort_status
cuda_pairs_sort(gsort_device *base, const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
				void *stream)
{
	cuda_device *device = (cuda_device *) base;

	GSORT_TRY_STATUS(cuda_enter(device));
	return cuda_sort_by_engine(device, cuda_pairs_engine(pairs), pairs, d_scratch, scratch_bytes,
							   (cudaStream_t) stream);
}
