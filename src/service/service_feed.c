/*
 * service_feed.c
 *	  A job's feed: chunks on their way to the device, and the cut of a run.
 *
 * In:  APPEND and CUT requests; memory given back, for which a job has waited.
 * Out: chunks appended, the run cut; or the job full, or refused.
 *
 * Runs in the service alone.
 *
 * The device takes a chunk when there is a grant for its rows (service_grants.c).  Where there
 * is none, the chunk stays in its buffer, and so do the chunks of the job that come after it.
 * What happens then depends on what the run has so far:
 *  - It has rows: the job is full.  Its leader spills the run, which frees the run's memory,
 *    and the chunks are fed to the next run.
 *  - It has none: the job waits until other jobs have given memory back.  When its time is
 *    over, it is refused, and its leader sorts natively.
 */
#include "postgres.h"

#include "service/service_device.h"
#include "service/service_feed.h"
#include "service/service_grants.h"
#include "service/service_jobs.h"
#include "service/service_watch.h"
#include "shared/clock.h"

/* How long the device is asked again to take a chunk.  A transfer takes less than a millisecond. */
#define APPEND_PATIENCE_MS		3000

/* --- chunks and the cut -------------------------------------------------------- */

/* The device's view of the chunk in a buffer of a job's.  False: the buffer or the job is
 * corrupt, and the job has failed. */
static bool
chunk_in_buffer(int job, int buffer, GpuSortChunkHeader *header, gsort_chunk *chunk)
{
	const GpuSortJobOptions *options = &gpusort_service_jobs[job].options;

	if (!gpusort_service_know_job(job))
		return false;
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
	gsort_status status = gpusort_service_open_job(job);

	/* the bytes that continue a row were granted with its beginning */
	if (chunk->rows > 0)
		bytes = chunk->data_bytes + Min(chunk->more_bytes, GSORT_ROW_BYTES_MAX);
	if (status == GSORT_OK)
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

static void
do_cut(int job, gsort_cut_how how)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	gsort_status status;

	mine->cut_how = how;
	mine->cut_pending = false;
	if (how == GSORT_AS_FED && mine->job == NULL)
	{
		/* the device has accepted nothing of it: no rows, no windows */
		gpusort_service_set_job_state(job, GPUSORT_JOB_READY,
									  gpusort_service_slot(job)->refused_reason);
		return;
	}
	status = gpusort_service_open_job(job); /* an empty input comes here first */
	if (status == GSORT_OK)
		status = gsort_job_cut(mine->job, how);
	if (status == GSORT_OK)
		gpusort_service_operation_began(job);
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
	mine->waits_since_us = 0;
	mine->cut_pending = false;
	mine->first_chunk = GPUSORT_NO_BUFFER;
	while (waiting.first_chunk != GPUSORT_NO_BUFFER)
	{
		int			buffer = gpusort_service_take_chunk(&waiting);

		if (begins_long_row((const GpuSortChunkHeader *) gpusort_buffer_memory(buffer)))
			gpusort_service_return_buffer(buffer, GPUSORT_BUFFER_REFUSED);
		else
			gpusort_service_add_chunk(mine, buffer);
	}
	gpusort_service_set_job_state(job, GPUSORT_JOB_FULL, GPUSORT_NATIVE_NONE);
}

/*
 * The first of the chunks that wait has its grant, and the device cannot take it just now: other
 * transfers have all of its staging.  Is it to be asked again in the next turn?
 */
static bool
asks_again(GpuSortServiceJob *mine)
{
	uint64		now_us = gpusort_clock_us();

	if (mine->refused_since_us == 0)
		mine->refused_since_us = now_us;
	return !gpusort_clock_exceeds(mine->refused_since_us, now_us, APPEND_PATIENCE_MS);
}

