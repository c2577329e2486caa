/*
 * service_open.c
 *	  Opens a device, and sets its budget.
 *
 * In:  a choice among the devices that a service may have; gpusort.host_threads
 *	    and .host_nice.
 * Out: the open device, with the shared buffers pinned if it can.
 *
 * Runs in the service alone.  The call that opens the device may block for
 * seconds, so it runs in a thread beside the service (service_call.c).
 */
#include "postgres.h"

#include "service/service_internal.h"

/* A GPU is not asked more often for its free memory. */
#define MEMORY_RECHECK_MS	100

/* A GpuSortBlockingCall. */
typedef struct OpenCall
{
	gsort_device_options options;
	gsort_device *device;
	gsort_status status;
	char		reason[256];
} OpenCall;

/* Reading every page makes the kernel allocate it, so that pinning is ten times
 * faster. */
static void
call_open(void *arg)
{
	OpenCall   *call = arg;
	Size		length = (Size) gpusort_shared->n_buffers * GPUSORT_BUFFER_BYTES;

	call->status = gsort_open(&call->options, &call->device, call->reason, sizeof(call->reason));
	if (call->status != GSORT_OK)
		return;
	/* without a GPU, the buffers take memory when they are used */
	for (Size i = 0; call->options.kind == GSORT_KIND_CUDA && i < length; i += 4096)
		(void) *(volatile char *) (gpusort_buffer_pool + i);
	(void) gsort_pin(call->device, gpusort_buffer_pool, length);
}

gsort_device *
gpusort_service_open(const GpuSortServiceDevice *device, int choice, const char **reason)
{
	bool		host = device->choices[choice] == GPUSORT_DEVICE_HOST;
	static OpenCall call;		/* an abandoned call still writes to it */

	call = (OpenCall) {
		.options = {
			.struct_bytes = sizeof(call.options),
			.kind = host ? GSORT_KIND_HOST : GSORT_KIND_CUDA,
			.n_ordinals = host ? 0 : 1,
			.ordinals = &device->ordinal,
			.threads = gpusort_host_threads,
			.nice = gpusort_host_nice,
		},
	};

	gpusort_service_call(call_open, &call);
	*reason = call.reason;
	return call.status == GSORT_OK ? call.device : NULL;
}

/* The host device has no memory and driver of its own to report. */
void
gpusort_service_log_device(const char *why_it)
{
	gsort_device_info info;

	gsort_device_get_info(gpusort_service_device, &info);
	if (info.kind == GSORT_KIND_CUDA)
		ereport(LOG,
				(errmsg("gpusort: serving with %s, %llu MB of memory, budget %llu MB, CUDA driver %d.%d, buffers of %d MB %s",
						info.name, (unsigned long long) info.memory_bytes / 1024 / 1024,
						(unsigned long long) info.budget_bytes / 1024 / 1024,
						info.driver_version / 1000, info.driver_version % 1000 / 10,
						gpusort_buffer_memory_mb, info.pinned ? "pinned" : "not pinned")));
	else
		ereport(LOG,
				(errmsg("gpusort: serving with the CPU, %s, budget %llu MB, buffers of %d MB",
						info.name, (unsigned long long) info.budget_bytes / 1024 / 1024,
						gpusort_buffer_memory_mb),
				 why_it[0] != '\0' ?
				 errdetail("The host device serves because there is %s.", why_it) : 0));
}

/* --- the budget ----------------------------------------------------------- */

/*
 * Returns the most memory that the device can give.  The host device shares the
 * machine with the server's shared memory.  A server with nearly all memory in
 * shared_buffers leaves the default, an eighth.
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

/* The budget never exceeds the memory that there is: plans would count on it,
 * and the host device would take the server's last memory. */
void
gpusort_service_set_budget(void)
{
	gsort_device_info info;
	uint64		asked;
	uint64		most;

	if (gpusort_service_device == NULL)
		return;
	gsort_device_get_info(gpusort_service_device, &info);
	most = most_memory(&info);
	asked = gpusort_device_memory.bytes;
	if (gpusort_device_memory.percent > 0)
		asked = info.memory_bytes / 100 * gpusort_device_memory.percent;
	gsort_set_budget(gpusort_service_device, Min(asked, most));
	if (asked > most && info.budget_bytes != most)
		ereport(WARNING,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("gpusort.device_memory of %llu MB exceeds the memory that the device can provide, using %llu MB",
						(unsigned long long) asked / 1024 / 1024,
						(unsigned long long) most / 1024 / 1024),
				 errhint("Lower gpusort.device_memory.  The host device shares the machine's memory with shared_buffers and gpusort.buffer_memory.")));
}

void
gpusort_service_follow_free_memory(void)
{
	static uint64 asked_us = 0;
	uint64		now_us = gpusort_clock_us();

	if (gpusort_device_memory.bytes > 0 || gpusort_device_memory.percent > 0 ||
		!gpusort_clock_exceeds(asked_us, now_us, MEMORY_RECHECK_MS))
		return;
	asked_us = now_us;
	gpusort_service_set_budget();
}
