/*
 * test_jobs.c
 *	  Jobs on a working device: sizes, key distributions, columns, blocks,
 *	  feeders, orders of fetching, several concurrent jobs, and refused calls.
 */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

#define JOBS_AT_ONCE	6

static void
run_input(rig *rig, input *in, const run_options *options)
{
	CHECK(run_one(rig, in, options) == 0);
	input_free(in);
}

static void
test_row_counts(rig *rig)
{
	static const uint32_t counts[] = {
		0, 1, 2, 3, 63, 64, 65, 255, 256, 257, 1000, 4095, 4097, 16383, 16384, 16385,
		GSORT_KEY_EXTENT_ROWS - 1, GSORT_KEY_EXTENT_ROWS, GSORT_KEY_EXTENT_ROWS + 1,
		2 * GSORT_KEY_EXTENT_ROWS + 1
	};

	current_test = "row counts";
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
	{
		run_options options = {.block_bytes = 65536, .ties = i % 2, .in_flight = 3};

		run_input(rig, input_make(limited_rows(counts[i]), 1, i % 3 == 0, KEYS_UNIFORM, 1, 4, 0, 0),
				  &options);
		run_input(rig, input_make(limited_rows(counts[i]), 1, 0, KEYS_FEW, 1, 4, 0, 0), &options);
	}
}

static void
test_keys(rig *rig)
{
	current_test = "keys";
	for (int shape = 0; shape < KEY_SHAPES; shape++)
	{
		for (uint32_t columns = 1; columns <= GSORT_MAX_KEY_COLUMNS; columns++)
		{
			for (int ties = 0; ties < 2; ties++)
			{
				run_options options = {
					.block_bytes = 8192,
					.ties = ties,
					.order = (fetch_order) random_below(3),
					.in_flight = 1 + (int) random_below(4),
					.feeders = 1 + (int) random_below(3),
				};
				uint32_t	nulls = (uint32_t) random_below(1ull << columns);

				run_input(rig, input_make(limited_rows(3000 + (uint32_t) random_below(20000)),
										  columns, nulls, shape, 1, 12, 0, 0), &options);
			}
		}
	}
}

/* Fills chunks, blocks and extents exactly to the last unit, and to one unit
 * less and more. */
static void
test_sizes(rig *rig)
{
	static const uint32_t block_bytes[] = {4096, 4104, 65536, GSORT_BLOCK_BYTES_MAX};

	current_test = "sizes of rows and blocks";
	for (size_t w = 0; w < sizeof(block_bytes) / sizeof(block_bytes[0]); w++)
	{
		uint32_t	block_units = block_bytes[w] / 8;
		uint32_t	lengths[] = {
			1, block_units / 4 - 1, block_units / 4, block_units / 4 + 1, block_units / 2,
			block_units - 1, block_units, block_units + 1, 2 * block_units,
			2 * block_units + 1
		};

		for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
		{
			run_options options = {
				.block_bytes = block_bytes[w],
				.ties = l % 2,
				.feeders = 1 + (int) random_below(4),
				.order = (fetch_order) (l % 3),
				.in_flight = 2,
			};
			uint32_t	n = 3 * GSORT_EXTENT_UNITS / lengths[l] / 2;

			if (n > 30)
				n = 30;
			run_input(rig, input_make(n, 1, 0, KEYS_UNIFORM, lengths[l], lengths[l], 0, 0),
					  &options);
		}
	}
}

static void
test_long_rows(rig *rig)
{
	current_test = "long rows";
	for (int round = 0; round < 12; round++)
	{
		run_options options = {
			.block_bytes = round % 3 == 0 ? 1 << 20 : 16384,
			.ties = round % 2,
			.feeders = 1 + round % 5,
			.order = (fetch_order) (round % 3),
			.in_flight = 4,
		};

		/* up to 5 MiB and, in one round, beyond an extent */
		run_input(rig, input_make(400, 1, 1, KEYS_FEW, 1, 300, 40,
								  round == 5 ? 3 * GSORT_EXTENT_UNITS : 655360), &options);
	}
}

