/*
 * service_watch.c
 *	  Notices a device that has stopped answering.
 *
 * In:  operations that the device has taken; its events.
 * Out: nothing, or the service restarts: its jobs fail, and sorts are native until a device serves.
 *
 * Asking a hung GPU whether an operation has ended gives no error, only "not yet".  So time tells: the device is
 * hung when no event has come for gpusort.device_timeout, and an operation has been under way for as long.
 * A single operation may take seconds, as the sort of a run on the host device does.
 *
 * Runs in the service alone.
 */
#include "postgres.h"

#include "service/service_internal.h"

static uint64 last_event_ms = 0;

/* With work under way the service looks ten times a second.  A longer gap is a halt of its own. */
#define OWN_HALT_MS		10000

void
gpusort_service_operation_began(int job)
{
	if (gpusort_service_jobs[job].operations++ == 0)
		gpusort_service_jobs[job].busy_since_ms = gpusort_clock_ms();
}

void
gpusort_service_operation_ended(int job)
{
	gpusort_service_jobs[job].operations--;
	last_event_ms = gpusort_clock_ms();
}

/* The job whose operation has been under way for timeout_ms; -1: there is none. */
static int
find_stuck_job(uint64 now, uint64 timeout_ms)
{
	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
		if (gpusort_service_jobs[i].operations > 0 && now - gpusort_service_jobs[i].busy_since_ms > timeout_ms)
			return i;
	return -1;
}

void
gpusort_service_watch_device(void)
{
	uint64		timeout_ms = (uint64) gpusort_device_timeout_ms;
	static uint64 last_look_ms = 0;
	uint64		now;
	int			job;

	if (timeout_ms == 0 || gpusort_service_open_jobs == 0)
		return;
	now = gpusort_clock_ms();
	/* the device may have stood still too, as the host device does */
	if (now - last_look_ms > OWN_HALT_MS)
		last_event_ms = now;
	last_look_ms = now;
	if (now - last_event_ms <= timeout_ms)
		return;
	job = find_stuck_job(now, timeout_ms);
	if (job >= 0)
		gpusort_service_restart("the device does not answer",
								psprintf("It has ended none of its operations for %llu s; gpusort.device_timeout is %llu s.",
										 (unsigned long long) (now - Max(last_event_ms, gpusort_service_jobs[job].busy_since_ms)) / 1000,
										 (unsigned long long) timeout_ms / 1000));
}
