/*
 * stepped_clock.c
 *	  Sets the clock of a server's processes back by an hour, for tests.
 *
 * In:  the environment variable GPUSORT_TEST_CLOCK_FILE; whether there is a file of that name.
 * Out: the time of day, an hour earlier while there is the file.  Monotonic clocks go on as they do.
 *
 * Loaded by LD_PRELOAD, in place of the C library's function.
 */
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define STEP_SECONDS	3600

int
gettimeofday(struct timeval *restrict time_of_day, void *restrict zone)
{
	const char *file = getenv("GPUSORT_TEST_CLOCK_FILE");
	struct timespec now;

	(void) zone;
	clock_gettime(CLOCK_REALTIME, &now);
	time_of_day->tv_sec = now.tv_sec;
	time_of_day->tv_usec = now.tv_nsec / 1000;
	if (file != NULL && access(file, F_OK) == 0)
		time_of_day->tv_sec -= STEP_SECONDS;
	return 0;
}
