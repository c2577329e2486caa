/*
 * job.c
 *	  The sessions' side of a device job: claim, send, wait, read, release.
 *
 * In:  buffers filled by feed.c, wishes for windows from reader.c.
 * Out: requests in the ring, the service's latch set; its answers in the slot, whose
 *	    condition variable tells of them.
 *
 * Runs in the backend that owns the job, its leader, and in the parallel workers that
 * feed it.  The shared lock is held for each look and each step, never while waiting.
 *
 * No hold and wait: a job gets all the buffers it needs when it opens, or does not
 * open.  Buffers with windows that an idle reader has not come to (a cursor
 * between two FETCHes) may be taken back by a job that opens; the reader keeps one
 * buffer at least and fetches such windows again.  So nothing here ever waits
 * for another session.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/condition_variable.h"

#include "compat.h"
#include "settings.h"
#include "shared/job.h"

/* A reader that has not asked for this long is idle. */
#define IDLE_READER_MS			1000

/* Waits are ended by broadcasts; this bounds what the end of a service could cost. */
#define WAIT_RECHECK_MS			1000

static uint32 wait_event_of_feed = 0;
static uint32 wait_event_of_sort = 0;
static uint32 wait_event_of_output = 0;

/* Jobs that this process has open as their leader. */
static int	jobs_open = 0;

static GpuSortJobSlot *
slot_of(const GpuSortJob *job)
{
	return &gpusort_shared->jobs[job->id.slot];
}

static void
init_wait_events(void)
{
	if (wait_event_of_feed != 0)
		return;
	wait_event_of_feed = compat_wait_event("GpusortFeed");
	wait_event_of_sort = compat_wait_event("GpusortSort");
	wait_event_of_output = compat_wait_event("GpusortOutput");
}

static bool
has_failed(const GpuSortJob *job)
{
	return slot_of(job)->state == GPUSORT_JOB_FAILED;
}

void
gpusort_job_raise_failure(const GpuSortJob *job)
{
	char		message[sizeof(slot_of(job)->message)];

	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	strlcpy(message, slot_of(job)->message, sizeof(message));
	LWLockRelease(gpusort_shared_lock());
	pg_atomic_fetch_add_u64(&gpusort_shared->counters.failed, 1);
	ereport(ERROR,
			(errcode(ERRCODE_SYSTEM_ERROR),
			 errmsg("the sort device failed during a sort"),
			 errdetail("%s", message),
			 errhint("Run the query again: without a device it is sorted natively. \"SET gpusort.enabled = off\" keeps it off the device.")));
}

void
gpusort_job_begin_output(GpuSortJob *job)
{
	job->output_begun = true;
}

/* Takes the lock; raises a failure, if it is too late to start over. */
static void
lock_job(const GpuSortJob *job, LWLockMode mode)
{
	LWLockAcquire(gpusort_shared_lock(), mode);
	if (unlikely(job->output_begun && has_failed(job)))
	{
		LWLockRelease(gpusort_shared_lock());
		gpusort_job_raise_failure(job);
	}
}

static void
unlock_job(void)
{
	LWLockRelease(gpusort_shared_lock());
}

bool
gpusort_job_failed(const GpuSortJob *job)
{
	bool		failed;

	lock_job(job, LW_SHARED);
	failed = has_failed(job);
	unlock_job();
	return failed;
}

/* Without the lock.  The caller looks again, and ends with ConditionVariableCancelSleep. */
static void
wait_for_change(const GpuSortJob *job, uint32 wait_event)
{
	(void) ConditionVariableTimedSleep(&slot_of(job)->changed, WAIT_RECHECK_MS, wait_event);
}

static void
push_request(const GpuSortJob *job, GpuSortRequestKind kind, int buffer, uint64 number)
{
	GpuSortRequest request = {
		.kind = kind,
		.job = job->id.slot,
		.buffer = buffer,
		.number = number,
	};

	gpusort_request_push(&request);
	slot_of(job)->known_to_service = true;
	gpusort_wake_service();
}

/* --- opening and closing -------------------------------------------------- */

