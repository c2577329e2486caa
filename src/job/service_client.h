/*
 * service_client.h
 *	  The services as sessions see them: the choice of one for a job, and the
 *	  check that its process runs.
 */
#ifndef GPUSORT_SERVICE_CLIENT_H
#define GPUSORT_SERVICE_CLIENT_H

#include "postgres.h"

#include "job/shmem.h"

/* Returns the service for a job that is opened now and expects this many bytes
 * of rows.  It prefers one with room for them, then one with few jobs, then one
 * with much room.  -1: none serves.  Requires the lock. */
extern int	gpusort_service_for_new_job(uint64 bytes);

/* Returns the number of jobs that hold or want something of a service, or only
 * that the service's end would fail.  They may come and go without the lock. */
extern int	gpusort_service_count_jobs(int service, bool that_go_on);

/* Makes the service begin a turn. */
extern void gpusort_wake_service(int service);

/* Checks whether a service runs.  The caller does not hold the lock.  Returns
 * the milliseconds for which the service has not run, if they make it
 * unresponsive: it gets no jobs until it runs.  Else returns 0. */
extern uint64 gpusort_heartbeat_check(int service);

/* Forgets a look that the service's previous worker has not answered.  Requires
 * the lock, held exclusively. */
extern void gpusort_heartbeat_begin(int service);

/* The service reports, after it has reset its latch, that it runs. */
extern void gpusort_heartbeat_answer(int service);

#endif							/* GPUSORT_SERVICE_CLIENT_H */
