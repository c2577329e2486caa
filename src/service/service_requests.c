/*
 * service_requests.c
 *	  Takes requests from the ring and events from the device, and handles them.
 *
 * In:  requests (shmem.c), none of which is trusted; events (gsort.h).
 * Out: calls of the device API; answers (service_jobs.c).
 *
 * Runs in the service alone.  Chunks and finishes are handed to service_feed.c,
 * fetches to service_fetch.c.
 */
#include "postgres.h"

#include "service/service_internal.h"

#define EVENTS_A_POLL			64
#define REQUESTS_A_TURN			64

/* --- runs, the close -------------------------------------------------- */

/* Handles NEXT_RUN: the leader has read the run. */
static void
handle_next_run(const GpuSortRequest *request)
{
	gsort_status status = gsort_job_next_run(gpusort_service_jobs[request->job].job);

	gpusort_service_apply_status(request->job, status);
	if (status == GSORT_OK)
		gpusort_service_operation_began(request->job);
}

static void
handle_merge(const GpuSortRequest *request)
{
	gsort_status status = gsort_job_merge(gpusort_service_jobs[request->job].job);

	if (status == GSORT_UNSUPPORTED || status == GSORT_NOMEM)
		gpusort_service_set_job_state(request->job, GPUSORT_JOB_FEEDING);
	else
		gpusort_service_apply_status(request->job, status);
	if (status == GSORT_OK)
		gpusort_service_operation_began(request->job);
}

/* A job that is not on the device is freed at once. */
static void
handle_close(const GpuSortRequest *request)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[request->job];

	if (mine->job == NULL)
	{
		gpusort_service_forget_job(mine);
		gpusort_service_free_job(request->job);
		return;
	}
	gpusort_service_drop_buffers(mine);
	mine->waits_since_us = 0;
	mine->closing = true;
	gsort_job_close(mine->job);
	gpusort_service_operation_began(request->job);
}

/* --- requests ------------------------------------------------------------- */

/* Could a session have made this request for a job in this state? */
static bool
request_fits_state(const GpuSortRequest *request, GpuSortJobState state)
{
	const GpuSortServiceJob *mine = &gpusort_service_jobs[request->job];

	switch (request->kind)
	{
		case GPUSORT_REQUEST_OPEN:
		case GPUSORT_REQUEST_FINISH_RUN:
			return state != GPUSORT_JOB_FREE;
		case GPUSORT_REQUEST_NEXT_RUN:
		case GPUSORT_REQUEST_MERGE:
			return mine->job != NULL &&
				(state == GPUSORT_JOB_BETWEEN_RUNS || state == GPUSORT_JOB_FAILED ||
				 state == GPUSORT_JOB_ABANDONED);
		case GPUSORT_REQUEST_CLOSE:
			return state == GPUSORT_JOB_ABANDONED && !mine->closing;
		default:
			return false;
	}
}

/* Does the buffer belong to the job, and is it the service's? */
static bool
request_fits_buffer(const GpuSortRequest *request)
{
	GpuSortBufferState state = request->kind == GPUSORT_REQUEST_APPEND ?
		GPUSORT_BUFFER_SENT : GPUSORT_BUFFER_FETCHING;

	return request->buffer >= 0 && request->buffer < gpusort_shared->n_buffers &&
		gpusort_buffers[request->buffer].job == request->job &&
		gpusort_buffers[request->buffer].state == state;
}

static bool
request_is_sound(const GpuSortRequest *request)
{
	bool		sound = request->job >= 0 && request->job < GPUSORT_JOB_SLOTS;

	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	if (sound &&
		(request->kind == GPUSORT_REQUEST_APPEND || request->kind == GPUSORT_REQUEST_FETCH_BLOCK ||
		 request->kind == GPUSORT_REQUEST_FETCH_ROW))
		sound = request_fits_buffer(request);
	else if (sound)
		sound = request->buffer < 0 &&
			request_fits_state(request, gpusort_service_slot(request->job)->state);
	LWLockRelease(gpusort_shared_lock());
	return sound;
}

/* A session waits for the answer, and nobody can tell which one.  So all jobs
 * fail, and nobody hangs. */
static void
leave_corrupt_memory(const GpuSortRequest *request)
{
	gpusort_service_shared()->corruptions++;
	gpusort_service_restart("shared memory is corrupt",
							psprintf("A request names kind %d, job %d, buffer %d.",
									 request->kind, request->job, request->buffer));
}

/* A request that is not sound means that shared memory is corrupt. */
static void
handle_request(const GpuSortRequest *request)
{
	static void (*const handlers[]) (const GpuSortRequest *) = {
		[GPUSORT_REQUEST_OPEN] = gpusort_service_handle_open,
		[GPUSORT_REQUEST_APPEND] = gpusort_service_handle_append,
		[GPUSORT_REQUEST_FINISH_RUN] = gpusort_service_handle_finish_run,
		[GPUSORT_REQUEST_FETCH_BLOCK] = gpusort_service_handle_fetch,
		[GPUSORT_REQUEST_FETCH_ROW] = gpusort_service_handle_fetch,
		[GPUSORT_REQUEST_NEXT_RUN] = handle_next_run,
		[GPUSORT_REQUEST_MERGE] = handle_merge,
		[GPUSORT_REQUEST_CLOSE] = handle_close,
	};

	if (!request_is_sound(request))
		leave_corrupt_memory(request);
	handlers[request->kind] (request);
}