static int
find_free_slot(void)
{
	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
		if (gpusort_shared->jobs[i].state == GPUSORT_JOB_FREE)
			return i;
	return -1;
}

static bool
may_be_taken_back(const GpuSortBuffer *buffer)
{
	return buffer->state == GPUSORT_BUFFER_WINDOW || buffer->state == GPUSORT_BUFFER_HELD;
}

/* Frees buffers of idle readers, all but one of each, until enough are free. */
static void
take_back_idle_buffers(int enough)
{
	TimestampTz now = GetCurrentTimestamp();

	for (int j = 0; j < GPUSORT_JOB_SLOTS; j++)
	{
		GpuSortJobSlot *slot = &gpusort_shared->jobs[j];

		/* a run that is being spilled needs its buffers for the next one */
		if (slot->state != GPUSORT_JOB_READY || slot->cut_how == GSORT_SORTED_RUN ||
			!TimestampDifferenceExceeds(slot->last_read, now, IDLE_READER_MS))
			continue;
		for (int i = slot->n_buffers - 1; i >= 0 && slot->n_buffers > 1; i--)
		{
			if (gpusort_shared->n_free_buffers >= enough)
				return;
			if (may_be_taken_back(&gpusort_buffers[slot->buffers[i]]))
				gpusort_buffer_free(slot->buffers[i]);
		}
	}
}

static GpuSortNativeReason
claim(GpuSortJob *job, const GpuSortJobOptions *options)
{
	int			feeders = options->feeders;
	int			reserve = options->may_spill ? GPUSORT_SPILL_BUFFERS : 0;
	int			buffers = Max(feeders * GPUSORT_BUFFERS_A_FEEDER, GPUSORT_JOB_BUFFERS_MIN) + reserve;
	GpuSortJobSlot *slot;

	if (gpusort_shared->service.state != GPUSORT_SERVICE_SERVING)
		return GPUSORT_NATIVE_NO_DEVICE;
	job->id.slot = find_free_slot();
	if (job->id.slot < 0)
		return GPUSORT_NATIVE_NO_SLOT;
	if (gpusort_shared->n_free_buffers < buffers)
		take_back_idle_buffers(buffers);
	if (gpusort_shared->n_free_buffers < GPUSORT_JOB_BUFFERS_SHORT(feeders) + reserve)
		return GPUSORT_NATIVE_NO_BUFFERS;
	buffers = Min(Min(buffers, gpusort_shared->n_free_buffers), GPUSORT_JOB_BUFFERS_MAX);

	slot = slot_of(job);
	slot->state = GPUSORT_JOB_FEEDING;
	slot->generation++;
	slot->known_to_service = false;
	slot->n_buffers = 0;
	slot->key_columns = options->key_columns;
	slot->null_mask = options->null_mask;
	slot->null_first_mask = options->null_first_mask;
	slot->engine = options->engine;
	slot->may_spill = options->may_spill;
	slot->wait_ms = jobs_open == 0 ? gpusort_wait_timeout_ms : 0;
	slot->refused_reason = GPUSORT_NATIVE_NONE;
	slot->message[0] = '\0';
	slot->rows = 0;
	slot->windows = 0;
	slot->runs = 0;
	slot->cut_how = GSORT_SORTED;
	slot->chunks_sent = 0;
	slot->rows_fed = 0;
	gpusort_buffers_allocate(job->id.slot, buffers);
	job->id.generation = slot->generation;
	job->device_kind = gpusort_shared->service.info.kind;
	job->open = true;
	jobs_open++;
	return GPUSORT_NATIVE_NONE;
}

static void
close_on_reset(void *arg)
{
	gpusort_job_close((GpuSortJob *) arg);
}

GpuSortJob *
gpusort_job_open(const GpuSortJobOptions *options, GpuSortNativeReason *reason)
{
	GpuSortJob *job = palloc0(sizeof(GpuSortJob));

	Assert(options->feeders <= GPUSORT_FEEDERS_MAX);
	init_wait_events();
	job->on_reset.func = close_on_reset;
	job->on_reset.arg = job;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &job->on_reset);
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	*reason = claim(job, options);
	LWLockRelease(gpusort_shared_lock());
	return job->open ? job : NULL;
}

