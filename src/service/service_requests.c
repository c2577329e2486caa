/*
 * service_requests.c
 *	  Takes requests of sessions and events of the device, and handles them.
 *
 * In:  states of job slots that the service is to end, and buffers that are
 *	    handed over, none of which is trusted; events (gsort.h).
 * Out: calls of the device API; answers (service_jobs.c).
 *
 * Runs in the service alone.  Chunks and finishes are handed to service_feed.c.
 */
#include "postgres.h"

#include "service/service_internal.h"

#define EVENTS_A_POLL			64
#define BUFFERS_A_TURN			64

/* --- runs, the close ------------------------------------------------------ */

/* The leader has read the run. */
static void
handle_next_run(int job)
{
	gsort_status status = gsort_job_next_run(gpusort_service_jobs[job].job);

	gpusort_service_apply_status(job, status);
	if (status == GSORT_OK)
		gpusort_service_operation_began(job);
}

/* Reports the rows and blocks of a complete directory to the owner, who looks
 * at them when the job is READY. */
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
	slot->blocks = n;
	slot->stats = *stats;
	slot->last_read_us = gpusort_clock_us();
	return GSORT_OK;
}

/* A job that cannot be merged goes back to FEEDING, which tells its leader
 * so. */
static void
end_merge(int job, gsort_status status)
{
	gsort_job_stats stats;

	if (status == GSORT_DEVICE_LOST)
		gpusort_service_lose_device();
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

static void
handle_merge(int job)
{
	gsort_status status = gsort_job_merge(gpusort_service_jobs[job].job);

	if (status == GSORT_OK)
		gpusort_service_operation_began(job);
	else
		end_merge(job, status);
}

/* Closes a job that has failed or that its owner has left, on the device first.
 * After a failure or a release it may be closing already. */
static void
handle_close(int job)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];

	if (mine->closing)
		return;
	if (mine->job == NULL)
	{
		gpusort_service_end_job(job);
		return;
	}
	gpusort_service_drop_buffers(mine);
	mine->closing = true;
	gsort_job_close(mine->job);
	gpusort_service_operation_began(job);
}

/* --- blocks --------------------------------------------------------------- */

/*
 * A device may lack memory for a fetch, which needs staging if the buffers are
 * not pinned.  A sorted run has no other way out.  So the buffer stays
 * FETCHING, and the device is asked again in each turn, for the job's oldest
 * block first, until other transfers have ended.
 */

static void
handle_fetched(int job, int buffer, gsort_status status)
{
	if (status == GSORT_OK)
		pg_atomic_fetch_add_u64(&gpusort_shared->counters.bytes_from_device,
								gpusort_buffers[buffer].block.bytes);
	gpusort_service_apply_status(job, status);
	gpusort_service_return_buffer(buffer, status == GSORT_OK ?
								 GPUSORT_BUFFER_OUTPUT_BLOCK : GPUSORT_BUFFER_IDLE);
}

/* Stops at the first block that the device cannot fetch now. */
static void
fetch_blocks(int job)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];

	while (mine->fetches.first != GPUSORT_NO_BUFFER)
	{
		int			buffer = mine->fetches.first;
		gsort_status status = gsort_job_fetch(mine->job, gpusort_buffers[buffer].block_number,
											  gpusort_buffer_memory(buffer), buffer);

		if (status == GSORT_NOMEM && gpusort_service_asks_again(mine))
			return;
		(void) gpusort_service_take(&mine->fetches);
		if (status != GSORT_OK)
		{
			handle_fetched(job, buffer, status);
			return;
		}
		mine->refused_since_us = 0;
		gpusort_service_operation_began(job);
	}
}

/* For bsearch: is the row before the block, in it, or behind it? */
static int
compare_with_block(const void *row, const void *block)
{
	const gsort_block *other = block;
	uint64		number = *(const uint64 *) row;

	return number < other->first_row ? -1 : number >= other->first_row + other->rows;
}

/* Notes in the buffer which block it is for. */
static gsort_status
find_block(int job, GpuSortBuffer *buffer)
{
	const gsort_block *blocks;
	const gsort_block *block = NULL;
	uint64		n;
	gsort_status status = gsort_job_blocks(gpusort_service_jobs[job].job, &blocks, &n);

	if (status != GSORT_OK)
		return status;
	if (buffer->by_row)
		block = bsearch(&buffer->block_number, blocks, n, sizeof(gsort_block), compare_with_block);
	else if (buffer->block_number < n)
		block = &blocks[buffer->block_number];
	if (block == NULL)
		return GSORT_BAD_ARG;
	buffer->block = *block;
	buffer->block_number = block - blocks;
	return GSORT_OK;
}

