/*
 * cuda_memory.cu
 *	  The CUDA device's memory: a pool of its own on the device, and pinned staging
 *	  on the host.
 *
 * In:  requests of the jobs, of the lanes at opening, and gsort_pin.
 * Out: arrays in device memory, counted; pinned slots; what is pinned.
 *
 * cudaMalloc and cudaFree synchronize the device, so all device memory comes from
 * a stream-ordered pool.  The pool keeps what jobs free while any is open, and
 * gives nearly all of it back when the last one closes: the GPU may be shared.
 *
 * Built with GSORT_GUARD_BUILD every array is a cudaMalloc of its own: inside a
 * pool compute-sanitizer would not see an overrun.
 */
#include "device/cuda_device.cuh"

#include <stdlib.h>

#define KEPT_WHEN_IDLE_BYTES	((size_t) 1 << 30)

gsort_status
cuda_memory_open(cuda_device *device)
{
	cudaMemPoolProps properties = {};
	uint64_t	keep_all = UINT64_MAX;

	properties.allocType = cudaMemAllocationTypePinned;
	properties.location.type = cudaMemLocationTypeDevice;
	properties.location.id = device->ordinal;
	GSORT_TRY(device, cudaMemPoolCreate(&device->pool, &properties));
	GSORT_TRY(device, cudaMemPoolSetAttribute(device->pool, cudaMemPoolAttrReleaseThreshold,
											  &keep_all));
	return GSORT_OK;
}

void
cuda_memory_close(cuda_device *device)
{
	while (device->free_slots != NULL)
	{
		pinned_slot *slot = device->free_slots;

		device->free_slots = slot->next;
		cudaFreeHost(slot->memory);
		free(slot);
	}
	while (device->regions != NULL)
	{
		pinned_region *region = device->regions;

		device->regions = region->next;
		cudaHostUnregister(region->base);
		free(region);
	}
	if (device->pool != NULL)
		cudaMemPoolDestroy(device->pool);
}

static cudaError_t
allocate_bytes(cuda_device *device, void **pointer, size_t bytes)
{
	if (gsort_fails_now(&device->common.faults, GSORT_FAIL_ALLOCATIONS))
		return cudaErrorMemoryAllocation;
#ifdef GSORT_GUARD_BUILD
	return cudaMalloc(pointer, bytes);
#else
	return cudaMallocFromPoolAsync(pointer, bytes, device->pool, device->memory_stream);
#endif
}

gsort_status
cuda_allocate(cuda_device *device, cuda_job *job, cuda_array *array, size_t bytes)
{
	cudaError_t error;

	array->pointer = NULL;
	array->bytes = 0;
	if (bytes == 0)
		return GSORT_OK;
	error = allocate_bytes(device, &array->pointer, bytes);
	if (error == cudaErrorMemoryAllocation)
	{
		/* not sticky, but the next check of a launch would find it */
		(void) cudaGetLastError();
		array->pointer = NULL;
		return gsort_fail(&device->common, GSORT_NOMEM, "no device memory for %llu bytes",
						  (unsigned long long) bytes);
	}
	if (error != cudaSuccess)
		return cuda_fail(device, error, "cudaMallocFromPoolAsync", __FILE__, __LINE__);
	array->bytes = bytes;
	device->allocated_bytes += bytes;
	if (job != NULL)
	{
		job->allocated_bytes += bytes;
		if (job->allocated_bytes > job->common.stats.peak_bytes)
			job->common.stats.peak_bytes = job->allocated_bytes;
	}
	return GSORT_OK;
}

void
cuda_release(cuda_device *device, cuda_job *job, cuda_array *array)
{
	cudaError_t error;

	if (array->pointer == NULL)
		return;
#ifdef GSORT_GUARD_BUILD
	error = cudaFree(array->pointer);
#else
	error = cudaFreeAsync(array->pointer, device->memory_stream);
#endif
	error = cuda_checked(device, error);
	if (error != cudaSuccess && !device->common.lost)
		cuda_fail(device, error, "cudaFreeAsync", __FILE__, __LINE__);
	device->allocated_bytes -= array->bytes;
	if (job != NULL)
		job->allocated_bytes -= array->bytes;
	array->pointer = NULL;
	array->bytes = 0;
}

void
cuda_memory_trim(cuda_device *device)
{
	/* what was freed a moment ago counts only once its stream has passed it */
	cudaError_t error = cudaStreamSynchronize(device->memory_stream);

	if (error == cudaSuccess)
		error = cudaMemPoolTrimTo(device->pool, KEPT_WHEN_IDLE_BYTES);
	error = cuda_checked(device, error);
	if (error != cudaSuccess && !device->common.lost)
		cuda_fail(device, error, "cudaMemPoolTrimTo", __FILE__, __LINE__);
}

static pinned_slot *
make_slot(cuda_device *device, size_t bytes)
{
	pinned_slot *slot = (pinned_slot *) malloc(sizeof(pinned_slot));

	if (slot == NULL)
		return NULL;
	if (gsort_fails_now(&device->common.faults, GSORT_FAIL_ALLOCATIONS) ||
		cudaHostAlloc((void **) &slot->memory, bytes, cudaHostAllocDefault) != cudaSuccess)
	{
		(void) cudaGetLastError();
		free(slot);
		return NULL;
	}
	slot->bytes = bytes;
	return slot;
}

/*
 * There are as many slots as the caller ever had operations on unpinned buffers
 * under way, which its own buffers bound.
 */
pinned_slot *
cuda_slot_take(cuda_device *device, size_t bytes)
{
	for (pinned_slot **link = &device->free_slots; *link != NULL; link = &(*link)->next)
	{
		pinned_slot *slot = *link;

		if (slot->bytes >= bytes)
		{
			*link = slot->next;
			return slot;
		}
	}
	return make_slot(device, bytes);
}

void
cuda_slot_give(cuda_device *device, pinned_slot *slot)
{
	slot->next = device->free_slots;
	device->free_slots = slot;
}

gsort_status
cuda_region_pin(cuda_device *device, void *base, size_t bytes)
{
	pinned_region *region = (pinned_region *) malloc(sizeof(pinned_region));
	cudaError_t error;

	if (region == NULL)
		return gsort_fail(&device->common, GSORT_UNSUPPORTED, "out of memory");
	error = cudaHostRegister(base, bytes, cudaHostRegisterDefault);
	if (error != cudaSuccess)
	{
		(void) cudaGetLastError();
		free(region);
		return gsort_fail(&device->common, GSORT_UNSUPPORTED, "%llu bytes cannot be pinned: %s",
						  (unsigned long long) bytes, cudaGetErrorString(error));
	}
	region->base = (char *) base;
	region->bytes = bytes;
	region->next = device->regions;
	device->regions = region;
	return GSORT_OK;
}

int
cuda_region_holds(const cuda_device *device, const void *memory, size_t bytes)
{
	for (const pinned_region *region = device->regions; region != NULL; region = region->next)
	{
		size_t		at = (size_t) ((const char *) memory - region->base);

		if ((const char *) memory >= region->base && at <= region->bytes &&
			bytes <= region->bytes - at)
			return 1;
	}
	return 0;
}
