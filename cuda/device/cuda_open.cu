/*
 * cuda_open.cu
 *	  The CUDA device behind gsort.h: opens and shuts it, and its table of
 *	  operations.
 *
 * In:  an ordinal; then an open device.
 * Out: a device with all resources that its jobs share, every kernel loaded,
 *	    and a passed self-test; or a sentence that states why there is none.
 *	    After the shutdown only the process's context remains.
 *
 * Both functions block.  A device that fails to open is taken down like one
 * that is shut.
 */
#include "device/cuda_device.cuh"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define OLDEST_CAPABILITY	75
/* operations that may be in progress, beside those that gsort_pin adds */
#define OPERATIONS			1024

/* --- finding a device ----------------------------------------------------- */

static void
explain_no_device(cudaError_t error, char *reason, size_t reason_bytes)
{
	int			driver_version = 0;

	if (cudaDriverGetVersion(&driver_version) != cudaSuccess || driver_version == 0)
		snprintf(reason, reason_bytes, "no CUDA driver is installed");
	else if (driver_version / 1000 < CUDART_VERSION / 1000)
		snprintf(reason, reason_bytes,
				 "the CUDA driver is %d.%d, version %d.0 or newer is needed (driver %d)",
				 driver_version / 1000, driver_version % 1000 / 10, CUDART_VERSION / 1000,
				 CUDART_VERSION >= 13000 ? 580 : 525);
	else if (error == cudaErrorNoDevice)
		snprintf(reason, reason_bytes, "no CUDA device was found that this process may open");
	else
		snprintf(reason, reason_bytes, "CUDA cannot start: %s", cudaGetErrorString(error));
	(void) cudaGetLastError();
}

/*
 * Makes CUDA load all kernels of this library, CUB's too, with the context.  By
 * default CUDA loads a kernel at its first launch, which takes milliseconds and
 * waits for the device.  A query must not pay for that.
 *
 * Devices have nvidia-smi's numbers, unless the environment says otherwise.
 */
extern "C" void
gsort_cuda_prepare(uint32_t salt)
{
	pairs_partition_salt = salt;
	(void) setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	(void) setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);
}

static gsort_status
find_device(const gsort_device_options *options, int *ordinal, int *devices, char *reason,
			size_t reason_bytes)
{
	cudaError_t error;

	error = cudaGetDeviceCount(devices);
	if (error != cudaSuccess)
	{
		explain_no_device(error, reason, reason_bytes);
		return GSORT_UNSUPPORTED;
	}
	*ordinal = options->n_ordinals > 0 ? options->ordinals[0] : 0;
	if (*ordinal < 0 || *ordinal >= *devices)
	{
		snprintf(reason, reason_bytes, "there is no CUDA device %d, only %d in all", *ordinal,
				 *devices);
		return GSORT_UNSUPPORTED;
	}
	return GSORT_OK;
}

gsort_status
cuda_enter(cuda_device *device)
{
	GSORT_TRY(device, cudaSetDevice(device->facts.ordinal));
	return GSORT_OK;
}

static gsort_status
start_context(cuda_device *device)
{
	cudaDeviceProp properties;
	int			has_pools = 0;

	GSORT_TRY(device, cudaInitDevice(device->facts.ordinal, cudaDeviceScheduleBlockingSync,
									 cudaInitDeviceFlagsAreValid));
	GSORT_TRY_STATUS(cuda_enter(device));
	GSORT_TRY(device, cudaGetDeviceProperties(&properties, device->facts.ordinal));
	GSORT_TRY(device, cudaDriverGetVersion(&device->facts.driver_version));
	GSORT_TRY(device, cudaRuntimeGetVersion(&device->facts.runtime_version));
	GSORT_TRY(device, cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported,
											 device->facts.ordinal));
	snprintf(device->facts.name, sizeof(device->facts.name), "%.127s", properties.name);
	device->facts.memory_bytes = properties.totalGlobalMem;
	if (properties.major * 10 + properties.minor < OLDEST_CAPABILITY)
		return gsort_fail(&device->common, GSORT_UNSUPPORTED,
						  "%s has compute capability %d.%d, 7.5 or newer is needed",
						  device->facts.name, properties.major, properties.minor);
	if (!has_pools)
		return gsort_fail(&device->common, GSORT_UNSUPPORTED,
						  "%s offers no stream-ordered memory", device->facts.name);
	return GSORT_OK;
}

