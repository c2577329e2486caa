/*
 * runs.c
 *	  Jobs of several runs: the keys retained from each, and their merge.
 *
 * In:  runs that were finished SORTED_RUN, one after another.
 * Out: whether all runs' sorted keys are retained; finally the merge order.
 *
 * The implementation states the memory of retained keys and of the merge order,
 * which is counted beside the run's reservations.
 */
#include "api/api_internal.h"

#include <string.h>

/* --- the end of a run ----------------------------------------------------- */

static key_plan
plan_of_ended_runs(const gsort_job *job)
{
	return key_plan_make(job->options.key_columns, job->options.null_first_mask,
						 job->ended_stats);
}

static int
any_null_so_far(const gsort_job *job)
{
	for (uint32_t c = 0; c < job->options.key_columns; c++)
	{
		if (job->ended_stats[c].nulls > 0)
			return 1;
	}
	return 0;
}

/* Device memory of the retained keys of all runs, once this one has ended. */
static uint64_t
retained_bytes_after(const gsort_job *job, gsort_retain retain)
{
	return job->retained_bytes + retained_keys_bytes(job->options.key_columns, job->rows,
													 retain == GSORT_RETAIN_KEYS_AND_NULLS);
}

/* Device memory of a merge of all ended rows beside their keys. */
static uint64_t
merge_bytes(const gsort_job *job, uint32_t runs)
{
	const gsort_device_ops *ops = job->device->ops;

	return merge_order_bytes(job->ended_rows) +
		(ops->merge_scratch_bytes != NULL ? ops->merge_scratch_bytes(job->ended_rows, runs) : 0);
}

/*
 * Decides the fate of the keys of the ending run. ended_stats and ended_rows
 * already include this run.  A job with inexact values retains nothing, because
 * words cannot order such values in a merge.  The retained keys of all jobs
 * leave half of the budget to runs.  Otherwise jobs that hold nothing but keys
 * would wait for each other.
 */
static gsort_retain
what_to_retain(const gsort_job *job)
{
	gsort_retain	retain = any_null_so_far(job) ? GSORT_RETAIN_KEYS_AND_NULLS : GSORT_RETAIN_KEYS;
	uint32_t	runs = job->stats.runs + 1;
	uint64_t	others_retained_bytes = job->device->retained_bytes - job->retained_bytes;
	uint64_t	retained_bytes;
	uint64_t	bytes;

	if (!job->stats.keys_retained || runs > GSORT_MERGE_RUNS_MAX ||
		plan_of_ended_runs(job).words > 1)
		return GSORT_RETAIN_NOTHING;
	retained_bytes = retained_bytes_after(job, retain);
	bytes = retained_bytes + merge_bytes(job, runs);
	if (others_retained_bytes + bytes > job->device->budget_bytes / 2 ||
		bytes > gsort_budget_for_job(job) || retained_bytes +
		gsort_least_bytes(job) > gsort_budget_for_job(job))
		return GSORT_RETAIN_NOTHING;
	return retain;
}

/* Raises the reservation so that the next run can begin beside the retained
 * keys. */
static void
make_room_for_next_run(gsort_job *job)
{
	uint64_t	had = job->reserved_bytes + job->retained_bytes;
	uint64_t	needed = retained_bytes_after(job, job->retain) + gsort_least_bytes(job);

	if (needed > had)
		gsort_set_reserved(job, job->reserved_bytes + needed - had, job->retained_bytes);
}

gsort_status
gsort_job_next_run(gsort_job *job)
{
	gsort_status status;

	if (gsort_is_lost(job->device))
		return GSORT_DEVICE_LOST;
	if (job->closing || job->state != GSORT_RUN_FINISHED || job->finish_how != GSORT_SORTED_RUN ||
		job->fetches > 0)
		return gsort_bad_argument(job->device, "next run");
	for (uint32_t c = 0; c < job->options.key_columns; c++)
		key_stats_fold(&job->ended_stats[c], &job->column_stats[c]);
	job->ended_rows += job->rows;
	job->retain = what_to_retain(job);
	job->state = GSORT_RUN_ENDING;
	status = job->device->ops->job_next_run(job);
	if (status != GSORT_OK)
		job->state = GSORT_RUN_FAILED;
	else if (job->retain != GSORT_RETAIN_NOTHING)
		make_room_for_next_run(job);
	return status;
}

