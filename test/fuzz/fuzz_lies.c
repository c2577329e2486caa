/*
 * fuzz_lies.c
 *	  Statistics that are not true of the keys: gsort.h on the host device,
 *	  without PostgreSQL.
 *
 * In:  a job's shape, runs of chunks of short rows, keys, and for any chunk any
 *	    statistics.  Checked: a chunk is refused, or its run's finish ends as
 *	    BAD_DATA, or the run is sorted right and in the end the merge order of
 *	    all runs is right.  Which of these it must be is told from keys and
 *	    claims alone.  Nothing crashes, and nothing stays silent.
 *
 * A row is one unit: its number in the job.
 */
#include "fuzz.h"

#include <errno.h>
#include <poll.h>

#include "gsort.h"

#define RUNS_MAX		6
#define CHUNKS_MAX		4		/* in a run */
#define CHUNK_ROWS_MAX	96
#define ROWS_MAX		(RUNS_MAX * CHUNKS_MAX * CHUNK_ROWS_MAX)
#define BLOCK_BYTES	4096
#define BUDGET_BYTES	(128ull << 20)
#define SILENCE_MS		30000

typedef struct lying_job
{
	gsort_job  *job;
	uint32_t	columns;
	uint32_t	null_mask;
	uint32_t	null_first_mask;
	uint32_t	runs;
	uint32_t	rows;			/* made */
	uint32_t	run_rows;		/* of the run now fed */
	gsort_column_stats claims[GSORT_MAX_KEY_COLUMNS];	/* of this run's chunks */
} lying_job;

static gsort_device *device;
static uint64_t keys[ROWS_MAX][GSORT_MAX_KEY_COLUMNS];
static uint32_t nulls[ROWS_MAX];
static uint8_t run_of[ROWS_MAX];
static const lying_job *compared_job;

static void
open_device(void)
{
	char		reason[256];
	gsort_device_options options = {
		.kind = GSORT_KIND_HOST, .budget_bytes = BUDGET_BYTES,
		.threads = 2
	};

	REQUIRE(gsort_open(&options, &device, reason, sizeof(reason)) == GSORT_OK);
}

static gsort_status
wait_for(gsort_event_kind kind)
{
	gsort_event event;

	for (;;)
	{
		struct pollfd ready = {.fd = gsort_fd(device), .events = POLLIN};

		if (gsort_poll(device, &event, 1) == 0)
		{
			int			answers = poll(&ready, 1, SILENCE_MS);

			/* libFuzzer has a timer */
			REQUIRE(answers == 1 || (answers < 0 && errno == EINTR));
		}
		else if (event.kind == kind)
			return event.status;
	}
}

/* --- claims --------------------------------------------------------------- */

static void
no_values(gsort_column_stats *stats)
{
	*stats = (gsort_column_stats) {UINT64_MAX, 0, 0, UINT64_MAX, 0};
}

static void
fold(gsort_column_stats *stats, const gsort_column_stats *more)
{
	if (more->min < stats->min)
		stats->min = more->min;
	if (more->max > stats->max)
		stats->max = more->max;
	stats->any |= more->any;
	stats->all &= more->all;
	stats->nulls += more->nulls;
}

static int
holds(const gsort_column_stats *stats, uint64_t key)
{
	return key >= stats->min && key <= stats->max && (key & stats->any) == key &&
		(key & stats->all) == stats->all;
}

/* By the words of gsort.h: could they be of any column with so many rows? */
static int
are_possible(const gsort_column_stats *stats, uint32_t most_nulls)
{
	gsort_column_stats none;

	no_values(&none);
	none.nulls = stats->nulls;
	if (stats->nulls > most_nulls)
		return 0;
	if (stats->min > stats->max)
		return memcmp(stats, &none, sizeof(none)) == 0;
	return holds(stats, stats->min) && holds(stats, stats->max);
}

static int
row_is_true(const lying_job *j, uint32_t row)
{
	for (uint32_t c = 0; c < j->columns; c++)
	{
		if (nulls[row] >> c & 1 ? j->claims[c].nulls == 0 : !holds(&j->claims[c], keys[row][c]))
			return 0;
	}
	return 1;
}

