/*
 * service_feed.c
 *	  A job's feed: grants of device memory, chunks on their way to the device, the cut.
 *
 * In:  APPEND and CUT requests, and the end of what made a job wait.
 * Out: chunks appended, the run cut; or the job full, or refused.
 *
 * Runs in the service alone.
 *
 * A chunk that no grant can be had for stays in its buffer and waits in its job's
 * queue, with all chunks behind it:
 *  - If the run has rows already, the job is full: its leader spills the run, which frees
 *    its memory, and the queue goes on.  A leader that cannot spill sorts natively.
 *  - If it has none, the job waits for memory that others have, for its wait_timeout;
 *    then it is refused, and its leader sorts natively.
 * Jobs that wait are served in the order they came, and while one waits no other grows,
 * so a large sort that grows is made to spill by those that come after it.  A job that
 * wants more than a first grant, for a row of many megabytes, waits beside this queue:
 * nobody should be held up by what may never be had.
 */
#include "postgres.h"

#include "service/service_device.h"
#include "service/service_feed.h"
#include "service/service_jobs.h"

/* What a job is granted when it opens, and at least when it grows. */
#define FIRST_GRANT_BYTES		((uint64) 8 * 1024 * 1024)
#define FIRST_GRANT_ROWS		((uint64) 128 * 1024)

/* Of the budget, kept for first grants: small sorts need not wait for large ones. */
#define RESERVE_SHARE			8
#define RESERVE_BYTES_MAX		((uint64) 512 * 1024 * 1024)

/* --- jobs that wait ---------------------------------------------------------- */

/* The job that has waited longest in the queue for memory, or -1. */
static int
first_waiting_job(void)
{
	int			first = -1;

	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
	{
		const GpuSortServiceJob *job = &gpusort_service_jobs[i];

		if (job->waits_since != 0 && job->in_queue &&
			(first < 0 || job->waits_since < gpusort_service_jobs[first].waits_since))
			first = i;
	}
	return first;
}

/* --- grants -------------------------------------------------------------------- */

static gsort_status
open_job(int job)
{
	const GpuSortJobSlot *slot = gpusort_service_slot(job);
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	gsort_job_options options = {
		.struct_bytes = sizeof(options),
		.key_columns = slot->key_columns,
		.null_mask = slot->null_mask,
		.null_first_mask = slot->null_first_mask,
		.window_bytes = GPUSORT_BUFFER_BYTES,
		.tag = job,
		.engine = slot->engine,
	};
	gsort_status status;

	if (mine->job != NULL)
		return GSORT_OK;
	status = gsort_job_open(gpusort_service_device, &options, &mine->job);
	if (status == GSORT_OK)
		gpusort_service_open_jobs++;
	return status;
}

/* May the job be granted more, and more by so many bytes of device memory? */
static bool
may_grow(int job, uint64 by_bytes)
{
	int			waiting = first_waiting_job();
	gsort_device_info info;
	uint64		reserve;

	if (waiting >= 0 && waiting != job)
		return false;
	if (gpusort_service_jobs[job].granted_rows == 0)
		return true;
	gsort_device_get_info(gpusort_service_device, &info);
	reserve = Min(info.budget_bytes / RESERVE_SHARE, RESERVE_BYTES_MAX);
	return info.granted_bytes + by_bytes <= info.budget_bytes - reserve;
}

/* Makes room for rows and bytes more: by a quarter of what the job has, or for just these. */
static gsort_status
grow_grant(int job, uint64 rows, uint64 bytes)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	gsort_job_stats stats = {.struct_bytes = sizeof(stats)};
	uint64		want_rows = mine->fed_rows + rows;
	uint64		want_bytes = mine->fed_bytes + bytes;
	uint64		more_rows = 0;
	uint64		more_bytes = 0;
	gsort_status status = GSORT_NOMEM;

	if (want_rows > mine->granted_rows)
		more_rows = Max(want_rows - mine->granted_rows,
						Max(FIRST_GRANT_ROWS, mine->granted_rows / 4));
	if (want_bytes > mine->granted_bytes)
		more_bytes = Max(want_bytes - mine->granted_bytes,
						 Max(FIRST_GRANT_BYTES, mine->granted_bytes / 4));
	if (more_rows == 0 && more_bytes == 0)
		return GSORT_OK;
	gsort_job_get_stats(mine->job, &stats);
	if (may_grow(job, stats.granted_bytes / 4))
		status = gsort_job_grant(mine->job, more_rows, more_bytes);
	if (status == GSORT_NOMEM && may_grow(job, 0))
	{
		more_rows = more_rows > 0 ? want_rows - mine->granted_rows : 0;
		more_bytes = more_bytes > 0 ? want_bytes - mine->granted_bytes : 0;
		status = gsort_job_grant(mine->job, more_rows, more_bytes);
	}
	if (status == GSORT_OK)
	{
		mine->granted_rows += more_rows;
		mine->granted_bytes += more_bytes;
	}
	return status;
}

/* --- chunks and the cut -------------------------------------------------------- */

