/*
 * service_budget.c
 *	  How much device memory all sorts together may have.
 *
 * In:  gpusort.device_memory; the device's memory, all of it and what is free; the server's shared
 *	    memory.
 * Out: the device's budget for grants to come.
 *
 * Runs in the service alone.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "service/service_budget.h"
#include "settings.h"
#include "shared/clock.h"
#include "shared/shmem.h"

/* A GPU is not asked more often how much of its memory is free. */
#define MEMORY_RECHECK_MS	100

/*
 * The most that the device can give.  The host device shares the machine with the server's shared
 * memory.  A server with nearly all memory in shared_buffers leaves the default, an eighth.
 */
static uint64
most_memory(const gsort_device_info *info)
{
	uint64		shared = (uint64) NBuffers * BLCKSZ +
		(uint64) gpusort_shared->n_buffers * GPUSORT_BUFFER_BYTES;
	uint64		least = info->memory_bytes / 8;

	if (info->kind != GSORT_KIND_HOST)
		return info->memory_bytes;
	return shared + least < info->memory_bytes ? info->memory_bytes - shared : least;
}

/* Never more than there is: plans would count on it, and the host device would take the server's last memory. */
void
gpusort_service_set_budget(gsort_device *device)
{
	gsort_device_info info;
	uint64		asked;
	uint64		most;

	if (device == NULL)
		return;
	gsort_device_get_info(device, &info);
	most = most_memory(&info);
	asked = gpusort_device_memory.bytes;
	if (gpusort_device_memory.percent > 0)
		asked = info.memory_bytes / 100 * gpusort_device_memory.percent;
	gsort_set_budget(device, Min(asked, most));
	if (asked > most && info.budget_bytes != most)
		ereport(WARNING,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("gpusort.device_memory of %llu MB exceeds what the device can give, the budget is %llu MB",
						(unsigned long long) asked / 1024 / 1024,
						(unsigned long long) most / 1024 / 1024),
				 errhint("Lower gpusort.device_memory. On the host device it shares the machine's memory with shared_buffers and gpusort.buffer_memory.")));
}

void
gpusort_service_follow_free_memory(gsort_device *device)
{
	static uint64 asked_us = 0;
	uint64		now_us = gpusort_clock_us();

	if (device == NULL || gpusort_device_memory.bytes > 0 ||
		gpusort_device_memory.percent > 0 ||
		!gpusort_clock_exceeds(asked_us, now_us, MEMORY_RECHECK_MS))
		return;
	asked_us = now_us;
	gpusort_service_set_budget(device);
}
