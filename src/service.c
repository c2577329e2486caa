/*
 * service.c
 *	  The background worker that owns the device: an event loop.
 *
 * In:  requests from the ring (shmem.c), events from the device (gsort.h).
 * Out: calls of the device API; answers in job slots and pieces; latches set.
 *
 * The only file that calls gsort_* and the only process that does.  Everything the
 * device API gives (gsort_device, gsort_job) is private to this process; what
 * backends see is in shared memory, guarded by the shared lock, which is never
 * held over a gsort_* call or an ereport.
 *
 * Every turn handles what requests and events there are and then waits on its
 * latch and the device's descriptor; no step waits for the device, so no job
 * holds up another.  A piece that the device may touch is the service's until the
 * device has said that it is done with it.
 *
 * Memory.  A chunk that no grant can be had for stays in its piece and waits in its job's
 * queue, with all chunks behind it:
 *  - If the run has rows already, the job is full: its leader spills the run, which frees
 *    its memory, and the queue goes on.  A leader that cannot spill sorts natively.
 *  - If it has none, the job waits for memory that others have, for its wait_timeout;
 *    then it is spent, and its leader sorts natively.
 * Jobs that wait are served in the order they came, and while one waits no other grows,
 * so a large sort that grows is made to spill by those that come after it.  A job that
 * wants more than a first grant, for a row of many megabytes, waits beside this queue:
 * nobody should be held up by what may never be had.
 *
 * The worker always leaves with code 1: with 0 it would not be started again,
 * and with any other code the postmaster would restart all sessions.
 */
#include "postgres.h"

#include <signal.h>

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/procsignal.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "compat.h"
#include "service.h"
#include "shmem.h"

#define RESTART_SECONDS			1

/* A lost device may not say so through its descriptor: ask while work is under way. */
#define BUSY_POLL_MS			100

#define EVENTS_A_POLL			64
#define REQUESTS_A_TURN			64

/* What a job is granted when it opens, and at least when it grows. */
#define FIRST_GRANT_BYTES		((uint64) 8 * 1024 * 1024)
#define FIRST_GRANT_ROWS		((uint64) 128 * 1024)

/* Of the budget, kept for first grants: small sorts need not wait for large ones. */
#define RESERVE_SHARE			8
#define RESERVE_BYTES_MAX		((uint64) 512 * 1024 * 1024)

#define NO_PIECE				(-1)

/* The service's side of a job slot. */
typedef struct ServiceJob
{
	gsort_job  *job;			/* NULL: not open on the device */
	bool		closing;		/* job may die with the next events: only CLOSED counts */
	gsort_cut_how cut_how;

	/* of the run being fed */
	uint64		granted_rows;
	uint64		granted_bytes;
	uint64		fed_rows;
	uint64		fed_bytes;
	int			incomplete_rows;
	uint64		missing_bytes[GSORT_FEEDERS_MAX];	/* of each feeder's incomplete row */

	/* chunks that wait, in order; deferred_next links them */
	int			first_deferred;
	int			last_deferred;
	bool		full;			/* until the next run */
	bool		cut_pending;	/* the cut comes when it can */
	TimestampTz waits_since;	/* for memory that others have; 0: does not */
	bool		in_queue;		/* it waits in the queue, not beside it */
} ServiceJob;

static gsort_device *device = NULL;
static ServiceJob service_jobs[GPUSORT_JOB_SLOTS];
static int *deferred_next;		/* [n_pieces] */
static int	open_jobs = 0;
static GpuSortDeviceSetting opened_for;	/* gpusort.device when the device was opened */
static bool opened = false;
static bool waiting_to_reopen = false;	/* jobs are open on the device opened before */
static WaitEventSet *wait_set = NULL;
static volatile sig_atomic_t terminate_requested = false;

/* --- answers --------------------------------------------------------------- */

static GpuSortJobSlot *
slot_at(int job)
{
	return &gpusort_shared->jobs[job];
}

/* Gives a piece to its job's owner; to the pool, if the owner has left. */
static void
return_piece(int piece, GpuSortPieceState state)
{
	GpuSortJobSlot *slot;

	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	slot = slot_at(gpusort_pieces[piece].job);
	if (slot->state == GPUSORT_JOB_ABANDONED)
		gpusort_piece_free(piece);
	else
	{
		gpusort_pieces[piece].state = state;
		ConditionVariableBroadcast(&slot->changed);
	}
	LWLockRelease(gpusort_shared_lock());
}

/* Moves a job on, unless its owner has left or it has failed. */
static void
set_job_state(int job, GpuSortJobState state, GpuSortNativeReason reason)
{
	GpuSortJobSlot *slot = slot_at(job);

	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	if (slot->state != GPUSORT_JOB_ABANDONED && slot->state != GPUSORT_JOB_FAILED)
	{
		slot->state = state;
		slot->spent_reason = reason;
		ConditionVariableBroadcast(&slot->changed);
	}
	LWLockRelease(gpusort_shared_lock());
}

