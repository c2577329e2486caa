/*
 * runs.c
 *	  The end of a run, its directory of blocks, and their fetches; jobs of
 *	  several runs: the keys retained from each, and their merge.
 *
 * In:  the block begins of a sorted run, or the row count of a merge order;
 *	    runs that were finished SORTED_RUN, one after another.
 * Out: job->blocks, which is malloc'd; fetches of the blocks; whether all runs'
 *	    sorted keys are retained; finally the merge order.
 *
 * The memory of retained keys and of the merge order is counted beside the
 * run's reservations.
 */
#include "api/api_internal.h"
#include "rows/ties.h"

#include <stdlib.h>
#include <string.h>

/* --- finishing ------------------------------------------------------------ */

gsort_status
gsort_job_finish_run(gsort_job *job, gsort_finish_how how)
{
	gsort_status status;

	if (gsort_is_lost(job->device))
		return GSORT_DEVICE_LOST;
	if (job->closing || job->state != GSORT_RUN_FEEDING ||
		(how != GSORT_SORTED && how != GSORT_SORTED_RUN))
		return gsort_bad_argument(job->device, "finish");
	if (job->incomplete_rows > 0)
		return gsort_bad_argument(job->device, "a finish with a row incomplete");
	job->finish_how = how;
	job->state = GSORT_RUN_FINISHING;
	status = job->device->ops->job_finish_run(job);
	if (status != GSORT_OK)
		job->state = GSORT_RUN_FEEDING;
	return status;
}

/* A run that was finished SORTED takes no more rows.  It may be read for long,
 * so others may reserve the memory that its sort has freed. */
static void
end_sorted(gsort_job *job)
{
	uint64_t	held_bytes = job->device->ops->job_held_bytes(job);

	gsort_set_reserved(job, held_bytes - job->retained_bytes, job->retained_bytes);
}

/* --- directories ---------------------------------------------------------- */

static uint64_t
blocks_between(const block_cut *cut, const block_begin *begin)
{
	return begin[1].row - begin[0].row == 1 ?
		(begin[1].units - begin[0].units + cut->piece_units - 1) / cut->piece_units : 1;
}

static gsort_block *
write_blocks(const gsort_job *job, const block_cut *cut, gsort_block *block,
			 const block_begin *begin)
{
	uint64_t	pieces = blocks_between(cut, begin);
	uint64_t	units = begin[1].units - begin[0].units;
	int			with_ties = tie_bits_wanted(&job->options);

	for (uint64_t piece = 0; piece < pieces; piece++, block++)
	{
		uint64_t	piece_units = pieces == 1 ? units : gsort_min_u64(units, cut->piece_units);

		block->first_row = begin->row + (piece > 0);
		block->rows = piece == 0 ? (uint32_t) (begin[1].row - begin[0].row) : 0;
		block->flags = (piece > 0 ? GSORT_BLOCK_CONTINUED : 0) |
			(piece + 1 < pieces ? GSORT_BLOCK_CONTINUES : 0);
		block->row_bytes = (uint32_t) (piece_units * 8);
		block->bytes = block->row_bytes;
		if (with_ties)
			block->bytes += tie_words_of_block(block->rows) * 8;
		units -= piece_units;
	}
	return block;
}

gsort_status
gsort_make_directory(gsort_job *job, block_begin *begins, uint64_t n)
{
	block_cut	cut = block_cut_make(job->options.block_bytes,
									 tie_bits_wanted(&job->options), 0);
	uint64_t	blocks = 0;
	gsort_block *block;

	if (n > 0)
		begins[n] = (block_begin) {job->rows, job->fed_units};
	for (uint64_t i = 0; i < n; i++)
		blocks += blocks_between(&cut, &begins[i]);
	job->blocks = malloc((blocks + 1) * sizeof(gsort_block));
	if (job->blocks == NULL)
		return gsort_fail(job->device, GSORT_NOMEM, "out of memory for the directory");
	block = job->blocks;
	for (uint64_t i = 0; i < n; i++)
		block = write_blocks(job, &cut, block, &begins[i]);
	job->n_blocks = blocks;
	return GSORT_OK;
}

/* Makes the directory of the merge order: one byte per row of all ended runs.
 * NOMEM. */
static gsort_status
make_order_directory(gsort_job *job)
{
	uint64_t	each = job->options.block_bytes;
	uint64_t	n = (job->ended_rows + each - 1) / each;

	job->blocks = calloc(n + 1, sizeof(gsort_block));
	if (job->blocks == NULL)
		return gsort_fail(job->device, GSORT_NOMEM, "out of memory for the directory");
	for (uint64_t i = 0; i < n; i++)
	{
		gsort_block *block = &job->blocks[i];

		block->first_row = i * each;
		block->rows = (uint32_t) gsort_min_u64(each, job->ended_rows - block->first_row);
		block->row_bytes = (block->rows + 7) / 8 * 8;
		block->bytes = block->row_bytes;
	}
	job->n_blocks = n;
	return GSORT_OK;
}

void
gsort_free_directory(gsort_job *job)
{
	free(job->blocks);
	job->blocks = NULL;
	job->n_blocks = 0;
}

/* --- fetching ------------------------------------------------------------- */

static int
directory_stands(const gsort_job *job)
{
	return job->state == GSORT_RUN_FINISHED || job->state == GSORT_RUN_MERGED;
}

gsort_status
gsort_job_blocks(gsort_job *job, const gsort_block **blocks, uint64_t *n)
{
	if (!directory_stands(job))
		return gsort_bad_argument(job->device, "blocks of a run that is not finished");
	*blocks = job->blocks;
	*n = job->n_blocks;
	return GSORT_OK;
}

gsort_status
gsort_job_fetch(gsort_job *job, uint64_t number, void *dst, uint64_t tag)
{
	const gsort_block *block;
	gsort_status status;

	if (gsort_is_lost(job->device))
		return GSORT_DEVICE_LOST;
	if (job->closing || !directory_stands(job) || number >= job->n_blocks)
		return gsort_bad_argument(job->device, "fetch");
	block = &job->blocks[number];
	status = job->device->ops->job_fetch(job, block, dst, tag);
	if (status == GSORT_OK)
	{
		job->fetches++;
		job->stats.bytes_out += block->bytes;
	}
	return status;
}

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
	status = make_order_directory(job);
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
		else if (status == GSORT_OK && job->finish_how == GSORT_SORTED)
			end_sorted(job);
		job->state = status == GSORT_NOMEM ? GSORT_RUN_FEEDING :
			status != GSORT_OK ? GSORT_RUN_FAILED :
			kind == GSORT_EVENT_MERGED ? GSORT_RUN_MERGED : GSORT_RUN_FINISHED;
	}
	return (gsort_event) {kind, status, job->options.tag, tag};
}
