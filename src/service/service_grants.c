/*
 * service_grants.c
 *	  Jobs that open, and device memory for them: who gets it, and who waits.
 *
 * In:  OPEN requests; what a chunk needs on the device; the budget and what all jobs have been granted.
 * Out: jobs that take rows, wait or are refused; grants, or NOMEM; both in the jobs' slots, for
 *	    gpusort_progress.
 *
 * Runs in the service alone.
 *
 * A job opens when it has memory for some rows.  If others have it all, the job
 * waits until they have given some back; when its time is over it is refused, and its leader, which has
 * sent no row yet, sorts natively.
 *
 * How much: a job's first grant is for the rows that the planner expects, so that a small
 * sort neither takes too much nor comes back for more.  It is bounded, since the estimate
 * may be wrong by any factor.  Then the job's grants double while it is small, and grow by
 * a quarter after that.  Where so much cannot be had, the job gets what its chunk needs.
 *
 * Who first:
 *  - A part of the budget is for small sorts only, of the size of one at least.  Thus a
 *    sort that holds its memory for long, such as an open cursor, does not keep everybody
 *    else off the device.
 *  - A small sort gets what it needs if that is free, also while others wait for more than
 *    that.  It is held up only by jobs that came before it and wait for no more than it does.
 *    So nobody who fits is kept waiting, and who waits is passed by smaller jobs only.
 *  - A large sort does not grow while a small one waits: it is made to spill by those that
 *    come after it.  What it has it keeps for its next runs, as far as that is not taken by the
 *    keys that the device keeps of those that have ended.
 * No wait is longer than the job's options say, so none of this can starve a sort.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "service/service_internal.h"

/* A sort up to this size is small.  So many bytes fit into one extent of a device's memory. */
#define SMALL_ROWS				((uint64) 128 * 1024)
#define SMALL_BYTES				((uint64) 7 * 1024 * 1024)

/* Of the budget, for small sorts only: a share; but at least a sort of so many rows. */
#define RESERVE_SHARE			8
#define RESERVE_BYTES_MAX		((uint64) 512 * 1024 * 1024)
#define RESERVE_ROWS			((uint64) 32 * 1024)
#define RESERVE_ROW_BYTES		((uint64) GPUSORT_BUFFER_BYTES)

/* Device memory of one, with as many key columns as any job has had. */
static uint64 small_sort_bytes = 0;

/* --- opening ------------------------------------------------------------------- */

/* Opens the job on the device, if it is not open yet. */
static gsort_status
open_job(int job)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	gsort_job_options options = mine->options.device;
	gsort_status status;

	if (mine->job != NULL)
		return GSORT_OK;
	gpusort_service_follow_free_memory(gpusort_service_device);
	options.struct_bytes = sizeof(options);
	options.window_bytes = GPUSORT_BUFFER_BYTES;
	options.tag = job;
	status = gsort_job_open(gpusort_service_device, &options, &mine->job);
	if (status != GSORT_OK)
		return status;
	gpusort_service_open_jobs++;
	small_sort_bytes = Max(small_sort_bytes,
						   gsort_job_grant_bytes(mine->job, RESERVE_ROWS, RESERVE_ROW_BYTES));
	return GSORT_OK;
}

/* --- how much --------------------------------------------------------------------- */

/* What a job is to have in all, of rows or of bytes: more than it has, for the rows in hand. */
static uint64
generous_grant(uint64 granted, uint64 needed, uint64 expected, uint64 small)
{
	uint64		wanted;

	if (needed <= granted)
		return granted;
	if (granted == 0)
		wanted = Min(expected + expected / 8, small);
	else if (granted < small)
		wanted = Min(2 * granted, small);
	else
		wanted = granted + Max(granted / 4, small);
	return Max(needed, wanted);
}

/* --- who first ---------------------------------------------------------------------- */

/* Must the job leave this much memory to those who came before it? */
static bool
others_come_first(int job, uint64 bytes, bool small)
{
	const GpuSortServiceJob *mine = &gpusort_service_jobs[job];

	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
	{
		const GpuSortServiceJob *other = &gpusort_service_jobs[i];

		if (i == job || other->waits_since_us == 0 ||
			(mine->waits_since_us != 0 && mine->waits_since_us <= other->waits_since_us))
			continue;
		if (small && mine->runs == 0 ? other->wanted_bytes <= bytes : other->wants_little)
			return true;
	}
	return false;
}

