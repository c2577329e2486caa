/*
 * service_open.c
 *	  Opens a device, and sets its budget.
 *
 * In:  a choice among the devices that a service may have; gpusort.host_threads
 *	    and .host_nice.
 * Out: the open device, with the shared buffers pinned if it can.
 *
 * Opening may block for seconds.  DROP DATABASE, DROP TABLESPACE and, from
 * PostgreSQL 19 on, a promotion wait until each process that ProcSignal knows
 * has absorbed a barrier, whatever that process is doing.  So the call runs in
 * a thread, in which all signals are blocked.  It may call the device, malloc
 * and the system, but nothing of PostgreSQL's.  Meanwhile the process absorbs
 * barriers, and answers sessions that ask whether it runs.
 *
 * A driver that hangs must not hold up a shutdown.  When the process is to end,
 * a call that goes on is abandoned after some seconds.  The process always ends
 * without the exit handlers of libraries, which may wait for the driver
 * (service.c).
 *
 * Runs in the service alone.
 */
#include "postgres.h"

#include <pthread.h>
#include <unistd.h>

#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/procsignal.h"

#include "service/service_internal.h"

#define CALL_PATIENCE_MS	10000

/* The call takes much longer than this. */
#define CALL_POLL_MS		10

/* A GPU is not asked more often for its free memory. */
#define MEMORY_RECHECK_MS	100

/* An open that may not end, and still writes here then. */
typedef struct OpenCall
{
	gsort_device_options options;
	int			delay_ms;		/* for tests */
	gsort_device *device;
	gsort_status status;
	char		reason[256];
} OpenCall;

static OpenCall call;

/* The thread.  Reading every page makes the kernel allocate it, so that pinning
 * is ten times faster. */
static void *
run_call(void *arg)
{
	Size		length = (Size) gpusort_shared->n_buffers * GPUSORT_BUFFER_BYTES;

	for (int i = 0; i < call.delay_ms; i++)
		usleep(1000);
	call.status = gsort_open(&call.options, &call.device, call.reason, sizeof(call.reason));
	if (call.status != GSORT_OK)
		return NULL;
	/* without a GPU, the buffers take memory when they are used */
	for (Size i = 0; call.options.kind == GSORT_KIND_CUDA && i < length; i += 4096)
		(void) *(volatile char *) (gpusort_buffer_pool + i);
	(void) gsort_pin(call.device, gpusort_buffer_pool, length);
	return NULL;
}

/* Returns 0 or an error. */
static int
start_thread(pthread_t *thread)
{
	sigset_t	all;
	sigset_t	before;
	int			status;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	status = pthread_create(thread, NULL, run_call, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status;
}

/* Has the process waited for longer than a call may take when it is to end? */
static bool
patience_is_over(void)
{
	static uint64 asked_us = 0; /* to end */

	if (!ShutdownRequestPending)
		return false;
	if (asked_us == 0)
		asked_us = gpusort_clock_us();
	return gpusort_clock_exceeds(asked_us, gpusort_clock_us(), CALL_PATIENCE_MS);
}

/* Absorbs barriers until the call ends.  False: the call goes on, and the
 * process is to end.  Does not return if the postmaster has ended. */
static bool
absorb_barriers_until_end(pthread_t thread, uint32 wait_event)
{
	while (pthread_tryjoin_np(thread, NULL) != 0)
	{
		int			events;

		if (patience_is_over())
			return false;
		events = WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_POSTMASTER_DEATH,
						   CALL_POLL_MS, wait_event);
		if ((events & WL_POSTMASTER_DEATH) != 0)
			_exit(1);			/* nobody waits for an answer */
		ResetLatch(MyLatch);
		gpusort_heartbeat_answer(gpusort_service_number);
		if (ProcSignalBarrierPending)
			ProcessProcSignalBarrier();
	}
	return true;
}

gsort_device *
gpusort_service_open(const GpuSortServiceDevice *device, int choice, const char **reason)
{
	bool		host = device->choices[choice] == GPUSORT_DEVICE_HOST;
	pthread_t	thread;

	call = (OpenCall) {
		.options = {
			.kind = host ? GSORT_KIND_HOST : GSORT_KIND_CUDA,
			.n_ordinals = host ? 0 : 1,
			.ordinals = &device->ordinal,
			.threads = gpusort_host_threads,
			.nice = gpusort_host_nice,
		},
		.delay_ms = gpusort_debug_call_delay_ms,
	};
	errno = start_thread(&thread);
	if (errno != 0)
		ereport(FATAL,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("gpusort: could not start the thread that opens the device: %m"),
				 errhint("The limit of processes may be reached: raise \"ulimit -u\" or systemd's TasksMax.")));
	if (!absorb_barriers_until_end(thread, compat_wait_event("GpusortServiceCall")))
	{
		ereport(LOG,
				(errmsg("gpusort: a call of the device does not end, the service leaves without it"),
				 errdetail("The service was asked to end %d s ago.", CALL_PATIENCE_MS / 1000),
				 errhint("The driver may hang: look for \"NVRM: Xid\" in the kernel's log.")));
		proc_exit(1);
	}
	/* the latch may have been set for other work too */
	SetLatch(MyLatch);
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
