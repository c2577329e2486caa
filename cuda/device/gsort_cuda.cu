/*
 * gsort_cuda.cu
 *	  The CUDA device behind gsort.h: opening, pinning, events, shutting, and the
 *	  table of operations.
 *
 * In:  calls of gsort.c, from one thread.
 * Out: events, as the device's work ends; statuses with a text.
 *
 * Every operation leaves a CUDA event behind its last work.  A host function on a
 * stream beside it then makes the eventfd readable, so no copy ever waits
 * for a thread of the host; polling asks the events, the oldest of each lane
 * first.  After a CUDA error the device is lost: whatever is under way is handed out as
 * DEVICE_LOST, and only shutting makes sense.
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

gsort_status
cuda_fail(cuda_device *device, cudaError_t error, const char *expression, const char *file, int line)
{
	const char *name = strrchr(file, '/');

	(void) cudaGetLastError();
	gsort_fail(&device->common, GSORT_DEVICE_LOST, "CUDA: %s (%s, in %s at %s:%d)",
			   cudaGetErrorString(error), cudaGetErrorName(error), expression,
			   name != NULL ? name + 1 : file, line);
	/* the caller may be waiting for what will never end */
	cuda_wake(device);
	return GSORT_DEVICE_LOST;
}

/* --- finding a device ---------------------------------------------------- */

/* The oldest driver of the runtime's major version. */
static int
oldest_driver(int runtime_version)
{
	return runtime_version >= 13000 ? 580 : 525;
}

/* Why there is no device, in the words of a log line. */
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
				 oldest_driver(CUDART_VERSION));
	else if (error == cudaErrorNoDevice)
		snprintf(reason, reason_bytes, "no CUDA device was found");
	else
		snprintf(reason, reason_bytes, "CUDA cannot start: %s", cudaGetErrorString(error));
	(void) cudaGetLastError();
}

static gsort_status
find_device(const gsort_device_options *options, int *ordinal, char *reason, size_t reason_bytes)
{
	int			devices = 0;
	cudaError_t error = cudaGetDeviceCount(&devices);

	if (error != cudaSuccess)
	{
		explain_no_device(error, reason, reason_bytes);
		return GSORT_UNSUPPORTED;
	}
	*ordinal = options->n_ordinals > 0 ? options->ordinals[0] : 0;
	if (*ordinal < 0 || *ordinal >= devices)
	{
		snprintf(reason, reason_bytes, "there is no CUDA device %d, only %d in all", *ordinal,
				 devices);
		return GSORT_UNSUPPORTED;
	}
	return GSORT_OK;
}

/* Starts CUDA on the device: from here on its context exists. */
static gsort_status
start_context(cuda_device *device)
{
	cudaDeviceProp properties;
	int			has_pools = 0;

	GSORT_TRY(device, cudaInitDevice(device->ordinal, cudaDeviceScheduleBlockingSync,
									 cudaInitDeviceFlagsAreValid));
	GSORT_TRY(device, cudaSetDevice(device->ordinal));
	GSORT_TRY(device, cudaGetDeviceProperties(&properties, device->ordinal));
	GSORT_TRY(device, cudaDriverGetVersion(&device->driver_version));
	GSORT_TRY(device, cudaRuntimeGetVersion(&device->runtime_version));
	GSORT_TRY(device, cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported,
											 device->ordinal));
	snprintf(device->name, sizeof(device->name), "%.127s", properties.name);
	device->memory_bytes = properties.totalGlobalMem;
	device->compute_capability = properties.major * 10 + properties.minor;
	if (device->compute_capability < OLDEST_CAPABILITY)
		return gsort_fail(&device->common, GSORT_UNSUPPORTED,
						  "%s has compute capability %d.%d, 7.5 or newer is needed", device->name,
						  properties.major, properties.minor);
	if (!has_pools)
		return gsort_fail(&device->common, GSORT_UNSUPPORTED,
						  "%s offers no stream-ordered memory", device->name);
	return GSORT_OK;
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
	GSORT_TRY_STATUS(cuda_allocate(device, NULL, &lane->keys, SLICE_KEYS_BYTES));
	/* and the begin of the row behind the slice */
	GSORT_TRY_STATUS(cuda_allocate(device, NULL, &lane->row_start,
								   (SLICE_ROWS + 1) * sizeof(uint32_t)));
	return cuda_allocate(device, NULL, &lane->nulls, SLICE_ROWS * sizeof(uint32_t));
}

