/*
 * services.h
 *	  The services as sessions find them: which one a job gets, the ring of requests to each, and whether
 *	  its process runs.
 */
#ifndef GPUSORT_SERVICES_H
#define GPUSORT_SERVICES_H

#include "postgres.h"

#include "shared/shmem.h"

/* The service that a job would get which is opened now and expects so many bytes of rows: one that has room for
 * them, then one with few jobs, then one with much room.  -1: none serves.  With the lock held. */
extern int	gpusort_service_for_new_job(uint64 bytes);

/*
 * The ring of a service's requests.  It never overflows, since shmem.c makes room for every request that all jobs and
 * buffers can have under way.
 * Both need the shared lock, held exclusively.  Push wakes the service; it is false only where shared memory is corrupt:
 * the ring has no room.  Pop is false if there is no request.
 */
extern bool gpusort_request_push(int service, const GpuSortRequest *request);
extern bool gpusort_request_pop(int service, GpuSortRequest *request);

/* It begins a turn. */
extern void gpusort_wake_service(int service);

/* Looks, without the lock, whether a service runs.  Returns for how many milliseconds it has not, if that makes it
 * unresponsive: it gets no jobs until it runs.  Else 0. */
extern uint64 gpusort_heartbeat_silent_ms(int service);

/* The worker before may have been asked and not have answered.  With the lock held exclusively. */
extern void gpusort_heartbeat_begin(int service);

/* A service tells, after it has reset its latch, that it runs. */
extern void gpusort_heartbeat_answer(int service);

#endif							/* GPUSORT_SERVICES_H */
