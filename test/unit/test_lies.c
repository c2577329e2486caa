/*
 * test_lies.c
 *	  Chunks whose statistics do not hold for their keys.
 *
 * A job either sorts correctly, because its statistics cover all keys, or ends
 * as BAD_DATA.  Concurrent jobs are never affected. rig_run.c falsifies the
 * statistics, and derives the expected outcome from keys and claims alone.
 */
#include "rig.h"

#define RUNS			4
#define RUN_ROWS		700
#define JOBS_AT_ONCE	4
#define KEY_KINDS		5

/* Makes keys for every kind of sort words: none, a short one, a long one,
 * several, and segments. */
static input *
input_of_kind(int kind, uint32_t n, uint32_t columns, uint32_t null_mask)
{
	static const key_shape shapes[KEY_KINDS] = {
		KEYS_FEW, KEYS_UNIFORM, KEYS_NARROW, KEYS_SPARSE_BITS, KEYS_EXTREMES
	};

	return input_make(n, columns, null_mask, shapes[kind], 1, 5, 0, 0);
}

static run_options
some_options(void)
{
	run_options options = {
		.block_bytes = 4096u << random_below(3),
		.ties = (int) random_below(2),
		.feeders = 1 + (int) random_below(2),
		.in_flight = 2,
	};

	return options;
}

/* --- one run -------------------------------------------------------------- */

/* One chunk of uniform keys, so that every lie except the harmless ones is
 * false. */
static void
test_each_lie(rig *rig)
{
	current_test = "each lie is found";
	for (int lie = NO_LIE; lie < LIES; lie += 1 + (lie + 1 == LIES_THAT_CAN_BE))
	{
		for (uint32_t column = 0; column < GSORT_MAX_KEY_COLUMNS; column++)
		{
			for (int how = 0; how < 3; how++)
			{
				const uint32_t rows[] = {300};
				int			found = 0;
				int			harmless = lie == NO_LIE || lie == LIE_WIDE || lie == LIE_NULLS;
				input	   *in = input_make(300, column + 1, (1u << (column + 1)) - 1, KEYS_UNIFORM,
											1, 1, 0, 0);
				run_options options = {
					.block_bytes = 65536, .ties = how == 1, .lie = (enum lie) lie,
					.lie_column = column, .lies_found = &found,
					.run_rows = how == 2 ? rows : NULL, .run_count = 1
				};

				/* that column's keys are uniform, independent of the first
				 * column's shape */
				for (uint32_t i = 0; i < in->n; i++)
					in->keys[i * in->columns + column] = random64();
				in = input_reordered(in);
				CHECK(run_one(rig, in, &options) == 0);
				if (!CHECK(found == !harmless))
					printf("  lie %d of column %u of %u\n", lie, column, column + 1);
				input_free(in);
			}
		}
	}
}

static void
test_lies_in_some_chunks(rig *rig)
{
	int			found = 0;

	current_test = "lies in some chunks";
	for (int round = 0; round < 600; round++)
	{
		uint32_t	columns = 1 + (uint32_t) random_below(GSORT_MAX_KEY_COLUMNS);
		input	   *in = input_of_kind(round % KEY_KINDS, 1 + (uint32_t) random_below(RUN_ROWS),
									   columns, (uint32_t) random_below(1ull << columns));
		run_options options = some_options();

		options.chunk_rows = 1 + (uint32_t) random_below(200);
		options.lie = (lie) random_below(LIES);
		options.lie_column = (uint32_t) random_below(columns);
		options.lie_at_times = 1;
		options.lies_found = &found;
		CHECK(run_one(rig, in, &options) == 0);
		input_free(in);
	}
	CHECK(found > 0);
}

/* --- several runs --------------------------------------------------------- */

/* The falsified run comes after, between or before honest ones; other jobs run
 * beside it. */
static void
test_lies_in_runs(rig *rig)
{
	int			found = 0;

	current_test = "lies in several runs";
	for (int round = 0; round < 200; round++)
	{
		input	   *inputs[JOBS_AT_ONCE];
		run		   *runs[JOBS_AT_ONCE];
		uint32_t	rows[JOBS_AT_ONCE][RUNS];
		int			found_before = found;

		for (int i = 0; i < JOBS_AT_ONCE; i++)
		{
			uint32_t	sum = 0;
			uint32_t	columns = 1 + (uint32_t) random_below(2);
			run_options options = some_options();

			for (int r = 0; r < RUNS; r++)
				sum += rows[i][r] = (uint32_t) random_below(RUN_ROWS);
			inputs[i] = input_of_kind((round + i) % KEY_KINDS, sum, columns,
									  (uint32_t) random_below(1ull << columns));
			options.run_rows = rows[i];
			options.run_count = RUNS;
			options.lie = i % 2 == 0 ? NO_LIE : (lie) random_below(LIES);
			options.lie_column = (uint32_t) random_below(columns);
			options.lie_run = (int) random_below(RUNS);
			options.lie_at_times = (int) random_below(2);
			options.lies_found = &found;
			runs[i] = run_start(rig, inputs[i], &options);
		}
		CHECK(run_all(rig, runs, JOBS_AT_ONCE) == 0);
		CHECK(found - found_before <= JOBS_AT_ONCE / 2);
		for (int i = 0; i < JOBS_AT_ONCE; i++)
			input_free(inputs[i]);
	}
	CHECK(found > 0);
}

/* The number of NULLs overflows to 0 in the sum of two chunks, and of two
 * runs. */
static void
test_nulls_come_round(rig *rig)
{
	gsort_column_stats stats = {5, 5, 5, 5, 1ull << 63};
	gsort_job_options options = {
		.key_columns = 1, .null_mask = 1, .block_bytes = 4096
	};
	rig_buffer *buffer = &rig->buffers[0];
	gsort_chunk chunk = {
		.rows = 1, .data = buffer->data, .data_bytes = 8,
		.row_start = buffer->row_start, .keys = buffer->keys, .nulls = buffer->nulls,
		.stats = &stats
	};
	gsort_job  *job;
	gsort_event event;

	current_test = "NULLs that come round";
	buffer->keys[0] = 5;
	buffer->nulls[0] = 1;
	buffer->row_start[0] = 0;
	CHECK(gsort_job_open(rig->device, &options, &job) == GSORT_OK);
	CHECK(gsort_job_reserve(job, 2, 16) == GSORT_OK);
	CHECK(gsort_job_append(job, &chunk) == GSORT_BAD_DATA);
	gsort_job_close(job);
	while (gsort_poll(rig->device, &event, 1) == 0)
		;
	CHECK(event.kind == GSORT_EVENT_CLOSED);
}

void
test_lies(rig *rig)
{
	test_each_lie(rig);
	test_lies_in_some_chunks(rig);
	test_lies_in_runs(rig);
	test_nulls_come_round(rig);
}