static gsort_status
make_fetch_lane(cuda_device *device, cuda_lane *lane, int priority)
{
	GSORT_TRY_STATUS(make_lane(device, lane, device->fetch_notices, priority));
	return cuda_allocate(device, NULL, &lane->window, GSORT_WINDOW_BYTES_MAX);
}

static gsort_status
make_streams(cuda_device *device)
{
	int			low;
	int			high;

	GSORT_TRY(device, cudaDeviceGetStreamPriorityRange(&low, &high));
	GSORT_TRY_STATUS(make_stream(device, &device->memory_stream, high));
	GSORT_TRY_STATUS(make_stream(device, &device->control_stream, high));
	GSORT_TRY_STATUS(make_stream(device, &device->append_notices, high));
	GSORT_TRY_STATUS(make_stream(device, &device->fetch_notices, high));
	for (int i = 0; i < SORT_STREAMS; i++)
		GSORT_TRY_STATUS(make_stream(device, &device->sort_streams[i], low));
	for (int i = 0; i < APPEND_LANES; i++)
		GSORT_TRY_STATUS(make_append_lane(device, &device->append_lanes[i], high));
	for (int i = 0; i < FETCH_LANES; i++)
		GSORT_TRY_STATUS(make_fetch_lane(device, &device->fetch_lanes[i], high));
	GSORT_TRY(device, cudaStreamSynchronize(device->memory_stream));
	return GSORT_OK;
}

static uint64_t
default_budget(gsort_device *base)
{
	cuda_device *device = (cuda_device *) base;
	size_t		free_bytes = 0;
	size_t		all_bytes = 0;
	uint64_t	held_bytes = device->allocated_bytes;

	if (cudaMemGetInfo(&free_bytes, &all_bytes) != cudaSuccess)
		(void) cudaGetLastError();
#ifndef GSORT_GUARD_BUILD
	if (cudaMemPoolGetAttribute(device->pool, cudaMemPoolAttrReservedMemCurrent,
								&held_bytes) != cudaSuccess)
		(void) cudaGetLastError();
#endif
	return (free_bytes + held_bytes) / 5 * 4;
}

static gsort_status
start_device(cuda_device *device)
{
	device->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (device->event_fd < 0)
		return gsort_fail(&device->common, GSORT_UNSUPPORTED, "eventfd: %s", strerror(errno));
	GSORT_TRY_STATUS(start_context(device));
	GSORT_TRY_STATUS(cuda_memory_open(device));
	GSORT_TRY_STATUS(make_streams(device));
	device->common.budget_bytes = default_budget(&device->common);
	return cuda_run_self_jobs(&device->common);
}

static void shut_device(gsort_device *base);

static gsort_status
open_device(const gsort_device_options *options, gsort_device **opened, char *reason,
			size_t reason_bytes)
{
	int			ordinal;
	cuda_device *device;
	gsort_status status = find_device(options, &ordinal, reason, reason_bytes);

	if (status != GSORT_OK)
		return status;
	device = (cuda_device *) calloc(1, sizeof(cuda_device));
	if (device == NULL)
		return GSORT_NOMEM;
	device->common.ops = &gsort_cuda_ops;
	device->ordinal = ordinal;
	device->event_fd = -1;
	status = start_device(device);
	if (status != GSORT_OK)
	{
		snprintf(reason, reason_bytes, "%s", device->common.error_text);
		shut_device(&device->common);
		return status == GSORT_NOMEM ? GSORT_NOMEM : GSORT_UNSUPPORTED;
	}
	*opened = &device->common;
	return GSORT_OK;
}

