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
 *
 * A query that succeeds closes its job itself.  After any other end the
 * resource owner under which the job was opened does so: of the transaction, of
 * the subtransaction, or of a failed portal.  The job must not depend on memory
 * instead: that of a failed PL/pgSQL statement stays until the client's
 * ROLLBACK.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/resowner.h"

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

/* For each slot, the resource owner under which this process has claimed it;
 * NULL: it has not. */
static ResourceOwner owners[GPUSORT_JOB_SLOTS];
static int	n_claimed = 0;

static void release_jobs(ResourceReleasePhase phase, bool is_commit, bool is_top_level, void *arg);

static void
init_process(void)
{
	static bool done = false;

	if (done)
		return;
	gpusort_wait_event_of_feed = compat_wait_event("GpusortFeed");
	gpusort_wait_event_of_sort = compat_wait_event("GpusortSort");
	gpusort_wait_event_of_output = compat_wait_event("GpusortOutput");
	RegisterResourceReleaseCallback(release_jobs, NULL);
	/* last, since each of these may fail */
	done = true;
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

	gpusort_job_lock_or_raise(job, LW_SHARED);
	failed = gpusort_job_slot_failed(job);
	gpusort_job_unlock();
	return failed;
}

/* --- for the three files -------------------------------------------------- */

void
gpusort_job_lock_or_raise(const GpuSortJob *job, LWLockMode mode)
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
 * then.  When the service runs again, it closes the job on the device, as
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
	gpusort_job_lock_or_raise(job, mode);
}

void
gpusort_job_ask(GpuSortJob *job, GpuSortJobState state, uint32 wait_event)
{
	GpuSortJobSlot *slot = gpusort_job_slot(job);

	gpusort_job_slot_enter(slot, state);
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
	return n_claimed >= GPUSORT_JOBS_OF_A_PROCESS && taken >= GPUSORT_JOB_SLOTS / 2 ? -1 : free;
}

/* Has this process a job that needs the service? */
static bool
has_a_job(void)
{
	for (int i = 0; i < GPUSORT_JOB_SLOTS && n_claimed > 0; i++)
		if (owners[i] != NULL && gpusort_shared->jobs[i].state != GPUSORT_JOB_RELEASED)
			return true;
	return false;
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

	if (has_a_job() || IsParallelWorker())
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
	memset(&slot->asked, 0, sizeof(*slot) - offsetof(GpuSortJobSlot, asked));
	slot->options = *options;
	slot->options.wait_ms = wait_ms;
	slot->native_reason = GPUSORT_NATIVE_NONE;
	slot->finish_how = GSORT_SORTED;
	slot->pid = MyProcPid;
	slot->leader_pid = IsParallelWorker() ? MyProc->lockGroupLeader->pid : 0;
	slot->database = MyDatabaseId;
	slot->role = MyProc->roleId;
	slot->phase_start = GetCurrentTimestamp();
	job->id.generation = slot->generation;
	record_device(job, service);
	owners[job->id.slot] = CurrentResourceOwner;
	n_claimed++;
	return GPUSORT_NATIVE_NONE;
}

/* Asks for buffers and device memory for the first rows, and waits while the
 * service lets the job wait. */
static GpuSortNativeReason
reserve(GpuSortJob *job)
{
	const GpuSortJobSlot *slot = gpusort_job_slot(job);
	GpuSortNativeReason reason = GPUSORT_NATIVE_NO_DEVICE;

	gpusort_job_lock_or_raise(job, LW_EXCLUSIVE);
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
	init_process();
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	*reason = claim(job, options, longest_wait(options));
	LWLockRelease(gpusort_shared_lock());
	if (*reason != GPUSORT_NATIVE_NONE)
		return NULL;
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

GpuSortNativeReason
gpusort_job_look_for_room(int feeders)
{
	GpuSortNativeReason reason = GPUSORT_NATIVE_NONE;

	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	if (gpusort_service_for_new_job(0) < 0)
		reason = GPUSORT_NATIVE_NO_DEVICE;
	else if (find_free_slot() < 0)
		reason = GPUSORT_NATIVE_NO_SLOT;
	else if (!gpusort_buffers_make_free(gpusort_buffers_to_open(feeders)))
		reason = GPUSORT_NATIVE_NO_BUFFERS;
	LWLockRelease(gpusort_shared_lock());
	return reason;
}

/* The generation tells whether the slot still belongs to the same job. */
GpuSortJob *
gpusort_job_attach(const GpuSortJobId *id)
{
	GpuSortJob *job = palloc0(sizeof(GpuSortJob));
	bool		ours;

	init_process();
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
 * Parallel workers have fed their last rows by then, or have ended: PostgreSQL
 * waits for them before it releases the leader's resource owners.
 */
static void
leave_slot(GpuSortJobSlot *slot, GpuSortJobState state)
{
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	for (int i = slot->n_buffers - 1; i >= 0; i--)
	{
		GpuSortBufferState buffer_state = gpusort_buffers[slot->buffers[i]].state;

		if (buffer_state != GPUSORT_BUFFER_SENT && buffer_state != GPUSORT_BUFFER_FETCHING)
			gpusort_buffer_free(slot->buffers[i]);
	}
	slot->merging |= state == GPUSORT_JOB_RELEASED;
	gpusort_job_slot_enter(slot, state);
	slot->asked = true;
	gpusort_wake_service(slot->service);
	LWLockRelease(gpusort_shared_lock());
}

static void
close_slot(int slot)
{
	owners[slot] = NULL;
	n_claimed--;
	leave_slot(&gpusort_shared->jobs[slot], GPUSORT_JOB_ABANDONED);
}

/*
 * PostgreSQL calls this for each owner that is released, children first, with
 * CurrentResourceOwner set to it.  After a commit the parent inherits the
 * remaining jobs, so that no job names an owner that is gone.  The job's memory
 * may be gone already, since an abort deletes the executor's first.
 */
static void
release_jobs(ResourceReleasePhase phase, bool is_commit, bool is_top_level, void *arg)
{
	ResourceOwner parent;

	if (phase != RESOURCE_RELEASE_BEFORE_LOCKS || n_claimed == 0)
		return;
	parent = ResourceOwnerGetParent(CurrentResourceOwner);
	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
	{
		if (owners[i] != CurrentResourceOwner)
			continue;
		if (is_commit && parent != NULL)
			owners[i] = parent;
		else
			close_slot(i);
	}
}

/* Has this process the job still?  An abort may have closed it. */
static bool
is_ours(const GpuSortJob *job)
{
	return owners[job->id.slot] != NULL && gpusort_job_slot(job)->generation == job->id.generation;
}

void
gpusort_job_close(GpuSortJob *job)
{
	if (is_ours(job))
		close_slot(job->id.slot);
}

void
gpusort_job_release_device(GpuSortJob *job)
{
	if (is_ours(job))
		leave_slot(gpusort_job_slot(job), GPUSORT_JOB_RELEASED);
}

void
gpusort_job_report(const GpuSortJob *job, GpuSortFigure figure, uint64 value)
{
	if (is_ours(job))
		pg_atomic_write_u64(&gpusort_job_slot(job)->figures[figure], value);
}
