/*
 * service_reservations.c
 *	  Opens jobs and reserves buffers and device memory: who gets them, and who
 *	  waits.
 *
 * In:  jobs that open; the needs of a chunk on the device; the budget and the
 *	    reservations of all jobs.
 * Out: jobs that are opened, wait or are refused; for a chunk, a reservation
 *	    or NOMEM; each job's reserved bytes, in its slot for gpusort_progress.
 *
 * Runs in the service alone.
 *
 * A job opens with the buffers that it cannot do without (buffer_pool.h), and
 * with device memory for any one chunk, its first reservation, which it keeps
 * until it is read.  Then it has the memory of its sorted rows.  If others have
 * all of these, the job waits until they give some back.  When its time is over
 * it is refused, and its leader, which has sent no row yet, sorts natively.
 * Only a job that opens waits: later it spills.
 *
 * Size of reservations: they double while a job is small, and grow by a quarter
 * after that.  If so much is not available, the job gets the memory that its
 * chunk needs.
 *
 * Order of jobs:
 *  - Jobs that open get their first reservations in the order in which they
 *    came.
 *  - A small sort gets what it needs if that is free.
 *  - A large sort leaves a part of the budget to others, at least a first
 *    reservation.  Thus a sort that holds its memory for long, such as an open
 *    cursor, does not keep all others off the device.  While a job waits no
 *    large one grows: it must spill.
 * No wait is longer than the job's options say, so none of this can starve a
 * sort.
 */
#include "postgres.h"

#include "job/buffer_pool.h"
#include "service/service_internal.h"

/* Nobody announces buffers that others free or could spare. */
#define BUFFERS_RECHECK_MS		50

/* A sort up to this size is small.  This many bytes fit into one extent of a
 * device's memory. */
#define SMALL_ROWS				((uint64) 128 * 1024)
#define SMALL_BYTES				((uint64) 7 * 1024 * 1024)

/* The share of the budget that large sorts leave to others. */
#define RESERVE_SHARE			8
#define RESERVE_BYTES_MAX		((uint64) 512 * 1024 * 1024)

/* Device memory of the largest first reservation that any job has asked for. */
static uint64 largest_first_reservation = 0;

static bool
another_came_first(int job)
{
	bool		first;

	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	first = gpusort_who_came_first(gpusort_service_slot(job)) != NULL;
	LWLockRelease(gpusort_shared_lock());
	return first;
}

/* --- reservations --------------------------------------------------------- */

/* Returns the reservation in all, of rows or of bytes: more than the job has,
 * for the rows in hand. */
static uint64
generous_reservation(uint64 reserved, uint64 needed, uint64 small)
{
	if (needed <= reserved)
		return reserved;
	return Max(needed,
			   reserved < small ? Min(2 * reserved, small) : reserved + Max(reserved / 4, small));
}

/* Would this much more memory leave the part that large sorts do not get? */
static bool
leaves_room(uint64 bytes)
{
	gsort_device_info info;
	uint64		for_others;

	gsort_device_get_info(gpusort_service_device, &info);
	for_others = Max(largest_first_reservation,
					 Min(info.budget_bytes / RESERVE_SHARE, RESERVE_BYTES_MAX));
	return info.reserved_bytes + bytes + for_others <= info.budget_bytes;
}

/* Raises the run's reservations to this many rows and bytes in all. */
static gsort_status
raise_reservations(int job, const gsort_job_stats *has, uint64 all_rows, uint64 all_bytes)
{
	gsort_job  *device_job = gpusort_service_jobs[job].job;
	uint64		rows = all_rows - has->reserved_rows;
	uint64		bytes = all_bytes - has->reserved_row_bytes;
	bool		small = all_rows <= SMALL_ROWS && all_bytes <= SMALL_BYTES;
	uint64		memory = gsort_job_reservation_bytes(device_job, rows, bytes);

	/*
	 * Nobody can refuse the memory that the job has kept since its last run.
	 * The first rows of a run may be one row of many megabytes.  A job may also
	 * wait for memory that the device itself lacks, although the budget has
	 * room for it.
	 */
	if (memory > 0 && !small && has->rows > 0 &&
		(another_came_first(job) || !leaves_room(memory)))
		return GSORT_NOMEM;
	return gsort_job_reserve(device_job, rows, bytes);
}