/* The device's view of the chunk in a buffer of a job's.  False: it points outside of its buffer. */
static bool
chunk_in_buffer(int job, int buffer, GpuSortChunkHeader *header, gsort_chunk *chunk)
{
	const GpuSortJobSlot *slot = gpusort_service_slot(job);

	if (!gpusort_chunk_check(gpusort_buffer_memory(buffer), slot->key_columns, slot->null_mask,
							 header, chunk))
		return false;
	chunk->tag = buffer;
	return true;
}

static gsort_status
append_chunk(int job, const gsort_chunk *chunk)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	uint64		bytes = 0;
	gsort_status status = open_job(job);

	/* the bytes that continue a row were granted with its beginning */
	if (chunk->rows > 0)
		bytes = chunk->data_bytes + Min(chunk->more_bytes, GSORT_ROW_BYTES_MAX);
	if (status == GSORT_OK)
		status = grow_grant(job, chunk->rows, bytes);
	if (status == GSORT_OK)
		status = gsort_job_append(mine->job, chunk);
	if (status == GSORT_OK)
	{
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
	gsort_status status = open_job(job);	/* an empty input comes here first */

	mine->cut_how = how;
	mine->cut_pending = false;
	if (status == GSORT_OK)
		status = gsort_job_cut(mine->job, how);
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
	mine->waits_since = 0;
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

/* No grant for the first chunk of the queue. */
static void
handle_refused_grant(int job, gsort_status status)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	const GpuSortJobSlot *slot = gpusort_service_slot(job);

	if (slot->may_spill && mine->fed_rows > 0 && slot->runs < GPUSORT_RUNS_MAX - 1)
		fill_job(job);
	else if (slot->may_spill && mine->fed_rows > 0)
		gpusort_service_refuse_job(job, GPUSORT_NATIVE_RUN_LIMIT);
	else if (status != GSORT_NOMEM || mine->fed_rows > 0 || slot->wait_ms == 0 ||
			 gpusort_service_open_jobs <= 1)
		gpusort_service_note_status(job, status);
	else if (mine->waits_since == 0)
	{
		const GpuSortChunkHeader *chunk =
			(const GpuSortChunkHeader *) gpusort_buffer_memory(mine->first_chunk);

		mine->waits_since = GetCurrentTimestamp();
		mine->in_queue = chunk->more_bytes < FIRST_GRANT_BYTES;
		pg_atomic_fetch_add_u64(&gpusort_shared->counters.waited, 1);
	}
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

		if (!chunk_in_buffer(job, buffer, &header, &chunk))
		{
			gpusort_service_fail_job(job, "a chunk points outside of its buffer");
			gpusort_service_return_buffer(gpusort_service_take_chunk(mine), GPUSORT_BUFFER_REFUSED);
			continue;
		}
		status = append_chunk(job, &chunk);
		if (status == GSORT_NOMEM || status == GSORT_UNSUPPORTED)
		{
			handle_refused_grant(job, status);
			return;
		}
		gpusort_service_take_chunk(mine);
		mine->waits_since = 0;
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
	{
		gpusort_service_fail_job(request->job, "a chunk points outside of its buffer");
		takes_chunks = false;
	}
	if (!takes_chunks || (mine->full && begins_long_row(&header)))
		gpusort_service_return_buffer(request->buffer, GPUSORT_BUFFER_REFUSED);
	else if (continues_accepted_row(mine, &chunk))
	{
		gsort_status status = append_chunk(request->job, &chunk);

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

	if (!cut_is_awaited(request, &how))
		return;
	if (gpusort_service_device == NULL)
	{
		/* a device is closed only while it has no job: of this one it has accepted nothing */
		gpusort_service_set_job_state(request->job,
									  how == GSORT_AS_FED ? GPUSORT_JOB_READY : GPUSORT_JOB_REFUSED,
									  GPUSORT_NATIVE_NO_DEVICE);
		return;
	}
	if (how == GSORT_AS_FED || cut_can_come(mine))
		do_cut(request->job, how);
	else
	{
		mine->cut_how = how;
		mine->cut_pending = true;
	}
}

/* --- jobs that wait for memory ------------------------------------------------- */

/* Serves a job that waits.  False: it still waits. */
static bool
serve_waiting_job(int job, TimestampTz now)
{
	const GpuSortServiceJob *mine = &gpusort_service_jobs[job];

	gpusort_service_feed_chunks(job);
	if (mine->waits_since != 0 &&
		TimestampDifferenceExceeds(mine->waits_since, now, gpusort_service_slot(job)->wait_ms))
		gpusort_service_refuse_job(job, GPUSORT_NATIVE_DEVICE_MEMORY);
	return mine->waits_since == 0;
}

/* In the order they came; the first that still gets nothing holds up the others. */
void
gpusort_service_serve_waiting_jobs(void)
{
	TimestampTz now = GetCurrentTimestamp();
	int			job;

	while ((job = first_waiting_job()) >= 0 && serve_waiting_job(job, now))
		;
	/* those beside the queue, and those that wait for a shorter time */
	for (job = 0; job < GPUSORT_JOB_SLOTS; job++)
		if (gpusort_service_jobs[job].waits_since != 0)
			(void) serve_waiting_job(job, now);
}