GpuSortJob *
gpusort_job_attach(const GpuSortJobId *id)
{
	GpuSortJob *job = palloc0(sizeof(GpuSortJob));
	bool		ours;

	init_wait_events();
	job->id = *id;
	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	ours = slot_of(job)->generation == id->generation;
	LWLockRelease(gpusort_shared_lock());
	if (!ours)
		elog(ERROR, "gpusort job %d has ended before its feeder began", id->slot);
	return job;
}

/*
 * Frees what the session owns at once; what the device may still touch is freed
 * by the service when it has closed its side.  Never waits, never fails: it also
 * runs while a transaction is aborted.  Parallel workers have ended by then:
 * PostgreSQL waits for them before it lets go of the leader's memory.
 */
void
gpusort_job_close(GpuSortJob *job)
{
	GpuSortJobSlot *slot;

	if (!job->open)
		return;
	job->open = false;
	jobs_open--;
	slot = slot_of(job);
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	for (int i = slot->n_buffers - 1; i >= 0; i--)
	{
		GpuSortBufferState state = gpusort_buffers[slot->buffers[i]].state;

		if (state != GPUSORT_BUFFER_SENT && state != GPUSORT_BUFFER_FETCHING)
			gpusort_buffer_free(slot->buffers[i]);
	}
	if (slot->known_to_service)
	{
		slot->state = GPUSORT_JOB_ABANDONED;
		push_request(job, GPUSORT_REQUEST_CLOSE, -1, 0);
	}
	else
		gpusort_job_slot_free(slot);
	LWLockRelease(gpusort_shared_lock());
}

bool
gpusort_job_service_serves(void)
{
	bool		serves;

	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	serves = gpusort_shared->service.state == GPUSORT_SERVICE_SERVING;
	LWLockRelease(gpusort_shared_lock());
	return serves;
}

/* --- feeding --------------------------------------------------------------- */

static int
find_buffer(const GpuSortJob *job, GpuSortBufferState state)
{
	const GpuSortJobSlot *slot = slot_of(job);

	for (int i = 0; i < slot->n_buffers; i++)
		if (gpusort_buffers[slot->buffers[i]].state == state)
			return slot->buffers[i];
	return -1;
}

static int
count_buffers(const GpuSortJobSlot *slot, GpuSortBufferState state)
{
	int			n = 0;

	for (int i = 0; i < slot->n_buffers; i++)
		if (gpusort_buffers[slot->buffers[i]].state == state)
			n++;
	return n;
}

#define WAIT_FOR_BUFFER	(-3)

/* With the lock held: a buffer to fill now, or why there is none. */
static int
take_buffer_to_fill(GpuSortJob *job, bool rest_of_row)
{
	GpuSortJobSlot *slot = slot_of(job);
	int			buffer;

	if (slot->state == GPUSORT_JOB_REFUSED || slot->state == GPUSORT_JOB_FAILED)
		return GPUSORT_NO_BUFFER_REFUSED;
	if (!rest_of_row)
	{
		if (slot->state == GPUSORT_JOB_FULL)
			return GPUSORT_NO_BUFFER_FULL;
		if (slot->state != GPUSORT_JOB_FEEDING ||
			(slot->may_spill &&
			 count_buffers(slot, GPUSORT_BUFFER_HELD) <= GPUSORT_SPILL_BUFFERS))
			return WAIT_FOR_BUFFER;
	}
	buffer = find_buffer(job, GPUSORT_BUFFER_HELD);
	if (buffer < 0)
		return WAIT_FOR_BUFFER;
	gpusort_buffers[buffer].state = GPUSORT_BUFFER_FILLING;
	return buffer;
}

int
gpusort_job_buffer_to_fill(GpuSortJob *job, bool rest_of_row)
{
	int			buffer;

	for (;;)
	{
		lock_job(job, LW_EXCLUSIVE);
		buffer = take_buffer_to_fill(job, rest_of_row);
		unlock_job();
		if (buffer != WAIT_FOR_BUFFER)
			break;
		wait_for_change(job, wait_event_of_feed);
	}
	ConditionVariableCancelSleep();
	return buffer;
}

