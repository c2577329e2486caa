/*
 * service_client.c
 *	  The services as sessions find them: which one a job gets, and whether its
 *	  process runs.
 *
 * In:  the services' states; checks by sessions that have waited for a service
 *	    for a second, or that read gpusort_devices.
 * Out: a choice; the mark of a service that does not run, until it runs again.
 *	    The log has a line for the beginning and the end of that.
 *
 * A process does not run if it was halted, or hangs in a call.  A check wakes
 * the service and sets asked_ms.  The service clears asked_ms in each turn, and
 * also while a device call blocks in a thread (service_open.c).  If asked_ms is
 * older than gpusort.service_timeout, the first check only sets doubted_ms, and
 * a check DOUBT_MS later marks the service unresponsive.  After a halt of the
 * whole machine the service thus has time to run.
 *
 * service_watch.c, not this file, notices a hung device below a running
 * service.  Nobody notices a service that is halted while it holds the shared
 * lock, or is next in its queue, since all checks wait for the lock.  A service
 * without jobs takes no lock.
 *
 * Runs in sessions and in the services.  shmem.c allocates the memory, and the
 * shared lock guards it.
 */
#include "postgres.h"

#include "storage/latch.h"
#include "storage/proc.h"

#include "job/clock.h"
#include "job/server_state.h"
#include "job/service_client.h"
#include "settings.h"

/* The service has this long to run between the two checks. */
#define DOUBT_MS				500

/* --- which one a job gets ------------------------------------------------- */

/* Returns the device memory that a service has not promised. */
static uint64
free_memory(const GpuSortService *service)
{
	const gsort_device_info *info = &service->info;

	return info->budget_bytes > info->reserved_bytes ?
		info->budget_bytes - info->reserved_bytes : 0;
}

int
gpusort_service_count_jobs(int number, bool that_go_on)
{
	int			n = 0;

	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
	{
		const GpuSortJobSlot *slot = &gpusort_shared->jobs[i];

		if (slot->service == number && slot->state != GPUSORT_JOB_FREE &&
			slot->state != GPUSORT_JOB_RELEASED &&
			!(that_go_on && (gpusort_job_slot_is_left(slot) || slot->state == GPUSORT_JOB_REFUSED ||
							 slot->state == GPUSORT_JOB_FAILED)))
			n++;
	}
	return n;
}

/* The better service has a GPU, if the other one has none: the host device
 * stands in for all GPUs.  Else it has room, if the other one has none; else,
 * the shorter queue; else, more room. */
static bool
is_better(int number, int than_number, uint64 bytes)
{
	const GpuSortService *service = &gpusort_shared->services[number];
	const GpuSortService *than = &gpusort_shared->services[than_number];
	uint64		mine = free_memory(service);
	uint64		others = free_memory(than);
	int			my_jobs = gpusort_service_count_jobs(number, false);
	int			other_jobs = gpusort_service_count_jobs(than_number, false);

	if (service->info.kind != than->info.kind)
		return service->info.kind == GSORT_KIND_CUDA;
	if ((mine >= bytes) != (others >= bytes))
		return mine >= bytes;
	if (my_jobs != other_jobs)
		return my_jobs < other_jobs;
	return mine > others;
}

int
gpusort_service_for_new_job(uint64 bytes)
{
	int			best = -1;

	for (int i = 0; i < gpusort_shared->n_services; i++)
		if (gpusort_service_takes_jobs(&gpusort_shared->services[i]) &&
			(best < 0 || is_better(i, best, bytes)))
			best = i;
	return best;
}

/* --- whether it runs ------------------------------------------------------ */

/* A signal is harmless if another process has the service's PGPROC by now. */
void
gpusort_wake_service(int service)
{
	int			proc = gpusort_shared->services[service].proc;

	if (proc >= 0)
		SetLatch(&ProcGlobal->allProcs[proc].procLatch);
}

static void
log_silence(int number, int pid, uint64 silent_ms)
{
	ereport(LOG,
			(errmsg("gpusort: service %d does not respond and receives no sorts", number),
			 errdetail("Process %d was woken %llu s ago and has not run since.  gpusort.service_timeout is %d s.",
					   pid, (unsigned long long) silent_ms / 1000, gpusort_service_timeout_s),
			 errhint("If the process was stopped, \"kill -CONT %d\" resumes it.", pid)));
}

/* The first look asks, a later one doubts, and another one after DOUBT_MS is
 * sure. */
uint64
gpusort_heartbeat_check(int number)
{
	GpuSortService *service = &gpusort_shared->services[number];
	uint64		timeout_ms = (uint64) gpusort_service_timeout_s * 1000;
	uint64		now;
	uint64		asked_ms;
	uint64		silent_ms = 0;
	bool		is_news = false;
	int			pid;

	if (timeout_ms == 0)
		return 0;
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	now = gpusort_clock_ms();
	pid = service->pid;
	asked_ms = service->asked_ms;
	if (pid != 0 && asked_ms == 0)
	{
		service->doubted_ms = 0;
		service->asked_ms = now;
		gpusort_wake_service(number);
	}
	else if (pid != 0 && now - asked_ms > timeout_ms)
	{
		if (service->doubted_ms == 0)
			service->doubted_ms = now;
		is_news = !service->unresponsive && now - service->doubted_ms >= DOUBT_MS;
		service->unresponsive |= is_news;
		pg_memory_barrier();
		/* it has answered meanwhile, and may not have seen the mark */
		if (is_news && service->asked_ms == 0)
			service->unresponsive = is_news = false;
		if (is_news)
			gpusort_server_state_changed();
		if (service->unresponsive)
			silent_ms = now - asked_ms;
	}
	LWLockRelease(gpusort_shared_lock());
	if (is_news)
		log_silence(number, pid, silent_ms);
	return silent_ms;
}

void
gpusort_heartbeat_begin(int number)
{
	GpuSortService *service = &gpusort_shared->services[number];

	service->asked_ms = 0;
	service->doubted_ms = 0;
	service->unresponsive = false;
}

/* Sessions replan for a service that answers again.  Any other answer takes
 * no lock: a process that is halted while it holds the lock, or is next in its
 * queue, halts all sessions. */
void
gpusort_heartbeat_answer(int number)
{
	GpuSortService *service = &gpusort_shared->services[number];
	bool		was_unresponsive;
	uint64		asked_ms = service->asked_ms;
	uint64		silent_ms;

	/* a session that sets it wakes the service afterwards */
	if (asked_ms == 0)
		return;
	if (!service->unresponsive)
	{
		service->asked_ms = 0;
		/* a session marks the service and then looks whether it has answered;
		 * the service answers and then looks whether it is marked */
		pg_memory_barrier();
		if (!service->unresponsive)
			return;
	}
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	silent_ms = gpusort_clock_ms() - asked_ms;
	was_unresponsive = service->unresponsive;
	gpusort_heartbeat_begin(number);
	if (was_unresponsive)
	{
		gpusort_server_state_changed();
		gpusort_discard_cached_plans();
	}
	LWLockRelease(gpusort_shared_lock());
	if (was_unresponsive)
		ereport(LOG,
				(errmsg("gpusort: service %d responds again", number),
				 errdetail("It had not responded for %llu s.",
						   (unsigned long long) silent_ms / 1000)));
}