/* Would so much more memory leave the part that is for small sorts only? */
static bool
leaves_reserve(uint64 bytes)
{
	gsort_device_info info;
	uint64		for_small;

	gsort_device_get_info(gpusort_service_device, &info);
	for_small = Max(small_sort_bytes, Min(info.budget_bytes / RESERVE_SHARE, RESERVE_BYTES_MAX));
	return info.granted_bytes + bytes + for_small <= info.budget_bytes;
}

/* May the job have so much more memory, if the device has it?  small: it is a small sort
 * even then. */
static bool
may_have(int job, uint64 bytes, bool small)
{
	if (others_come_first(job, bytes, small))
		return false;
	/* the first rows of a run may be one row of many megabytes */
	return small || gpusort_service_stats(&gpusort_service_jobs[job]).rows == 0 || leaves_reserve(bytes);
}

/* --- grants --------------------------------------------------------------------------- */

/* Raises the run's grants to so many rows and bytes in all. */
static gsort_status
raise_grants(int job, uint64 all_rows, uint64 all_bytes)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	gsort_job_stats has = gpusort_service_stats(mine);
	uint64		rows = all_rows - has.granted_rows;
	uint64		bytes = all_bytes - has.granted_row_bytes;
	bool		small = all_rows <= SMALL_ROWS && all_bytes <= SMALL_BYTES;
	gsort_status status = GSORT_NOMEM;

	mine->wanted_bytes = gsort_job_grant_bytes(mine->job, rows, bytes);
	mine->wants_little = small;
	/* what it has kept since its last run nobody can refuse */
	if (mine->wanted_bytes == 0 || may_have(job, mine->wanted_bytes, small))
		status = gsort_job_grant(mine->job, rows, bytes);
	if (status == GSORT_OK)
		mine->wanted_bytes = 0;
	return status;
}

gsort_status
gpusort_service_grant(int job, uint64 rows, uint64 row_bytes)
{
	const GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	gsort_job_stats has = gpusort_service_stats(mine);
	uint64		needed_rows = Max(has.rows + rows, has.granted_rows);
	uint64		needed_bytes = Max(has.row_bytes + row_bytes, has.granted_row_bytes);
	gsort_status status;

	if (needed_rows == has.granted_rows && needed_bytes == has.granted_row_bytes)
		return GSORT_OK;
	gpusort_service_follow_free_memory(gpusort_service_device);
	status = raise_grants(job,
						  generous_grant(has.granted_rows, needed_rows,
										 mine->options.expected_rows, SMALL_ROWS),
						  generous_grant(has.granted_row_bytes, needed_bytes,
										 mine->options.expected_bytes, SMALL_BYTES));
	if (status == GSORT_NOMEM)
		status = raise_grants(job, needed_rows, needed_bytes);
	return status;
}

/* The first grant of a job that is open: for the rows that are expected, as far as it can be had, and for
 * any one chunk at least, which the job keeps from then on.  NOMEM: not now. */
static gsort_status
reserve(int job)
{
	/* a row has its data, its offset and its words in a chunk */
	uint64		row_bytes = 8 + sizeof(uint32) + gpusort_service_jobs[job].options.device.key_columns * sizeof(uint64);

	return gpusort_service_grant(job, GPUSORT_BUFFER_BYTES / row_bytes, GPUSORT_BUFFER_BYTES);
}

/* --- waiting ---------------------------------------------------------------------------- */

/* Would the job get what it wants if all other jobs ended? */
static bool
fits_budget(int job)
{
	const GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	gsort_device_info info;

	gsort_device_get_info(gpusort_service_device, &info);
	return gpusort_service_stats(mine).granted_bytes + mine->wanted_bytes <= info.budget_bytes;
}

/* After NOMEM, of a job that opens: begins to wait, or still waits.  False: it must
 * not wait, or would do so in vain. */
static bool
wait_for_memory(int job)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];

	/* alone, it would wait for nobody */
	if (mine->job == NULL || gpusort_service_open_jobs <= 1)
		return false;
	if (mine->waits_since_us != 0)
		return true;
	if (mine->options.wait_ms == 0 || !fits_budget(job))
		return false;
	mine->waits_since_us = gpusort_clock_us();
	pg_atomic_fetch_add_u64(&gpusort_shared->counters.waited, 1);
	return true;
}

static int
compare_waits(const void *a, const void *b)
{
	uint64		since_a = gpusort_service_jobs[*(const int *) a].waits_since_us;
	uint64		since_b = gpusort_service_jobs[*(const int *) b].waits_since_us;

	return since_a < since_b ? -1 : since_a > since_b;
}