/* --- shutting ------------------------------------------------------------- */

/* Releases a lane's operations and memory, after all of its work has ended. */
static void
close_lane(cuda_device *device, cuda_lane *lane)
{
	while (lane->oldest != NULL)
	{
		cuda_operation *operation = lane->oldest;

		lane->oldest = operation->next;
		cuda_operation_drop(device, operation);
	}
	cuda_release(device, NULL, &lane->keys);
	cuda_release(device, NULL, &lane->row_start);
	cuda_release(device, NULL, &lane->nulls);
	cuda_release(device, NULL, &lane->block);
	if (lane->tail != NULL)
		cudaEventDestroy(lane->tail);
	if (lane->stream != NULL)
		cudaStreamDestroy(lane->stream);
}

static void
close_streams(cuda_device *device)
{
	cudaStream_t streams[] = {device->memory_stream, device->append_notices, device->fetch_notices};

	if (device->memory_stream != NULL)
		cudaStreamSynchronize(device->memory_stream);
	for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++)
		if (streams[i] != NULL)
			cudaStreamDestroy(streams[i]);
	for (int i = 0; i < SORT_STREAMS; i++)
		if (device->sort_streams[i] != NULL)
			cudaStreamDestroy(device->sort_streams[i]);
}

/* Waits for all work, every cuda_wake included.  False: the device is lost, and
 * it is unknown whether a cuda_wake still runs. */
static bool
wait_for_end(cuda_device *device)
{
	bool		entered = cuda_enter(device) == GSORT_OK;

	/* without a stream there was no work */
	if (device->memory_stream == NULL)
		return true;
	return entered && cudaDeviceSynchronize() == cudaSuccess;
}

/* Shuts the device.  The context stays, because other parts of the process may
 * use it. */
static void
shut(gsort_device *base)
{
	cuda_device *device = (cuda_device *) base;
	bool		ended = wait_for_end(device);

	if (!ended)
		device->common.lost = 1;
	device->drained = 1;
	while (device->jobs != NULL)
		cuda_job_free(device->jobs);
	for (cuda_lane &lane : device->lanes)
		close_lane(device, &lane);
	cuda_operations_free(device);
	close_streams(device);
	cuda_staging_close(device);
	cuda_memory_close(device);
	(void) cudaGetLastError();
	/* a cuda_wake that may still run keeps the structure and the descriptor for
	 * good */
	if (!ended)
		return;
	if (device->event_fd >= 0)
		close(device->event_fd);
	free(device);
}

/* --- opening -------------------------------------------------------------- */

static gsort_status
make_stream(cuda_device *device, cudaStream_t *stream, int priority)
{
	GSORT_TRY(device, cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, priority));
	return GSORT_OK;
}

static gsort_status
make_lane(cuda_device *device, cuda_lane *lane, cudaStream_t notices, int priority)
{
	lane->notices = notices;
	GSORT_TRY(device, cudaEventCreateWithFlags(&lane->tail, cudaEventDisableTiming));
	return make_stream(device, &lane->stream, priority);
}

static gsort_status
make_append_lane(cuda_device *device, cuda_lane *lane, int priority)
{
	GSORT_TRY_STATUS(make_lane(device, lane, device->append_notices, priority));
	GSORT_TRY_STATUS(cuda_allocate(device, NULL, &lane->keys, CHUNK_ROWS_MAX *
								   GSORT_MAX_KEY_COLUMNS * sizeof(uint64_t)));
	GSORT_TRY_STATUS(cuda_allocate(device, NULL, &lane->row_start,
								   CHUNK_ROWS_MAX * sizeof(uint32_t)));
	return cuda_allocate(device, NULL, &lane->nulls, CHUNK_ROWS_MAX * sizeof(uint32_t));
}

static gsort_status
make_fetch_lane(cuda_device *device, cuda_lane *lane, int priority)
{
	GSORT_TRY_STATUS(make_lane(device, lane, device->fetch_notices, priority));
	return cuda_allocate(device, NULL, &lane->block, GSORT_BLOCK_BYTES_MAX);
}

