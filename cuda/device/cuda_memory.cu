/*
 * cuda_memory.cu
 *	  The CUDA device's memory: a pool of its own.
 *
 * In:  requests of the jobs, and of the lanes at opening.
 * Out: arrays in device memory, accounted; the budget that the memory allows.
 *
 * cudaMalloc and cudaFree synchronize the device, so all device memory comes
 * from a stream-ordered pool.  The pool keeps freed memory while any job is
 * open.  After the last job has closed, it returns nearly all of it, because
 * the GPU may be shared.  This takes milliseconds per gibibyte, so each poll
 * returns a part, once the memory stream has passed the frees.
 *
 * With GSORT_GUARD_BUILD every array is a separate cudaMalloc, because
 * compute-sanitizer misses overruns inside a pool.
 */
#include "device/cuda_device.cuh"

#define RETAINED_WHEN_IDLE_BYTES	((uint64_t) 1 << 30)
#define TRIMMED_A_POLL_BYTES	((uint64_t) 1 << 30)

/* Makes the pool, which keeps all memory until cuda_memory_trim. */
gsort_status
cuda_memory_open(cuda_device *device)
{
	cudaMemPoolProps properties = {};
	uint64_t	keep_all = UINT64_MAX;

	properties.allocType = cudaMemAllocationTypePinned;
	properties.location.type = cudaMemLocationTypeDevice;
	properties.location.id = device->facts.ordinal;
	GSORT_TRY(device, cudaMemPoolCreate(&device->pool, &properties));
	GSORT_TRY(device, cudaEventCreateWithFlags(&device->idle, cudaEventDisableTiming));
	GSORT_TRY(device, cudaMemPoolSetAttribute(device->pool, cudaMemPoolAttrReleaseThreshold,
											  &keep_all));
	return GSORT_OK;
}

void
cuda_memory_close(cuda_device *device)
{
	if (device->idle != NULL)
		cudaEventDestroy(device->idle);
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
	if (error != cudaSuccess)
	{
		gsort_status status = cuda_fail(device, error, "cudaMallocFromPoolAsync", __FILE__,
										__LINE__);

		array->pointer = NULL;
		return status != GSORT_NOMEM ? status :
			gsort_fail(&device->common, GSORT_NOMEM, "no device memory for %llu bytes",
					   (unsigned long long) bytes);
	}
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
	error = cuda_checked_query(device, error);
	if (error != cudaSuccess && !device->common.lost)
		cuda_lose(device, error, "cudaFreeAsync", __FILE__, __LINE__);
	device->allocated_bytes -= array->bytes;
	if (job != NULL)
		job->allocated_bytes -= array->bytes;
	array->pointer = NULL;
	array->bytes = 0;
}

void
cuda_memory_idle(cuda_device *device)
{
	device->trim_wanted = 1;
	/* recent frees count only once their stream has passed them */
	if (cudaEventRecord(device->idle, device->memory_stream) != cudaSuccess ||
		cudaLaunchHostFunc(device->memory_stream, cuda_wake, device) != cudaSuccess)
	{
		(void) cudaGetLastError();
		cuda_wake(device);
	}
}

static uint64_t
pool_reserved_bytes(cuda_device *device)
{
	uint64_t	bytes = 0;

	if (cudaMemPoolGetAttribute(device->pool, cudaMemPoolAttrReservedMemCurrent,
								&bytes) != cudaSuccess)
		(void) cudaGetLastError();
	return bytes;
}

static bool
trim_once(cuda_device *device)
{
	uint64_t	before = pool_reserved_bytes(device);
	uint64_t	keep = before > TRIMMED_A_POLL_BYTES ? before - TRIMMED_A_POLL_BYTES : 0;
	uint64_t	after;
	cudaError_t error;

	if (before <= RETAINED_WHEN_IDLE_BYTES)
		return false;
	if (keep < RETAINED_WHEN_IDLE_BYTES)
		keep = RETAINED_WHEN_IDLE_BYTES;
	error = cuda_checked(device, cudaMemPoolTrimTo(device->pool, keep));
	if (error != cudaSuccess)
	{
		(void) cuda_fail(device, error, "cudaMemPoolTrimTo", __FILE__, __LINE__);
		return false;
	}
	after = pool_reserved_bytes(device);
	return after < before && after > RETAINED_WHEN_IDLE_BYTES;
}

void
cuda_memory_trim(cuda_device *device)
{
	cudaError_t error;

	if (!device->trim_wanted || device->jobs != NULL || device->common.lost)
		return;
	error = cudaEventQuery(device->idle);
	(void) cudaGetLastError();
	if (error == cudaErrorNotReady)
		return;
	device->trim_wanted = error == cudaSuccess && trim_once(device);
	if (device->trim_wanted)
		cuda_wake(device);
}

/* The pool's own memory counts as free. */
uint64_t
cuda_default_budget(gsort_device *base)
{
	cuda_device *device = (cuda_device *) base;
	size_t		free_bytes = 0;
	size_t		all_bytes = 0;
	/* a guard build allocates beside the pool */
	uint64_t	held_bytes = device->allocated_bytes > pool_reserved_bytes(device) ?
		device->allocated_bytes : pool_reserved_bytes(device);

	if (cuda_enter(device) != GSORT_OK ||
		cudaMemGetInfo(&free_bytes, &all_bytes) != cudaSuccess)
		(void) cudaGetLastError();
	return (free_bytes + held_bytes) / 5 * 4;
}