/* The first of the chunks that wait got no grant. */
static void
handle_refused_grant(int job, gsort_status status)
{
	const GpuSortServiceJob *mine = &gpusort_service_jobs[job];

	if (mine->fed_rows > 0 && mine->runs < GPUSORT_RUNS_MAX - 1)
		fill_job(job);
	else if (mine->fed_rows > 0)
		gpusort_service_refuse_job(job, GPUSORT_NATIVE_RUN_LIMIT);
	else if (status == GSORT_NOMEM && mine->job != NULL && !gpusort_service_fits_budget(job))
		gpusort_service_refuse_job(job, GPUSORT_NATIVE_ROW_SIZE);
	else if (status != GSORT_NOMEM || !gpusort_service_wait_for_memory(job))
		gpusort_service_note_status(job, status);
}

void
gpusort_service_feed_chunks(int job)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];

	while (mine->first_chunk != GPUSORT_NO_BUFFER && !mine->full)
	{
		int			buffer = mine->first_chunk;
		GpuSortChunkHeader header;
		gsort_chunk chunk;
		gsort_status status;
		bool		granted;

		if (!chunk_in_buffer(job, buffer, &header, &chunk))
		{
			gpusort_service_return_buffer(gpusort_service_take_chunk(mine), GPUSORT_BUFFER_REFUSED);
			continue;
		}
		status = append_chunk(job, &chunk, &granted);
		if (granted)
			mine->waits_since_us = 0;
		if (status == GSORT_NOMEM && granted && asks_again(mine))
			return;
		mine->refused_since_us = 0;
		if (status == GSORT_NOMEM || status == GSORT_UNSUPPORTED)
		{
			handle_refused_grant(job, status);
			return;
		}
		gpusort_service_take_chunk(mine);
		if (status != GSORT_OK)
		{
			gpusort_service_note_status(job, status);
			gpusort_service_return_buffer(buffer, GPUSORT_BUFFER_REFUSED);
		}
	}
	if (mine->cut_pending && cut_can_come(mine))
		do_cut(job, mine->cut_how);
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
	GpuSortChunkHeader header;
	gsort_chunk chunk;
	GpuSortJobState state;
	bool		takes_chunks;

	if (gpusort_service_device == NULL)
		gpusort_service_refuse_job(request->job, GPUSORT_NATIVE_NO_DEVICE);
	/* the owner may have asked for the cut already, or be spilling */
	state = gpusort_service_job_state(request->job);
	takes_chunks = mine->full || state == GPUSORT_JOB_FEEDING || state == GPUSORT_JOB_CUTTING;
	if (takes_chunks && !chunk_in_buffer(request->job, request->buffer, &header, &chunk))
		takes_chunks = false;
	if (!takes_chunks || (mine->full && begins_long_row(&header)))
		gpusort_service_return_buffer(request->buffer, GPUSORT_BUFFER_REFUSED);
	else if (continues_accepted_row(mine, &chunk))
	{
		bool		granted;
		gsort_status status = append_chunk(request->job, &chunk, &granted);

		gpusort_service_note_status(request->job, status);
		if (status != GSORT_OK)
			gpusort_service_return_buffer(request->buffer, GPUSORT_BUFFER_REFUSED);
		else if (mine->cut_pending && cut_can_come(mine))
			do_cut(request->job, mine->cut_how);
	}
	else
	{
		gpusort_service_add_chunk(mine, request->buffer);
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

	if (!gpusort_service_know_job(request->job) || !cut_is_awaited(request, &how))
		return;
	/* a device is closed only while it has no job */
	if (gpusort_service_device == NULL && how != GSORT_AS_FED)
		gpusort_service_set_job_state(request->job, GPUSORT_JOB_REFUSED, GPUSORT_NATIVE_NO_DEVICE);
	else if (how == GSORT_AS_FED || cut_can_come(mine))
		do_cut(request->job, how);
	else
	{
		mine->cut_how = how;
		mine->cut_pending = true;
	}
}

/* --- jobs that wait: for staging, for memory ------------------------------------------------- */

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

		gpusort_service_feed_chunks(jobs[i]);
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
