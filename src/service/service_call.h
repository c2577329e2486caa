/*
 * service_call.h
 *	  Calls of the device that block, for the service's own files.
 */
#ifndef GPUSORT_SERVICE_CALL_H
#define GPUSORT_SERVICE_CALL_H

#include "postgres.h"

#include <signal.h>

/* This process has been asked to end. */
extern volatile sig_atomic_t gpusort_service_to_end;

typedef void (*GpuSortBlockingCall) (void *arg);

/*
 * Runs a call that may block for seconds, and returns when it has ended.  It runs in a thread of
 * its own: it may call the device, malloc and the system, nothing of PostgreSQL's.  If the process is to
 * end and the call does not, it is abandoned: arg stays in use until the process has ended.
 */
extern void gpusort_service_call(GpuSortBlockingCall call, void *arg);

#endif							/* GPUSORT_SERVICE_CALL_H */