static void
test_many_extents(rig *rig)
{
	run_options options = {
		.block_bytes = 1 << 20, .ties = 1, .order = FETCH_RANDOM, .in_flight = 4, .feeders = 4
	};

	current_test = "many extents";
	run_input(rig, input_make(limited_rows(400000), 2, 2, KEYS_FEW, 3, 15, 0, 0), &options);
}

static void
test_jobs_at_once(rig *rig)
{
	current_test = "several jobs at once";
	for (int round = 0; round < 6; round++)
	{
		input	   *inputs[JOBS_AT_ONCE];
		run		   *runs[JOBS_AT_ONCE];

		for (int i = 0; i < JOBS_AT_ONCE; i++)
		{
			run_options options = {
				.block_bytes = 4096u << random_below(6),
				.ties = (int) random_below(2),
				.feeders = 1 + (int) random_below(4),
				.chunk_rows = random_below(2) ? 100 : 0,
				.order = (fetch_order) random_below(3),
				.in_flight = 1 + (int) random_below(4),
				/* bad chunks and early ends of some jobs do not affect the
				 * others */
				.corrupt = i == 1 ? CORRUPT_FIRST_START + round % (CORRUPTIONS - 1) : 0,
				.close_after = i == 2 ? 1 + (int) random_below(100) : 0,
			};

			inputs[i] = input_make(limited_rows(500 + (uint32_t) random_below(20000)),
								   1 + (uint32_t) random_below(4), 1,
								   (key_shape) random_below(KEY_SHAPES), 1, 20,
								   i == 3 ? 200 : 0, 2000);
			runs[i] = run_start(rig, inputs[i], &options);
		}
		CHECK(run_all(rig, runs, JOBS_AT_ONCE) == 0);
		for (int i = 0; i < JOBS_AT_ONCE; i++)
			input_free(inputs[i]);
	}
}

static void
test_corrupt_chunks(rig *rig)
{
	current_test = "corrupt chunks";
	for (int corrupt = CORRUPT_NOTHING + 1; corrupt < CORRUPTIONS; corrupt++)
	{
		run_options options = {.block_bytes = 8192, .corrupt = (corruption) corrupt};

		run_input(rig, input_make(3000, 1, 0, KEYS_UNIFORM, 1, 9, 0, 0), &options);
	}
}

static void
test_early_close(rig *rig)
{
	input	   *in = input_make(limited_rows(40000), 2, 1, KEYS_UNIFORM, 2, 9, 900, 5000);

	current_test = "close at any step";
	for (int step = 1; step < 700; step += 1 + step / 8)
	{
		run_options options = {
			.block_bytes = 8192, .close_after = step, .in_flight = 4, .feeders = 2, .ties = 1
		};

		CHECK(run_one(rig, in, &options) == 0);
	}
	input_free(in);
}

/* --- refused calls -------------------------------------------------------- */

static gsort_job *
open_job(rig *rig)
{
	gsort_job_options options = {
		.key_columns = 1, .block_bytes = 4096
	};
	gsort_job  *job;

	CHECK(gsort_job_open(rig->device, &options, &job) == GSORT_OK);
	return job;
}

static void
wait_for(rig *rig, gsort_event_kind kind)
{
	gsort_event event;

	for (;;)
	{
		if (gsort_poll(rig->device, &event, 1) == 1 && event.kind == kind)
			return;
	}
}

/* A chunk with one row of 64 bytes. */
static gsort_chunk
small_chunk(rig *rig, gsort_column_stats *stats)
{
	rig_buffer *buffer = &rig->buffers[0];

	memset(buffer->data, 0, 64);
	buffer->keys[0] = 1;
	buffer->row_start[0] = 0;
	*stats = (gsort_column_stats) {1, 1, 1, 1, 0};
	return (gsort_chunk) {
		.rows = 1, .data = buffer->data, .data_bytes = 64,
		.row_start = buffer->row_start, .keys = buffer->keys, .stats = stats
	};
}

