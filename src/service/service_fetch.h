/*
 * service_fetch.h
 *	  Windows of sorted rows on their way to sessions, for the service's own files.
 */
#ifndef GPUSORT_SERVICE_FETCH_H
#define GPUSORT_SERVICE_FETCH_H

#include "postgres.h"

#include "service/service_jobs.h"

extern void gpusort_service_handle_fetch(const GpuSortRequest *request);

/* A window has come, or cannot. */
extern void gpusort_service_handle_fetched(int job, int buffer, gsort_status status);

/* Asks the device again for windows that it had no memory for. */
extern void gpusort_service_retry_fetches(void);

/* The job is about to be closed, and its buffers with it. */
extern void gpusort_service_forget_fetches(int job);

#endif							/* GPUSORT_SERVICE_FETCH_H */
