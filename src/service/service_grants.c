/*
 * service_grants.c
 *	  Device memory for jobs: who gets it, and who waits.
 *
 * In:  what a job needs to open, or a chunk on the device; the budget and what all jobs have been granted.
 * Out: grants, or NOMEM; the list of jobs that wait for memory; both in the jobs' slots, for
 *	    gpusort_progress.
 *
 * Runs in the service alone.
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

#include "service/service_budget.h"
#include "service/service_device.h"
#include "service/service_grants.h"
#include "shared/clock.h"

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

gsort_status
gpusort_service_open_job(int job)
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
	uint64		reserve;

	gsort_device_get_info(gpusort_service_device, &info);
	reserve = Max(small_sort_bytes, Min(info.budget_bytes / RESERVE_SHARE, RESERVE_BYTES_MAX));
	return info.granted_bytes + bytes + reserve <= info.budget_bytes;
}

/* May the job have so much more memory, if the device has it?  small: it is a small sort
 * even then. */
static bool
may_have(int job, uint64 bytes, bool small)
{
	if (others_come_first(job, bytes, small))
		return false;
	/* the first rows of a run may be one row of many megabytes */
	return small || gpusort_service_jobs[job].fed_rows == 0 || leaves_reserve(bytes);
}

/* --- grants --------------------------------------------------------------------------- */

/* Raises the run's grants to so many rows and bytes in all. */
static gsort_status
raise_grants(int job, uint64 all_rows, uint64 all_bytes)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	uint64		rows = all_rows - mine->granted_rows;
	uint64		bytes = all_bytes - mine->granted_bytes;
	bool		small = all_rows <= SMALL_ROWS && all_bytes <= SMALL_BYTES;
	gsort_status status = GSORT_NOMEM;

	mine->wanted_bytes = gsort_job_grant_bytes(mine->job, rows, bytes);
	mine->wants_little = small;
	/* what it has kept since its last run nobody can refuse */
	if (mine->wanted_bytes == 0 || may_have(job, mine->wanted_bytes, small))
		status = gsort_job_grant(mine->job, rows, bytes);
	if (status == GSORT_OK)
	{
		mine->granted_rows = all_rows;
		mine->granted_bytes = all_bytes;
		mine->wanted_bytes = 0;
	}
	return status;
}

gsort_status
gpusort_service_grant(int job, uint64 rows, uint64 row_bytes)
{
	const GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	uint64		needed_rows = Max(mine->fed_rows + rows, mine->granted_rows);
	uint64		needed_bytes = Max(mine->fed_bytes + row_bytes, mine->granted_bytes);
	gsort_status status;

	if (needed_rows == mine->granted_rows && needed_bytes == mine->granted_bytes)
		return GSORT_OK;
	gpusort_service_follow_free_memory(gpusort_service_device);
	status = raise_grants(job,
						  generous_grant(mine->granted_rows, needed_rows,
										 mine->options.expected_rows, SMALL_ROWS),
						  generous_grant(mine->granted_bytes, needed_bytes,
										 mine->options.expected_bytes, SMALL_BYTES));
	if (status == GSORT_NOMEM)
		status = raise_grants(job, needed_rows, needed_bytes);
	return status;
}

gsort_status
gpusort_service_reserve(int job)
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
	gsort_job_stats stats = {.struct_bytes = sizeof(stats)};

	gsort_device_get_info(gpusort_service_device, &info);
	gsort_job_get_stats(mine->job, &stats);
	return stats.granted_bytes + mine->wanted_bytes <= info.budget_bytes;
}

bool
gpusort_service_wait_for_memory(int job)
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

int
gpusort_service_waiting_jobs(int jobs[GPUSORT_JOB_SLOTS])
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

long
gpusort_service_wait_left(int job, uint64 now_us)
{
	const GpuSortServiceJob *mine = &gpusort_service_jobs[job];

	return gpusort_clock_ms_left(now_us, mine->waits_since_us + (uint64) mine->options.wait_ms * 1000);
}

/* --- what sessions may know ----------------------------------------------------------------- */

static void
publish_job(int job, uint64 granted_bytes)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	GpuSortJobSlot *slot = gpusort_service_slot(job);
	TimestampTz now = GetCurrentTimestamp();
	bool		wait_changed = mine->waits_since_us != mine->published_wait_us;

	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	slot->granted_bytes = granted_bytes;
	if (wait_changed && mine->waits_since_us == 0)
		slot->waited_until = now;
	if (wait_changed)
		slot->waits_since = mine->waits_since_us != 0 ? now : 0;
	LWLockRelease(gpusort_shared_lock());
	mine->published_bytes = granted_bytes;
	mine->published_wait_us = mine->waits_since_us;
}

void
gpusort_service_publish_jobs(void)
{
	if (gpusort_service_open_jobs == 0)
		return;
	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
	{
		const GpuSortServiceJob *mine = &gpusort_service_jobs[i];
		gsort_job_stats stats = {.struct_bytes = sizeof(stats)};

		if (mine->job == NULL)
			continue;
		gsort_job_get_stats(mine->job, &stats);
		if (stats.granted_bytes != mine->published_bytes || mine->waits_since_us != mine->published_wait_us)
			publish_job(i, stats.granted_bytes);
	}
}