/* Asks for a generous reservation first, and then for the needed one. */
gsort_status
gpusort_service_reserve(int job, uint64 rows, uint64 row_bytes)
{
	gsort_job_stats has = gpusort_service_stats(&gpusort_service_jobs[job]);
	uint64		needed_rows = Max(has.rows + rows, has.reserved_rows);
	uint64		needed_bytes = Max(has.row_bytes + row_bytes, has.reserved_row_bytes);
	gsort_status status;

	if (needed_rows == has.reserved_rows && needed_bytes == has.reserved_row_bytes)
		return GSORT_OK;
	gpusort_service_follow_free_memory();
	status =
		raise_reservations(job, &has,
						   generous_reservation(has.reserved_rows, needed_rows, SMALL_ROWS),
						   generous_reservation(has.reserved_row_bytes, needed_bytes, SMALL_BYTES));
	if (status == GSORT_NOMEM)
		status = raise_reservations(job, &has, needed_rows, needed_bytes);
	return status;
}

/* --- the first reservation ------------------------------------------------ */

/* Returns the most rows of a chunk.  Each takes its data, its offset and its
 * words. */
static uint64
first_reservation_rows(const GpuSortServiceJob *mine)
{
	return GPUSORT_BUFFER_BYTES /
		(8 + sizeof(uint32) + mine->options.device.key_columns * sizeof(uint64));
}

/* Returns the device memory of the first reservation. */
static uint64
first_reservation_bytes(const GpuSortServiceJob *mine)
{
	return gsort_job_reservation_bytes(mine->job, first_reservation_rows(mine),
									   GPUSORT_BUFFER_BYTES);
}

/* Opens the job on the device, if it is not open yet. */
static gsort_status
open_job(int job)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	gsort_job_options options = mine->options.device;
	gsort_status status;

	if (mine->job != NULL)
		return GSORT_OK;
	options.block_bytes = GPUSORT_BUFFER_BYTES;
	options.tag = job;
	status = gsort_job_open(gpusort_service_device, &options, &mine->job);
	if (status != GSORT_OK)
		return status;
	gpusort_service_open_jobs++;
	largest_first_reservation = Max(largest_first_reservation, first_reservation_bytes(mine));
	return GSORT_OK;
}

/* NOMEM: not now. */
static gsort_status
reserve_memory(int job)
{
	const GpuSortServiceJob *mine = &gpusort_service_jobs[job];

	if (another_came_first(job))
		return GSORT_NOMEM;
	gpusort_service_follow_free_memory();
	return gsort_job_reserve(mine->job, first_reservation_rows(mine), GPUSORT_BUFFER_BYTES);
}

/* --- jobs that open ------------------------------------------------------- */

/* Checks options that gsort_job_open does not check, and the number of columns,
 * by which chunks are checked. */
static bool
options_are_sound(const GpuSortJobOptions *options)
{
	return options->device.key_columns >= 1 && options->device.key_columns <= GPUSORT_WORDS_MAX &&
		options->feeders >= 1 && options->feeders <= GPUSORT_FEEDERS_MAX && options->wait_ms >= 0;
}

/* Returns -1, as open_or_wait does. */
static long
refuse_job(int job, GpuSortNativeReason reason)
{
	gpusort_service_slot(job)->native_reason = reason;
	gpusort_service_set_job_state(job, GPUSORT_JOB_REFUSED);
	return -1;
}

/* Returns what the job lacks to open.  Behind a job that has its buffers it
 * lacks the memory that this one waits for. */
static GpuSortNativeReason
reserve_buffers(int job)
{
	GpuSortJobSlot *slot = gpusort_service_slot(job);
	int			needed = gpusort_buffers_to_open(gpusort_service_jobs[job].options.feeders);
	GpuSortNativeReason lacks = GPUSORT_NATIVE_NONE;

	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	if (slot->n_buffers == 0)
	{
		const GpuSortJobSlot *first = gpusort_who_came_first(slot);

		if (first != NULL && first->n_buffers > 0)
			lacks = GPUSORT_NATIVE_DEVICE_MEMORY;
		else if (first != NULL || !gpusort_buffers_reserve(slot, needed))
			lacks = GPUSORT_NATIVE_NO_BUFFERS;
	}
	LWLockRelease(gpusort_shared_lock());
	return lacks;
}

/* Would a wait be in vain?  A job that is alone would wait for nobody's
 * memory. */
