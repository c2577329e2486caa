/*
 * service_watch.c
 *	  Notices a device that has stopped answering.
 *
 * In:  operations that the device has taken; its events.
 * Out: nothing; or a restart of the service: its jobs fail, and sorts are
 *	    native until a device serves.
 *
 * A hung GPU answers the question whether an operation has ended with "not
 * yet", not with an error.  So only time tells.  The device counts as hung when
 * no event has come for gpusort.device_timeout while operations were in
 * progress.  A single operation may take seconds, such as the sort of a run on
 * the host device.
 *
 * Runs in the service alone.
 */
#include "postgres.h"

#include "service/service_internal.h"

/* With work in progress the service looks ten times a second.  A longer gap
 * means that it was halted itself. */
#define OWN_HALT_MS		10000

/* or the time when it had nothing to do */
static uint64 last_event_ms = 0;

void
gpusort_service_operation_ended(int job)
{
	gpusort_service_jobs[job].operations--;
	last_event_ms = gpusort_clock_ms();
}

static bool
is_busy(void)
{
	for (int i = 0; i < GPUSORT_JOB_SLOTS && gpusort_service_open_jobs > 0; i++)
		if (gpusort_service_jobs[i].operations > 0)
			return true;
	return false;
}

/* The time starts again after a halt of the service itself: the device may have
 * stood still too, as the host device does. */
void
gpusort_service_watch_device(void)
{
	static uint64 last_look_ms = 0;
	uint64		timeout_ms = (uint64) gpusort_device_timeout_ms;
	uint64		now_ms = gpusort_clock_ms();

	if (timeout_ms == 0 || now_ms - last_look_ms > OWN_HALT_MS || !is_busy())
		last_event_ms = now_ms;
	last_look_ms = now_ms;
	if (now_ms - last_event_ms > timeout_ms)
		gpusort_service_restart("the device does not respond",
								psprintf("It completed no operation for %llu s.  gpusort.device_timeout is %llu s.",
										 (unsigned long long) (now_ms - last_event_ms) / 1000,
										 (unsigned long long) timeout_ms / 1000));
}