static void
test_reservations(rig *rig)
{
	gsort_device_info before;
	gsort_device_info after;
	gsort_column_stats stats;
	gsort_chunk chunk = small_chunk(rig, &stats);
	gsort_job  *job = open_job(rig);

	current_test = "reservations";
	CHECK(gsort_job_append(job, &chunk) == GSORT_BAD_ARG);
	CHECK(gsort_job_reserve(job, 1, 64) == GSORT_OK);
	gsort_device_get_info(rig->device, &before);
	CHECK(before.reserved_bytes > 0 && before.reserved_bytes <= before.budget_bytes);
	CHECK(gsort_job_reserve(job, 0, before.budget_bytes) == GSORT_NOMEM);
	CHECK(gsort_job_reserve(job, UINT64_MAX, UINT64_MAX) == GSORT_NOMEM);
	gsort_device_get_info(rig->device, &after);
	CHECK(after.reserved_bytes == before.reserved_bytes);
	CHECK(gsort_job_append(job, &chunk) == GSORT_OK);
	wait_for(rig, GSORT_EVENT_APPENDED);
	CHECK(gsort_job_append(job, &chunk) == GSORT_BAD_ARG);
	gsort_job_close(job);
	gsort_job_close(job);
	wait_for(rig, GSORT_EVENT_CLOSED);
	gsort_device_get_info(rig->device, &after);
	CHECK(after.reserved_bytes == 0);
}

/* The reservation of a job with one small row, after a finish. */
static uint64_t
reserved_after_finish(rig *rig, gsort_job *job, uint64_t rows, uint64_t row_bytes,
					  gsort_finish_how how)
{
	gsort_column_stats column;
	gsort_chunk chunk = small_chunk(rig, &column);
	gsort_job_stats stats;

	CHECK(gsort_job_reserve(job, rows, row_bytes) == GSORT_OK);
	CHECK(gsort_job_append(job, &chunk) == GSORT_OK);
	wait_for(rig, GSORT_EVENT_APPENDED);
	CHECK(gsort_job_finish_run(job, how) == GSORT_OK);
	wait_for(rig, GSORT_EVENT_RUN_FINISHED);
	gsort_job_get_stats(job, &stats);
	return stats.reserved_bytes;
}

/* A sorted run that will not have a successor keeps what fetches need.  Others
 * may have the rest of its reservation. */
static void
test_reservation_of_sorted_run(rig *rig)
{
	uint64_t	rows = 3 * GSORT_KEY_EXTENT_ROWS;
	uint64_t	row_bytes = 3 * GSORT_EXTENT_BYTES;
	gsort_device_info info;
	gsort_job  *job = open_job(rig);
	gsort_job  *other = open_job(rig);
	uint64_t	most = gsort_job_reservation_bytes(job, rows, row_bytes);
	uint64_t	budget_bytes;
	uint64_t	left;

	current_test = "the reservation of a sorted run";
	gsort_device_get_info(rig->device, &info);
	budget_bytes = info.budget_bytes;
	gsort_set_budget(rig->device, UINT64_MAX / 2);
	CHECK(reserved_after_finish(rig, job, rows, row_bytes, GSORT_SORTED_RUN) == most);
	gsort_job_close(job);
	wait_for(rig, GSORT_EVENT_CLOSED);

	job = open_job(rig);
	left = reserved_after_finish(rig, job, rows, row_bytes, GSORT_SORTED);
	/* an extent of rows, and on a GPU an extent of their words and the tables */
	CHECK(left >= GSORT_EXTENT_BYTES && left < 2 * GSORT_EXTENT_BYTES && left < most);
	gsort_set_budget(rig->device, left + most);
	CHECK(gsort_job_reserve(other, rows, row_bytes) == GSORT_OK);
	memset(rig->buffers[0].data, 0xff, 4096);
	CHECK(gsort_job_fetch(job, 0, rig->buffers[0].data, 0) == GSORT_OK);
	wait_for(rig, GSORT_EVENT_FETCHED);
	CHECK(rig->buffers[0].data[0] == 0 && rig->buffers[0].data[7] == 0);
	gsort_job_close(job);
	wait_for(rig, GSORT_EVENT_CLOSED);
	gsort_job_close(other);
	wait_for(rig, GSORT_EVENT_CLOSED);

	/* a run without rows keeps no extent */
	job = open_job(rig);
	CHECK(gsort_job_reserve(job, rows, row_bytes) == GSORT_OK);
	CHECK(gsort_job_finish_run(job, GSORT_SORTED) == GSORT_OK);
	wait_for(rig, GSORT_EVENT_RUN_FINISHED);
	gsort_device_get_info(rig->device, &info);
	CHECK(info.reserved_bytes < GSORT_EXTENT_BYTES);
	gsort_job_close(job);
	wait_for(rig, GSORT_EVENT_CLOSED);
	gsort_set_budget(rig->device, budget_bytes);
}

