/*
 * request_ring.c
 *	  The rings of requests from sessions to the services, one for each.
 *
 * In:  requests, pushed by job.c in sessions and parallel workers.
 * Out: the same, popped by each service in the order they were pushed.
 *
 * The memory is made by shmem.c.  The shared lock guards the rings.
 */
#include "postgres.h"

#include "storage/latch.h"
#include "storage/proc.h"

#include "shared/request_ring.h"

static GpuSortRequest *
place_in_ring(int service, uint64 number)
{
	uint64		room = gpusort_shared->ring_room;

	return &gpusort_requests[service * room + number % room];
}

bool
gpusort_request_push(int service, const GpuSortRequest *request)
{
	GpuSortService *to = &gpusort_shared->services[service];

	if (to->ring_tail - to->ring_head >= gpusort_shared->ring_room)
		return false;
	*place_in_ring(service, to->ring_tail++) = *request;
	return true;
}

bool
gpusort_request_pop(int service, GpuSortRequest *request)
{
	GpuSortService *from = &gpusort_shared->services[service];

	if (from->ring_head == from->ring_tail)
		return false;
	*request = *place_in_ring(service, from->ring_head++);
	return true;
}

/* Harmless when another process has the service's PGPROC by now. */
void
gpusort_wake_service(int service)
{
	int			proc = gpusort_shared->services[service].proc;

	if (proc >= 0)
		SetLatch(&ProcGlobal->allProcs[proc].procLatch);
}