/* CUDA starts threads: with the context, and with the first host function. */
static gsort_status
open_with_signals_blocked(const gsort_device_options *options, gsort_device **device,
						  char *reason, size_t reason_bytes)
{
	sigset_t	all;
	sigset_t	before;
	gsort_status status;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	status = open_device(options, device, reason, reason_bytes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status;
}

/* --- shutting -------------------------------------------------------------- */

static void
close_lane(cuda_device *device, cuda_lane *lane)
{
	while (lane->oldest != NULL)
	{
		cuda_operation *operation = lane->oldest;

		lane->oldest = operation->next;
		if (operation->slot != NULL)
			cuda_slot_give(device, operation->slot);
		operation->next = device->free_operations;
		device->free_operations = operation;
	}
	cuda_release(device, NULL, &lane->keys);
	cuda_release(device, NULL, &lane->row_start);
	cuda_release(device, NULL, &lane->nulls);
	cuda_release(device, NULL, &lane->window);
	if (lane->tail != NULL)
		cudaEventDestroy(lane->tail);
	if (lane->stream != NULL)
		cudaStreamDestroy(lane->stream);
}

static void
close_streams(cuda_device *device)
{
	cudaStream_t streams[] = {device->memory_stream, device->control_stream,
	device->append_notices, device->fetch_notices};

	if (device->memory_stream != NULL)
		cudaStreamSynchronize(device->memory_stream);
	for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++)
		if (streams[i] != NULL)
			cudaStreamDestroy(streams[i]);
	for (int i = 0; i < SORT_STREAMS; i++)
		if (device->sort_streams[i] != NULL)
			cudaStreamDestroy(device->sort_streams[i]);
}

static void
free_operations(cuda_device *device)
{
	while (device->free_operations != NULL)
	{
		cuda_operation *operation = device->free_operations;

		device->free_operations = operation->next;
		cudaEventDestroy(operation->done);
		free(operation);
	}
}

/* The context stays: it is the process's, and others may use it. */
static void
shut_device(gsort_device *base)
{
	cuda_device *device = (cuda_device *) base;

	/* also the end of every cuda_wake; without a stream nothing was ever started */
	if (device->memory_stream != NULL && cudaDeviceSynchronize() != cudaSuccess)
		device->common.lost = 1;
	while (device->jobs != NULL)
		cuda_job_free(device->jobs);
	for (int i = 0; i < APPEND_LANES; i++)
		close_lane(device, &device->append_lanes[i]);
	for (int i = 0; i < FETCH_LANES; i++)
		close_lane(device, &device->fetch_lanes[i]);
	free_operations(device);
	close_streams(device);
	cuda_memory_close(device);
	(void) cudaGetLastError();
	if (device->event_fd >= 0)
		close(device->event_fd);
	free(device);
}

/* --- events ------------------------------------------------------------------ */

void CUDART_CB
cuda_wake(void *device)
{
	uint64_t	one = 1;
	ssize_t		written = write(((cuda_device *) device)->event_fd, &one, sizeof(one));

	/* it fails only when it is readable already */
	(void) written;
}

static void
clear_wakes(cuda_device *device)
{
	uint64_t	count;
	ssize_t		got = read(device->event_fd, &count, sizeof(count));

	(void) got;
}

/* Once: work that a lost device still does must not outlive the events that give its
 * buffers back. */
static void
drain_lost_device(cuda_device *device)
{
	if (device->drained)
		return;
	(void) cudaDeviceSynchronize();
	(void) cudaGetLastError();
	device->drained = 1;
}

static gsort_event
make_event(const cuda_job *job, gsort_event_kind kind, gsort_status status, uint64_t tag)
{
	gsort_event event;

	event.kind = kind;
	event.status = status;
	event.job_tag = job->common.options.tag;
	event.tag = tag;
	return event;
}

/* Takes the oldest operation off its lane. */
static gsort_event
end_operation(cuda_device *device, cuda_lane *lane, gsort_status status)
{
	cuda_operation *operation = lane->oldest;
	gsort_event event = make_event(operation->job, operation->kind, status, operation->tag);

	if (operation->slot != NULL)
	{
		if (status == GSORT_OK && operation->unpinned_dst != NULL)
			memcpy(operation->unpinned_dst, operation->slot->memory, operation->unpinned_bytes);
		cuda_slot_give(device, operation->slot);
	}
	operation->job->in_flight--;
	if (operation->kind == GSORT_EVENT_FETCHED)
		gsort_fetch_done(&operation->job->common);
	lane->oldest = operation->next;
	operation->next = device->free_operations;
	device->free_operations = operation;
	return event;
}

