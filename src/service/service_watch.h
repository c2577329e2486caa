/*
 * service_watch.h
 *	  Notices a device that has stopped answering, for the service's own files.
 */
#ifndef GPUSORT_SERVICE_WATCH_H
#define GPUSORT_SERVICE_WATCH_H

#include "postgres.h"

#include "compat.h"
#include "gpusort.h"

/* The device has taken an operation of a job; an event will tell its end. */
extern void gpusort_service_operation_began(int job);

/* The event has come; of the job's close, it has no operation left. */
extern void gpusort_service_operation_ended(int job);
extern void gpusort_service_job_ended(int job);

/* Does not return if the device has ended nothing for gpusort.device_timeout, though it has something to end. */
extern void gpusort_service_watch_device(void);

#endif							/* GPUSORT_SERVICE_WATCH_H */
