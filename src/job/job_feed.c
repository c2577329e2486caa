/*
 * job_feed.c
 *	  Rows on their way from a process to the service.
 *
 * In:  chunks that a feeder has written into the job's buffers.
 * Out: buffers handed over, and idle again; at the end, the number of rows.
 *
 * Runs in each feeder: the leader, or parallel workers too.  A buffer is the
 * feeder's from gpusort_job_buffer_to_fill to gpusort_job_send, then the
 * service's.
 */
#include "postgres.h"

#include "job/buffer_pool.h"
#include "job/job_internal.h"

static int
count_buffers(const GpuSortJobSlot *slot, GpuSortBufferState state)
{
	int			n = 0;

	for (int i = 0; i < slot->n_buffers; i++)
		if (gpusort_buffers[slot->buffers[i]].state == state)
			n++;
	return n;
}

#define WAIT_FOR_BUFFER	(-2)

/* Requires the lock.  Returns a buffer to fill now, or the reason why there is
 * none. */
static int
take_buffer_to_fill(GpuSortJob *job, bool rest_of_row)
{
	GpuSortJobSlot *slot = gpusort_job_slot(job);
	int			buffer;

	if (!rest_of_row)
	{
		if (slot->state == GPUSORT_JOB_FULL)
			return GPUSORT_NO_BUFFER_FULL;
		if (slot->state != GPUSORT_JOB_FEEDING ||
			(count_buffers(slot, GPUSORT_BUFFER_IDLE) <= GPUSORT_SPILL_BUFFERS &&
			 !gpusort_buffers_grow(slot)))
			return WAIT_FOR_BUFFER;
	}
	buffer = gpusort_job_find_buffer(job, GPUSORT_BUFFER_IDLE);
	if (buffer < 0)
		return WAIT_FOR_BUFFER;
	gpusort_buffers[buffer].state = GPUSORT_BUFFER_FILLING;
	return buffer;
}

int
gpusort_job_buffer_to_fill(GpuSortJob *job, bool rest_of_row)
{
	int			buffer;

	gpusort_job_lock_or_raise(job, LW_EXCLUSIVE);
	while ((buffer = take_buffer_to_fill(job, rest_of_row)) == WAIT_FOR_BUFFER)
		gpusort_job_wait(job, LW_EXCLUSIVE, gpusort_wait_event_of_feed);
	gpusort_job_unlock();
	return buffer;
}

bool
gpusort_job_send(GpuSortJob *job, int buffer)
{
	const GpuSortChunkHeader *chunk = (const GpuSortChunkHeader *) gpusort_buffer_memory(buffer);
	GpuSortBuffer *shared = &gpusort_buffers[buffer];
	GpuSortJobSlot *slot = gpusort_job_slot(job);
	uint64		rows = chunk->rows;
	uint64		bytes = chunk->data_bytes;
	bool		waits = rows > 0 && chunk->more_bytes > 0;
	uint64		order;
	bool		refused;

	gpusort_job_lock_or_raise(job, LW_EXCLUSIVE);
	order = slot->chunks_sent++;
	shared->sent_order = order;
	gpusort_job_hand_over(job, buffer, GPUSORT_BUFFER_SENT);
	/* after it is accepted, the buffer may belong to another chunk, with
	 * another order */
	while (waits && shared->job == job->id.slot && shared->sent_order == order &&
		   shared->state == GPUSORT_BUFFER_SENT)
		gpusort_job_wait(job, LW_EXCLUSIVE, gpusort_wait_event_of_feed);
	refused = waits && shared->job == job->id.slot && shared->sent_order == order &&
		shared->state == GPUSORT_BUFFER_REFUSED;
	if (refused)
		shared->state = GPUSORT_BUFFER_IDLE;
	gpusort_job_unlock();
	if (refused)
		return false;
	pg_atomic_fetch_add_u64(&slot->figures[GPUSORT_ROWS_FED], (int64) rows);
	pg_atomic_fetch_add_u64(&slot->figures[GPUSORT_BYTES_FED], (int64) bytes);
	return true;
}

void
gpusort_job_feeder_done(GpuSortJob *job, uint64 rows, bool to_verify)
{
	GpuSortJobSlot *slot = gpusort_job_slot(job);

	gpusort_job_lock_or_raise(job, LW_EXCLUSIVE);
	slot->feeders_done++;
	slot->rows_fed += rows;
	slot->to_verify |= to_verify;
	gpusort_job_unlock();
	ConditionVariableBroadcast(&slot->changed);
}

void
gpusort_job_wait_while_full(GpuSortJob *job)
{
	gpusort_job_lock_or_raise(job, LW_SHARED);
	while (gpusort_job_slot(job)->state == GPUSORT_JOB_FULL)
		gpusort_job_wait(job, LW_SHARED, gpusort_wait_event_of_feed);
	gpusort_job_unlock();
}
