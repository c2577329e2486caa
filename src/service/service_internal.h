/*
 * service_internal.h
 *	  Declarations shared by the service's files.
 *
 * service.c           the process and its loop
 * service_others.c    the other services are started
 * service_device.c    the device: opened, shown to sessions, lost
 * service_open.c      opens a device, and sets its budget
 * service_watch.c     notices a device that has stopped answering
 * service_requests.c  requests of sessions and events of the device, handed to
 * service_feed.c      chunks on their way to the device, and the end of a run
 * service_reservations.c    jobs that open, their buffers and device memory
 * service_jobs.c      the service's side of the job slots: answers to sessions
 *
 * A job is named by the number of its slot everywhere.  Nothing here may be
 * called with the shared lock held, unless it says so.
 */
#ifndef GPUSORT_SERVICE_INTERNAL_H
#define GPUSORT_SERVICE_INTERNAL_H

#include "postgres.h"

#include "postmaster/bgworker.h"

#include "compat.h"
#include "job/clock.h"
#include "job/service_client.h"
#include "settings.h"

/* --- service_jobs.c ------------------------------------------------------- */

#define GPUSORT_NO_BUFFER		(-1)

/* The buffers of a job that wait for the device, in the order in which they
 * came. */
typedef struct GpuSortBufferQueue
{
	int			first;			/* GPUSORT_NO_BUFFER: none waits */
	int			last;
} GpuSortBufferQueue;

#define GPUSORT_EMPTY_QUEUE		((GpuSortBufferQueue) {GPUSORT_NO_BUFFER, GPUSORT_NO_BUFFER})

/* The service's side of a job slot.  Times are those of job/clock.h. */
typedef struct GpuSortServiceJob
{
	/* copied from the slot when the job opens, and checked; a session that
	 * writes to the slot later changes nothing */
	GpuSortJobOptions options;

	gsort_job  *job;			/* NULL: the job is not open on the device */
	bool		closing;		/* job may die with the next events, so only CLOSED counts */
	int			operations;		/* in progress on the device; service_watch.c */
	uint64		runs;			/* runs that have ended, by being spilled */

	GpuSortBufferQueue rests;	/* chunks that complete rows which the device has begun to take */
	GpuSortBufferQueue chunks;	/* all others */
	GpuSortBufferQueue fetches; /* blocks */
	/* since when the device could not take the first of these, or the finish;
	 * 0: it could */
	uint64		refused_since_us;
	bool		full;			/* takes nothing until the next run */
	bool		finish_wanted;	/* a finish as finish_how says is to come */
	bool		finishing;		/* the device finishes it */
	gsort_finish_how finish_how;
} GpuSortServiceJob;

/* The number of this process among the services. */
extern int	gpusort_service_number;

extern GpuSortServiceJob gpusort_service_jobs[GPUSORT_JOB_SLOTS];
extern int	gpusort_service_open_jobs;	/* jobs that are open on the device */

/* Returns this service in shared memory. */
static inline GpuSortService *
gpusort_service_shared(void)
{
	return &gpusort_shared->services[gpusort_service_number];
}

/* Returns a job in shared memory.  Its state may be read without the lock: a
 * session may change it right afterwards all the same. */
static inline GpuSortJobSlot *
gpusort_service_slot(int job)
{
	return &gpusort_shared->jobs[job];
}

/* Returns the device's figures of an open job. */
static inline gsort_job_stats
gpusort_service_stats(const GpuSortServiceJob *mine)
{
	gsort_job_stats stats;

	gsort_job_get_stats(mine->job, &stats);
	return stats;
}

/* Returns the shorter of two times to sleep; negative: any time. */
static inline long
gpusort_service_sooner(long a_ms, long b_ms)
{
	return a_ms < 0 ? b_ms : b_ms < 0 ? a_ms : Min(a_ms, b_ms);
}

extern void gpusort_service_queue(GpuSortBufferQueue *queue, int buffer);

/* Takes the first buffer out of the queue; or NO_BUFFER. */
extern int	gpusort_service_take(GpuSortBufferQueue *queue);

/* Empties the queues of a job that has failed or is closed.  Its buffers are
 * freed with it. */
extern void gpusort_service_drop_buffers(GpuSortServiceJob *mine);

/* The device has refused something.  Must it be asked again in the next turn?
 * Not after some seconds. */
extern bool gpusort_service_asks_again(GpuSortServiceJob *mine);

/* Gives a buffer to its job's owner, or to the pool if the owner has left. */
extern void gpusort_service_return_buffer(int buffer, GpuSortBufferState state);

/* Moves a job on, unless its owner has left or it has failed. */
extern void gpusort_service_set_job_state(int job, GpuSortJobState state);

/* lacks_memory: the device has no memory for the job, but goes on. */
extern void gpusort_service_fail_job(int job, const char *message, bool lacks_memory);

/* There is no device yet. */
extern void gpusort_service_forget_all_jobs(void);

/* The job is not on the device, or no longer.  If its owner has left, all that
 * remains of it is freed. */
