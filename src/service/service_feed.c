/*
 * service_feed.c
 *	  A job's feed: its first reservation of device memory, chunks on their way to the device, and
 *	  the cut of a run.
 *
 * In:  OPEN, APPEND and CUT requests; memory given back, for which a job has waited.
 * Out: jobs that take rows, or are refused; chunks appended, the run cut; or the job full.
 *
 * Runs in the service alone.
 *
 * A job opens when it has memory for some rows (service_grants.c).  If others have it all, the job
 * waits until they have given some back; when its time is over it is refused, and its leader, which has
 * sent no row yet, sorts natively.
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

#include "service/service_device.h"
#include "service/service_feed.h"
#include "service/service_grants.h"
#include "service/service_jobs.h"
#include "service/service_watch.h"
#include "shared/clock.h"

/* How long the device is asked again for what it has refused.  A transfer takes less than a millisecond. */
#define PATIENCE_MS		3000

/* --- the first reservation ------------------------------------------------------- */

static void
open_or_wait(int job)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	gsort_status status = gpusort_service_open_job(job);

	if (status == GSORT_OK)
		status = gpusort_service_reserve(job);
	if (status == GSORT_OK)
	{
		mine->waits_since_us = 0;
		gpusort_service_set_job_state(job, GPUSORT_JOB_FEEDING, GPUSORT_NATIVE_NONE);
	}
	else if (status != GSORT_NOMEM)
		gpusort_service_note_status(job, status);
	else if (!gpusort_service_wait_for_memory(job))
		gpusort_service_refuse_job(job, GPUSORT_NATIVE_DEVICE_MEMORY);
}

void
gpusort_service_handle_open(const GpuSortRequest *request)
{
	if (gpusort_service_job_state(request->job) != GPUSORT_JOB_OPENING || !gpusort_service_know_job(request->job))
		return;
	if (gpusort_service_device == NULL)
		gpusort_service_refuse_job(request->job, GPUSORT_NATIVE_NO_DEVICE);
	else
		open_or_wait(request->job);
}

/* --- chunks and the cut -------------------------------------------------------- */

/* Is the job open on the device?  If not, whoever feeds it has not written its slot, and it has failed. */
static bool
is_open(int job)
{
	if (gpusort_service_jobs[job].job != NULL)
		return true;
	gpusort_service_fail_job(job, "the job is fed before it is open");
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
		gpusort_service_fail_job(job, "a chunk's header is corrupt");
		return false;
	}
	chunk->tag = buffer;
	return true;
}

/* NOMEM: no grant; with *granted, none but that the device cannot take the chunk just now. */
static gsort_status
append_chunk(int job, const gsort_chunk *chunk, bool *granted)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	uint64		bytes = 0;
	gsort_status status;

	/* the bytes that continue a row were granted with its beginning */
	if (chunk->rows > 0)
		bytes = chunk->data_bytes + Min(chunk->more_bytes, GSORT_ROW_BYTES_MAX);
	status = gpusort_service_grant(job, chunk->rows, bytes);
	*granted = status == GSORT_OK;
	if (status == GSORT_OK)
		status = gsort_job_append(mine->job, chunk);
	if (status == GSORT_OK)
	{
		gpusort_service_operation_began(job);
		mine->fed_rows += chunk->rows;
		mine->fed_bytes += bytes;
		if (chunk->rows > 0 && chunk->more_bytes > 0)
		{
			mine->incomplete_rows++;
			mine->missing_bytes[chunk->feeder] = chunk->more_bytes;
		}
		else if (chunk->rows == 0)
		{
			mine->missing_bytes[chunk->feeder] -= chunk->data_bytes;
			if (mine->missing_bytes[chunk->feeder] == 0)
				mine->incomplete_rows--;
		}
	}
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
	if (!gpusort_clock_exceeds(mine->refused_since_us, now_us, PATIENCE_MS))
		return true;
	mine->refused_since_us = 0;
	return false;
}

/* The job cannot go on without memory that the device has not. */
static void
fail_for_memory(int job)
{
	gpusort_service_fail_job_for_memory(job, gpusort_service_device_error());
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
	return mine->incomplete_rows == 0 && (mine->full || mine->first_chunk == GPUSORT_NO_BUFFER);
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
		int			buffer = gpusort_service_take_chunk(&waiting);

		if (begins_long_row((const GpuSortChunkHeader *) gpusort_buffer_memory(buffer)))
			gpusort_service_return_buffer(buffer, GPUSORT_BUFFER_REFUSED);
		else
			gpusort_service_add_chunk(mine, buffer, false);
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
	if (header->rows > 0 && (mine->fed_rows > 0 || begins_long_row(header)))
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
		gpusort_service_take_chunk(mine);
	}
	if (mine->cut_pending && cut_can_come(mine))
		do_cut(job);
}

/* The rest of a row that the device has begun to take was granted with its beginning. */
static bool
continues_accepted_row(const GpuSortServiceJob *mine, const gsort_chunk *chunk)
{
	return chunk->rows == 0 && chunk->feeder < GSORT_FEEDERS_MAX &&
		chunk->data_bytes <= mine->missing_bytes[chunk->feeder];
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
		gpusort_service_add_chunk(mine, request->buffer, continues_accepted_row(mine, &chunk));
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

/* --- jobs that wait: for what the device has refused, for memory that others have --------------- */

long
gpusort_service_serve_waiting_jobs(void)
{
	int			jobs[GPUSORT_JOB_SLOTS];
	int			n = gpusort_service_waiting_jobs(jobs);
	uint64		now_us = n > 0 ? gpusort_clock_us() : 0;
	long		next_end = -1;

	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
		if (gpusort_service_jobs[i].refused_since_us != 0)
			gpusort_service_feed_chunks(i);
	for (int i = 0; i < n; i++)
	{
		const GpuSortServiceJob *mine = &gpusort_service_jobs[jobs[i]];
		long		left;

		open_or_wait(jobs[i]);
		if (mine->waits_since_us == 0)
			continue;
		left = gpusort_service_wait_left(jobs[i], now_us);
		if (left <= 0)
			gpusort_service_refuse_job(jobs[i], GPUSORT_NATIVE_DEVICE_MEMORY);
		else if (next_end < 0 || left < next_end)
			next_end = left;
	}
	return next_end;
}
