/*
 * service_open.h
 *	  Opens, pins and shuts a device, for the service's own files.
 */
#ifndef GPUSORT_SERVICE_OPEN_H
#define GPUSORT_SERVICE_OPEN_H

#include "postgres.h"

#include "gpusort.h"
#include "settings.h"

/* Opens one of the devices that a service may have.  NULL: it cannot be opened, and *reason, valid until the next
 * call, says why. */
extern gsort_device *gpusort_service_open(const GpuSortServiceDevice *device, int choice, const char **reason);

/* Pins the shared buffers, if the device can. */
extern void gpusort_service_pin(gsort_device *device);

extern void gpusort_service_shut(gsort_device *device);

/* One line of the log: what the device is.  why_it: why those before it do not serve, may be empty. */
extern void gpusort_service_log_device(gsort_device *device, const char *why_it);

#endif							/* GPUSORT_SERVICE_OPEN_H */