bool
gpusort_service_handle_requests(void)
{
	GpuSortRequest requests[REQUESTS_A_TURN];
	int			n = 0;

	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	while (n < REQUESTS_A_TURN && gpusort_request_pop(gpusort_service_number, &requests[n]))
		n++;
	LWLockRelease(gpusort_shared_lock());
	for (int i = 0; i < n; i++)
		handle_request(&requests[i]);
	return n == REQUESTS_A_TURN;
}

/* --- events --------------------------------------------------------------- */

/* Reports the rows and blocks of a complete directory to the owner. */
static gsort_status
publish_directory(int job, gsort_job_stats *stats)
{
	GpuSortJobSlot *slot = gpusort_service_slot(job);
	const gsort_block *blocks;
	uint64		n;
	gsort_status status = gsort_job_blocks(gpusort_service_jobs[job].job, &blocks, &n);

	if (status != GSORT_OK)
		return status;
	*stats = gpusort_service_stats(&gpusort_service_jobs[job]);
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	slot->blocks = n;
	slot->stats = *stats;
	slot->last_read_us = gpusort_clock_us();
	LWLockRelease(gpusort_shared_lock());
	return GSORT_OK;
}

/* The counters are those of the view gpusort_stats. */
static void
handle_finish_event(int job, gsort_status status)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	GpuSortCounters *counters = &gpusort_shared->counters;
	gsort_job_stats stats;

	if (mine->closing)
		return;
	if (status == GSORT_NOMEM)
	{
		gpusort_service_finish_lacks_memory(job);
		return;
	}
	if (status == GSORT_OK)
		status = publish_directory(job, &stats);
	if (status != GSORT_OK)
	{
		gpusort_service_apply_status(job, status);
		return;
	}
	mine->refused_since_us = 0;
	mine->finish_wanted = false;
	mine->finishing = false;
	/* the first run of a spilled sort */
	if (mine->runs == 0)
	{
		pg_atomic_fetch_add_u64(&counters->jobs, 1);
		pg_atomic_fetch_add_u64(&gpusort_service_shared()->jobs, 1);
	}
	pg_atomic_fetch_add_u64(&counters->rows, stats.rows);
	pg_atomic_fetch_add_u64(&gpusort_service_shared()->rows, stats.rows);
	pg_atomic_fetch_add_u64(&counters->sort_us, (uint64) (stats.sort_ms * 1000));
	pg_atomic_fetch_add_u64(&counters->bytes_to_device, stats.bytes_in);
	gpusort_service_set_job_state(job, GPUSORT_JOB_READY);
}

/* The run's rows are gone from the device, so waiting chunks go on. */
static void
handle_run_begun_event(int job)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];

	if (mine->closing)
		return;
	mine->full = false;
	mine->runs++;
	gpusort_service_set_job_state(job, GPUSORT_JOB_FEEDING);
	gpusort_service_feed_chunks(job);
}

/* A job that cannot be merged goes back to FEEDING, which tells its leader
 * so. */
static void
handle_merged_event(int job, gsort_status status)
{
	gsort_job_stats stats;

	if (gpusort_service_jobs[job].closing)
		return;
	if (status == GSORT_OK)
		status = publish_directory(job, &stats);
	if (status != GSORT_OK)
	{
		gpusort_service_set_job_state(job, GPUSORT_JOB_FEEDING);
		return;
	}
	pg_atomic_fetch_add_u64(&gpusort_shared->counters.sort_us, (uint64) (stats.merge_ms * 1000));
	gpusort_service_set_job_state(job, GPUSORT_JOB_READY);
}

/* Each event ends one operation. */
static void
handle_event(const gsort_event *event)
{
	int			job = (int) event->job_tag;

	gpusort_service_operation_ended(job);
	switch (event->kind)
	{
		case GSORT_EVENT_APPENDED:
			gpusort_service_apply_status(job, event->status);
			gpusort_service_return_buffer((int) event->tag, GPUSORT_BUFFER_IDLE);
			break;
		case GSORT_EVENT_RUN_FINISHED:
			handle_finish_event(job, event->status);
			break;
		case GSORT_EVENT_FETCHED:
			gpusort_service_handle_fetched(job, (int) event->tag, event->status);
			break;
		case GSORT_EVENT_CLOSED:
			gpusort_service_forget_job(&gpusort_service_jobs[job]);
			gpusort_service_open_jobs--;
			gpusort_service_free_job(job);
			break;
		case GSORT_EVENT_RUN_BEGUN:
			gpusort_service_apply_status(job, event->status);
			handle_run_begun_event(job);
			break;
		case GSORT_EVENT_MERGED:
			if (event->status == GSORT_DEVICE_LOST)
				gpusort_service_lose_device();
			handle_merged_event(job, event->status);
			break;
	}
}

bool
gpusort_service_handle_events(void)
{
	gsort_event events[EVENTS_A_POLL];
	int			n;

	if (gpusort_service_device == NULL)
		return false;
	n = gsort_poll(gpusort_service_device, events, EVENTS_A_POLL);
	for (int i = 0; i < n; i++)
		handle_event(&events[i]);
	return n == EVENTS_A_POLL;
}

/* --- what the device has refused ------------------------------------------ */

void
gpusort_service_ask_again(void)
{
	/* behind the job that came first the last time, so that each job has its
	 * turn */
	static int	begin = 0;
	int			end = begin + GPUSORT_JOB_SLOTS;
	bool		is_first = true;

	for (int i = begin; i < end; i++)
	{
		int			job = i % GPUSORT_JOB_SLOTS;

		if (gpusort_service_jobs[job].refused_since_us == 0)
			continue;
		if (is_first)
			begin = (job + 1) % GPUSORT_JOB_SLOTS;
		is_first = false;
		gpusort_service_feed_chunks(job);
		gpusort_service_fetch_blocks(job);
	}
}
