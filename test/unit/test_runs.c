/*
 * test_runs.c
 *	  Jobs of several runs: each run like a single one, the merge order of all,
 *	  refused merges, and the fate of memory.
 */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

#define RUNS_MAX		(GSORT_MERGE_RUNS_MAX + 1)
#define JOBS_AT_ONCE	4
#define CHUNK_ROWS		64
#define CHUNK_BYTES		4096

/* --- inputs --------------------------------------------------------------- */

static uint32_t
sum_of(const uint32_t *run_rows, int runs)
{
	uint32_t	sum = 0;

	for (int r = 0; r < runs; r++)
		sum += run_rows[r];
	return sum;
}

/* Keys of all columns so narrow that they and their NULLs fit one sort word. */
static input *
narrow_input(uint32_t n, uint32_t columns, uint32_t null_mask, uint32_t max_units)
{
	input	   *in = input_make(n, columns, null_mask, KEYS_UNIFORM, 1, max_units, 0, 0);
	uint64_t	values = 1ull << random_below(60 / columns);

	for (uint64_t i = 0; i < (uint64_t) n * columns; i++)
		in->keys[i] = in->keys[i] % values + (i % columns << 50);
	return input_reordered(in);
}

static void
merge_input(rig *rig, input *in, run_options options, const uint32_t *run_rows, int runs)
{
	options.run_rows = run_rows;
	options.run_count = runs;
	CHECK(run_one(rig, in, &options) == 0);
	input_free(in);
}

static run_options
some_options(void)
{
	run_options options = {
		.block_bytes = 4096u << random_below(5),
		.ties = (int) random_below(2),
		.feeders = 1 + (int) random_below(3),
		.chunk_rows = random_below(2) ? 1 + (uint32_t) random_below(1000) : 0,
		.order = (fetch_order) random_below(3),
		.in_flight = 1 + (int) random_below(4),
	};

	return options;
}

/* --- merges --------------------------------------------------------------- */

static void
test_run_sizes(rig *rig)
{
	static const struct
	{
		int			runs;
		uint32_t	rows[8];
	}			cases[] = {
		{1, {0}}, {1, {1}}, {2, {0, 0}}, {3, {0, 5, 0}}, {4, {1, 1, 1, 1}}, {2, {1, 40000}},
		{2, {40000, 1}}, {3, {20000, 20000, 20000}}, {1, {50000}},
		{8, {1, 10, 100, 1000, 10000, 20000, 0, 3}}, {5, {63, 64, 65, 4095, 4097}},
		{2, {GSORT_KEY_EXTENT_ROWS, GSORT_KEY_EXTENT_ROWS + 1}}
	};

	current_test = "sizes of runs";
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		uint32_t	rows = sum_of(cases[i].rows, cases[i].runs);
		run_options options = some_options();

		if (limited_rows(rows) < rows)
			continue;
		options.chunk_rows = 0;
		merge_input(rig, input_make(rows, 1, 0, KEYS_UNIFORM, 1, 4, 0, 0), options,
					cases[i].rows, cases[i].runs);
		merge_input(rig, input_make(rows, 1, 0, KEYS_FEW, 1, 4, 0, 0), options,
					cases[i].rows, cases[i].runs);
	}
}

/* Every shape of keys, including those that cannot be merged. */
static void
test_run_keys(rig *rig)
{
	current_test = "keys of several runs";
	for (int shape = 0; shape < KEY_SHAPES; shape++)
	{
		for (uint32_t columns = 1; columns <= GSORT_MAX_KEY_COLUMNS; columns++)
		{
			uint32_t	rows[8];
			int			runs = 1 + (int) random_below(8);
			uint32_t	nulls = (uint32_t) random_below(1ull << columns);

			for (int r = 0; r < runs; r++)
				rows[r] = (uint32_t) random_below(limited_rows(6000));
			merge_input(rig, input_make(sum_of(rows, runs), columns, nulls, shape, 1, 9, 0, 0),
						some_options(), rows, runs);
			merge_input(rig, narrow_input(sum_of(rows, runs), columns, nulls, 9),
						some_options(), rows, runs);
		}
	}
}