/* Returns the chunk's order.  Once it is sent the buffer can become another chunk's at any
 * time, which has another order. */
static uint64
send_chunk(GpuSortJob *job, int buffer)
{
	uint64		order;

	lock_job(job, LW_EXCLUSIVE);
	order = slot_of(job)->chunks_sent;
	if (has_failed(job))
		gpusort_buffers[buffer].state = GPUSORT_BUFFER_HELD;
	else
	{
		gpusort_buffers[buffer].state = GPUSORT_BUFFER_SENT;
		gpusort_buffers[buffer].sent_order = order;
		slot_of(job)->chunks_sent++;
		push_request(job, GPUSORT_REQUEST_APPEND, buffer, 0);
	}
	unlock_job();
	return order;
}

void
gpusort_job_send(GpuSortJob *job, int buffer)
{
	(void) send_chunk(job, buffer);
}

bool
gpusort_job_send_and_wait(GpuSortJob *job, int buffer)
{
	GpuSortBuffer *shared = &gpusort_buffers[buffer];
	uint64		order = send_chunk(job, buffer);
	bool		answered = false;
	bool		refused = false;

	while (!answered)
	{
		lock_job(job, LW_EXCLUSIVE);
		/* accepted, the buffer may be another chunk's by now */
		answered = shared->sent_order != order || shared->state != GPUSORT_BUFFER_SENT ||
			has_failed(job);
		refused = shared->sent_order == order && shared->state == GPUSORT_BUFFER_REFUSED;
		if (refused)
			shared->state = GPUSORT_BUFFER_HELD;
		unlock_job();
		if (!answered)
			wait_for_change(job, wait_event_of_feed);
	}
	ConditionVariableCancelSleep();
	return !refused;
}

void
gpusort_job_keep(GpuSortJob *job, int buffer)
{
	lock_job(job, LW_EXCLUSIVE);
	gpusort_buffers[buffer].state = GPUSORT_BUFFER_KEPT;
	gpusort_buffers[buffer].sent_order = 0;
	unlock_job();
}

void
gpusort_job_feeder_done(GpuSortJob *job, uint64 rows)
{
	lock_job(job, LW_EXCLUSIVE);
	slot_of(job)->rows_fed += rows;
	unlock_job();
}

/* --- the leader, after the feeders have ended ---------------------------- */

uint64
gpusort_job_rows_fed(GpuSortJob *job)
{
	uint64		rows;

	lock_job(job, LW_SHARED);
	rows = slot_of(job)->rows_fed;
	unlock_job();
	return rows;
}

uint64
gpusort_job_chunks_sent(GpuSortJob *job)
{
	uint64		chunks;

	lock_job(job, LW_SHARED);
	chunks = slot_of(job)->chunks_sent;
	unlock_job();
	return chunks;
}

GpuSortNativeReason
gpusort_job_refused_reason(GpuSortJob *job)
{
	GpuSortNativeReason reason;

	lock_job(job, LW_SHARED);
	reason = has_failed(job) ? GPUSORT_NATIVE_DEVICE_LOST : slot_of(job)->refused_reason;
	unlock_job();
	return reason;
}

/* Waits until no buffer of the job is in state, or the job has failed. */
static void
wait_while_any(GpuSortJob *job, GpuSortBufferState state, uint32 wait_event)
{
	for (;;)
	{
		int			buffer;

		lock_job(job, LW_SHARED);
		buffer = has_failed(job) ? -1 : find_buffer(job, state);
		unlock_job();
		if (buffer < 0)
			break;
		wait_for_change(job, wait_event);
	}
	ConditionVariableCancelSleep();
}

void
gpusort_job_wait_quiet(GpuSortJob *job)
{
	wait_while_any(job, GPUSORT_BUFFER_SENT, wait_event_of_feed);
	wait_while_any(job, GPUSORT_BUFFER_FETCHING, wait_event_of_output);
}

static int
compare_sent_order(const void *a, const void *b)
{
	uint64		order_a = gpusort_buffers[*(const int *) a].sent_order;
	uint64		order_b = gpusort_buffers[*(const int *) b].sent_order;

	return order_a < order_b ? -1 : order_a > order_b;
}