static int
poll_lane(cuda_device *device, cuda_lane *lane, gsort_event *out, int max)
{
	int			n = 0;

	while (n < max && lane->oldest != NULL)
	{
		gsort_status status = GSORT_DEVICE_LOST;

		if (!device->common.lost)
		{
			cudaError_t error = cuda_checked(device, cudaEventQuery(lane->oldest->done));

			if (error == cudaErrorNotReady)
				break;
			if (error != cudaSuccess)
			{
				/* the next poll drains the device and hands the rest out */
				cuda_fail(device, error, "cudaEventQuery", __FILE__, __LINE__);
				break;
			}
			status = GSORT_OK;
		}
		else if (!device->drained)
			break;
		out[n++] = end_operation(device, lane, status);
	}
	return n;
}

/* What the end of a job's work means for it; returns the status of its event. */
static gsort_status
end_work(cuda_job *job)
{
	gsort_job  *common = &job->common;

	job->work_pending = 0;
	/* giving memory back may lose the device behind work that ended well */
	if (common->device->lost)
		job->work_status = GSORT_DEVICE_LOST;
	if (job->work_kind == GSORT_EVENT_CUT)
		return gsort_cut_done(common, job->work_status);
	if (job->work_kind == GSORT_EVENT_RUN_BEGUN)
		gsort_run_begun(common, job->work_status, job->keys_kept);
	else
		gsort_merge_done(common, job->work_status);
	return job->work_status;
}

/* The end of a job's work, then its CLOSED.  May free the job. */
static int
poll_job(cuda_device *device, cuda_job *job, gsort_event *out, int max)
{
	int			n = 0;

	if (job->work_on_device)
		cuda_work_advance(job);
	if (n < max && job->work_pending && !job->work_on_device)
	{
		gsort_status status = end_work(job);

		out[n++] = make_event(job, job->work_kind, status, 0);
	}
	if (n < max && job->common.closing && job->in_flight == 0 && !job->work_pending)
	{
		out[n++] = make_event(job, GSORT_EVENT_CLOSED,
							  device->common.lost ? GSORT_DEVICE_LOST : GSORT_OK, 0);
		cuda_job_free(job);
		if (device->jobs == NULL && !device->common.lost)
			cuda_memory_trim(device);
	}
	return n;
}

static int
poll_events(gsort_device *base, gsort_event *out, int max)
{
	cuda_device *device = (cuda_device *) base;
	cuda_job   *next;
	int			n = 0;

	clear_wakes(device);
	if (device->common.lost)
		drain_lost_device(device);
	for (int i = 0; i < APPEND_LANES; i++)
		n += poll_lane(device, &device->append_lanes[i], out + n, max - n);
	for (int i = 0; i < FETCH_LANES; i++)
		n += poll_lane(device, &device->fetch_lanes[i], out + n, max - n);
	for (cuda_job *job = device->jobs; job != NULL; job = next)
	{
		next = job->next;
		n += poll_job(device, job, out + n, max - n);
	}
	return n;
}

/* --- the rest of the table ---------------------------------------------------- */

static gsort_status
pin_memory(gsort_device *base, void *memory, size_t bytes)
{
	cuda_device *device = (cuda_device *) base;
	gsort_status status = cuda_region_pin(device, memory, bytes);

	device->pinned = status == GSORT_OK;
	return status;
}

static int
event_descriptor(gsort_device *device)
{
	return ((cuda_device *) device)->event_fd;
}

static void
get_info(gsort_device *base, gsort_device_info *info)
{
	const cuda_device *device = (const cuda_device *) base;

	info->kind = GSORT_KIND_CUDA;
	info->ordinal = device->ordinal;
	snprintf(info->name, sizeof(info->name), "%s", device->name);
	info->memory_bytes = device->memory_bytes;
	info->used_bytes = device->allocated_bytes;
	info->driver_version = device->driver_version;
	info->runtime_version = device->runtime_version;
	info->compute_capability = device->compute_capability;
	info->pinned = device->pinned;
}

extern "C" const gsort_device_ops gsort_cuda_ops = {
	open_with_signals_blocked,
	pin_memory,
	event_descriptor,
	poll_events,
	get_info,
	default_budget,
	shut_device,
	cuda_job_bytes,
	cuda_kept_bytes,
	cuda_merge_bytes,
	cuda_order_bytes,
	cuda_job_open,
	cuda_job_reserve,
	cuda_job_append,
	cuda_job_cut,
	cuda_job_fetch,
	cuda_job_next_run,
	cuda_job_merge,
	cuda_job_fetch_order,
	cuda_job_close,
	cuda_pairs_scratch_bytes,
	cuda_pairs_sort,
};