/* Runs that were retained before the first NULL. */
static void
test_late_nulls(rig *rig)
{
	current_test = "NULLs in late runs only";
	for (uint32_t columns = 1; columns <= GSORT_MAX_KEY_COLUMNS; columns++)
	{
		uint32_t	rows[] = {3000, 2500, 0, 4000, 10, 3500};
		int			first_with_nulls = 1 + (int) random_below(5);
		input	   *in = narrow_input(sum_of(rows, 6), columns, (1u << columns) - 1, 5);

		memset(in->nulls, 0, sum_of(rows, first_with_nulls) * sizeof(uint32_t));
		merge_input(rig, input_reordered(in), some_options(), rows, 6);
	}
}

static void
test_long_rows_in_runs(rig *rig)
{
	uint32_t	rows[] = {300, 200, 100, 250};
	run_options options = {.block_bytes = 16384, .ties = 1, .feeders = 3, .in_flight = 4};

	current_test = "long rows in runs";
	merge_input(rig, input_make(sum_of(rows, 4), 1, 1, KEYS_FEW, 1, 300, 40, 400000), options,
				rows, 4);
}

static void
test_many_runs(rig *rig)
{
	uint32_t	rows[RUNS_MAX];

	current_test = "many runs";
	for (int r = 0; r < RUNS_MAX; r++)
		rows[r] = (uint32_t) random_below(200);
	for (int runs = GSORT_MERGE_RUNS_MAX; runs <= RUNS_MAX; runs++)
	{
		run_options options = {.block_bytes = 4096, .in_flight = 2};

		merge_input(rig, input_make(sum_of(rows, runs), 1, 1, KEYS_NARROW, 1, 3, 0, 0), options,
					rows, runs);
		merge_input(rig, input_make(sum_of(rows, runs), 1, 0, KEYS_EQUAL, 1, 3, 0, 0), options,
					rows, runs);
	}
}

/* The last of several runs is read like the only run of a job. */
static void
test_last_alone(rig *rig)
{
	current_test = "a later run finished alone";
	for (int round = 0; round < 8; round++)
	{
		uint32_t	rows[] = {5000, round < 6 ? 3000 : 0, 4000};
		run_options options = some_options();

		options.last_alone = 1;
		merge_input(rig, input_make(sum_of(rows, 3), 2, 1, KEYS_UNIFORM, 1, 300, 50, 9000), options,
					rows, 3);
	}
}

static void
test_run_jobs_at_once(rig *rig)
{
	current_test = "several jobs of several runs at once";
	for (int round = 0; round < 6; round++)
	{
		input	   *inputs[JOBS_AT_ONCE];
		run		   *runs[JOBS_AT_ONCE];
		uint32_t	rows[JOBS_AT_ONCE][5];

		for (int i = 0; i < JOBS_AT_ONCE; i++)
		{
			run_options options = some_options();

			for (int r = 0; r < 5; r++)
				rows[i][r] = (uint32_t) random_below(limited_rows(i == 3 ? 100000 : 4000));
			options.run_rows = i == 1 ? NULL : rows[i];
			options.run_count = 5;
			options.chunk_rows = 0;
			options.close_after = i == 2 ? 1 + (int) random_below(200) : 0;
			inputs[i] = narrow_input(sum_of(rows[i], 5), 1 + (uint32_t) random_below(3), 1, 9);
			runs[i] = run_start(rig, inputs[i], &options);
		}
		CHECK(run_all(rig, runs, JOBS_AT_ONCE) == 0);
		for (int i = 0; i < JOBS_AT_ONCE; i++)
			input_free(inputs[i]);
	}
}

static void
test_early_close_of_runs(rig *rig)
{
	uint32_t	rows[] = {limited_rows(20000), limited_rows(15000), limited_rows(100000)};
	input	   *in = narrow_input(sum_of(rows, 3), 2, 1, 9);

	current_test = "close several runs at any step";
	for (int step = 1; step < 1000; step += 1 + step / 12)
	{
		run_options options = {
			.block_bytes = 65536, .close_after = step, .in_flight = 4, .feeders = 2, .ties = 1,
			.run_rows = rows, .run_count = 3
		};

		CHECK(run_one(rig, in, &options) == 0);
	}
	input_free(in);
}

