/*
 * service_budget.h
 *	  How much device memory all sorts together may have, for the service's own files.
 */
#ifndef GPUSORT_SERVICE_BUDGET_H
#define GPUSORT_SERVICE_BUDGET_H

#include "postgres.h"

#include "gpusort.h"

/* As gpusort.device_memory says, within what the device can give.  NULL: there is none.  For a device just opened, and
 * after a reload. */
extern void gpusort_service_set_budget(gsort_device *device);

/* With gpusort.device_memory = auto the budget is a share of what the GPU has free, whoever has the
 * rest: asks again, before memory is promised. */
extern void gpusort_service_follow_free_memory(gsort_device *device);

#endif							/* GPUSORT_SERVICE_BUDGET_H */