static void
begin_run(gsort_job *job)
{
	gsort_free_directory(job);
	memset(job->feeders, 0, sizeof(job->feeders));
	for (int c = 0; c < GSORT_MAX_KEY_COLUMNS; c++)
		key_stats_init(&job->column_stats[c]);
	job->rows = 0;
	job->fed_units = 0;
	job->arena_units = 0;
	job->stats.rows = 0;
	job->stats.bytes_in = 0;
	job->state = GSORT_RUN_FEEDING;
}

static void
end_run(gsort_job *job, gsort_status status)
{
	uint64_t	bytes = job->reserved_bytes + job->retained_bytes;
	uint64_t	retained_bytes = 0;

	job->state = GSORT_RUN_FAILED;
	if (status != GSORT_OK)
		return;
	if (job->retain != GSORT_RETAIN_NOTHING)
		retained_bytes = retained_bytes_after(job, job->retain);
	job->stats.runs++;
	job->stats.keys_retained = job->retain != GSORT_RETAIN_NOTHING;
	gsort_end_reservations(job, bytes > retained_bytes ? bytes - retained_bytes : 0,
						   retained_bytes);
	begin_run(job);
}

/* --- the merge ------------------------------------------------------------ */

gsort_status
gsort_job_merge(gsort_job *job)
{
	const gsort_device_ops *ops = job->device->ops;
	uint64_t	run_bytes;
	uint64_t	bytes;
	key_plan	plan;
	gsort_status status;

	if (gsort_is_lost(job->device))
		return GSORT_DEVICE_LOST;
	if (job->closing || job->state != GSORT_RUN_FEEDING || job->rows > 0)
		return gsort_bad_argument(job->device, "merge");
	if (job->stats.runs == 0 || !job->stats.keys_retained)
		return gsort_fail(job->device, GSORT_UNSUPPORTED, "the keys of %u runs are not retained",
						  job->stats.runs);
	plan = plan_of_ended_runs(job);
	run_bytes = job->reserved_bytes > 0 ? ops->job_bytes(job, 0, 0) : 0;
	bytes = job->retained_bytes + merge_bytes(job, job->stats.runs);
	if (run_bytes + bytes > gsort_budget_for_job(job))
		return gsort_fail(job->device, GSORT_NOMEM,
						  "a merge in %llu bytes exceeds the budget of %llu bytes, "
						  "of which other jobs have all but %llu",
						  (unsigned long long) bytes,
						  (unsigned long long) job->device->budget_bytes,
						  (unsigned long long) gsort_budget_for_job(job));
	/* before the merge, which may consume the keys */
	status = gsort_make_order_directory(job);
	if (status != GSORT_OK)
		return status;
	job->state = GSORT_RUN_MERGING;
	status = ops->job_merge(job, &plan);
	if (status == GSORT_OK)
		gsort_end_reservations(job, run_bytes, bytes);
	else
	{
		gsort_free_directory(job);
		job->state = GSORT_RUN_FEEDING;
	}
	return status;
}

static void
end_merge(gsort_job *job, gsort_status status)
{
	if (status == GSORT_OK)
	{
		job->stats.rows = job->ended_rows;
		gsort_set_reserved(job, job->reserved_bytes, merge_order_bytes(job->ended_rows));
		return;
	}
	gsort_free_directory(job);
	gsort_set_reserved(job, job->reserved_bytes,
					   job->retained_bytes - merge_bytes(job, job->stats.runs));
}

/* --- the end of an operation ---------------------------------------------- */

gsort_event
gsort_operation_ended(gsort_job *job, gsort_event_kind kind, gsort_status status, uint64_t tag)
{
	if (kind == GSORT_EVENT_FETCHED)
		job->fetches--;
	else if (kind == GSORT_EVENT_RUN_BEGUN && !job->closing)
		end_run(job, status);
	else if ((kind == GSORT_EVENT_RUN_FINISHED || kind == GSORT_EVENT_MERGED) && !job->closing)
	{
		if (kind == GSORT_EVENT_MERGED)
			end_merge(job, status);
		job->state = status == GSORT_NOMEM ? GSORT_RUN_FEEDING :
			status != GSORT_OK ? GSORT_RUN_FAILED :
			kind == GSORT_EVENT_MERGED ? GSORT_RUN_MERGED : GSORT_RUN_FINISHED;
	}
	return (gsort_event) {kind, status, job->options.tag, tag};
}
