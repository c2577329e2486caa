/*
 * service_feed.c
 *	  A job's feed: chunks on their way to the device, and the cut of a run.
 *
 * In:  APPEND and CUT requests.
 * Out: chunks appended, the run cut; or the job full.
 *
 * Runs in the service alone.
 *
 * The device takes a chunk when there is a grant for its rows.  Where there is none, the run is full:
 * the chunk stays in its buffer, and so do the chunks of the job that come after it; the leader
 * spills the run, which frees its memory, and the chunks are fed to the next run.  What a job keeps of
 * the budget has room for any chunk that begins a run, so only a long row may find none in a run that
 * is empty: the leader writes that row itself.
 *
 * A device may refuse what it has granted, where other transfers have all of its staging or other
 * programs its memory.  It is asked again in each turn, until its patience is over.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "service/service_internal.h"

static int *next_chunk = NULL;	/* [n_buffers]; links the chunks that wait in a job */

/* --- chunks that wait ---------------------------------------------------------- */

/* Puts a buffer behind the chunks that wait, or behind those that are rests of rows. */
static void
add_chunk(GpuSortServiceJob *mine, int buffer, bool is_rest)
{
	int			before = is_rest ? mine->last_rest : mine->last_chunk;

	if (next_chunk == NULL)
		next_chunk = MemoryContextAlloc(TopMemoryContext, gpusort_shared->n_buffers * sizeof(int));
	if (mine->first_chunk == GPUSORT_NO_BUFFER || before == GPUSORT_NO_BUFFER)
	{
		next_chunk[buffer] = mine->first_chunk;
		mine->first_chunk = buffer;
	}
	else
	{
		next_chunk[buffer] = next_chunk[before];
		next_chunk[before] = buffer;
	}
	if (next_chunk[buffer] == GPUSORT_NO_BUFFER)
		mine->last_chunk = buffer;
	if (is_rest)
		mine->last_rest = buffer;
}

/* Takes the first one, which there must be. */
static int
take_chunk(GpuSortServiceJob *mine)
{
	int			buffer = mine->first_chunk;

	mine->first_chunk = next_chunk[buffer];
	if (mine->last_rest == buffer)
		mine->last_rest = GPUSORT_NO_BUFFER;
	return buffer;
}

void
gpusort_service_drop_chunks(GpuSortServiceJob *mine)
{
	mine->first_chunk = GPUSORT_NO_BUFFER;
	mine->last_rest = GPUSORT_NO_BUFFER;
	mine->refused_since_us = 0;
	mine->cut_pending = false;
}

/* --- chunks and the cut -------------------------------------------------------- */

/* Is the job open on the device?  If not, whoever feeds it has not written its slot, and it has failed. */
static bool
is_open(int job)
{
	if (gpusort_service_jobs[job].job != NULL)
		return true;
	gpusort_service_fail_job(job, "the job is fed before it is open", false);
	return false;
}

/* The device's view of the chunk in a buffer of an open job's.  False: the buffer is corrupt, and the job has
 * failed. */
static bool
chunk_in_buffer(int job, int buffer, GpuSortChunkHeader *header, gsort_chunk *chunk)
{
	const GpuSortJobOptions *options = &gpusort_service_jobs[job].options;

	if (!gpusort_chunk_check(gpusort_buffer_memory(buffer), options->device.key_columns,
							 options->device.null_mask, header, chunk) ||
		chunk->feeder >= (uint32) options->feeders)
	{
		gpusort_service_fail_job(job, "a chunk's header is corrupt", false);
		return false;
	}
	chunk->tag = buffer;
	return true;
}

/* NOMEM: no grant; with *granted, none but that the device cannot take the chunk just now. */
static gsort_status
append_chunk(int job, const gsort_chunk *chunk, bool *granted)
{
	uint64		bytes = 0;
	gsort_status status;

	/* the bytes that continue a row were granted with its beginning */
	if (chunk->rows > 0)
		bytes = chunk->data_bytes + Min(chunk->more_bytes, GSORT_ROW_BYTES_MAX);
	status = gpusort_service_grant(job, chunk->rows, bytes);
	*granted = status == GSORT_OK;
	if (status == GSORT_OK)
		status = gsort_job_append(gpusort_service_jobs[job].job, chunk);
	if (status == GSORT_OK)
		gpusort_service_operation_began(job);
	return status;
}

/* The device has refused what the job has a grant for.  Is it to be asked again in the next turn?  If
 * not, the patience has ended. */
static bool
asks_again(GpuSortServiceJob *mine)
{
	uint64		now_us = gpusort_clock_us();

	if (mine->refused_since_us == 0)
		mine->refused_since_us = now_us;
	if (!gpusort_clock_exceeds(mine->refused_since_us, now_us, GPUSORT_PATIENCE_MS))
		return true;
	mine->refused_since_us = 0;
	return false;
}

/* The job cannot go on without memory that the device has not. */
static void
fail_for_memory(int job)
{
	gpusort_service_note_status(job, GSORT_NOMEM);
	gpusort_service_drop_chunks(&gpusort_service_jobs[job]);
}

void
gpusort_service_cut_lacks_memory(int job)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];

	if (asks_again(mine))
		mine->cut_pending = true;
	else
		fail_for_memory(job);
}

