/*
 * service_others.h
 *	  The services beside the first one: started, and ended when they are no longer wanted.
 */
#ifndef GPUSORT_SERVICE_OTHERS_H
#define GPUSORT_SERVICE_OTHERS_H

#include "postgres.h"

#include "postmaster/bgworker.h"

#include "compat.h"

/* In the first service, in each turn: starts those that are missing, of how many there are to be by now.
 * retry: at once, also those that could not be started before.  sleep_ms: what the turn may be followed
 * by, -1 for any time; returns it, or less if there is one to be tried again. */
extern long gpusort_service_start_others(bool retry, long sleep_ms);

/* In another one: is it no longer wanted? */
extern bool gpusort_service_is_superfluous(void);

/* Ends it for good, unless it is wanted again by now.  Its jobs have ended, its device is closed. */
extern void gpusort_service_end_for_good(void);

/* A worker for service i, which the postmaster starts. */
extern BackgroundWorker gpusort_service_worker(int i);

#endif							/* GPUSORT_SERVICE_OTHERS_H */
