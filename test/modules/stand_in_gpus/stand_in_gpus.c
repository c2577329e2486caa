/*
 * stand_in_gpus.c
 *	  Two host devices that say that they are GPUs, for what services do with
 *	  several GPUs, on a machine without.
 *
 * In:  calls of gsort.h, from the service; files gpu_0_is_gone, gpu_1_is_gone,
 *	    host_is_gone and no_memory_for_jobs in the server's folder.
 * Out: a device that is gone cannot be opened; a GPU that goes while it is open
 *	    is lost at once.  Where the budget has memory for a job's first rows, the
 *	    device itself, also one that says that it is the host's, has none.
 *
 * Linked into a gpusort.so, with --wrap for these functions.  Runs in the
 * service alone, which has no more than one GPU open, and looks for no other
 * one meanwhile.
 */
#include "api/gsort_device.h"

#include <stdio.h>
#include <unistd.h>

#define GPUS	2

extern gsort_status __real_gsort_open(const gsort_device_options *options, gsort_device **device,
									  char *reason, size_t reason_bytes);
extern gsort_status __wrap_gsort_open(const gsort_device_options *options, gsort_device **device,
									  char *reason, size_t reason_bytes);
extern gsort_status __real_gsort_job_reserve(gsort_job *job, uint64_t rows, uint64_t row_bytes);
extern gsort_status __wrap_gsort_job_reserve(gsort_job *job, uint64_t rows, uint64_t row_bytes);
extern void __real_gsort_device_get_info(gsort_device *device, gsort_device_info *info);
extern void __wrap_gsort_device_get_info(gsort_device *device, gsort_device_info *info);

static gsort_device *stand_in;	/* the host device that is open as a GPU */
static int	stand_in_ordinal;

static int
is_gone(int ordinal)
{
	char		file[32];

	snprintf(file, sizeof(file), "gpu_%d_is_gone", ordinal);
	return access(file, F_OK) == 0;
}

gsort_status
__wrap_gsort_open(const gsort_device_options *options, gsort_device **device,
				  char *reason, size_t reason_bytes)
{
	gsort_device_options host = *options;
	int			ordinal = options->n_ordinals > 0 ? options->ordinals[0] : 0;
	gsort_status status;

	if (options->kind == GSORT_KIND_HOST && access("host_is_gone", F_OK) == 0)
	{
		snprintf(reason, reason_bytes, "the host device is gone");
		return GSORT_UNSUPPORTED;
	}
	if (options->kind == GSORT_KIND_HOST)
	{
		status = __real_gsort_open(options, device, reason, reason_bytes);
		/* where one that was shut has been */
		if (*device == stand_in)
			stand_in = NULL;
		return status;
	}
	if (ordinal >= GPUS || is_gone(ordinal))
	{
		snprintf(reason, reason_bytes, "GPU %d is gone", ordinal);
		return GSORT_UNSUPPORTED;
	}
	host.kind = GSORT_KIND_HOST;
	host.n_ordinals = 0;
	status = __real_gsort_open(&host, device, reason, reason_bytes);
	if (status == GSORT_OK)
	{
		stand_in = *device;
		stand_in_ordinal = ordinal;
	}
	return status;
}

void
__wrap_gsort_device_get_info(gsort_device *device, gsort_device_info *info)
{
	if (device == stand_in && !device->lost && is_gone(stand_in_ordinal))
		gsort_fail(device, GSORT_DEVICE_LOST, "GPU %d is gone", stand_in_ordinal);
	__real_gsort_device_get_info(device, info);
	if (device != stand_in)
		return;
	info->kind = GSORT_KIND_CUDA;
	info->ordinal = stand_in_ordinal;
	info->devices = GPUS;
	snprintf(info->name, sizeof(info->name), "stand-in for GPU %d", stand_in_ordinal);
}

gsort_status
__wrap_gsort_job_reserve(gsort_job *job, uint64_t rows, uint64_t row_bytes)
{
	if (job->reserved_rows == 0 && job->stats.runs == 0 && access("no_memory_for_jobs", F_OK) == 0)
		return gsort_fail(job->device, GSORT_NOMEM, "the device has no memory for a job");
	return __real_gsort_job_reserve(job, rows, row_bytes);
}
