/*
 * service.h
 *	  The background worker that owns the device.
 */
#ifndef GPUSORT_SERVICE_H
#define GPUSORT_SERVICE_H

#include "postgres.h"

/* Registers the first service.  False: no worker is free. */
extern bool gpusort_service_register(void);
extern PGDLLEXPORT void gpusort_service_main(Datum arg);

#endif							/* GPUSORT_SERVICE_H */
