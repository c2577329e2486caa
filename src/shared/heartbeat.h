/*
 * heartbeat.h
 *	  Whether a service's process runs, for sessions that wait for it, and for the service.
 */
#ifndef GPUSORT_HEARTBEAT_H
#define GPUSORT_HEARTBEAT_H

#include "postgres.h"

/* Looks, without the lock, whether a service runs.  Returns for how many milliseconds it has not, if that makes it
 * unresponsive: it gets no jobs until it runs.  Else 0. */
extern uint64 gpusort_heartbeat_silent_ms(int service);

/* The worker before may have been asked and not have answered.  With the lock held exclusively. */
extern void gpusort_heartbeat_begin(int service);

/* A service tells, after it has reset its latch, that it runs. */
extern void gpusort_heartbeat_answer(int service);

#endif							/* GPUSORT_HEARTBEAT_H */