int
gpusort_job_list_buffers(GpuSortJob *job, GpuSortBufferState state,
						int buffers[GPUSORT_JOB_BUFFERS_MAX])
{
	const GpuSortJobSlot *slot = slot_of(job);
	int			n = 0;

	lock_job(job, LW_SHARED);
	for (int i = 0; i < slot->n_buffers; i++)
		if (gpusort_buffers[slot->buffers[i]].state == state)
			buffers[n++] = slot->buffers[i];
	unlock_job();
	qsort(buffers, n, sizeof(int), compare_sent_order);
	return n;
}

/* What reading does not need goes back to the pool. */
static void
free_surplus_buffers(GpuSortJobSlot *slot)
{
	for (int i = slot->n_buffers - 1; i >= 0 && slot->n_buffers > GPUSORT_READ_BUFFERS; i--)
		if (gpusort_buffers[slot->buffers[i]].state == GPUSORT_BUFFER_HELD)
			gpusort_buffer_free(slot->buffers[i]);
}

/* Waits until the job leaves a state; returns the one it has come to. */
static GpuSortJobState
wait_while_in(GpuSortJob *job, GpuSortJobState waited)
{
	GpuSortJobState state;

	for (;;)
	{
		lock_job(job, LW_SHARED);
		state = slot_of(job)->state;
		unlock_job();
		if (state != waited)
			break;
		wait_for_change(job, wait_event_of_sort);
	}
	ConditionVariableCancelSleep();
	return state;
}

/* full: the run that is cut ends because the job is full, not because the input does. */
static GpuSortCutResult
cut(GpuSortJob *job, gsort_cut_how how, bool full)
{
	GpuSortJobSlot *slot = slot_of(job);
	GpuSortJobState state;

	lock_job(job, LW_EXCLUSIVE);
	if ((how == GSORT_AS_FED && !has_failed(job)) ||
		slot->state == (full ? GPUSORT_JOB_FULL : GPUSORT_JOB_FEEDING))
	{
		slot->state = GPUSORT_JOB_CUTTING;
		slot->cut_how = how;
		push_request(job, GPUSORT_REQUEST_CUT, -1, ++slot->cuts);
	}
	unlock_job();
	state = wait_while_in(job, GPUSORT_JOB_CUTTING);
	if (state == GPUSORT_JOB_FULL)
		return GPUSORT_CUT_FULL;
	if (state != GPUSORT_JOB_READY)
		return GPUSORT_CUT_REFUSED;
	if (how == GSORT_SORTED_RUN)
		return GPUSORT_CUT_DONE;	/* the next run needs the buffers */
	lock_job(job, LW_EXCLUSIVE);
	free_surplus_buffers(slot);
	unlock_job();
	return GPUSORT_CUT_DONE;
}

GpuSortCutResult
gpusort_job_cut(GpuSortJob *job, gsort_cut_how how)
{
	return cut(job, how, false);
}

bool
gpusort_job_cut_full_run(GpuSortJob *job)
{
	return cut(job, GSORT_SORTED_RUN, true) == GPUSORT_CUT_DONE;
}

bool
gpusort_job_is_full(GpuSortJob *job)
{
	bool		full;

	lock_job(job, LW_SHARED);
	full = slot_of(job)->state == GPUSORT_JOB_FULL;
	unlock_job();
	return full;
}

static void
ask(GpuSortJob *job, GpuSortRequestKind kind)
{
	lock_job(job, LW_EXCLUSIVE);
	if (!has_failed(job))
	{
		slot_of(job)->state = GPUSORT_JOB_ASKED;
		push_request(job, kind, -1, 0);
	}
	unlock_job();
}

void
gpusort_job_next_run(GpuSortJob *job)
{
	ask(job, GPUSORT_REQUEST_NEXT_RUN);
	(void) wait_while_in(job, GPUSORT_JOB_ASKED);
}

