/*
 * cuda_memory.cu
 *	  The CUDA device's memory, in a pool of its own, and pinned memory of the
 *	  host: the range of gsort_pin, and our own staging.
 *
 * In:  requests of the jobs, and of the lanes at opening; gsort_pin; finishes,
 *	    whose outcome is read back through a slot; transfers of unpinned memory.
 * Out: arrays in device memory, accounted; the budget that the memory allows;
 *	    slots; whether memory is pinned.
 *
 * cudaMalloc and cudaFree synchronize the device, so all device memory comes
 * from a stream-ordered pool.  The pool keeps freed memory while any job is
 * open.  After the last job has closed, it returns nearly all of it, because
 * the GPU may be shared.  This takes milliseconds per gibibyte, so each poll
 * returns a part, once the memory stream has passed the frees.
 *
 * With GSORT_GUARD_BUILD every array is a separate cudaMalloc, because
 * compute-sanitizer misses overruns inside a pool.
 *
 * Making pinned memory waits for the device.  Therefore the staging is made
 * when the device is opened, and more of it when pinning fails.  The staging is
 * handed out in blocks and never grows; a request without room is refused.
 */
#include "device/cuda_device.cuh"

/* --- device memory ------------------------------------------------------- */

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

	if (!device->trim_wanted || device->jobs != NULL || device->common.lost ||
		cuda_enter(device) != GSORT_OK)
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
#ifdef GSORT_GUARD_BUILD
	uint64_t	held_bytes = device->allocated_bytes;
#else
	uint64_t	held_bytes = pool_reserved_bytes(device);
#endif

	if (cuda_enter(device) != GSORT_OK ||
		cudaMemGetInfo(&free_bytes, &all_bytes) != cudaSuccess)
		(void) cudaGetLastError();
	return (free_bytes + held_bytes) / 5 * 4;
}

#define STAGING_BLOCK_BYTES	BEGINS_SLOT_BYTES
#define STAGING_BYTES		((size_t) 48 << 20)
#define STAGING_BYTES_MAX	(BLOCK_MAP_MAX * STAGING_BLOCK_BYTES)

/* The largest chunk, one-unit rows with all keys, fits one operation's slot. */
static_assert(STAGING_BYTES >= (size_t) GSORT_BLOCK_BYTES_MAX * (2 + GSORT_MAX_KEY_COLUMNS) + 4 *
			  256, "room for a chunk");

/* --- staging -------------------------------------------------------------- */

static gsort_status
make_staging(cuda_device *device, pinned_staging *staging, size_t bytes)
{
	GSORT_TRY(device, cudaHostAlloc((void **) &staging->memory, bytes, cudaHostAllocDefault));
	staging->blocks.blocks = (uint32_t) (bytes / STAGING_BLOCK_BYTES);
	return GSORT_OK;
}

gsort_status
cuda_staging_open(cuda_device *device)
{
	return make_staging(device, &device->staging[0], STAGING_BYTES);
}

void
cuda_staging_close(cuda_device *device)
{
	for (int i = 0; i < STAGINGS; i++)
		if (device->staging[i].memory != NULL)
			cudaFreeHost(device->staging[i].memory);
	if (device->pinned_base != NULL)
		cudaHostUnregister(device->pinned_base);
}

static uint32_t
blocks_of(size_t bytes)
{
	return (uint32_t) ((bytes + STAGING_BLOCK_BYTES - 1) / STAGING_BLOCK_BYTES);
}

gsort_status
cuda_slot_take(cuda_device *device, pinned_slot *slot, size_t bytes)
{
	int			fails = gsort_fails_now(&device->common.faults, GSORT_FAIL_ALLOCATIONS);

	slot->memory = NULL;
	slot->bytes = 0;
	for (int i = 0; i < STAGINGS && !fails; i++)
	{
		pinned_staging *staging = &device->staging[i];
		uint32_t	first = block_map_take(&staging->blocks, blocks_of(bytes));

		if (first == staging->blocks.blocks)
			continue;
		slot->memory = staging->memory + first * STAGING_BLOCK_BYTES;
		slot->bytes = bytes;
		return GSORT_OK;
	}
	return gsort_fail(&device->common, GSORT_NOMEM, "no staging for %llu bytes",
					  (unsigned long long) bytes);
}

void
cuda_slot_give(cuda_device *device, pinned_slot *slot)
{
	for (int i = 0; i < STAGINGS && slot->memory != NULL; i++)
	{
		pinned_staging *staging = &device->staging[i];
		size_t		at = (size_t) (slot->memory - staging->memory);

		if (slot->memory >= staging->memory && at < staging->blocks.blocks * STAGING_BLOCK_BYTES)
		{
			block_map_give(&staging->blocks, (uint32_t) (at / STAGING_BLOCK_BYTES),
						   blocks_of(slot->bytes));
			slot->memory = NULL;
		}
	}
}

/* --- the caller's memory -------------------------------------------------- */

static void
make_more_staging(cuda_device *device, size_t bytes)
{
	pinned_staging *staging = &device->staging[1];

	if (bytes > STAGING_BYTES_MAX)
		bytes = STAGING_BYTES_MAX;
	if (staging->memory == NULL && bytes >= STAGING_BLOCK_BYTES)
		(void) make_staging(device, staging, bytes);
}

gsort_status
cuda_pin(gsort_device *base_device, void *base, size_t bytes)
{
	cuda_device *device = (cuda_device *) base_device;
	cudaError_t error;

	GSORT_TRY_STATUS(cuda_enter(device));
	/* each operation has a buffer of the caller's, mostly of one mebibyte */
	(void) cuda_operations_reserve(device, bytes >> 20);
	error = cudaHostRegister(base, bytes, cudaHostRegisterDefault);
	if (error == cudaSuccess)
	{
		device->pinned_base = (char *) base;
		device->pinned_bytes = bytes;
		return GSORT_OK;
	}
	(void) cudaGetLastError();
	make_more_staging(device, bytes);
	return device->common.lost ? GSORT_DEVICE_LOST :
		gsort_fail(&device->common, GSORT_UNSUPPORTED, "%llu bytes cannot be pinned: %s",
				   (unsigned long long) bytes, cudaGetErrorString(error));
}

int
cuda_is_pinned(const cuda_device *device, const void *memory, size_t bytes)
{
	size_t		at = (size_t) ((const char *) memory - device->pinned_base);

	return device->pinned_base != NULL && (const char *) memory >= device->pinned_base &&
		at <= device->pinned_bytes && bytes <= device->pinned_bytes - at;
}
