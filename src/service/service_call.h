/*
 * service_call.h
 *	  Calls of the device that block, for the service's own files.
 */
#ifndef GPUSORT_SERVICE_CALL_H
#define GPUSORT_SERVICE_CALL_H

#include "postgres.h"

typedef void (*GpuSortBlockingCall) (void *arg);

/*
 * Runs a call that may block for seconds, and returns when it has ended.  It runs in a thread of
 * its own: it may call the device, malloc and the system, nothing of PostgreSQL's.
 */
extern void gpusort_service_call(GpuSortBlockingCall call, void *arg);

#endif							/* GPUSORT_SERVICE_CALL_H */