extern void gpusort_service_end_job(int job);

/* Fails every job that the service knows.  Requires the lock. */
extern void gpusort_service_fail_all_jobs(const char *message);

/* Takes over from a worker that has ended: its jobs fail, its buffers come
 * back, and its requests are dropped.  Requires the lock. */
extern void gpusort_service_take_over(void);

/* --- service_others.c ----------------------------------------------------- */

/* Called by the first service in each turn: starts the services that another
 * number of GPUs asks for.  look: also those that had no background worker,
 * after a reload or a start. */
extern void gpusort_service_start_others(bool look);

/* Returns a worker for service i, for the postmaster to start. */
extern BackgroundWorker gpusort_service_worker(int i);

/* --- service_device.c ----------------------------------------------------- */

extern gsort_device *gpusort_service_device;	/* NULL: there is none */

/* Opens the device that the settings ask for, or tells why there is none. */
extern void gpusort_service_open_device(void);

/*
 * Do the settings ask for another device, or for other threads, or for none, or
 * is it time to look for a lost device?  Then the open device serves no new
 * sorts, and the service restarts when no sort is open.  Returns the
 * milliseconds until this must be called although nothing else happens; -1: any
 * time.
 */
extern long gpusort_service_follow_settings(void);

/* Applies a reload: settings that need no new opening, and a missing device
 * that may be there by now. */
extern void gpusort_service_reload_settings(void);

/* Shows the device's figures to sessions. */
extern void gpusort_service_publish_info(void);

/* Makes plans and sorts native from here on, and fails the jobs of now. */
extern void gpusort_service_stop_serving(const char *message);

/* Fails all jobs and leaves.  The postmaster starts a new service. */
pg_noreturn extern void gpusort_service_restart(const char *why, const char *detail);

/* Does the same after a call has answered DEVICE_LOST. */
pg_noreturn extern void gpusort_service_lose_device(void);

/* Applies the status of a device call to a job: nothing, or it has failed.
 * Does not return from DEVICE_LOST. */
extern void gpusort_service_apply_status(int job, gsort_status status);

/* --- service_open.c ------------------------------------------------------- */

/* Opens one of the devices that a service may have.  NULL: it cannot be opened,
 * and *reason, valid until the next call, tells why.  Does not return if the
 * process is to end and the device does not open. */
extern gsort_device *gpusort_service_open(const GpuSortServiceDevice *device, int choice,
										  const char **reason);

/* Writes one line about the device to the log.  why_it: why the device before
 * it does not serve; may be empty. */
extern void gpusort_service_log_device(const char *why_it);

/* Sets the budget by gpusort.device_memory, within the memory that the device
 * can give.  Called for a device just opened, and after a reload, when there
 * may be none. */
extern void gpusort_service_set_budget(void);

/* With gpusort.device_memory = auto the budget is a share of the GPU's free
 * memory, whoever has the rest.  Asks again, before memory is promised. */
extern void gpusort_service_follow_free_memory(void);

/* --- service_watch.c ------------------------------------------------------ */

/* Notes that the device has taken an operation of a job, whose end an event
 * will report. */
static inline void
gpusort_service_operation_began(int job)
{
	gpusort_service_jobs[job].operations++;
}

/* Notes that the event has come. */
extern void gpusort_service_operation_ended(int job);

/* Called after the events of a turn, before it begins operations.  Does not
 * return if the device has ended nothing for gpusort.device_timeout although it
 * has operations in progress. */
extern void gpusort_service_watch_device(void);

/* --- service_requests.c --------------------------------------------------- */

/* Both return true if there may be more. */
extern bool gpusort_service_handle_requests(void);
extern bool gpusort_service_handle_events(void);

/* Asks the device again for the chunks, finishes and blocks that it has
 * refused. */
extern void gpusort_service_ask_again(void);

/* --- service_feed.c ------------------------------------------------------- */

/* Handle a buffer of the job, and its finish. */
extern void gpusort_service_handle_append(int job, int buffer);
extern void gpusort_service_handle_finish_run(int job);

/* Gives the waiting chunks to the device, as far as it takes them. */
extern void gpusort_service_feed_chunks(int job);

/* Handles a finish that has ended for want of memory: it is asked for again, or
 * the job fails. */
extern void gpusort_service_finish_lacks_memory(int job);

/* --- service_reservations.c ----------------------------------------------- */

extern void gpusort_service_handle_open(int job);

/* Opens jobs that wait, and refuses jobs that have waited long enough.  Returns
 * the milliseconds until they must be tried again, -1: no job waits. */
extern long gpusort_service_serve_waiting_jobs(void);

/* Makes sure that an open job has reservations for this many rows and row bytes
 * beyond those that it has been fed.  Reserves a little more if possible.
 * NOMEM: not now. */
extern gsort_status gpusort_service_reserve(int job, uint64 rows, uint64 row_bytes);

/* Shows the device memory of each job in its slot. */
extern void gpusort_service_publish_reservations(void);

#endif							/* GPUSORT_SERVICE_INTERNAL_H */