/* One of the claims becomes any number, or one near to what is true. */
static void
tell_lie(fuzz_source *source, gsort_column_stats *stats)
{
	uint8_t		what = (uint8_t) take(source, 1);
	uint64_t   *claim = (uint64_t *) stats + what % 5;
	uint64_t	number = take(source, what & 64 ? 8 : 1);

	switch (what >> 3 & 3)
	{
		case 0:
			*claim = number;
			break;
		case 1:
			*claim += number - 128;
			break;
		case 2:
			*claim ^= 1ull << number % 64;
			break;
		case 3:
			/* possible again, however wrong */
			stats->any |= stats->min | stats->max;
			stats->all &= stats->min & stats->max;
			break;
	}
}

/* --- feeding -------------------------------------------------------------- */

/* Returns 0 if the job is over. */
static int
feed_chunk(fuzz_source *source, lying_job *j)
{
	static uint64_t data[CHUNK_ROWS_MAX];
	static uint64_t chunk_keys[CHUNK_ROWS_MAX * GSORT_MAX_KEY_COLUMNS];
	static uint32_t row_start[CHUNK_ROWS_MAX];
	static uint32_t chunk_nulls[CHUNK_ROWS_MAX];
	uint8_t		shape = (uint8_t) take(source, 1);
	uint32_t	rows = 1 + (uint32_t) take(source, 1) % CHUNK_ROWS_MAX;
	gsort_column_stats stats[GSORT_MAX_KEY_COLUMNS];
	gsort_chunk chunk = {
		.rows = rows, .data = data, .data_bytes = rows * 8,
		.row_start = row_start, .keys = chunk_keys, .nulls = j->null_mask != 0 ? chunk_nulls : NULL,
		.stats = stats
	};
	gsort_status status;
	int			possible = 1;

	for (uint32_t c = 0; c < j->columns; c++)
		no_values(&stats[c]);
	for (uint32_t i = 0; i < rows; i++)
	{
		uint32_t	row = j->rows + i;

		nulls[row] = shape & 1 ? (uint32_t) take(source, 1) & j->null_mask : 0;
		run_of[row] = (uint8_t) j->runs;
		for (uint32_t c = 0; c < j->columns; c++)
		{
			uint64_t	key = take(source, shape & 2 ? 8 : 1) << (shape >> 2 & 15);
			gsort_column_stats one = {key, key, key, key, 0};

			keys[row][c] = key;
			chunk_keys[i * j->columns + c] = key;
			if (nulls[row] >> c & 1)
				stats[c].nulls++;
			else
				fold(&stats[c], &one);
		}
		chunk_nulls[i] = nulls[row];
		row_start[i] = i;
		data[i] = row;
	}
	for (uint64_t lies = take(source, 1) % 8; lies > 4; lies--)
		tell_lie(source, &stats[take(source, 1) % j->columns]);
	for (uint32_t c = 0; c < j->columns; c++)
		possible &= are_possible(&stats[c], j->null_mask >> c & 1 ? rows : 0);
	REQUIRE(gsort_job_reserve(j->job, rows, rows * 8) == GSORT_OK);
	status = gsort_job_append(j->job, &chunk);
	REQUIRE(status == (possible ? GSORT_OK : GSORT_BAD_DATA));
	if (!possible)
		return 0;
	REQUIRE(wait_for(GSORT_EVENT_APPENDED) == GSORT_OK);
	for (uint32_t c = 0; c < j->columns; c++)
		fold(&j->claims[c], &stats[c]);
	j->rows += rows;
	j->run_rows += rows;
	return 1;
}

/* --- order ---------------------------------------------------------------- */

static int
compare_rows(const void *left, const void *right)
{
	const lying_job *j = compared_job;
	uint32_t	a = *(const uint32_t *) left;
	uint32_t	b = *(const uint32_t *) right;

	for (uint32_t c = 0; c < j->columns; c++)
	{
		uint32_t	a_null = nulls[a] >> c & 1;

		if (a_null != (nulls[b] >> c & 1))
			return a_null == (j->null_first_mask >> c & 1) ? -1 : 1;
		if (!a_null && keys[a][c] != keys[b][c])
			return keys[a][c] < keys[b][c] ? -1 : 1;
	}
	return a < b ? -1 : a > b;
}

/* Rows from first on in their order.  Row numbers rise with runs, so this is
 * the merge's too. */
static uint32_t *
order_of_rows(const lying_job *j, uint32_t first, uint32_t n)
{
	static uint32_t order[ROWS_MAX];

	for (uint32_t i = 0; i < n; i++)
		order[i] = first + i;
	compared_job = j;
	qsort(order, n, sizeof(*order), compare_rows);
	return order;
}

