/*
 * request_ring.c
 *	  The ring of requests from sessions to the service.
 *
 * In:  requests, pushed by job.c in sessions and parallel workers.
 * Out: the same, popped by the service in the order they were pushed.
 *
 * The memory is made by shmem.c.  The shared lock guards the ring.
 */
#include "postgres.h"

#include "storage/latch.h"
#include "storage/proc.h"

#include "shared/request_ring.h"

void
gpusort_request_push(const GpuSortRequest *request)
{
	if (gpusort_shared->ring_tail - gpusort_shared->ring_head >= gpusort_shared->ring_room)
		elog(ERROR, "gpusort request ring is full");
	gpusort_requests[gpusort_shared->ring_tail % gpusort_shared->ring_room] = *request;
	gpusort_shared->ring_tail++;
}

bool
gpusort_request_pop(GpuSortRequest *request)
{
	if (gpusort_shared->ring_head == gpusort_shared->ring_tail)
		return false;
	*request = gpusort_requests[gpusort_shared->ring_head % gpusort_shared->ring_room];
	gpusort_shared->ring_head++;
	return true;
}

/* Harmless when another process has the service's PGPROC by now. */
void
gpusort_wake_service(void)
{
	int			proc = gpusort_shared->service.proc;

	if (proc >= 0)
		SetLatch(&ProcGlobal->allProcs[proc].procLatch);
}
