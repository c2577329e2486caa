/*
 * service_internal.h
 *	  What the service's files share.
 *
 * service.c           the process and its loop
 * service_others.c    which services there are: started, and ended when they are no longer wanted
 * service_device.c    which device this one has: opened, shown to sessions, closed, lost
 * service_open.c      opens, pins and shuts a device, and sets its budget
 * service_call.c      calls of the device that block
 * service_watch.c     notices a device that has stopped answering
 * service_requests.c  requests of sessions and events of the device, each handed to
 * service_feed.c      chunks on their way to the device, and the cut of a run
 * service_grants.c    jobs that open, and device memory for them: who gets it, and who waits
 * service_fetch.c     windows of sorted rows on their way to sessions
 * service_jobs.c      the service's side of the job slots: answers to sessions
 *
 * A job is named by the number of its slot everywhere.  Nothing here may be called with the
 * shared lock held, unless it says so.
 */
#ifndef GPUSORT_SERVICE_INTERNAL_H
#define GPUSORT_SERVICE_INTERNAL_H

#include "postgres.h"

#include <signal.h>

#include "postmaster/bgworker.h"

#include "compat.h"
#include "settings.h"
#include "shared/clock.h"
#include "shared/services.h"

/* --- service_jobs.c -------------------------------------------------------------- */

#define GPUSORT_NO_BUFFER		(-1)

/* Buffers of a job that wait for the device, in the order they came. */
typedef struct GpuSortBufferQueue
{
	int			first;			/* GPUSORT_NO_BUFFER: none waits */
	int			last;
} GpuSortBufferQueue;

#define GPUSORT_EMPTY_QUEUE		((GpuSortBufferQueue) {GPUSORT_NO_BUFFER, GPUSORT_NO_BUFFER})

