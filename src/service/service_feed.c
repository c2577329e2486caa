/*
 * service_feed.c
 *	  The feed of a job: chunks on their way to the device, and the finish of a
 *	  run.
 *
 * In:  buffers with chunks; jobs that are to finish a run.
 * Out: chunks appended, the run finished; or the job full.
 *
 * Runs in the service alone.
 *
 * The device takes a chunk when there is a reservation for its rows.  If there
 * is none, the run is full.  The chunk stays in its buffer, and so do later
 * chunks of the job.  The leader spills the run, which frees its memory, and
 * the chunks are fed to the next run.  A job's first reservation has room for
 * any chunk that begins a run, so only a long row may find no room in an empty
 * run.  The leader writes that row itself.
 *
 * A device may refuse reserved memory if other transfers have all of its
 * staging, or other programs its memory.  It is asked again in each turn, for
 * some seconds (service_requests.c).
 */
#include "postgres.h"

#include "service/service_internal.h"

/* --- chunks and the finish ------------------------------------------------ */

/* Is the job open on the device?  If not, its feeder has skipped a step, and
 * the job fails. */
static bool
is_open(int job)
{
	if (gpusort_service_jobs[job].job != NULL)
		return true;
	gpusort_service_fail_job(job, "The job is fed before it is open.", false);
	return false;
}

/* Makes the device's view of the chunk in a buffer of an open job.  False: the
 * buffer is corrupt, and the job has failed. */
static bool
chunk_in_buffer(int job, int buffer, GpuSortChunkHeader *header, gsort_chunk *chunk)
{
	const GpuSortJobOptions *options = &gpusort_service_jobs[job].options;

	if (!gpusort_chunk_check(gpusort_buffer_memory(buffer), options->device.key_columns,
							 options->device.null_mask, header, chunk) ||
		chunk->feeder >= (uint32) options->feeders)
	{
		gpusort_service_fail_job(job, "A chunk's header is corrupt.", false);
		return false;
	}
	chunk->tag = buffer;
	return true;
}

/* NOMEM: there is no reservation; with *reserved, there is one, but the device
 * cannot take the chunk just now. */
static gsort_status
append_chunk(int job, const gsort_chunk *chunk, bool *reserved)
{
	uint64		bytes = 0;
	gsort_status status;

	/* the bytes that continue a row were reserved with its beginning */
	if (chunk->rows > 0)
		bytes = chunk->data_bytes + Min(chunk->more_bytes, GSORT_ROW_BYTES_MAX);
	status = gpusort_service_reserve(job, chunk->rows, bytes);
	*reserved = status == GSORT_OK;
	if (status == GSORT_OK)
		status = gsort_job_append(gpusort_service_jobs[job].job, chunk);
	if (status == GSORT_OK)
		gpusort_service_operation_began(job);
	return status;
}

void
gpusort_service_finish_lacks_memory(int job)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];

	mine->finishing = false;
	if (!gpusort_service_asks_again(mine))
		gpusort_service_apply_status(job, GSORT_NOMEM);
}

static void
finish_run(int job)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	gsort_status status = gsort_job_finish_run(mine->job, mine->finish_how);

	mine->finishing = status == GSORT_OK;
	if (status == GSORT_OK)
		gpusort_service_operation_began(job);
	if (status == GSORT_NOMEM)
		gpusort_service_finish_lacks_memory(job);
	else
		gpusort_service_apply_status(job, status);
}

/* Rows in the queue belong to this run, unless it is full.  A row that has
 * begun must be complete. */
static bool
finish_can_come(const GpuSortServiceJob *mine)
{
	return mine->finish_wanted && !mine->finishing &&
		(mine->full || mine->chunks.first == GPUSORT_NO_BUFFER) &&
		gpusort_service_stats(mine).incomplete_rows == 0;
}

/* Is this the first chunk of a row that continues? */
static bool
begins_long_row(const GpuSortChunkHeader *header)
{
	return header->rows > 0 && header->more_bytes > 0;
}

/*
 * The run takes no more.  Feeders that wait for the answer to a row's first
 * chunk get it back.  They cannot go on before that, and they tell the leader
 * of the full job by a row.
 */
