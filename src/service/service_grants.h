/*
 * service_grants.h
 *	  Device memory for jobs, for the service's own files: who gets it, and who waits.
 */
#ifndef GPUSORT_SERVICE_GRANTS_H
#define GPUSORT_SERVICE_GRANTS_H

#include "postgres.h"

#include "service/service_jobs.h"

/* Opens the job on the device, if it is not open yet. */
extern gsort_status gpusort_service_open_job(int job);

/* The first grant of a job that is open: for the rows that are expected, as far as it can be had, and for
 * any one chunk at least, which the job keeps from then on.  NOMEM: not now. */
extern gsort_status gpusort_service_reserve(int job);

/* Sees to it that the job, which is open, has grants for so many rows and row bytes more than
 * it has been fed; a little more, if it can be had.  NOMEM: not now. */
extern gsort_status gpusort_service_grant(int job, uint64 rows, uint64 row_bytes);

/* After NOMEM, of a job that opens: begins to wait, or still waits.  False: it must
 * not wait, or would do so in vain. */
extern bool gpusort_service_wait_for_memory(int job);

/* The jobs that wait, those that came first first; returns their number. */
extern int	gpusort_service_waiting_jobs(int jobs[GPUSORT_JOB_SLOTS]);

/* Tells in each job's slot what device memory it holds and since when it waits. */
extern void gpusort_service_publish_jobs(void);

/* Milliseconds that a job may still wait; 0: its time is over. */
extern long gpusort_service_wait_left(int job, uint64 now_us);

#endif							/* GPUSORT_SERVICE_GRANTS_H */