/* Makes the streams and lanes.  Sorts have the lowest priority, so that appends
 * and fetches overtake them. */
static gsort_status
make_streams(cuda_device *device)
{
	int			low;
	int			high;

	GSORT_TRY(device, cudaDeviceGetStreamPriorityRange(&low, &high));
	GSORT_TRY_STATUS(make_stream(device, &device->memory_stream, high));
	GSORT_TRY_STATUS(make_stream(device, &device->append_notices, high));
	GSORT_TRY_STATUS(make_stream(device, &device->fetch_notices, high));
	for (int i = 0; i < SORT_STREAMS; i++)
		GSORT_TRY_STATUS(make_stream(device, &device->sort_streams[i], low));
	for (int i = 0; i < APPEND_LANES; i++)
		GSORT_TRY_STATUS(make_append_lane(device, &device->lanes[i], high));
	for (int i = APPEND_LANES; i < LANES; i++)
		GSORT_TRY_STATUS(make_fetch_lane(device, &device->lanes[i], high));
	GSORT_TRY(device, cudaStreamSynchronize(device->memory_stream));
	return GSORT_OK;
}

static gsort_status
start_device(cuda_device *device)
{
	device->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (device->event_fd < 0)
		return gsort_fail(&device->common, GSORT_UNSUPPORTED, "eventfd: %s", strerror(errno));
	GSORT_TRY_STATUS(start_context(device));
	GSORT_TRY_STATUS(cuda_memory_open(device));
	GSORT_TRY_STATUS(cuda_staging_open(device));
	GSORT_TRY_STATUS(cuda_operations_reserve(device, OPERATIONS));
	GSORT_TRY_STATUS(make_streams(device));
	device->common.budget_bytes = cuda_default_budget(&device->common);
	return cuda_run_self_jobs(&device->common);
}

static gsort_status
make_device(const gsort_device_options *options, gsort_device **opened, char *reason,
			size_t reason_bytes)
{
	int			ordinal;
	int			devices = 0;
	cuda_device *device;
	gsort_status status = find_device(options, &ordinal, &devices, reason, reason_bytes);

	if (status != GSORT_OK)
		return status;
	device = (cuda_device *) calloc(1, sizeof(cuda_device));
	if (device == NULL)
		return GSORT_NOMEM;
	device->common.ops = &gsort_cuda_ops;
	device->facts.kind = GSORT_KIND_CUDA;
	device->facts.ordinal = ordinal;
	device->facts.devices = devices;
	device->event_fd = -1;
	status = start_device(device);
	if (status != GSORT_OK)
	{
		snprintf(reason, reason_bytes, "%s", device->common.error_text);
		shut(&device->common);
		return status == GSORT_NOMEM ? GSORT_NOMEM : GSORT_UNSUPPORTED;
	}
	*opened = &device->common;
	return GSORT_OK;
}

/* Opens the device.  CUDA starts threads with the context and with the first
 * host function. */
static gsort_status
open_device(const gsort_device_options *options, gsort_device **device, char *reason,
			size_t reason_bytes)
{
	sigset_t	all;
	sigset_t	before;
	gsort_status status;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	status = make_device(options, device, reason, reason_bytes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status;
}

/* --- the table of operations ---------------------------------------------- */

static int
event_descriptor(gsort_device *device)
{
	return ((cuda_device *) device)->event_fd;
}

static void
get_info(gsort_device *base, gsort_device_info *info)
{
	const cuda_device *device = (const cuda_device *) base;

	*info = device->facts;
	info->used_bytes = device->allocated_bytes;
	info->pinned = device->pinned_base != NULL;
}

extern "C" const gsort_device_ops gsort_cuda_ops = {
	open_device,
	cuda_pin,
	event_descriptor,
	cuda_poll,
	get_info,
	cuda_default_budget,
	shut,
	cuda_job_bytes,
	cuda_job_held_bytes,
	order_merge_scratch_bytes,
	cuda_job_open,
	cuda_job_reserve,
	cuda_job_append,
	cuda_job_finish_run,
	cuda_job_fetch,
	cuda_job_next_run,
	cuda_job_merge,
	cuda_job_close,
};