/* The service's side of a job slot.  Times are those of shared/clock.h. */
typedef struct GpuSortServiceJob
{
	/* copied from the slot when the job opens, and checked: a session that writes to the slot later
	 * changes nothing */
	GpuSortJobOptions options;

	gsort_job  *job;			/* NULL: not open on the device */
	bool		closing;		/* job may die with the next events: only CLOSED counts */
	int			operations;		/* under way on the device; service_watch.c */
	uint64		runs;			/* ended, by being spilled */

	GpuSortBufferQueue rests;	/* chunks that rows which the device has begun to take lack */
	GpuSortBufferQueue chunks;	/* all others */
	GpuSortBufferQueue fetches; /* windows */
	uint64		refused_since_us;	/* the device could not take the first of them, or the cut; 0: it could */
	bool		full;			/* until the next run */
	bool		cut_wanted;		/* as cut_how says, when it can come */
	bool		cutting;		/* the device does it */
	gsort_cut_how cut_how;

	/* the wait for memory that others have; service_grants.c */
	uint64		waits_since_us; /* 0: it does not wait */
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

/* What the device says of a job that is open. */
static inline gsort_job_stats
gpusort_service_stats(const GpuSortServiceJob *mine)
{
	gsort_job_stats stats;

	gsort_job_get_stats(mine->job, &stats);
	return stats;
}

/* The shorter of two times to sleep; negative: any time. */
static inline long
gpusort_service_sooner(long a_ms, long b_ms)
{
	return a_ms < 0 ? b_ms : b_ms < 0 ? a_ms : Min(a_ms, b_ms);
}

extern void gpusort_service_queue(GpuSortBufferQueue *queue, int buffer);

/* The first one; or NO_BUFFER. */
extern int	gpusort_service_take(GpuSortBufferQueue *queue);

/* Of a job that has failed or is closed, which its buffers are freed with. */
extern void gpusort_service_drop_buffers(GpuSortServiceJob *mine);

/* The device has refused what it should take.  Is it to be asked again in the next turn?  Not after some seconds. */
extern bool gpusort_service_asks_again(GpuSortServiceJob *mine);

/* Gives a buffer to its job's owner; to the pool, if the owner has left. */
extern void gpusort_service_return_buffer(int buffer, GpuSortBufferState state);

/* Moves a job on, unless its owner has left or it has failed. */
extern void gpusort_service_set_job_state(int job, GpuSortJobState state);
extern GpuSortJobState gpusort_service_job_state(int job);

/* lacks_memory: the device, which goes on, has none for the job. */
extern void gpusort_service_fail_job(int job, const char *message, bool lacks_memory);

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

/* --- service_others.c ------------------------------------------------------------ */

/* In the first service, in each turn: starts those that are missing, of how many there are to be by now.
 * retry: at once, also those that could not be started before.  Returns the milliseconds until one is to be
 * tried again, -1: there is none. */
extern long gpusort_service_start_others(bool retry);

/* In another one: is it no longer wanted? */
extern bool gpusort_service_is_superfluous(void);

/* Ends it for good, unless it is wanted again by now.  Its jobs have ended, its device is closed. */
extern void gpusort_service_end_for_good(void);

/* A worker for service i, which the postmaster starts. */
extern BackgroundWorker gpusort_service_worker(int i);

/* --- service_device.c ------------------------------------------------------------ */

extern gsort_device *gpusort_service_device;	/* NULL: there is none */

/*
 * Opens the device that the settings now ask for.  If another one is open, or the host device with other
 * threads, or the service is not wanted any more, that one serves no new sorts, and is closed when the sorts it has have
 * ended.  True if the device is another one now.  Does not return where the service leaves, or looks for
 * a lost device in a new process.
 */
extern bool gpusort_service_follow_settings(void);

/* After a reload: settings that need no reopening, and a device that may be there by now. */
extern void gpusort_service_reload_settings(void);

extern void gpusort_service_close_device(void);

/* Milliseconds until follow_settings has to be called although nothing else happens; -1: any time. */
extern long gpusort_service_next_look(void);

/* Shows sessions the device's figures.  Does not return from a lost device. */
extern void gpusort_service_publish_info(void);

/* From here on plans and sorts are native; the jobs of now fail. */
extern void gpusort_service_stop_serving(const char *message);

/* Fails all jobs and leaves; the postmaster starts a new service. */
pg_noreturn extern void gpusort_service_restart(const char *why, const char *detail);

/* The same after a call has answered DEVICE_LOST. */
pg_noreturn extern void gpusort_service_lose_device(void);

/* Does to a job what the status of a device call means for it: nothing, or it has failed.  Does not return from
 * DEVICE_LOST. */
extern void gpusort_service_note_status(int job, gsort_status status);

/* --- service_open.c -------------------------------------------------------------- */

/* Opens one of the devices that a service may have.  NULL: it cannot be opened, and *reason, valid until the next
 * call, says why. */
extern gsort_device *gpusort_service_open(const GpuSortServiceDevice *device, int choice, const char **reason);

/* Pins the shared buffers, if the device can. */
extern void gpusort_service_pin(gsort_device *device);

extern void gpusort_service_shut(gsort_device *device);

/* One line of the log: what the device is.  why_it: why those before it do not serve, may be empty. */
extern void gpusort_service_log_device(gsort_device *device, const char *why_it);

/* As gpusort.device_memory says, within what the device can give.  NULL: there is none.  For a device just opened, and
 * after a reload. */
extern void gpusort_service_set_budget(gsort_device *device);

/* With gpusort.device_memory = auto the budget is a share of what the GPU has free, whoever has the
 * rest: asks again, before memory is promised. */
extern void gpusort_service_follow_free_memory(gsort_device *device);

/* --- service_call.c -------------------------------------------------------------- */

/* This process has been asked to end. */
extern volatile sig_atomic_t gpusort_service_to_end;

typedef void (*GpuSortBlockingCall) (void *arg);

/*
 * Runs a call that may block for seconds, and returns when it has ended.  It runs in a thread of
 * its own: it may call the device, malloc and the system, nothing of PostgreSQL's.  If the process is to
 * end and the call does not, it is abandoned: arg stays in use until the process has ended.
 */
extern void gpusort_service_call(GpuSortBlockingCall call, void *arg);

/* --- service_watch.c ------------------------------------------------------------- */

/* The device has taken an operation of a job; an event will tell its end. */
extern void gpusort_service_operation_began(int job);

/* The event has come. */
extern void gpusort_service_operation_ended(int job);

/* Of a job that is closed no other events come. */
extern void gpusort_service_forget_operations(GpuSortServiceJob *mine);

/* Does not return if the device has ended nothing for gpusort.device_timeout, though it has something to end. */
extern void gpusort_service_watch_device(void);

/* --- service_requests.c ---------------------------------------------------------- */

/* Both return true if there may be more. */
extern bool gpusort_service_handle_requests(void);
extern bool gpusort_service_handle_events(void);

/* Asks the device again for the chunks, cuts and windows that it has refused. */
extern void gpusort_service_ask_again(void);

/* --- service_feed.c -------------------------------------------------------------- */

/* Requests, which have been checked. */
extern void gpusort_service_handle_append(const GpuSortRequest *request);
extern void gpusort_service_handle_cut(const GpuSortRequest *request);

/* Gives the device the chunks that wait, as far as it takes them. */
extern void gpusort_service_feed_chunks(int job);

/* A cut has ended for want of memory: it is asked for again, or the job fails. */
extern void gpusort_service_cut_lacks_memory(int job);

/* --- service_grants.c ------------------------------------------------------------ */

extern void gpusort_service_handle_open(const GpuSortRequest *request);

/* Opens the jobs that wait for memory, and refuses those that have waited long enough.
 * Returns the milliseconds until the next wait is over, -1: no job waits. */
extern long gpusort_service_serve_waiting_jobs(void);

/* Sees to it that the job, which is open, has grants for so many rows and row bytes more than
 * it has been fed; a little more, if it can be had.  NOMEM: not now. */
extern gsort_status gpusort_service_grant(int job, uint64 rows, uint64 row_bytes);

/* Tells in each job's slot what device memory it holds. */
extern void gpusort_service_publish_grants(void);

/* --- service_fetch.c ------------------------------------------------------------- */

extern void gpusort_service_handle_fetch(const GpuSortRequest *request);

/* Asks the device for the windows that wait. */
extern void gpusort_service_fetch_windows(int job);

/* A window has come, or cannot. */
extern void gpusort_service_handle_fetched(int job, int buffer, gsort_status status);

#endif							/* GPUSORT_SERVICE_INTERNAL_H */