/* Blocks are fetched in the order in which they were asked for. */
static void
handle_fetch(int job, int buffer)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	gsort_status status;

	if (gpusort_service_slot(job)->state != GPUSORT_JOB_READY || mine->job == NULL)
	{
		gpusort_service_return_buffer(buffer, GPUSORT_BUFFER_IDLE);
		return;
	}
	status = find_block(job, &gpusort_buffers[buffer]);
	if (status != GSORT_OK)
	{
		handle_fetched(job, buffer, status);
		return;
	}
	gpusort_service_queue(&mine->fetches, buffer);
	/* otherwise the device has refused an earlier one */
	if (mine->fetches.first == buffer)
		fetch_blocks(job);
}

/* --- requests ------------------------------------------------------------- */

/* A session's requests since the service looked. */
typedef struct Requests
{
	bool		asked;
	uint32		n_handed;
	int			handed[GPUSORT_JOB_BUFFERS_MAX];
} Requests;

/* False: nothing.  Most jobs have nothing, so a look does not take the lock;
 * whose the slot is holds under the lock alone. */
static bool
take_requests(int job, Requests *requests)
{
	GpuSortJobSlot *slot = gpusort_service_slot(job);

	if (slot->service != gpusort_service_number || (!slot->asked && slot->n_handed == 0))
		return false;
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	if (slot->service != gpusort_service_number)
	{
		LWLockRelease(gpusort_shared_lock());
		return false;
	}
	requests->asked = slot->asked;
	requests->n_handed = slot->n_handed;
	memcpy(requests->handed, slot->handed,
		   Min(requests->n_handed, GPUSORT_JOB_BUFFERS_MAX) * sizeof(int));
	slot->asked = false;
	slot->n_handed = 0;
	LWLockRelease(gpusort_shared_lock());
	return true;
}

/* Handles a buffer that may not be the job's, if shared memory is corrupt.  No
 * session changes a buffer that it has handed over. */
static void
handle_buffer(int job, int buffer)
{
	GpuSortBufferState state = GPUSORT_BUFFER_FREE;

	if (buffer >= 0 && buffer < gpusort_shared->n_buffers && gpusort_buffers[buffer].job == job)
		state = gpusort_buffers[buffer].state;
	if (state == GPUSORT_BUFFER_SENT)
		gpusort_service_handle_append(job, buffer);
	else if (state == GPUSORT_BUFFER_FETCHING)
		handle_fetch(job, buffer);
	else
		gpusort_service_fail_job(job, "A buffer that it has handed over is not its own.", false);
}

static void
handle_buffers(int job, const Requests *requests)
{
	if (requests->n_handed > GPUSORT_JOB_BUFFERS_MAX)
		gpusort_service_fail_job(job, "It has handed over more buffers than it can have.", false);
	else
		for (uint32 i = 0; i < requests->n_handed; i++)
			handle_buffer(job, requests->handed[i]);
}

/* A job in any other state has been answered already. */
static void
handle_state(int job)
{
	bool		is_open = gpusort_service_jobs[job].job != NULL;

	switch (gpusort_service_slot(job)->state)
	{
		case GPUSORT_JOB_OPENING:
			gpusort_service_handle_open(job);
			break;
		case GPUSORT_JOB_FINISHING:
			gpusort_service_handle_finish_run(job);
			break;
		case GPUSORT_JOB_BETWEEN_RUNS:
			if (is_open)
				handle_next_run(job);
			break;
		case GPUSORT_JOB_MERGING:
			if (is_open)
				handle_merge(job);
			break;
		case GPUSORT_JOB_FAILED:
		case GPUSORT_JOB_RELEASED:
		case GPUSORT_JOB_ABANDONED:
			handle_close(job);
			break;
		default:
			break;
	}
}

/* Jobs have their turns in a circle. */
bool
gpusort_service_handle_requests(void)
{
	static int	job = 0;
	int			handled = 0;

	for (int i = 0; i < GPUSORT_JOB_SLOTS && handled < BUFFERS_A_TURN; i++)
	{
		Requests	requests;

		job = (job + 1) % GPUSORT_JOB_SLOTS;
		if (!take_requests(job, &requests))
			continue;
		handle_buffers(job, &requests);
		if (requests.asked)
			handle_state(job);
		handled += Min(requests.n_handed, GPUSORT_JOB_BUFFERS_MAX);
	}
	return handled >= BUFFERS_A_TURN;
}

/* --- events --------------------------------------------------------------- */

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
			handle_fetched(job, (int) event->tag, event->status);
			break;
		case GSORT_EVENT_CLOSED:
			gpusort_service_open_jobs--;
			gpusort_service_end_job(job);
			break;
		case GSORT_EVENT_RUN_BEGUN:
			gpusort_service_apply_status(job, event->status);
			handle_run_begun_event(job);
			break;
		case GSORT_EVENT_MERGED:
			end_merge(job, event->status);
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
		fetch_blocks(job);
	}
}