/* With the lock held. */
static void
fail_locked_job(GpuSortJobSlot *slot, const char *message)
{
	if (slot->state == GPUSORT_JOB_ABANDONED || slot->state == GPUSORT_JOB_FAILED)
		return;
	slot->state = GPUSORT_JOB_FAILED;
	strlcpy(slot->message, message, sizeof(slot->message));
	ConditionVariableBroadcast(&slot->changed);
}

static void
fail_job(int job, const char *message)
{
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	fail_locked_job(slot_at(job), message);
	LWLockRelease(gpusort_shared_lock());
}

static GpuSortJobState
job_state(int job)
{
	GpuSortJobState state;

	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	state = slot_at(job)->state;
	LWLockRelease(gpusort_shared_lock());
	return state;
}

static void
forget_job(ServiceJob *mine)
{
	memset(mine, 0, sizeof(*mine));
	mine->first_deferred = mine->last_deferred = NO_PIECE;
}

/* --- chunks that wait ------------------------------------------------------- */

static void
defer_piece(ServiceJob *mine, int piece)
{
	deferred_next[piece] = NO_PIECE;
	if (mine->first_deferred == NO_PIECE)
		mine->first_deferred = piece;
	else
		deferred_next[mine->last_deferred] = piece;
	mine->last_deferred = piece;
}

static int
take_deferred(ServiceJob *mine)
{
	int			piece = mine->first_deferred;

	mine->first_deferred = deferred_next[piece];
	return piece;
}

/* The job takes no more rows; its leader draws back what is queued too. */
static void
spend_job(int job, GpuSortNativeReason reason)
{
	ServiceJob *mine = &service_jobs[job];

	mine->full = false;
	mine->cut_pending = false;
	mine->waits_since = 0;
	set_job_state(job, GPUSORT_JOB_SPENT, reason);
	while (mine->first_deferred != NO_PIECE)
		return_piece(take_deferred(mine), GPUSORT_PIECE_REFUSED);
}

/* The job that has waited longest in the queue for memory, or -1. */
static int
first_waiting_job(void)
{
	int			first = -1;

	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
		if (service_jobs[i].waits_since != 0 && service_jobs[i].in_queue &&
			(first < 0 || service_jobs[i].waits_since < service_jobs[first].waits_since))
			first = i;
	return first;
}

static void
free_all_pieces(GpuSortJobSlot *slot)
{
	while (slot->n_pieces > 0)
		gpusort_piece_free(slot->pieces[slot->n_pieces - 1]);
}

/* Frees all that is left of a job whose owner has left. */
static void
free_job(int job)
{
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	free_all_pieces(slot_at(job));
	gpusort_job_slot_free(slot_at(job));
	LWLockRelease(gpusort_shared_lock());
}

static const char *
device_error(void)
{
	return device != NULL ? gsort_error_text(device) : "the service has no device";
}

/* Fails every job that the service knows.  With the lock held. */
static void
fail_all_jobs(const char *message)
{
	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
		if (slot_at(i)->state != GPUSORT_JOB_FREE && slot_at(i)->known_to_service)
			fail_locked_job(slot_at(i), message);
}

/* No device touches the job's pieces any more; its owner, if there is one, can free it alone. */
static void
take_over_job(GpuSortJobSlot *slot)
{
	for (int i = 0; i < slot->n_pieces; i++)
	{
		GpuSortPiece *piece = &gpusort_pieces[slot->pieces[i]];

		if (piece->state == GPUSORT_PIECE_SENT || piece->state == GPUSORT_PIECE_FETCHING)
			piece->state = GPUSORT_PIECE_HELD;
	}
	if (slot->state == GPUSORT_JOB_FAILED)
		slot->known_to_service = false;
	if (slot->state == GPUSORT_JOB_ABANDONED)
	{
		free_all_pieces(slot);
		gpusort_job_slot_free(slot);
	}
}

/*
 * Takes over from a worker that has ended, with the lock held: its jobs fail, its pieces
 * come back, the ring is emptied.
 */
static void
clean_up_after_predecessor(void)
{
	GpuSortRequest request;

	fail_all_jobs("the sort service was restarted");
	while (gpusort_request_pop(&request))
		;
	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
		take_over_job(slot_at(i));
}

/* From here on plans and sorts are native; the jobs of now fail. */
static void
stop_serving(const char *message)
{
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	gpusort_shared->service.state = GPUSORT_SERVICE_STARTING;
	gpusort_shared->service.proc = -1;
	gpusort_shared->service.pid = 0;
	fail_all_jobs(message);
	LWLockRelease(gpusort_shared_lock());
}

/* Fails all jobs and leaves; the postmaster starts a new service. */
static void
restart(const char *why, const char *detail)
{
	stop_serving(detail);
	ereport(LOG,
			(errmsg("gpusort: %s, the service restarts", why),
			 errdetail("%s", detail)));
	proc_exit(1);
}

