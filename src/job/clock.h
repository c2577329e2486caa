/*
 * clock.h
 *	  The clock of waits and deadlines, and the measurement of times for
 *	  EXPLAIN.
 *
 * Nobody sets this clock back or forward, unlike the time of day.  All
 * processes read the same clock, so times in shared memory can be compared.  It
 * is never 0.
 */
#ifndef GPUSORT_CLOCK_H
#define GPUSORT_CLOCK_H

#include "postgres.h"

#include <time.h>

#include "portability/instr_time.h"

static inline uint64
gpusort_clock_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static inline uint64
gpusort_clock_ms(void)
{
	return gpusort_clock_us() / 1000;
}

/* Returns the milliseconds from now until then, rounded up; 0: then is past. */
static inline long
gpusort_clock_ms_left(uint64 now_us, uint64 then_us)
{
	return then_us > now_us ? (long) ((then_us - now_us + 999) / 1000) : 0;
}

/* Is now more than this many milliseconds after since? */
static inline bool
gpusort_clock_exceeds(uint64 since_us, uint64 now_us, uint64 ms)
{
	return now_us > since_us && now_us - since_us > ms * 1000;
}

/* Returns the milliseconds from start until now, by PostgreSQL's clock of
 * measurements. */
static inline double
gpusort_milliseconds_since(instr_time start)
{
	instr_time	passed;

	INSTR_TIME_SET_CURRENT(passed);
	INSTR_TIME_SUBTRACT(passed, start);
	return INSTR_TIME_GET_MILLISEC(passed);
}

#endif							/* GPUSORT_CLOCK_H */
