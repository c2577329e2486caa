/*
 * job.c
 *	  A device job as sessions see it: opened, failed, closed.
 *
 * In:  a description of the job (GpuSortJobOptions).
 * Out: a claimed slot with its buffers, linked to the session's GpuSortJob; in
 *	    the end both are given back.
 *
 * The protocol is in three files: this one; job_feed.c, which sends rows to the
 * service; job_leader.c, which lets them be sorted and reads them.  A step is a
 * state of the slot that the service ends, or a buffer that is handed over.
 * Both set the service's latch.  The service answers in the slot and in the
 * buffers, and signals the slot's condition variable.
 *
 * Runs in the backend that owns the job, its leader, and in the parallel
 * workers that feed it.  The shared lock is held for each look and each step,
 * but never while waiting.
 *
 * When a job opens, the service gives it the buffers that it cannot do without
 * and device memory for its first rows (service_reservations.c).  The service
 * lets a job wait for these, but only if its process holds no other job.
 * Otherwise two sessions could wait for each other's memory.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "miscadmin.h"

#include "compat.h"
#include "job/buffer_pool.h"
#include "job/clock.h"
#include "job/job_internal.h"
#include "job/service_client.h"
#include "job/stats.h"
#include "settings.h"

/* Broadcasts end waits.  This bounds the cost of a service's end, and is the
 * time after which a waiter first looks at the service's process. */
#define WAIT_RECHECK_MS			1000

/* No sort waits for longer than this many times its native time.  Any sort may
 * wait for WAIT_MS_OF_ANY_SORT, however: small sorts of many sessions take
 * turns of some milliseconds each. */
#define WAIT_TIMES_NATIVE		2
#define WAIT_MS_OF_ANY_SORT		50

uint32		gpusort_wait_event_of_feed = 0;
uint32		gpusort_wait_event_of_sort = 0;
uint32		gpusort_wait_event_of_output = 0;

/* Jobs that this process has opened as their leader. */
static int	jobs_open = 0;

static void
init_wait_events(void)
{
	if (gpusort_wait_event_of_feed != 0)
		return;
	gpusort_wait_event_of_feed = compat_wait_event("GpusortFeed");
	gpusort_wait_event_of_sort = compat_wait_event("GpusortSort");
	gpusort_wait_event_of_output = compat_wait_event("GpusortOutput");
}

/* --- failure -------------------------------------------------------------- */

/* Requires the lock, and releases it. */
pg_noreturn static void
raise_failure(const GpuSortJob *job)
{
	GpuSortJobSlot *slot = gpusort_job_slot(job);
	char		message[sizeof(slot->message)];
	bool		lacked_memory = slot->lacked_memory;

	strlcpy(message, slot->message, sizeof(message));
	/* once, although each process that feeds the job gets the error */
	if (pg_atomic_exchange_u32(&slot->failure_counted, 1) == 0)
		pg_atomic_fetch_add_u64(&gpusort_shared->counters.failed, 1);
	LWLockRelease(gpusort_shared_lock());
	if (lacked_memory)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("the sort device ran out of memory during a sort"),
				 errdetail("%s", message),
				 errhint("Retry the query when the device has more free memory, or lower gpusort.device_memory.  Run \"SET gpusort.enabled = off\" to sort without the device.")));
	ereport(ERROR,
			(errcode(ERRCODE_SYSTEM_ERROR),
			 errmsg("the sort device failed during a sort"),
			 errdetail("%s", message),
			 errhint("Retry the query.  If no device serves, PostgreSQL sorts the rows.  Run \"SET gpusort.enabled = off\" to sort without the device.")));
}

bool
gpusort_job_failed(const GpuSortJob *job)
{
	bool		failed;

	gpusort_job_lock(job, LW_SHARED);
	failed = gpusort_job_slot_failed(job);
	gpusort_job_unlock();
	return failed;
}

/* --- for the three files -------------------------------------------------- */

void
gpusort_job_lock(const GpuSortJob *job, LWLockMode mode)
{
	LWLockAcquire(gpusort_shared_lock(), mode);
	if (unlikely(gpusort_job_slot_failed(job) && !job->may_fail))
		raise_failure(job);
}

void
gpusort_job_unlock(void)
{
	LWLockRelease(gpusort_shared_lock());
	ConditionVariableCancelSleep();
}

