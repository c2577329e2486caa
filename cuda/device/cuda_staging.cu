/*
 * cuda_staging.cu
 *	  Pinned memory of the host: the range of gsort_pin, and our own staging.
 *
 * In:  gsort_pin; finishes, whose outcome is read back through a slot; appends
 *	    and fetches of unpinned memory.
 * Out: slots; whether memory is pinned.
 *
 * Making pinned memory waits for the device.  Therefore the staging is made
 * when the device is opened, and more of it when pinning fails.  The staging is
 * handed out in blocks and never grows; a request without room is refused.
 */
#include "device/cuda_device.cuh"


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

/* Frees the staging, and returns the caller's range. */
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

/* Makes staging in place of memory that could not be pinned. */
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