static void
lose_device(void)
{
	char		message[512];

	strlcpy(message, device_error(), sizeof(message));
	restart("the device is lost", message);
}

/* What a failed call means for its job. */
static void
handle_failure(int job, gsort_status status)
{
	switch (status)
	{
		case GSORT_OK:
			break;
		case GSORT_NOMEM:
			spend_job(job, GPUSORT_NATIVE_DEVICE_MEMORY);
			break;
		case GSORT_UNSUPPORTED:
			spend_job(job, GPUSORT_NATIVE_RUN_LIMIT);
			break;
		case GSORT_BAD_ARG:
		case GSORT_BAD_DATA:
			fail_job(job, device_error());
			break;
		case GSORT_DEVICE_LOST:
			lose_device();
			break;
	}
}

/* --- requests -------------------------------------------------------------- */

static gsort_status
open_job(int job)
{
	const GpuSortJobSlot *slot = slot_at(job);
	ServiceJob *mine = &service_jobs[job];
	gsort_job_options options = {
		.struct_bytes = sizeof(options),
		.key_columns = slot->key_columns,
		.null_mask = slot->null_mask,
		.null_first_mask = slot->null_first_mask,
		.window_bytes = GPUSORT_PIECE_BYTES,
		.tag = job,
		.engine = slot->engine,
	};
	gsort_status status;

	if (mine->job != NULL)
		return GSORT_OK;
	status = gsort_job_open(device, &options, &mine->job);
	if (status == GSORT_OK)
		open_jobs++;
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
	if (service_jobs[job].granted_rows == 0)
		return true;
	gsort_device_get_info(device, &info);
	reserve = Min(info.budget_bytes / RESERVE_SHARE, RESERVE_BYTES_MAX);
	return info.granted_bytes + by_bytes <= info.budget_bytes - reserve;
}