/* The jobs that wait, those that came first first; returns their number. */
static int
list_waiting_jobs(int jobs[GPUSORT_JOB_SLOTS])
{
	int			n = 0;

	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
		if (gpusort_service_jobs[i].waits_since_us != 0)
			jobs[n++] = i;
	if (n > 0)
		gpusort_service_follow_free_memory(gpusort_service_device);
	qsort(jobs, n, sizeof(int), compare_waits);
	return n;
}

/* --- jobs that open ------------------------------------------------------------------------ */

/* What is not gsort_job_open's to check, and the columns, by which chunks are checked. */
static bool
options_are_sound(const GpuSortJobOptions *options)
{
	return options->device.key_columns >= 1 && options->device.key_columns <= GPUSORT_WORDS_MAX &&
		options->feeders >= 1 && options->feeders <= GPUSORT_FEEDERS_MAX && options->wait_ms >= 0;
}

static void
refuse_job(int job, GpuSortNativeReason reason)
{
	gpusort_service_jobs[job].waits_since_us = 0;
	gpusort_service_set_job_state(job, GPUSORT_JOB_REFUSED, reason);
}

static void
open_or_wait(int job)
{
	gsort_status status = open_job(job);

	if (status == GSORT_OK)
		status = reserve(job);
	if (status == GSORT_OK)
	{
		gpusort_service_jobs[job].waits_since_us = 0;
		gpusort_service_set_job_state(job, GPUSORT_JOB_FEEDING, GPUSORT_NATIVE_NONE);
	}
	else if (status != GSORT_NOMEM)
		gpusort_service_note_status(job, status);
	else if (!wait_for_memory(job))
		refuse_job(job, GPUSORT_NATIVE_DEVICE_MEMORY);
}

void
gpusort_service_handle_open(const GpuSortRequest *request)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[request->job];

	if (mine->job != NULL || gpusort_service_job_state(request->job) != GPUSORT_JOB_OPENING)
		return;
	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	mine->options = gpusort_service_slot(request->job)->options;
	LWLockRelease(gpusort_shared_lock());
	if (!options_are_sound(&mine->options))
		gpusort_service_fail_job(request->job, "the job's options are corrupt", false);
	else if (gpusort_service_device == NULL)
		refuse_job(request->job, GPUSORT_NATIVE_NO_DEVICE);
	else
		open_or_wait(request->job);
}

long
gpusort_service_serve_waiting_jobs(void)
{
	int			jobs[GPUSORT_JOB_SLOTS];
	int			n = list_waiting_jobs(jobs);
	uint64		now_us = n > 0 ? gpusort_clock_us() : 0;
	long		next_end = -1;

	for (int i = 0; i < n; i++)
	{
		const GpuSortServiceJob *mine = &gpusort_service_jobs[jobs[i]];
		long		left;

		open_or_wait(jobs[i]);
		if (mine->waits_since_us == 0)
			continue;
		left = gpusort_clock_ms_left(now_us, mine->waits_since_us + (uint64) mine->options.wait_ms * 1000);
		if (left <= 0)
			refuse_job(jobs[i], GPUSORT_NATIVE_DEVICE_MEMORY);
		else
			next_end = gpusort_service_sooner(next_end, left);
	}
	return next_end;
}

/* --- what sessions may know ----------------------------------------------------------------- */

void
gpusort_service_publish_jobs(void)
{
	for (int i = 0; i < GPUSORT_JOB_SLOTS && gpusort_service_open_jobs > 0; i++)
	{
		const GpuSortServiceJob *mine = &gpusort_service_jobs[i];
		GpuSortJobSlot *slot = gpusort_service_slot(i);
		bool		waits = mine->waits_since_us != 0;
		uint64		granted_bytes = mine->job != NULL ? gpusort_service_stats(mine).granted_bytes : 0;

		/* nobody else writes them: most turns change nothing, and leave the lock to the sessions */
		if (mine->job == NULL || (granted_bytes == slot->granted_bytes && waits == (slot->waits_since != 0)))
			continue;
		LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
		slot->granted_bytes = granted_bytes;
		if (!waits && slot->waits_since != 0)
			slot->waited_until = GetCurrentTimestamp();
		if (waits != (slot->waits_since != 0))
			slot->waits_since = waits ? GetCurrentTimestamp() : 0;
		LWLockRelease(gpusort_shared_lock());
	}
}