/*
 * Fails the job if its service does not run, since the service cannot do so
 * then.  When the service runs again, it finds the job failed or closed, as
 * after a cancel.  Until then it owns the buffers that the device may touch.
 */
static void
fail_if_service_is_silent(GpuSortJobSlot *slot)
{
	uint64		silent_ms = gpusort_heartbeat_check(slot->service);
	char		message[sizeof(slot->message)];

	if (silent_ms == 0)
		return;
	snprintf(message, sizeof(message),
			 "The sort service has not responded for %llu s.  gpusort.service_timeout is %d s.",
			 (unsigned long long) silent_ms / 1000, gpusort_service_timeout_s);
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	gpusort_job_slot_fail(slot, message);
	LWLockRelease(gpusort_shared_lock());
}

void
gpusort_job_wait(const GpuSortJob *job, LWLockMode mode, uint32 wait_event)
{
	GpuSortJobSlot *slot = gpusort_job_slot(job);

	LWLockRelease(gpusort_shared_lock());
	if (ConditionVariableTimedSleep(&slot->changed, WAIT_RECHECK_MS, wait_event))
		fail_if_service_is_silent(slot);
	gpusort_job_lock(job, mode);
}

void
gpusort_job_ask(GpuSortJob *job, GpuSortJobState state, uint32 wait_event)
{
	GpuSortJobSlot *slot = gpusort_job_slot(job);

	slot->state = state;
	slot->asked = true;
	gpusort_wake_service(slot->service);
	while (slot->state == state)
		gpusort_job_wait(job, LW_EXCLUSIVE, wait_event);
}

/* Each of the job's buffers is handed over at most once until the service
 * looks, so the list has room. */
void
gpusort_job_hand_over(const GpuSortJob *job, int buffer, GpuSortBufferState state)
{
	GpuSortJobSlot *slot = gpusort_job_slot(job);

	gpusort_buffers[buffer].state = state;
	slot->handed[slot->n_handed++ % GPUSORT_JOB_BUFFERS_MAX] = buffer;
	gpusort_wake_service(slot->service);
}

int
gpusort_job_find_buffer(const GpuSortJob *job, GpuSortBufferState state)
{
	const GpuSortJobSlot *slot = gpusort_job_slot(job);

	for (int i = 0; i < slot->n_buffers; i++)
		if (gpusort_buffers[slot->buffers[i]].state == state)
			return slot->buffers[i];
	return -1;
}

/* --- opening and closing -------------------------------------------------- */

/* Returns -1 if no slot is free for this process. */
static int
find_free_slot(void)
{
	int			taken = 0;
	int			free = -1;

	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
		if (gpusort_shared->jobs[i].state == GPUSORT_JOB_FREE)
			free = i;
		else
			taken++;
	return jobs_open >= GPUSORT_JOBS_OF_A_PROCESS && taken >= GPUSORT_JOB_SLOTS / 2 ? -1 : free;
}

/*
 * Returns the milliseconds that the job may wait for buffers and device memory.
 * A process that waits must hold nothing that others may be waiting for:
 * neither this process nor a parallel worker's leader may have another job.
 */
static int
longest_wait(const GpuSortJobOptions *options)
{
	int64		patience_ms = Max((int64) options->wait_ms * WAIT_TIMES_NATIVE,
								  WAIT_MS_OF_ANY_SORT);

	if (jobs_open > 0 || IsParallelWorker())
		return 0;
	return (int) Min(patience_ms, Min(gpusort_wait_timeout_ms, gpusort_max_wait_timeout_ms));
}

static void
record_device(GpuSortJob *job, int service)
{
	const gsort_device_info *info = &gpusort_shared->services[service].info;

	job->device_kind = info->kind;
	if (gpusort_shared->n_services > 1)
		snprintf(job->device_name, sizeof(job->device_name), "%s, service %d", info->name, service);
}

/* Claims a slot of a service that serves.  wait_ms: how long the job may wait
 * for buffers and memory. */