static void
check_output_blocks(const lying_job *j, const uint32_t *order, uint32_t n, int merged)
{
	const gsort_block *blocks;
	uint64_t	n_blocks;
	uint64_t	rows = 0;

	REQUIRE(gsort_job_blocks(j->job, &blocks, &n_blocks) == GSORT_OK);
	for (uint64_t i = 0; i < n_blocks; i++)
	{
		/* as long as the block, so that one unit more is found */
		uint64_t   *block = malloc(blocks[i].bytes);

		REQUIRE(blocks[i].bytes <= BLOCK_BYTES && rows + blocks[i].rows <= n);
		REQUIRE(gsort_job_fetch(j->job, i, block, 0) == GSORT_OK);
		REQUIRE(wait_for(GSORT_EVENT_FETCHED) == GSORT_OK);
		for (uint32_t row = 0; row < blocks[i].rows; row++, rows++)
			REQUIRE(merged ? ((uint8_t *) block)[row] == run_of[order[rows]] :
					block[row] == order[rows]);
		free(block);
	}
	REQUIRE(rows == n);
}

/* --- runs ----------------------------------------------------------------- */

/* Returns 0 if the job is over. */
static int
end_run(lying_job *j)
{
	uint32_t	first = j->rows - j->run_rows;
	gsort_status status = GSORT_OK;

	for (uint32_t row = first; row < j->rows; row++)
	{
		if (!row_is_true(j, row))
			status = GSORT_BAD_DATA;
	}
	REQUIRE(gsort_job_finish_run(j->job, GSORT_SORTED_RUN) == GSORT_OK);
	REQUIRE(wait_for(GSORT_EVENT_RUN_FINISHED) == status);
	if (status != GSORT_OK)
	{
		REQUIRE(gsort_job_next_run(j->job) == GSORT_BAD_ARG);
		REQUIRE(gsort_job_merge(j->job) == GSORT_BAD_ARG);
		return 0;
	}
	check_output_blocks(j, order_of_rows(j, first, j->run_rows), j->run_rows, 0);
	REQUIRE(gsort_job_next_run(j->job) == GSORT_OK);
	REQUIRE(wait_for(GSORT_EVENT_RUN_BEGUN) == GSORT_OK);
	j->runs++;
	return 1;
}

/* Returns 0 if the job is over. */
static int
feed_run(fuzz_source *source, lying_job *j)
{
	uint64_t	chunks = take(source, 1) % (CHUNKS_MAX + 1);

	j->run_rows = 0;
	for (int c = 0; c < GSORT_MAX_KEY_COLUMNS; c++)
		no_values(&j->claims[c]);
	for (; chunks > 0; chunks--)
	{
		if (!feed_chunk(source, j))
			return 0;
	}
	return end_run(j);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_source source = {data, size};
	uint8_t		shape = (uint8_t) take(&source, 1);
	uint8_t		null_bits = (uint8_t) take(&source, 1);
	lying_job	j = {.columns = 1 + shape % GSORT_MAX_KEY_COLUMNS};
	gsort_job_options options = {.block_bytes = BLOCK_BYTES};
	uint8_t		ways = (uint8_t) take(&source, 1);
	uint32_t	runs = 1 + (shape >> 3) % RUNS_MAX;
	int			goes_on = 1;
	gsort_status status;

	if (device == NULL)
		open_device();
	j.null_mask = null_bits & ((1u << j.columns) - 1);
	j.null_first_mask = null_bits >> 4 & j.null_mask;
	options.key_columns = j.columns;
	options.null_mask = j.null_mask;
	options.null_first_mask = j.null_first_mask;
	options.flags = ways & 1 ? GSORT_TIES : 0;
	options.inexact_mask = ways & 2 ? (uint32_t) take(&source, 1) & ((1u << j.columns) - 1) : 0;
	REQUIRE(gsort_job_open(device, &options, &j.job) == GSORT_OK);
	for (; runs > 0 && goes_on; runs--)
		goes_on = feed_run(&source, &j);
	if (goes_on)
	{
		/* keys that claim to be wider than a word are not kept */
		status = gsort_job_merge(j.job);
		REQUIRE(status == GSORT_OK || status == GSORT_UNSUPPORTED);
		if (status == GSORT_OK)
		{
			REQUIRE(wait_for(GSORT_EVENT_MERGED) == GSORT_OK);
			check_output_blocks(&j, order_of_rows(&j, 0, j.rows), j.rows, 1);
		}
	}
	gsort_job_close(j.job);
	wait_for(GSORT_EVENT_CLOSED);
	return 0;
}