/* --- one call after another ----------------------------------------------- */

static void
wait_for(rig *rig, gsort_event_kind kind, gsort_status status)
{
	gsort_event event;

	for (;;)
	{
		if (gsort_poll(rig->device, &event, 1) == 1 && event.kind == kind)
			break;
	}
	CHECK(event.status == status);
}

static gsort_job *
open_job(rig *rig)
{
	gsort_job_options options = {
		.key_columns = 1, .block_bytes = CHUNK_BYTES
	};
	gsort_job  *job;

	CHECK(gsort_job_open(rig->device, &options, &job) == GSORT_OK);
	return job;
}

/* Feeds a run of one chunk, with keys from first_key on, and finishes it. */
static void
feed_and_finish(rig *rig, gsort_job *job, uint64_t first_key, gsort_finish_how how)
{
	rig_buffer *buffer = &rig->buffers[0];
	gsort_column_stats stats;
	gsort_chunk chunk = {
		.rows = CHUNK_ROWS, .data = buffer->data,
		.data_bytes = CHUNK_BYTES, .row_start = buffer->row_start, .keys = buffer->keys,
		.stats = &stats
	};

	key_stats_init(&stats);
	for (uint32_t i = 0; i < CHUNK_ROWS; i++)
	{
		uint64_t	key = first_key + i;
		gsort_column_stats one = {key, key, key, key, 0};

		buffer->keys[i] = key;
		buffer->row_start[i] = i * (CHUNK_BYTES / CHUNK_ROWS / 8);
		key_stats_fold(&stats, &one);
	}
	CHECK(gsort_job_reserve(job, CHUNK_ROWS, CHUNK_BYTES) == GSORT_OK);
	CHECK(gsort_job_append(job, &chunk) == GSORT_OK);
	wait_for(rig, GSORT_EVENT_APPENDED, GSORT_OK);
	CHECK(gsort_job_next_run(job) == GSORT_BAD_ARG);
	CHECK(gsort_job_merge(job) == GSORT_BAD_ARG);
	CHECK(gsort_job_finish_run(job, how) == GSORT_OK);
	CHECK(gsort_job_next_run(job) == GSORT_BAD_ARG);
	wait_for(rig, GSORT_EVENT_RUN_FINISHED, GSORT_OK);
	CHECK(gsort_job_merge(job) == GSORT_BAD_ARG);
}

static gsort_job_stats
next_run(rig *rig, gsort_job *job)
{
	const gsort_block *blocks;
	gsort_job_stats stats;
	uint64_t	n;

	CHECK(gsort_job_next_run(job) == GSORT_OK);
	CHECK(gsort_job_next_run(job) == GSORT_BAD_ARG);
	CHECK(gsort_job_merge(job) == GSORT_BAD_ARG);
	CHECK(gsort_job_reserve(job, 1, 8) == GSORT_BAD_ARG);
	CHECK(gsort_job_blocks(job, &blocks, &n) == GSORT_BAD_ARG);
	CHECK(gsort_job_fetch(job, 0, rig->arena, 0) == GSORT_BAD_ARG);
	wait_for(rig, GSORT_EVENT_RUN_BEGUN, GSORT_OK);
	CHECK(gsort_job_blocks(job, &blocks, &n) == GSORT_BAD_ARG);
	gsort_job_get_stats(job, &stats);
	CHECK(stats.rows == 0);
	return stats;
}

static uint64_t
reserved_bytes(rig *rig)
{
	gsort_device_info info;

	gsort_device_get_info(rig->device, &info);
	return info.reserved_bytes;
}

static void
close_job(rig *rig, gsort_job *job)
{
	gsort_job_close(job);
	CHECK(gsort_job_merge(job) == GSORT_BAD_ARG);
	wait_for(rig, GSORT_EVENT_CLOSED, GSORT_OK);
}

