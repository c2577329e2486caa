/*
 * service_feed.h
 *	  How the service feeds jobs, for its own files.
 */
#ifndef GPUSORT_SERVICE_FEED_H
#define GPUSORT_SERVICE_FEED_H

#include "postgres.h"

#include "shared/shmem.h"

/* Requests, which have been checked. */
extern void gpusort_service_handle_open(const GpuSortRequest *request);
extern void gpusort_service_handle_append(const GpuSortRequest *request);
extern void gpusort_service_handle_cut(const GpuSortRequest *request);

/* Gives the device the chunks that wait, as far as it takes them. */
extern void gpusort_service_feed_chunks(int job);

/* A cut has ended for want of memory: it is asked for again, or the job fails. */
extern void gpusort_service_cut_lacks_memory(int job);

/* Opens the jobs that wait for memory, and refuses those that have waited long enough; asks the
 * device again for what it has refused.
 * Returns the milliseconds until the next wait is over, -1: no job waits. */
extern long gpusort_service_serve_waiting_jobs(void);

#endif							/* GPUSORT_SERVICE_FEED_H */