static GpuSortNativeReason
claim(GpuSortJob *job, const GpuSortJobOptions *options, int wait_ms)
{
	int			service = gpusort_service_for_new_job(options->expected_bytes);
	GpuSortJobSlot *slot;

	if (service < 0)
		return GPUSORT_NATIVE_NO_DEVICE;
	job->id.slot = find_free_slot();
	if (job->id.slot < 0)
		return GPUSORT_NATIVE_NO_SLOT;

	slot = gpusort_job_slot(job);
	slot->state = GPUSORT_JOB_OPENING;
	slot->generation++;
	slot->service = service;
	gpusort_shared->services[service].open_jobs++;
	memset(&slot->asked, 0, sizeof(*slot) - offsetof(GpuSortJobSlot, asked));
	slot->options = *options;
	slot->options.wait_ms = wait_ms;
	slot->native_reason = GPUSORT_NATIVE_NONE;
	slot->finish_how = GSORT_SORTED;
	slot->progress = -1;
	job->id.generation = slot->generation;
	record_device(job, service);
	job->open = true;
	jobs_open++;
	return GPUSORT_NATIVE_NONE;
}

static void
close_held(void *arg)
{
	gpusort_job_close((GpuSortJob *) arg);
}

/* Asks for buffers and device memory for the first rows, and waits while the
 * service lets the job wait. */
static GpuSortNativeReason
reserve(GpuSortJob *job)
{
	const GpuSortJobSlot *slot = gpusort_job_slot(job);
	GpuSortNativeReason reason = GPUSORT_NATIVE_NO_DEVICE;

	gpusort_job_lock(job, LW_EXCLUSIVE);
	/* otherwise the service has ended meanwhile */
	if (slot->state == GPUSORT_JOB_OPENING)
		gpusort_job_ask(job, GPUSORT_JOB_OPENING, gpusort_wait_event_of_feed);
	if (slot->state == GPUSORT_JOB_FEEDING || slot->state == GPUSORT_JOB_REFUSED)
		reason = slot->native_reason;
	gpusort_job_unlock();
	return reason;
}

/* The job is closed again if it gets no buffers or no memory. */
GpuSortJob *
gpusort_job_open(const GpuSortJobOptions *options, GpuSortNativeReason *reason)
{
	GpuSortJob *job = palloc0(sizeof(GpuSortJob));

	Assert(options->feeders <= GPUSORT_FEEDERS_MAX);
	init_wait_events();
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	*reason = claim(job, options, longest_wait(options));
	LWLockRelease(gpusort_shared_lock());
	if (*reason != GPUSORT_NATIVE_NONE)
		return NULL;
	/* from here on the job is closed, whatever happens */
	gpusort_hold_begin(&job->hold, CurrentMemoryContext, close_held, job);
	/* no row has been sent, so a lost device or a silent service makes the sort
	 * native */
	job->may_fail = true;
	*reason = reserve(job);
	job->may_fail = false;
	if (*reason == GPUSORT_NATIVE_NONE)
		return job;
	gpusort_job_close(job);
	return NULL;
}

/* The generation tells whether the slot still belongs to the same job. */
GpuSortJob *
gpusort_job_attach(const GpuSortJobId *id)
{
	GpuSortJob *job = palloc0(sizeof(GpuSortJob));
	bool		ours;

	init_wait_events();
	job->id = *id;
	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	ours = gpusort_job_slot(job)->generation == id->generation;
	LWLockRelease(gpusort_shared_lock());
	if (!ours)
		elog(ERROR, "gpusort job %d has ended before its feeder began", id->slot);
	return job;
}

/*
 * Frees the session's resources at once.  The service frees those that the
 * device may still touch, after it has closed its side.  This function never
 * waits and never fails, since it also runs while a transaction is aborted.
 * Parallel workers have ended by then: PostgreSQL waits for them before it
 * releases the leader's resource owners and memory.
 */
void
gpusort_job_close(GpuSortJob *job)
{
	GpuSortJobSlot *slot;

	if (!job->open)
		return;
	job->open = false;
	jobs_open--;
	gpusort_hold_end(&job->hold);
	slot = gpusort_job_slot(job);
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	for (int i = slot->n_buffers - 1; i >= 0; i--)
	{
		GpuSortBufferState state = gpusort_buffers[slot->buffers[i]].state;

		if (state != GPUSORT_BUFFER_SENT && state != GPUSORT_BUFFER_FETCHING)
			gpusort_buffer_free(slot->buffers[i]);
	}
	slot->state = GPUSORT_JOB_ABANDONED;
	slot->asked = true;
	gpusort_wake_service(slot->service);
	LWLockRelease(gpusort_shared_lock());
}