static bool
cannot_wait(int job)
{
	const GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	gsort_device_info info;

	if (mine->job == NULL)
		return gpusort_buffers_to_open(mine->options.feeders) > gpusort_shared->n_buffers;
	gsort_device_get_info(gpusort_service_device, &info);
	return gpusort_service_open_jobs <= 1 || first_reservation_bytes(mine) > info.budget_bytes;
}

/* The job waits for what it lacks, or is refused.  Returns the milliseconds
 * until its time is over; -1: it is refused. */
static long
wait_for(int job, GpuSortNativeReason lacks)
{
	GpuSortJobSlot *slot = gpusort_service_slot(job);
	uint64		wait_us = (uint64) gpusort_service_jobs[job].options.wait_ms * 1000;
	uint64		now_us = gpusort_clock_us();
	long		left = 0;

	/* a service that is to end has its device for open sorts only */
	if (gpusort_service_shared()->state != GPUSORT_SERVICE_SERVING)
		lacks = GPUSORT_NATIVE_NO_DEVICE;
	else if (wait_us > 0 && !cannot_wait(job))
	{
		if (slot->waits_since_us == 0)
		{
			slot->waits_since_us = now_us;
			pg_atomic_fetch_add_u64(&gpusort_shared->counters.waited, 1);
		}
		left = gpusort_clock_ms_left(now_us, slot->waits_since_us + wait_us);
	}
	return left > 0 ? left : refuse_job(job, lacks);
}

/* Opens the job if it gets its buffers and its first reservation; else it
 * waits, or is refused.  Returns the milliseconds until it must be tried again,
 * if it waits. */
static long
open_or_wait(int job)
{
	GpuSortNativeReason lacks;
	gsort_status status;

	/* a service that is to end still opens jobs that have claimed it */
	if (gpusort_service_device == NULL)
		return refuse_job(job, GPUSORT_NATIVE_NO_DEVICE);
	lacks = reserve_buffers(job);
	if (lacks != GPUSORT_NATIVE_NONE)
		return Min(wait_for(job, lacks), BUFFERS_RECHECK_MS);
	status = open_job(job);
	if (status == GSORT_OK)
		status = reserve_memory(job);
	if (status == GSORT_NOMEM && gpusort_service_jobs[job].job != NULL)
		return wait_for(job, GPUSORT_NATIVE_DEVICE_MEMORY);
	if (status == GSORT_NOMEM)
		return refuse_job(job, GPUSORT_NATIVE_DEVICE_MEMORY);
	if (status == GSORT_OK)
	{
		gpusort_service_slot(job)->waits_since_us = 0;
		gpusort_service_set_job_state(job, GPUSORT_JOB_FEEDING);
	}
	else
		gpusort_service_apply_status(job, status);
	return -1;
}

/* The options are copied before they are checked. */
void
gpusort_service_handle_open(int job)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];

	if (mine->job != NULL)
		return;
	mine->options = gpusort_service_slot(job)->options;
	if (!options_are_sound(&mine->options))
		gpusort_service_fail_job(job, "The job's options are corrupt.", false);
	else
		(void) open_or_wait(job);
}

/*
 * Each job is tried once more before its time counts as over.  A job that came
 * behind one that opens now has its turn next.  The search is part of each turn
 * and takes no lock.  Only the service of a job lets it wait, and only that
 * service ends the wait, or frees the slot.
 */
long
gpusort_service_serve_waiting_jobs(void)
{
	long		next_try = -1;

	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
	{
		const GpuSortJobSlot *slot = gpusort_service_slot(i);
		long		left;

		if (slot->service != gpusort_service_number || slot->state != GPUSORT_JOB_OPENING ||
			slot->waits_since_us == 0)
			continue;
		left = open_or_wait(i);
		next_try = gpusort_service_sooner(next_try, left < 0 ? 0 : left);
	}
	return next_try;
}

/* --- what sessions may know ----------------------------------------------- */

/* Nobody else writes them while the job is open on the device. */
void
gpusort_service_publish_reservations(void)
{
	for (int i = 0; i < GPUSORT_JOB_SLOTS && gpusort_service_open_jobs > 0; i++)
		if (gpusort_service_jobs[i].job != NULL)
			gpusort_service_slot(i)->stats.reserved_bytes =
				gpusort_service_stats(&gpusort_service_jobs[i]).reserved_bytes;
}