static void
test_refused_run_calls(rig *rig)
{
	gsort_job  *job = open_job(rig);
	gsort_job_stats stats;

	current_test = "refused calls of runs";
	CHECK(gsort_job_merge(job) == GSORT_UNSUPPORTED);
	feed_and_finish(rig, job, 0, GSORT_SORTED);
	CHECK(gsort_job_next_run(job) == GSORT_BAD_ARG);
	close_job(rig, job);

	/* more bits than a word has: the second run's NULL code widens the first
	 * one's plan */
	job = open_job(rig);
	feed_and_finish(rig, job, 0, GSORT_SORTED_RUN);
	stats = next_run(rig, job);
	CHECK(stats.runs == 1 && stats.keys_retained == 1);
	feed_and_finish(rig, job, UINT64_MAX - CHUNK_ROWS, GSORT_SORTED_RUN);
	stats = next_run(rig, job);
	CHECK(stats.runs == 2 && stats.keys_retained == 1);
	CHECK(gsort_job_merge(job) == GSORT_OK);
	CHECK(gsort_job_next_run(job) == GSORT_BAD_ARG);
	CHECK(gsort_job_finish_run(job, GSORT_SORTED) == GSORT_BAD_ARG);
	CHECK(gsort_job_reserve(job, 1, 8) == GSORT_BAD_ARG);
	CHECK(gsort_job_fetch(job, 0, rig->arena, 0) == GSORT_BAD_ARG);
	wait_for(rig, GSORT_EVENT_MERGED, GSORT_OK);
	CHECK(gsort_job_merge(job) == GSORT_BAD_ARG);
	CHECK(gsort_job_fetch(job, 1, rig->arena, 0) == GSORT_BAD_ARG);
	close_job(rig, job);
}

/* True if a job with one chunk retains its keys within that budget. */
static int
keeps_within(rig *rig, uint64_t budget)
{
	gsort_job  *job = open_job(rig);
	int			keeps;

	gsort_set_budget(rig->device, UINT64_MAX / 2);
	feed_and_finish(rig, job, 0, GSORT_SORTED_RUN);
	gsort_set_budget(rig->device, budget);
	keeps = next_run(rig, job).keys_retained;
	gsort_set_budget(rig->device, UINT64_MAX / 2);
	close_job(rig, job);
	return keeps;
}

static uint64_t
least_budget_that_retains(rig *rig)
{
	uint64_t	too_little = 0;
	uint64_t	enough = (uint64_t) 1 << 40;

	while (enough - too_little > 1)
	{
		uint64_t	middle = too_little + (enough - too_little) / 2;

		if (keeps_within(rig, middle))
			enough = middle;
		else
			too_little = middle;
	}
	return enough;
}

/* Keys are retained in half of the budget, and in the part that other jobs
 * leave. */