/* Makes room for rows and bytes more: by a quarter of what the job has, or for just these. */
static gsort_status
grow_grant(int job, uint64 rows, uint64 bytes)
{
	ServiceJob *mine = &service_jobs[job];
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

/* The device's view of the chunk in a piece of a job's.  False: it points outside of its piece. */
static bool
chunk_in_piece(int job, int piece, GpuSortChunkHeader *header, gsort_chunk *chunk)
{
	const GpuSortJobSlot *slot = slot_at(job);

	if (!gpusort_chunk_check(gpusort_piece_memory(piece), slot->key_columns, slot->null_mask,
							 header, chunk))
		return false;
	chunk->tag = piece;
	return true;
}

static gsort_status
append_chunk(int job, const gsort_chunk *chunk)
{
	ServiceJob *mine = &service_jobs[job];
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
	ServiceJob *mine = &service_jobs[job];
	gsort_status status = open_job(job);	/* an empty input comes here first */

	mine->cut_how = how;
	mine->cut_pending = false;
	if (status == GSORT_OK)
		status = gsort_job_cut(mine->job, how);
	handle_failure(job, status);
}

/* Rows in the queue belong to this run, unless it is full; a row begun must be complete. */
static bool
cut_can_come(const ServiceJob *mine)
{
	return mine->incomplete_rows == 0 && (mine->full || mine->first_deferred == NO_PIECE);
}

static bool
is_head(const gsort_chunk *chunk)
{
	return chunk->rows > 0 && chunk->more_bytes > 0;
}

/*
 * The run takes no more.  Feeders that wait for the answer to a row's first chunk get it
 * back: they cannot go on before that, and the leader is told of the full job by a row.
 */
static void
fill_job(int job)
{
	ServiceJob *mine = &service_jobs[job];
	int			piece = mine->first_deferred;

	mine->full = true;
	mine->waits_since = 0;
	mine->cut_pending = false;
	mine->first_deferred = NO_PIECE;
	while (piece != NO_PIECE)
	{
		int			next = deferred_next[piece];
		const GpuSortChunkHeader *header =
			(const GpuSortChunkHeader *) gpusort_piece_memory(piece);

		if (header->rows > 0 && header->more_bytes > 0)
			return_piece(piece, GPUSORT_PIECE_REFUSED);
		else
			defer_piece(mine, piece);
		piece = next;
	}
	set_job_state(job, GPUSORT_JOB_FULL, GPUSORT_NATIVE_NONE);
}

/* No grant for the first chunk of the queue. */
static void
handle_refused_grant(int job, gsort_status status)
{
	ServiceJob *mine = &service_jobs[job];
	const GpuSortJobSlot *slot = slot_at(job);

	if (slot->may_spill && mine->fed_rows > 0 && slot->runs < GPUSORT_RUNS_MAX - 1)
		fill_job(job);
	else if (slot->may_spill && mine->fed_rows > 0)
		spend_job(job, GPUSORT_NATIVE_RUN_LIMIT);
	else if (status != GSORT_NOMEM || mine->fed_rows > 0 || slot->wait_ms == 0 || open_jobs <= 1)
		handle_failure(job, status);
	else if (mine->waits_since == 0)
	{
		const GpuSortChunkHeader *chunk =
			(const GpuSortChunkHeader *) gpusort_piece_memory(mine->first_deferred);

		mine->waits_since = GetCurrentTimestamp();
		mine->in_queue = chunk->more_bytes < FIRST_GRANT_BYTES;
		pg_atomic_fetch_add_u64(&gpusort_shared->counters.waited, 1);
	}
}

/* Gives the device the chunks that wait, as far as it takes them. */
static void
feed_deferred(int job)
{
	ServiceJob *mine = &service_jobs[job];

	while (mine->first_deferred != NO_PIECE && !mine->full)
	{
		int			piece = mine->first_deferred;
		GpuSortChunkHeader header;
		gsort_chunk chunk;
		gsort_status status;

		if (!chunk_in_piece(job, piece, &header, &chunk))
		{
			fail_job(job, "a chunk points outside of its buffer");
			return_piece(take_deferred(mine), GPUSORT_PIECE_REFUSED);
			continue;
		}
		status = append_chunk(job, &chunk);
		if (status == GSORT_NOMEM || status == GSORT_UNSUPPORTED)
		{
			handle_refused_grant(job, status);
			return;
		}
		take_deferred(mine);
		mine->waits_since = 0;
		if (status != GSORT_OK)
		{
			handle_failure(job, status);
			return_piece(piece, GPUSORT_PIECE_REFUSED);
		}
	}
	if (mine->cut_pending && cut_can_come(mine))
		do_cut(job, mine->cut_how);
}

/* The rest of a row that the device has begun to take was granted with its beginning. */
static bool
continues_accepted_row(const ServiceJob *mine, const gsort_chunk *chunk)
{
	return chunk->rows == 0 && chunk->feeder < GSORT_FEEDERS_MAX &&
		chunk->data_bytes <= mine->missing_bytes[chunk->feeder];
}

static void
handle_append(const GpuSortRequest *request)
{
	ServiceJob *mine = &service_jobs[request->job];
	GpuSortChunkHeader header;
	gsort_chunk chunk;
	GpuSortJobState state;
	bool		takes_chunks;

	if (device == NULL)
		spend_job(request->job, GPUSORT_NATIVE_NO_DEVICE);
	/* the owner may have asked for the cut already, or be spilling */
	state = job_state(request->job);
	takes_chunks = mine->full || state == GPUSORT_JOB_FEEDING || state == GPUSORT_JOB_CUTTING;
	if (takes_chunks && !chunk_in_piece(request->job, request->piece, &header, &chunk))
	{
		fail_job(request->job, "a chunk points outside of its buffer");
		takes_chunks = false;
	}
	if (!takes_chunks || (mine->full && is_head(&chunk)))
		return_piece(request->piece, GPUSORT_PIECE_REFUSED);
	else if (continues_accepted_row(mine, &chunk))
	{
		gsort_status status = append_chunk(request->job, &chunk);

		handle_failure(request->job, status);
		if (status != GSORT_OK)
			return_piece(request->piece, GPUSORT_PIECE_REFUSED);
		else if (mine->cut_pending && cut_can_come(mine))
			do_cut(request->job, mine->cut_how);
	}
	else
	{
		defer_piece(mine, request->piece);
		if (mine->first_deferred == request->piece)
			feed_deferred(request->job);
	}
}

/*
 * A chunk refused on the way to a cut makes its owner ask for another one; the first is
 * then void, even if both are in the ring.
 */
static bool
cut_is_awaited(const GpuSortRequest *request, gsort_cut_how *how)
{
	const GpuSortJobSlot *slot = slot_at(request->job);
	bool		awaited;

	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	awaited = slot->state == GPUSORT_JOB_CUTTING && slot->cuts == request->number;
	*how = slot->cut_how;
	LWLockRelease(gpusort_shared_lock());
	return awaited;
}

static void
handle_cut(const GpuSortRequest *request)
{
	ServiceJob *mine = &service_jobs[request->job];
	gsort_cut_how how;

	if (!cut_is_awaited(request, &how))
		return;
	if (device == NULL)
	{
		/* a device is closed only while it has no job: of this one it has accepted nothing */
		set_job_state(request->job,
					  how == GSORT_AS_FED ? GPUSORT_JOB_READY : GPUSORT_JOB_SPENT,
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

/* The leader has read the run. */
static void
handle_next_run(const GpuSortRequest *request)
{
	gsort_status status = gsort_job_next_run(service_jobs[request->job].job);

	if (status == GSORT_DEVICE_LOST)
		lose_device();
	if (status != GSORT_OK)
		fail_job(request->job, device_error());
}

static void
handle_merge(const GpuSortRequest *request)
{
	gsort_status status = gsort_job_merge(service_jobs[request->job].job);

	if (status == GSORT_UNSUPPORTED || status == GSORT_NOMEM)
		set_job_state(request->job, GPUSORT_JOB_FEEDING, GPUSORT_NATIVE_NONE);
	else
		handle_failure(request->job, status);
}

/* The first window that ends behind row. */
static uint64
window_of_row(const gsort_window *windows, uint64 n, uint64 row)
{
	uint64		low = 0;
	uint64		high = n;

	while (low < high)
	{
		uint64		middle = low + (high - low) / 2;

		if (windows[middle].first_row + windows[middle].rows > row)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* A window has come, or cannot. */
static void
handle_fetched_event(int job, int piece, gsort_status status)
{
	if (status == GSORT_OK)
		pg_atomic_fetch_add_u64(&gpusort_shared->counters.bytes_from_device,
								gpusort_pieces[piece].window.bytes);
	else if (status == GSORT_DEVICE_LOST)
		lose_device();
	else
		fail_job(job, device_error());	/* a cut run has no other way than this one */
	return_piece(piece, status == GSORT_OK ? GPUSORT_PIECE_WINDOW : GPUSORT_PIECE_HELD);
}

static void
handle_fetch(const GpuSortRequest *request)
{
	GpuSortPiece *piece = &gpusort_pieces[request->piece];
	gsort_job  *job = service_jobs[request->job].job;
	const gsort_window *windows;
	uint64		n;
	uint64		number = request->number;
	gsort_status status;

	if (job_state(request->job) != GPUSORT_JOB_READY || job == NULL)
	{
		return_piece(request->piece, GPUSORT_PIECE_HELD);
		return;
	}
	status = gsort_job_windows(job, &windows, &n);
	if (status == GSORT_OK && request->kind == GPUSORT_REQUEST_FETCH_ROW)
		number = window_of_row(windows, n, number);
	if (status == GSORT_OK && number >= n)
		status = GSORT_BAD_ARG;
	if (status == GSORT_OK)
	{
		piece->window = windows[number];
		piece->window_number = number;
		status = gsort_job_fetch(job, number, gpusort_piece_memory(request->piece), request->piece);
	}
	if (status != GSORT_OK)
		handle_fetched_event(request->job, request->piece, status);
}

static void
handle_close(const GpuSortRequest *request)
{
	ServiceJob *mine = &service_jobs[request->job];

	if (mine->job == NULL)
	{
		forget_job(mine);
		free_job(request->job);
		return;
	}
	/* its pieces are freed with it, those in the queue too */
	mine->first_deferred = NO_PIECE;
	mine->cut_pending = false;
	mine->waits_since = 0;
	mine->closing = true;
	gsort_job_close(mine->job);
}

/* Could a session have made this request, of a job that is in this state now? */
static bool
request_fits_state(const GpuSortRequest *request)
{
	const ServiceJob *mine = &service_jobs[request->job];
	GpuSortJobState state = job_state(request->job);

	switch (request->kind)
	{
		case GPUSORT_REQUEST_CUT:
			return state != GPUSORT_JOB_FREE;
		case GPUSORT_REQUEST_NEXT_RUN:
		case GPUSORT_REQUEST_MERGE:
			return mine->job != NULL &&
				(state == GPUSORT_JOB_ASKED || state == GPUSORT_JOB_FAILED ||
				 state == GPUSORT_JOB_ABANDONED);
		case GPUSORT_REQUEST_CLOSE:
			return state == GPUSORT_JOB_ABANDONED && !mine->closing;
		default:
			return false;
	}
}

/* Is the piece the job's, and the service's? */
static bool
request_fits_piece(const GpuSortRequest *request)
{
	const GpuSortPiece *piece;
	bool		fits;

	if (request->piece < 0 || request->piece >= gpusort_shared->n_pieces)
		return false;
	piece = &gpusort_pieces[request->piece];
	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	fits = piece->job == request->job &&
		piece->state == (request->kind == GPUSORT_REQUEST_APPEND ?
						 GPUSORT_PIECE_SENT : GPUSORT_PIECE_FETCHING);
	LWLockRelease(gpusort_shared_lock());
	return fits;
}

static bool
request_is_sound(const GpuSortRequest *request)
{
	if (request->job < 0 || request->job >= GPUSORT_JOB_SLOTS)
		return false;
	switch (request->kind)
	{
		case GPUSORT_REQUEST_APPEND:
		case GPUSORT_REQUEST_FETCH_WINDOW:
		case GPUSORT_REQUEST_FETCH_ROW:
			return request_fits_piece(request);
		case GPUSORT_REQUEST_CUT:
		case GPUSORT_REQUEST_NEXT_RUN:
		case GPUSORT_REQUEST_MERGE:
		case GPUSORT_REQUEST_CLOSE:
			return request->piece < 0 && request_fits_state(request);
	}
	return false;
}

static void
handle_request(const GpuSortRequest *request)
{
	/* somebody waits for its answer, and nobody can tell who: all are told, nobody hangs */
	if (!request_is_sound(request))
		restart("shared memory is corrupt",
				psprintf("A request names kind %d, job %d, piece %d.",
						 request->kind, request->job, request->piece));
	switch (request->kind)
	{
		case GPUSORT_REQUEST_APPEND:
			handle_append(request);
			break;
		case GPUSORT_REQUEST_CUT:
			handle_cut(request);
			break;
		case GPUSORT_REQUEST_FETCH_WINDOW:
		case GPUSORT_REQUEST_FETCH_ROW:
			handle_fetch(request);
			break;
		case GPUSORT_REQUEST_NEXT_RUN:
			handle_next_run(request);
			break;
		case GPUSORT_REQUEST_MERGE:
			handle_merge(request);
			break;
		case GPUSORT_REQUEST_CLOSE:
			handle_close(request);
			break;
	}
}

/* True if there may be more. */
static bool
handle_requests(void)
{
	GpuSortRequest requests[REQUESTS_A_TURN];
	int			n = 0;

	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	while (n < REQUESTS_A_TURN && gpusort_request_pop(&requests[n]))
		n++;
	LWLockRelease(gpusort_shared_lock());
	for (int i = 0; i < n; i++)
		handle_request(&requests[i]);
	return n == REQUESTS_A_TURN;
}

/* --- events ---------------------------------------------------------------- */

static void
handle_cut_event(int job, gsort_status status)
{
	const ServiceJob *mine = &service_jobs[job];
	GpuSortJobSlot *slot = slot_at(job);
	GpuSortCounters *counters = &gpusort_shared->counters;
	const gsort_window *windows;
	gsort_job_stats stats = {.struct_bytes = sizeof(stats)};
	uint64		n = 0;

	if (mine->closing)
		return;
	if (status == GSORT_OK)
		status = gsort_job_windows(mine->job, &windows, &n);
	if (status != GSORT_OK)
	{
		handle_failure(job, status);
		return;
	}
	gsort_job_get_stats(mine->job, &stats);
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	slot->rows = stats.rows;
	slot->windows = n;
	slot->stats = stats;
	slot->last_read = GetCurrentTimestamp();
	LWLockRelease(gpusort_shared_lock());
	if (mine->cut_how != GSORT_AS_FED)
	{
		/* of a spilled sort, the first run */
		if (slot->runs == 0)
			pg_atomic_fetch_add_u64(&counters->jobs, 1);
		pg_atomic_fetch_add_u64(&counters->rows, stats.rows);
		pg_atomic_fetch_add_u64(&counters->sort_us, (uint64) (stats.sort_ms * 1000));
	}
	pg_atomic_fetch_add_u64(&counters->bytes_to_device, stats.bytes_in);
	set_job_state(job, GPUSORT_JOB_READY, slot->spent_reason);
}

/* The run's rows are gone from the device: what waits goes on. */
static void
handle_run_begun_event(int job)
{
	ServiceJob *mine = &service_jobs[job];
	GpuSortJobSlot *slot = slot_at(job);

	if (mine->closing)
		return;
	mine->granted_rows = mine->granted_bytes = 0;
	mine->fed_rows = mine->fed_bytes = 0;
	mine->full = false;
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	slot->runs++;
	LWLockRelease(gpusort_shared_lock());
	set_job_state(job, GPUSORT_JOB_FEEDING, GPUSORT_NATIVE_NONE);
	feed_deferred(job);
}

static void
handle_merged_event(int job, gsort_status status)
{
	GpuSortJobSlot *slot = slot_at(job);
	gsort_job_stats stats = {.struct_bytes = sizeof(stats)};
	const gsort_window *windows;
	uint64		n;

	if (service_jobs[job].closing)
		return;
	if (status == GSORT_OK)
		status = gsort_job_windows(service_jobs[job].job, &windows, &n);
	if (status != GSORT_OK)
	{
		set_job_state(job, GPUSORT_JOB_FEEDING, GPUSORT_NATIVE_NONE);
		return;
	}
	gsort_job_get_stats(service_jobs[job].job, &stats);
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	slot->rows = stats.rows;
	slot->windows = n;
	slot->stats = stats;
	slot->last_read = GetCurrentTimestamp();
	LWLockRelease(gpusort_shared_lock());
	pg_atomic_fetch_add_u64(&gpusort_shared->counters.sort_us, (uint64) (stats.merge_ms * 1000));
	set_job_state(job, GPUSORT_JOB_READY, GPUSORT_NATIVE_NONE);
}

static void
handle_event(const gsort_event *event)
{
	int			job = (int) event->job_tag;

	switch (event->kind)
	{
		case GSORT_EVENT_APPENDED:
			if (event->status != GSORT_OK)
				handle_failure(job, event->status);
			return_piece((int) event->tag, GPUSORT_PIECE_HELD);
			break;
		case GSORT_EVENT_CUT:
			handle_cut_event(job, event->status);
			break;
		case GSORT_EVENT_FETCHED:
			handle_fetched_event(job, (int) event->tag, event->status);
			break;
		case GSORT_EVENT_CLOSED:
			forget_job(&service_jobs[job]);
			open_jobs--;
			free_job(job);
			break;
		case GSORT_EVENT_RUN_BEGUN:
			handle_failure(job, event->status);
			handle_run_begun_event(job);
			break;
		case GSORT_EVENT_MERGED:
			if (event->status == GSORT_DEVICE_LOST)
				lose_device();
			handle_merged_event(job, event->status);
			break;
	}
}

static bool
handle_events(void)
{
	gsort_event events[EVENTS_A_POLL];
	int			n;

	if (device == NULL)
		return false;
	n = gsort_poll(device, events, EVENTS_A_POLL);
	for (int i = 0; i < n; i++)
		handle_event(&events[i]);
	return n == EVENTS_A_POLL;
}

/* --- jobs that wait for memory --------------------------------------------- */

/* Serves a job that waits.  False: it still waits. */
static bool
serve_waiting_job(int job, TimestampTz now)
{
	const ServiceJob *mine = &service_jobs[job];

	feed_deferred(job);
	if (mine->waits_since != 0 &&
		TimestampDifferenceExceeds(mine->waits_since, now, slot_at(job)->wait_ms))
		spend_job(job, GPUSORT_NATIVE_DEVICE_MEMORY);
	return mine->waits_since == 0;
}

/* In the order they came; the first that still gets nothing holds up the others. */
static void
serve_waiting_jobs(void)
{
	TimestampTz now = GetCurrentTimestamp();
	int			job;

	while ((job = first_waiting_job()) >= 0 && serve_waiting_job(job, now))
		;
	/* those beside the queue, and those that wait for a shorter time */
	for (job = 0; job < GPUSORT_JOB_SLOTS; job++)
		if (service_jobs[job].waits_since != 0)
			(void) serve_waiting_job(job, now);
}

/* --- the device ------------------------------------------------------------ */

static void
publish_info(void)
{
	gsort_device_info info;

	if (device == NULL)
		return;
	gsort_device_get_info(device, &info);
	/* what fails while nobody waits for an answer must not wait for the next sort */
	if (info.lost)
		lose_device();
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	gpusort_shared->service.info = info;
	LWLockRelease(gpusort_shared_lock());
}

static void
publish_state(GpuSortServiceState state, const char *detail)
{
	GpuSortService *service = &gpusort_shared->service;

	publish_info();
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	service->state = state;
	strlcpy(service->detail, detail, sizeof(service->detail));
	if (device == NULL)
		memset(&service->info, 0, sizeof(service->info));
	LWLockRelease(gpusort_shared_lock());
}

/* Reading every page makes the kernel allocate it: pinning is ten times faster then. */
static void
touch_buffers(void)
{
	Size		length = (Size) gpusort_shared->n_pieces * GPUSORT_PIECE_BYTES;

	for (Size i = 0; i < length; i += 4096)
		(void) *(volatile char *) (gpusort_buffers + i);
}

static void
set_budget(void)
{
	gsort_device_info info;
	uint64		budget = gpusort_device_memory.bytes;

	if (device == NULL)
		return;
	gsort_device_get_info(device, &info);
	if (gpusort_device_memory.percent > 0)
		budget = info.memory_bytes / 100 * gpusort_device_memory.percent;
	gsort_set_budget(device, budget);
}

static void
arm_test_failure(void)
{
	if (device != NULL)
		gsort_set_fail_at(device, gpusort_debug_fail_at,
						  GSORT_FAIL_ALLOCATIONS | GSORT_FAIL_CALLS);
}

static void
log_device(void)
{
	gsort_device_info info;

	gsort_device_get_info(device, &info);
	if (info.kind == GSORT_KIND_CUDA)
		ereport(LOG,
				(errmsg("gpusort: serving with %s, %llu MB of memory, budget %llu MB, CUDA driver %d.%d, buffers of %d MB %s",
						info.name, (unsigned long long) info.memory_bytes / 1024 / 1024,
						(unsigned long long) info.budget_bytes / 1024 / 1024,
						info.driver_version / 1000, info.driver_version % 1000 / 10,
						gpusort_buffer_memory_mb, info.pinned ? "pinned" : "not pinned")));
	else
		ereport(LOG,
				(errmsg("gpusort: serving with the CPU, %s, budget %llu MB, buffers of %d MB",
						info.name, (unsigned long long) info.budget_bytes / 1024 / 1024,
						gpusort_buffer_memory_mb)));
}

static void
open_device(void)
{
	gsort_device_options options = {.struct_bytes = sizeof(options)};
	char		reason[256];
	gsort_status status;

	opened = true;
	opened_for = gpusort_device;
	if (gpusort_device == GPUSORT_DEVICE_OFF)
	{
		publish_state(GPUSORT_SERVICE_OFF, "gpusort.device is off");
		ereport(LOG, (errmsg("gpusort: gpusort.device is off, all sorts are native")));
		return;
	}
	options.kind = gpusort_device == GPUSORT_DEVICE_HOST ? GSORT_KIND_HOST : GSORT_KIND_CUDA;
	status = gsort_open(&options, &device, reason, sizeof(reason));
	if (status != GSORT_OK)
	{
		device = NULL;
		publish_state(GPUSORT_SERVICE_UNAVAILABLE, reason);
		ereport(LOG,
				(errmsg("gpusort: no device, all sorts are native: %s", reason),
				 errhint("Set gpusort.device to \"host\" to sort with the CPU's threads.")));
		return;
	}
	touch_buffers();
	(void) gsort_pin(device, gpusort_buffers,
					 (Size) gpusort_shared->n_pieces * GPUSORT_PIECE_BYTES);
	set_budget();
	arm_test_failure();
	log_device();
	publish_state(GPUSORT_SERVICE_SERVING, "");
}

static void
close_device(void)
{
	if (device == NULL)
		return;
	gsort_shut(device);
	device = NULL;
	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
		forget_job(&service_jobs[i]);
	open_jobs = 0;
}

/* --- the worker ------------------------------------------------------------ */

static void
request_termination(SIGNAL_ARGS)
{
	int			save_errno = errno;

	terminate_requested = true;
	SetLatch(MyLatch);
	errno = save_errno;
}

/* Pieces that the device still writes to stay the service's: its successor frees them. */
static void
leave(int code, Datum arg)
{
	stop_serving("the sort service has ended");
	close_device();
}

static void
make_wait_set(void)
{
	if (wait_set != NULL)
		FreeWaitEventSet(wait_set);
	wait_set = compat_create_wait_event_set(3);
	AddWaitEventToSet(wait_set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
	AddWaitEventToSet(wait_set, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, NULL, NULL);
	if (device != NULL)
		AddWaitEventToSet(wait_set, WL_SOCKET_READABLE, gsort_fd(device), NULL, NULL);
}

/*
 * Opens the device that gpusort.device now names.  If another one is open, that one serves
 * no new sorts, and is closed when the sorts it has have ended.
 */
static void
follow_settings(void)
{
	if (opened && opened_for == gpusort_device)
	{
		if (waiting_to_reopen)
			publish_state(GPUSORT_SERVICE_SERVING, "");
		waiting_to_reopen = false;
		return;
	}
	waiting_to_reopen = open_jobs > 0;
	if (waiting_to_reopen)
	{
		publish_state(GPUSORT_SERVICE_STARTING, "waiting for open sorts to end");
		return;
	}
	close_device();
	open_device();
	make_wait_set();
}

/* After a reload: settings that need no reopening, and a device that may be there by now. */
static void
handle_reload(void)
{
	int			fail_at = gpusort_debug_fail_at;

	ProcessConfigFile(PGC_SIGHUP);
	set_budget();
	if (gpusort_debug_fail_at != fail_at)
		arm_test_failure();
	if (device == NULL)
		opened = false;
}

void
gpusort_service_main(Datum arg)
{
	uint32		wait_event;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, request_termination);
	/* a cancel is for a query: it must not end everybody's sorts */
	pqsignal(SIGINT, SIG_IGN);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	wait_event = compat_wait_event("GpusortServiceMain");

	deferred_next = MemoryContextAlloc(TopMemoryContext, gpusort_shared->n_pieces * sizeof(int));
	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
		forget_job(&service_jobs[i]);
	before_shmem_exit(leave, 0);
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	clean_up_after_predecessor();
	gpusort_shared->service.proc = compat_proc_number(MyProc);
	gpusort_shared->service.pid = MyProcPid;
	gpusort_shared->service.state = GPUSORT_SERVICE_STARTING;
	LWLockRelease(gpusort_shared_lock());

	while (!terminate_requested)
	{
		WaitEvent	occurred[3];
		bool		more;

		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			handle_reload();
		}
		more = handle_requests();
		more |= handle_events();
		serve_waiting_jobs();
		/* last, since the end of the last open job is what it may wait for */
		follow_settings();
		publish_info();
		if (more)
			continue;
		WaitEventSetWait(wait_set, open_jobs > 0 ? BUSY_POLL_MS : -1L, occurred, 3, wait_event);
		ResetLatch(MyLatch);
	}
	proc_exit(1);
}

void
gpusort_service_register(void)
{
	BackgroundWorker worker;

	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = RESTART_SECONDS;
	strlcpy(worker.bgw_library_name, "gpusort", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "gpusort_service_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "gpusort service", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "gpusort service", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}
