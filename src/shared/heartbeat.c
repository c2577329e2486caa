/*
 * heartbeat.c
 *	  Notices a service whose process does not run: it was halted, or hangs in a call.
 *
 * In:  looks of sessions that have waited for the service for a second, or that read gpusort_devices.
 * Out: the service is marked as unresponsive until it runs again; a line in the log for the beginning and
 *	    the end of that.
 *
 * A look wakes the service and notes the time.  The service clears the note in each turn, and also while a
 * call of the device blocks in a thread (service_call.c).  A note older than gpusort.service_timeout is
 * only doubted at first: after a halt of the whole machine the service runs again before the next look.
 *
 * A device that hangs below a service that runs is not seen here, but by service_watch.c.  A service that
 * is halted while it holds the shared lock is not seen at all: those who look wait for the lock.
 *
 * Runs in sessions and in the services.  The shared lock is held for each step.
 */
#include "postgres.h"

#include "settings.h"
#include "shared/clock.h"
#include "shared/heartbeat.h"
#include "shared/request_ring.h"
#include "shared/server_state.h"

/* The service has this long to run between the two looks. */
#define DOUBT_MS				500

static void
log_silence(int number, int pid, uint64 silent_ms)
{
	ereport(LOG,
			(errmsg("gpusort: service %d does not answer, and gets no sorts until it does", number),
			 errdetail("Its process %d was woken %llu s ago and has not run since; gpusort.service_timeout is %d s.",
					   pid, (unsigned long long) silent_ms / 1000, gpusort_service_timeout_s),
			 errhint("If the process was halted, \"kill -CONT %d\" lets it go on.", pid)));
}

uint64
gpusort_heartbeat_silent_ms(int number)
{
	GpuSortService *service = &gpusort_shared->services[number];
	uint64		timeout_ms = (uint64) gpusort_service_timeout_s * 1000;
	uint64		now;
	uint64		silent_ms = 0;
	bool		is_news = false;
	int			pid;

	if (timeout_ms == 0)
		return 0;
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	now = gpusort_clock_ms();
	pid = service->pid;
	if (pid != 0 && service->asked_ms == 0)
	{
		service->asked_ms = now;
		gpusort_wake_service(number);
	}
	else if (pid != 0 && now - service->asked_ms > timeout_ms)
	{
		if (service->doubted_ms == 0)
			service->doubted_ms = now;
		is_news = !service->unresponsive && now - service->doubted_ms >= DOUBT_MS;
		if (is_news)
		{
			service->unresponsive = true;
			gpusort_server_state_changed();
		}
		if (service->unresponsive)
			silent_ms = now - service->asked_ms;
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

void
gpusort_heartbeat_answer(int number)
{
	GpuSortService *service = &gpusort_shared->services[number];
	bool		was_unresponsive;
	uint64		silent_ms;

	/* without the lock, which all sessions want: a session that sets it wakes the service afterwards */
	if (service->asked_ms == 0)
		return;
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	silent_ms = gpusort_clock_ms() - service->asked_ms;
	was_unresponsive = service->unresponsive;
	gpusort_heartbeat_begin(number);
	if (was_unresponsive)
	{
		gpusort_server_state_changed();
		gpusort_discard_kept_plans();
	}
	LWLockRelease(gpusort_shared_lock());
	if (was_unresponsive)
		ereport(LOG,
				(errmsg("gpusort: service %d answers again", number),
				 errdetail("It had not answered for %llu s.", (unsigned long long) silent_ms / 1000)));
}