static void
test_reservations_of_retained_keys(rig *rig)
{
	gsort_device_info info;
	gsort_job  *job = open_job(rig);
	gsort_job  *other = open_job(rig);
	gsort_job_stats empty;
	gsort_job_stats had;
	gsort_job_stats kept;
	uint64_t	budget;

	current_test = "reservations of retained keys";
	gsort_device_get_info(rig->device, &info);
	gsort_set_budget(rig->device, UINT64_MAX / 2);
	feed_and_finish(rig, other, 0, GSORT_SORTED_RUN);

	/* a job keeps its memory, and room for a chunk beside its keys */
	CHECK(gsort_job_reserve(job, 1, 8) == GSORT_OK);
	CHECK(gsort_job_finish_run(job, GSORT_SORTED_RUN) == GSORT_OK);
	wait_for(rig, GSORT_EVENT_RUN_FINISHED, GSORT_OK);
	empty = next_run(rig, job);
	CHECK(empty.reserved_bytes > 0);
	feed_and_finish(rig, job, 0, GSORT_SORTED_RUN);
	gsort_job_get_stats(job, &had);
	kept = next_run(rig, job);
	CHECK(kept.keys_retained == 1);
	CHECK(kept.reserved_bytes >= had.reserved_bytes);
	CHECK(kept.reserved_bytes >= empty.reserved_bytes + CHUNK_ROWS * sizeof(uint64_t));

	/* other jobs leave exactly the present amount, which suffices for the next
	 * run */
	gsort_set_budget(rig->device, reserved_bytes(rig));
	feed_and_finish(rig, job, 0, GSORT_SORTED_RUN);
	gsort_set_budget(rig->device, 2 * reserved_bytes(rig));
	kept = next_run(rig, job);
	CHECK(kept.keys_retained == 1);
	CHECK(gsort_job_merge(job) == GSORT_OK);
	wait_for(rig, GSORT_EVENT_MERGED, GSORT_OK);
	gsort_set_budget(rig->device, UINT64_MAX / 2);
	close_job(rig, job);

	/* other jobs leave nothing */
	job = open_job(rig);
	feed_and_finish(rig, job, 0, GSORT_SORTED_RUN);
	kept = next_run(rig, job);
	CHECK(kept.keys_retained == 1);
	feed_and_finish(rig, job, 0, GSORT_SORTED_RUN);
	gsort_job_get_stats(job, &had);
	gsort_job_get_stats(other, &kept);
	gsort_set_budget(rig->device, kept.reserved_bytes);
	kept = next_run(rig, job);
	CHECK(kept.keys_retained == 0 && kept.reserved_bytes == had.reserved_bytes);
	CHECK(gsort_job_merge(job) == GSORT_UNSUPPORTED);

	/* dropped keys stay dropped */
	gsort_set_budget(rig->device, UINT64_MAX / 2);
	feed_and_finish(rig, job, 0, GSORT_SORTED_RUN);
	kept = next_run(rig, job);
	CHECK(kept.keys_retained == 0 && kept.runs == 3);
	CHECK(gsort_job_merge(job) == GSORT_UNSUPPORTED);
	close_job(rig, job);

	/* the budget is twice its own reservation, later less */
	gsort_set_budget(rig->device, 2 * CHUNK_ROWS * sizeof(uint64_t));
	kept = next_run(rig, other);
	CHECK(kept.keys_retained == 0);
	close_job(rig, other);
	CHECK(reserved_bytes(rig) == 0);

	/* the half counts for all jobs: keys fit alone, but not beside another
	 * job's */
	other = open_job(rig);
	budget = least_budget_that_retains(rig);
	CHECK(keeps_within(rig, budget));
	feed_and_finish(rig, other, 0, GSORT_SORTED_RUN);
	kept = next_run(rig, other);
	CHECK(kept.keys_retained == 1);
	CHECK(!keeps_within(rig, budget));
	close_job(rig, other);
	gsort_set_budget(rig->device, info.budget_bytes);
}

/* A merge without room in the budget succeeds later. */
static void
test_merge_later(rig *rig)
{
	gsort_device_info info;
	gsort_job  *job = open_job(rig);
	gsort_job_stats before;
	gsort_job_stats after;

	current_test = "a merge refused for want of room";
	gsort_device_get_info(rig->device, &info);
	feed_and_finish(rig, job, 0, GSORT_SORTED_RUN);
	next_run(rig, job);
	CHECK(gsort_job_reserve(job, 1, 8) == GSORT_OK);
	gsort_job_get_stats(job, &before);
	gsort_set_budget(rig->device, 1);
	CHECK(gsort_job_merge(job) == GSORT_NOMEM);
	gsort_job_get_stats(job, &after);
	CHECK(after.keys_retained == 1 && after.reserved_bytes == before.reserved_bytes);
	gsort_set_budget(rig->device, info.budget_bytes);
	CHECK(gsort_job_merge(job) == GSORT_OK);
	wait_for(rig, GSORT_EVENT_MERGED, GSORT_OK);
	gsort_job_get_stats(job, &after);
	CHECK(after.reserved_bytes < before.reserved_bytes);
	close_job(rig, job);
}

void
test_runs(rig *rig)
{
	test_run_sizes(rig);
	test_run_keys(rig);
	test_late_nulls(rig);
	test_long_rows_in_runs(rig);
	test_many_runs(rig);
	test_last_alone(rig);
	test_run_jobs_at_once(rig);
	test_early_close_of_runs(rig);
	test_refused_run_calls(rig);
	test_reservations_of_retained_keys(rig);
	test_merge_later(rig);
}