static void
do_cut(int job)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	gsort_status status = gsort_job_cut(mine->job, mine->cut_how);

	mine->cut_pending = false;
	if (status == GSORT_OK)
		gpusort_service_operation_began(job);
	if (status == GSORT_NOMEM)
		gpusort_service_cut_lacks_memory(job);
	else
		gpusort_service_note_status(job, status);
}

/* Rows in the queue belong to this run, unless it is full; a row begun must be complete. */
static bool
cut_can_come(const GpuSortServiceJob *mine)
{
	return (mine->full || mine->first_chunk == GPUSORT_NO_BUFFER) && gpusort_service_stats(mine).incomplete_rows == 0;
}

/* The first chunk of a row that continues. */
static bool
begins_long_row(const GpuSortChunkHeader *header)
{
	return header->rows > 0 && header->more_bytes > 0;
}

/*
 * The run takes no more.  Feeders that wait for the answer to a row's first chunk get it
 * back: they cannot go on before that, and the leader is told of the full job by a row.
 */
static void
fill_job(int job)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	GpuSortServiceJob waiting = *mine;

	mine->full = true;
	mine->refused_since_us = 0;
	mine->cut_pending = false;
	mine->first_chunk = GPUSORT_NO_BUFFER;
	while (waiting.first_chunk != GPUSORT_NO_BUFFER)
	{
		int			buffer = take_chunk(&waiting);

		if (begins_long_row((const GpuSortChunkHeader *) gpusort_buffer_memory(buffer)))
			gpusort_service_return_buffer(buffer, GPUSORT_BUFFER_REFUSED);
		else
			add_chunk(mine, buffer, false);
	}
	gpusort_service_set_job_state(job, GPUSORT_JOB_FULL, GPUSORT_NATIVE_NONE);
}

/* The first of the chunks that wait, with this header, was not taken. */
static void
handle_refused_chunk(int job, const GpuSortChunkHeader *header, bool granted)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];

	if (granted && asks_again(mine))
		return;
	if (header->rows > 0 && (gpusort_service_stats(mine).rows > 0 || begins_long_row(header)))
		fill_job(job);
	else if (granted || !asks_again(mine))
		fail_for_memory(job);
}

void
gpusort_service_feed_chunks(int job)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];

	/* of a full job, what its incomplete rows lack */
	while (mine->first_chunk != GPUSORT_NO_BUFFER && (!mine->full || mine->last_rest != GPUSORT_NO_BUFFER))
	{
		int			buffer = mine->first_chunk;
		GpuSortChunkHeader header;
		gsort_chunk chunk;
		gsort_status status;
		bool		granted;

		if (!chunk_in_buffer(job, buffer, &header, &chunk))
		{
			gpusort_service_drop_chunks(mine);
			return;
		}
		status = append_chunk(job, &chunk, &granted);
		if (status == GSORT_NOMEM || status == GSORT_UNSUPPORTED)
		{
			handle_refused_chunk(job, &header, granted && status == GSORT_NOMEM);
			return;
		}
		mine->refused_since_us = 0;
		if (status != GSORT_OK)
		{
			gpusort_service_note_status(job, status);
			gpusort_service_drop_chunks(mine);
			return;
		}
		take_chunk(mine);
	}
	if (mine->cut_pending && cut_can_come(mine))
		do_cut(job);
}

void
gpusort_service_handle_append(const GpuSortRequest *request)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[request->job];
	GpuSortJobState state = gpusort_service_job_state(request->job);
	GpuSortChunkHeader header;
	gsort_chunk chunk;

	/* the owner may have asked for the cut already, or be spilling */
	if (!(mine->full || state == GPUSORT_JOB_FEEDING || state == GPUSORT_JOB_CUTTING) ||
		!is_open(request->job) || !chunk_in_buffer(request->job, request->buffer, &header, &chunk))
		gpusort_service_return_buffer(request->buffer, GPUSORT_BUFFER_HELD);
	else if (mine->full && begins_long_row(&header))
		gpusort_service_return_buffer(request->buffer, GPUSORT_BUFFER_REFUSED);
	else
	{
		/* the rest of a row that the device has begun to take: the device refuses any other as bad data */
		add_chunk(mine, request->buffer, chunk.rows == 0);
		if (mine->first_chunk == request->buffer)
			gpusort_service_feed_chunks(request->job);
	}
}

/*
 * A chunk refused on the way to a cut makes its owner ask for another one; the first is
 * then void, even if both are in the ring.
 */
static bool
cut_is_awaited(const GpuSortRequest *request, gsort_cut_how *how)
{
	const GpuSortJobSlot *slot = gpusort_service_slot(request->job);
	bool		awaited;

	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	awaited = slot->state == GPUSORT_JOB_CUTTING && slot->cuts == request->number;
	*how = slot->cut_how;
	LWLockRelease(gpusort_shared_lock());
	return awaited;
}

void
gpusort_service_handle_cut(const GpuSortRequest *request)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[request->job];
	gsort_cut_how how;

	if (!cut_is_awaited(request, &how) || !is_open(request->job))
		return;
	mine->cut_how = how;
	mine->cut_pending = true;
	if (cut_can_come(mine))
		do_cut(request->job);
}

void
gpusort_service_retry_feeds(void)
{
	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
		if (gpusort_service_jobs[i].refused_since_us != 0)
			gpusort_service_feed_chunks(i);
}