bool
gpusort_job_merge(GpuSortJob *job)
{
	GpuSortJobSlot *slot = slot_of(job);

	ask(job, GPUSORT_REQUEST_MERGE);
	if (wait_while_in(job, GPUSORT_JOB_ASKED) != GPUSORT_JOB_READY)
		return false;
	lock_job(job, LW_EXCLUSIVE);
	slot->cut_how = GSORT_SORTED;	/* an idle reader's buffers may be taken back again */
	free_surplus_buffers(slot);
	unlock_job();
	return true;
}

/* The service writes these before the job is ready, and not while it is. */
uint64
gpusort_job_rows(const GpuSortJob *job)
{
	return slot_of(job)->rows;
}

uint64
gpusort_job_windows(const GpuSortJob *job)
{
	return slot_of(job)->windows;
}

void
gpusort_job_stats(const GpuSortJob *job, gsort_job_stats *stats)
{
	lock_job(job, LW_SHARED);
	*stats = slot_of(job)->stats;
	unlock_job();
}

/* --- reading --------------------------------------------------------------- */

void
gpusort_job_forget_windows(GpuSortJob *job)
{
	GpuSortJobSlot *slot = slot_of(job);

	wait_while_any(job, GPUSORT_BUFFER_FETCHING, wait_event_of_output);
	lock_job(job, LW_EXCLUSIVE);
	for (int i = 0; i < slot->n_buffers; i++)
	{
		GpuSortBuffer *buffer = &gpusort_buffers[slot->buffers[i]];

		if (buffer->state == GPUSORT_BUFFER_WINDOW || buffer->state == GPUSORT_BUFFER_READING)
			buffer->state = GPUSORT_BUFFER_HELD;
	}
	unlock_job();
}

static int
fetch(GpuSortJob *job, GpuSortRequestKind kind, uint64 number)
{
	GpuSortJobSlot *slot = slot_of(job);
	int			buffer = -1;

	lock_job(job, LW_EXCLUSIVE);
	slot->last_read = GetCurrentTimestamp();
	/* in place of buffers that were taken back, as far as there are free ones */
	if (slot->n_buffers < GPUSORT_JOB_BUFFERS_MIN)
		gpusort_buffers_allocate(job->id.slot,
								Min(GPUSORT_JOB_BUFFERS_MIN - slot->n_buffers,
									gpusort_shared->n_free_buffers));
	if (!has_failed(job))
		buffer = find_buffer(job, GPUSORT_BUFFER_HELD);
	if (buffer >= 0)
	{
		gpusort_buffers[buffer].state = GPUSORT_BUFFER_FETCHING;
		push_request(job, kind, buffer, number);
	}
	unlock_job();
	return buffer;
}

int
gpusort_job_fetch_window(GpuSortJob *job, uint64 window)
{
	return fetch(job, GPUSORT_REQUEST_FETCH_WINDOW, window);
}

int
gpusort_job_fetch_row(GpuSortJob *job, uint64 row)
{
	return fetch(job, GPUSORT_REQUEST_FETCH_ROW, row);
}

bool
gpusort_job_read_buffer(GpuSortJob *job, int buffer, gsort_window *window, uint64 *number)
{
	GpuSortBuffer *shared = &gpusort_buffers[buffer];
	bool		ready = false;
	bool		coming = true;

	while (coming && !ready)
	{
		lock_job(job, LW_EXCLUSIVE);
		slot_of(job)->last_read = GetCurrentTimestamp();
		/* taken back, and perhaps given to us anew, if it is neither fetched nor coming */
		coming = shared->job == job->id.slot && shared->state == GPUSORT_BUFFER_FETCHING &&
			!has_failed(job);
		ready = shared->job == job->id.slot && shared->state == GPUSORT_BUFFER_WINDOW;
		if (ready)
		{
			shared->state = GPUSORT_BUFFER_READING;
			*window = shared->window;
			*number = shared->window_number;
		}
		unlock_job();
		if (coming)
			wait_for_change(job, wait_event_of_output);
	}
	ConditionVariableCancelSleep();
	return ready;
}

void
gpusort_job_buffer_done(GpuSortJob *job, int buffer)
{
	lock_job(job, LW_EXCLUSIVE);
	if (gpusort_buffers[buffer].job == job->id.slot)
		gpusort_buffers[buffer].state = GPUSORT_BUFFER_HELD;
	unlock_job();
}
