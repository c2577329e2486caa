/*
 * service_others.h
 *	  The services beside the first one: started, and ended when they are no longer wanted.
 */
#ifndef GPUSORT_SERVICE_OTHERS_H
#define GPUSORT_SERVICE_OTHERS_H

#include "postgres.h"

#include "postmaster/bgworker.h"

#include "compat.h"

/* In the first service, when its device has been opened or settings were read again: how many there are to be.
 * Starts those that are missing; retry: also those that could not be started before. */
extern void gpusort_service_start_others(bool retry);

/* In another one: is it no longer wanted? */
extern bool gpusort_service_is_superfluous(void);

/* Ends it for good.  Its jobs have ended. */
pg_noreturn extern void gpusort_service_end_for_good(void);

/* A worker for service i, which the postmaster starts. */
extern BackgroundWorker gpusort_service_worker(int i);

#endif							/* GPUSORT_SERVICE_OTHERS_H */
