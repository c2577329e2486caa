/*
 * service_watch.c
 *	  Notices a device that has stopped answering.
 *
 * In:  operations that the device has taken; its events.
 * Out: nothing, or the service restarts: its jobs fail, and sorts are native until a device serves.
 *
 * Asking a hung GPU whether an operation has ended gives no error, only "not yet".  So time tells: the device is
 * hung when no event has come for gpusort.device_timeout while operations were under way.
 * A single operation may take seconds, as the sort of a run on the host device does.
 *
 * Runs in the service alone.
 */
#include "postgres.h"

#include "service/service_internal.h"

/* With work under way the service looks ten times a second.  A longer gap is a halt of its own. */
#define OWN_HALT_MS		10000

static int	under_way = 0;		/* operations of all jobs */
static uint64 last_event_ms = 0;	/* or when the first of these began */

void
gpusort_service_operation_began(int job)
{
	gpusort_service_jobs[job].operations++;
	if (under_way++ == 0)
		last_event_ms = gpusort_clock_ms();
}

void
gpusort_service_operation_ended(int job)
{
	gpusort_service_jobs[job].operations--;
	under_way--;
	last_event_ms = gpusort_clock_ms();
}

void
gpusort_service_forget_operations(GpuSortServiceJob *mine)
{
	under_way -= mine->operations;
	mine->operations = 0;
}

void
gpusort_service_watch_device(void)
{
	static uint64 last_look_ms = 0;
	uint64		timeout_ms = (uint64) gpusort_device_timeout_ms;
	uint64		now_ms;

	if (timeout_ms == 0 || under_way == 0)
		return;
	now_ms = gpusort_clock_ms();
	/* in a halt of its own the device may have stood still too, as the host device does */
	if (now_ms - last_look_ms > OWN_HALT_MS)
		last_event_ms = now_ms;
	last_look_ms = now_ms;
	if (now_ms - last_event_ms > timeout_ms)
		gpusort_service_restart("the device does not answer",
								psprintf("It has ended none of its operations for %llu s; gpusort.device_timeout is %llu s.",
										 (unsigned long long) (now_ms - last_event_ms) / 1000,
										 (unsigned long long) timeout_ms / 1000));
}