static void
test_bad_calls(rig *rig)
{
	gsort_column_stats stats;
	gsort_chunk chunk = small_chunk(rig, &stats);
	gsort_job  *job = open_job(rig);
	gsort_chunk bad;
	gsort_job_stats fed;

	current_test = "bad calls";
	CHECK(gsort_job_reserve(job, 10, 8192) == GSORT_OK);
#define CHECK_BAD(change, wanted) \
	(bad = chunk, change, CHECK(gsort_job_append(job, &bad) == (wanted)))
	CHECK_BAD(bad.feeder = GSORT_FEEDERS_MAX, GSORT_BAD_DATA);
	CHECK_BAD(bad.rows = 0, GSORT_BAD_DATA);
	CHECK_BAD(bad.rows = 9, GSORT_BAD_DATA);
	CHECK_BAD(bad.data_bytes = 0, GSORT_BAD_DATA);
	CHECK_BAD(bad.data_bytes = 60, GSORT_BAD_DATA);
	CHECK_BAD(bad.data_bytes = 4104, GSORT_BAD_DATA);
	CHECK_BAD(bad.more_bytes = 4, GSORT_BAD_DATA);
	CHECK_BAD(bad.more_bytes = GSORT_ROW_BYTES_MAX, GSORT_BAD_DATA);
	CHECK_BAD((bad.more_bytes = 8, bad.rows = 2), GSORT_BAD_DATA);
	CHECK_BAD(bad.more_bytes = 8, GSORT_OK);
	gsort_job_get_stats(job, &fed);
	CHECK(fed.rows == 1 && fed.row_bytes == 72 && fed.incomplete_rows == 1);
	CHECK(fed.reserved_rows == 10 && fed.reserved_row_bytes == 8192);
	CHECK(gsort_job_finish_run(job, GSORT_SORTED) == GSORT_BAD_ARG);
	CHECK(gsort_job_append(job, &chunk) == GSORT_BAD_DATA);
	CHECK_BAD((bad.rows = 0, bad.data_bytes = 8), GSORT_OK);
#undef CHECK_BAD
	gsort_job_get_stats(job, &fed);
	CHECK(fed.rows == 1 && fed.row_bytes == 72 && fed.incomplete_rows == 0);
	CHECK(gsort_job_fetch(job, 0, rig->arena, 0) == GSORT_BAD_ARG);
	CHECK(gsort_job_next_run(job) == GSORT_BAD_ARG);
	CHECK(gsort_job_merge(job) == GSORT_BAD_ARG);
	CHECK(gsort_job_finish_run(job, GSORT_SORTED) == GSORT_OK);
	CHECK(gsort_job_finish_run(job, GSORT_SORTED) == GSORT_BAD_ARG);
	wait_for(rig, GSORT_EVENT_RUN_FINISHED);
	CHECK(gsort_job_next_run(job) == GSORT_BAD_ARG);
	CHECK(gsort_job_merge(job) == GSORT_BAD_ARG);
	CHECK(gsort_job_fetch(job, 1, rig->arena, 0) == GSORT_BAD_ARG);
	CHECK(gsort_job_reserve(job, 1, 8) == GSORT_BAD_ARG);
	gsort_job_close(job);
	CHECK(gsort_job_fetch(job, 0, rig->arena, 0) == GSORT_BAD_ARG);
	wait_for(rig, GSORT_EVENT_CLOSED);
}

void
test_jobs(rig *rig)
{
	test_row_counts(rig);
	test_keys(rig);
	test_sizes(rig);
	test_long_rows(rig);
	test_many_extents(rig);
	test_jobs_at_once(rig);
	test_corrupt_chunks(rig);
	test_early_close(rig);
	test_reservations(rig);
	test_reservation_of_sorted_run(rig);
	test_bad_calls(rig);
}
