/*
 * job_feed.c
 *	  Rows on their way from a process to the service.
 *
 * In:  chunks that a feeder has written into the job's buffers.
 * Out: requests to append them; buffers that are idle again; at the end the number of rows.
 *
 * Runs in each feeder: the leader, or parallel workers too.  A buffer is the feeder's from
 * gpusort_job_buffer_to_fill to gpusort_job_send, then the service's.
 */
#include "postgres.h"

#include "shared/buffer_pool.h"
#include "shared/job_internal.h"

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

/* With the lock held: a buffer to fill now, or why there is none. */
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
			(count_buffers(slot, GPUSORT_BUFFER_HELD) <= GPUSORT_SPILL_BUFFERS &&
			 !gpusort_buffers_grow(slot)))
			return WAIT_FOR_BUFFER;
	}
	buffer = gpusort_job_find_buffer(job, GPUSORT_BUFFER_HELD);
	if (buffer < 0)
		return WAIT_FOR_BUFFER;
	gpusort_buffers[buffer].state = GPUSORT_BUFFER_FILLING;
	return buffer;
}

int
gpusort_job_buffer_to_fill(GpuSortJob *job, bool rest_of_row)
{
	int			buffer;

	gpusort_job_lock(job, LW_EXCLUSIVE);
	while ((buffer = take_buffer_to_fill(job, rest_of_row)) == WAIT_FOR_BUFFER)
		gpusort_job_wait(job, LW_EXCLUSIVE, gpusort_wait_event_of_feed);
	gpusort_job_unlock();
	return buffer;
}

/* Returns the chunk's order.  Once it is sent the buffer can become another chunk's at any
 * time, which has another order. */
static uint64
send_chunk(GpuSortJob *job, int buffer)
{
	uint64		order;

	gpusort_job_lock(job, LW_EXCLUSIVE);
	order = gpusort_job_slot(job)->chunks_sent;
	gpusort_buffers[buffer].state = GPUSORT_BUFFER_SENT;
	gpusort_buffers[buffer].sent_order = order;
	gpusort_job_slot(job)->chunks_sent++;
	gpusort_job_push_request(job, GPUSORT_REQUEST_APPEND, buffer, 0);
	gpusort_job_unlock();
	return order;
}

/* For gpusort_progress. */
static void
count_sent(GpuSortJob *job, uint64 rows, uint64 bytes)
{
	int			entry = gpusort_job_slot(job)->progress;
	pg_atomic_uint64 *figures = gpusort_shared->progress[Max(entry, 0)].figures;

	if (entry < 0)
		return;
	pg_atomic_fetch_add_u64(&figures[GPUSORT_PROGRESS_ROWS_FED], (int64) rows);
	pg_atomic_fetch_add_u64(&figures[GPUSORT_PROGRESS_BYTES_FED], (int64) bytes);
}

void
gpusort_job_send(GpuSortJob *job, int buffer)
{
	const GpuSortChunkHeader *chunk = (const GpuSortChunkHeader *) gpusort_buffer_memory(buffer);

	/* before it is the service's */
	count_sent(job, chunk->rows, chunk->data_bytes);
	(void) send_chunk(job, buffer);
}

bool
gpusort_job_send_and_wait(GpuSortJob *job, int buffer)
{
	const GpuSortChunkHeader *chunk = (const GpuSortChunkHeader *) gpusort_buffer_memory(buffer);
	GpuSortBuffer *shared = &gpusort_buffers[buffer];
	uint64		rows = chunk->rows;
	uint64		bytes = chunk->data_bytes;
	uint64		order = send_chunk(job, buffer);
	bool		refused;

	gpusort_job_lock(job, LW_EXCLUSIVE);
	/* accepted, the buffer may be another chunk's by now */
	while (shared->sent_order == order && shared->state == GPUSORT_BUFFER_SENT)
		gpusort_job_wait(job, LW_EXCLUSIVE, gpusort_wait_event_of_feed);
	refused = shared->sent_order == order && shared->state == GPUSORT_BUFFER_REFUSED;
	if (refused)
		shared->state = GPUSORT_BUFFER_HELD;
	gpusort_job_unlock();
	if (!refused)
		count_sent(job, rows, bytes);
	return !refused;
}

void
gpusort_job_feeder_done(GpuSortJob *job, uint64 rows, bool to_verify)
{
	gpusort_job_lock(job, LW_EXCLUSIVE);
	gpusort_job_slot(job)->rows_fed += rows;
	gpusort_job_slot(job)->to_verify |= to_verify;
	gpusort_job_unlock();
}
