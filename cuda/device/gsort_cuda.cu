/*
 * gsort_cuda.cu
 *	  The CUDA device behind gsort.h: its table of operations, and its figures.
 *
 * In:  calls of cuda/api, from one thread.
 * Out: the functions that answer them.
 */
#include "device/cuda_device.cuh"

#include <stdio.h>

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
	info->devices = device->devices;
	snprintf(info->name, sizeof(info->name), "%s", device->name);
	info->memory_bytes = device->memory_bytes;
	info->used_bytes = device->allocated_bytes;
	info->driver_version = device->driver_version;
	info->runtime_version = device->runtime_version;
	info->compute_capability = device->compute_capability;
	info->pinned = device->regions != NULL;
}

extern "C" const gsort_device_ops gsort_cuda_ops = {
	cuda_open,
	cuda_region_pin,
	event_descriptor,
	cuda_poll,
	get_info,
	cuda_default_budget,
	cuda_shut,
	cuda_job_bytes,
	cuda_retained_bytes,
	cuda_merge_bytes,
	cuda_order_bytes,
	cuda_job_open,
	cuda_job_reserve,
	cuda_job_append,
	cuda_job_finish_run,
	cuda_job_fetch,
	cuda_job_next_run,
	cuda_job_merge,
	cuda_job_fetch_order,
	cuda_job_close,
};
