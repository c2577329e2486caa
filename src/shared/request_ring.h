/*
 * request_ring.h
 *	  What sessions ask of the service, in the order they asked.
 *
 * A ring in shared memory: any session writes, the service reads.  It never overflows,
 * since shmem.c makes room for every request that all jobs and buffers can have under way.
 */
#ifndef GPUSORT_REQUEST_RING_H
#define GPUSORT_REQUEST_RING_H

#include "postgres.h"

#include "shared/shmem.h"

/* Both need the shared lock, held exclusively.  Push is false only where shared memory is corrupt: the ring has
 * no room.  Pop is false if there is no request. */
extern bool gpusort_request_push(int service, const GpuSortRequest *request);
extern bool gpusort_request_pop(int service, GpuSortRequest *request);

/* After a push: the service looks at the ring. */
extern void gpusort_wake_service(int service);

#endif							/* GPUSORT_REQUEST_RING_H */
