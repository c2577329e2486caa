/*
 * host_events.h
 *	  Events of the host device: what the end of each operation means for its job.
 */
#ifndef GSORT_HOST_EVENTS_H
#define GSORT_HOST_EVENTS_H

#include "host/host_ops.h"

/* gsort_poll. */
int			host_poll(gsort_device *device, gsort_event *out, int max);

#endif							/* GSORT_HOST_EVENTS_H */