static void
fill_job(int job)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	GpuSortBufferQueue waiting = mine->chunks;
	int			buffer;

	mine->full = true;
	mine->refused_since_us = 0;
	mine->finish_wanted = false;
	mine->chunks = GPUSORT_EMPTY_QUEUE;
	while ((buffer = gpusort_service_take(&waiting)) != GPUSORT_NO_BUFFER)
		if (begins_long_row((const GpuSortChunkHeader *) gpusort_buffer_memory(buffer)))
			gpusort_service_return_buffer(buffer, GPUSORT_BUFFER_REFUSED);
		else
			gpusort_service_queue(&mine->chunks, buffer);
	gpusort_service_set_job_state(job, GPUSORT_JOB_FULL);
}

/* Handles the refusal of the first waiting chunk, which has this header. */
static void
handle_refused_chunk(int job, const GpuSortChunkHeader *header, bool reserved)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];

	if (reserved && gpusort_service_asks_again(mine))
		return;
	if (header->rows > 0 && (gpusort_service_stats(mine).rows > 0 || begins_long_row(header)))
		fill_job(job);
	else if (reserved || !gpusort_service_asks_again(mine))
		gpusort_service_apply_status(job, GSORT_NOMEM);
}

/* Returns the chunks that the device gets next.  For a full job these are the
 * missing parts of its incomplete rows. */
static GpuSortBufferQueue *
next_chunks(GpuSortServiceJob *mine)
{
	return mine->full || mine->rests.first != GPUSORT_NO_BUFFER ? &mine->rests : &mine->chunks;
}

/* Feeds until a chunk is refused, and then finishes the run if it is
 * complete. */
void
gpusort_service_feed_chunks(int job)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	GpuSortBufferQueue *queue;

	while ((queue = next_chunks(mine))->first != GPUSORT_NO_BUFFER)
	{
		GpuSortChunkHeader header;
		gsort_chunk chunk;
		gsort_status status;
		bool		reserved;

		if (!chunk_in_buffer(job, queue->first, &header, &chunk))
			return;
		status = append_chunk(job, &chunk, &reserved);
		if (status == GSORT_NOMEM || status == GSORT_UNSUPPORTED)
		{
			handle_refused_chunk(job, &header, reserved && status == GSORT_NOMEM);
			return;
		}
		if (status != GSORT_OK)
		{
			gpusort_service_apply_status(job, status);
			return;
		}
		mine->refused_since_us = 0;
		(void) gpusort_service_take(queue);
	}
	if (finish_can_come(mine))
		finish_run(job);
}

/* A chunk that cannot be for this run goes back to its feeder. */
void
gpusort_service_handle_append(int job, int buffer)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	GpuSortJobState state = gpusort_service_slot(job)->state;
	const GpuSortChunkHeader *header =
		(const GpuSortChunkHeader *) gpusort_buffer_memory(buffer);

	/* the owner may have asked for the finish already, or be spilling */
	if (!(mine->full || state == GPUSORT_JOB_FEEDING || state == GPUSORT_JOB_FINISHING) ||
		!is_open(job))
		gpusort_service_return_buffer(buffer, GPUSORT_BUFFER_IDLE);
	else if (mine->full && begins_long_row(header))
		gpusort_service_return_buffer(buffer, GPUSORT_BUFFER_REFUSED);
	else
	{
		/* the rest of a row that the device has begun to take; the device
		 * refuses any other chunk as bad data */
		gpusort_service_queue(header->rows == 0 ? &mine->rests : &mine->chunks, buffer);
		/* otherwise the device has refused an earlier chunk */
		if (next_chunks(mine)->first == buffer)
			gpusort_service_feed_chunks(job);
	}
}

/* The finish waits for the chunks that came before it. */
void
gpusort_service_handle_finish_run(int job)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];

	if (mine->finish_wanted || !is_open(job))
		return;
	mine->finish_how = gpusort_service_slot(job)->finish_how;
	mine->finish_wanted = true;
	if (finish_can_come(mine))
		finish_run(job);
}
