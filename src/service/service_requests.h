/*
 * service_requests.h
 *	  What the service does in a turn.
 */
#ifndef GPUSORT_SERVICE_REQUESTS_H
#define GPUSORT_SERVICE_REQUESTS_H

#include "postgres.h"

/* Both return true if there may be more. */
extern bool gpusort_service_handle_requests(void);
extern bool gpusort_service_handle_events(void);

#endif							/* GPUSORT_SERVICE_REQUESTS_H */
