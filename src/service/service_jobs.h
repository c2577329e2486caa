/*
 * service_jobs.h
 *	  The service's side of the job slots, for the service's own files.
 *
 * A job is named by the number of its slot everywhere.  Nothing here may be called with the
 * shared lock held, unless it says so.  Nothing here calls the device: the service's other
 * files stand on this one.
 */
#ifndef GPUSORT_SERVICE_JOBS_H
#define GPUSORT_SERVICE_JOBS_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "shared/shmem.h"

#define GPUSORT_NO_BUFFER		(-1)

/* The service's side of a job slot.  Times are those of shared/clock.h. */
typedef struct GpuSortServiceJob
{
	/* copied from the slot with the job's first request, and checked: a session that writes
	 * to the slot later changes nothing */
	bool		known;
	GpuSortJobOptions options;

	gsort_job  *job;			/* NULL: not open on the device */
	bool		closing;		/* job may die with the next events: only CLOSED counts */
	gsort_cut_how cut_how;

	uint64		runs;			/* ended, by being spilled */

	/* of the run being fed */
	uint64		granted_rows;
	uint64		granted_bytes;
	uint64		fed_rows;
	uint64		fed_bytes;
	int			incomplete_rows;
	uint64		missing_bytes[GSORT_FEEDERS_MAX];	/* of each feeder's incomplete row */

	/* chunks that wait, in the order they came, but first of all what rows that the device has begun to
	 * take lack; GPUSORT_NO_BUFFER: none */
	int			first_chunk;
	int			last_chunk;
	int			last_rest;		/* of the latter */
	uint64		refused_since_us;	/* the device could not take the first of them, or the cut; 0: it could */
	bool		full;			/* until the next run */
	bool		cut_pending;	/* the cut comes when it can */

	/* the wait for memory that others have; service_grants.c */
	uint64		waits_since_us; /* 0: it does not wait */
	uint64		wanted_bytes;	/* device memory that it was refused last */
	bool		wants_little;	/* no more than a small sort has */

	/* what the slot says of these, for gpusort_progress */
	uint64		published_bytes;
	uint64		published_wait_us;
} GpuSortServiceJob;

/* This process's number among the services. */
extern int	gpusort_service_number;

extern GpuSortServiceJob gpusort_service_jobs[GPUSORT_JOB_SLOTS];
extern int	gpusort_service_open_jobs;	/* on the device */

/* This service in shared memory. */
static inline GpuSortService *
gpusort_service_shared(void)
{
	return &gpusort_shared->services[gpusort_service_number];
}

static inline GpuSortJobSlot *
gpusort_service_slot(int job)
{
	return &gpusort_shared->jobs[job];
}

/* Once, before all others. */
extern void gpusort_service_jobs_begin(void);

/* Copies and checks the options of a job that asks for the first time.  False: they are not
 * sound, and the job has failed. */
extern bool gpusort_service_know_job(int job);

/* Gives a buffer to its job's owner; to the pool, if the owner has left. */
extern void gpusort_service_return_buffer(int buffer, GpuSortBufferState state);

/* Moves a job on, unless its owner has left or it has failed. */
extern void gpusort_service_set_job_state(int job, GpuSortJobState state,
										  GpuSortNativeReason reason);
extern GpuSortJobState gpusort_service_job_state(int job);
extern void gpusort_service_fail_job(int job, const char *message);

/* The same of a job that the device, which goes on, has no memory for. */
extern void gpusort_service_fail_job_for_memory(int job, const char *message);

/* Puts a buffer behind the chunks that wait, or behind those that are rests of rows; takes the first one,
 * which there must be. */
extern void gpusort_service_add_chunk(GpuSortServiceJob *mine, int buffer, bool is_rest);
extern int	gpusort_service_take_chunk(GpuSortServiceJob *mine);

/* Of a job that has failed or is closed, which its buffers are freed with. */
extern void gpusort_service_drop_chunks(GpuSortServiceJob *mine);

/* A job that opens gets no memory. */
extern void gpusort_service_refuse_job(int job, GpuSortNativeReason reason);

/* Appends the pids of the processes with sorts on this service's device. */
extern void gpusort_service_list_processes(StringInfo pids);

/* The job is not on the device, or no longer; or none is. */
extern void gpusort_service_forget_job(GpuSortServiceJob *mine);
extern void gpusort_service_forget_all_jobs(void);

/* Frees all that is left of a job whose owner has left. */
extern void gpusort_service_free_job(int job);

/* Fails every job that the service knows.  With the lock held. */
extern void gpusort_service_fail_all_jobs(const char *message);

/* Takes over from a worker that has ended, with the lock held: its jobs fail, its buffers come
 * back, the ring is emptied. */
extern void gpusort_service_take_over(void);

#endif							/* GPUSORT_SERVICE_JOBS_H */
