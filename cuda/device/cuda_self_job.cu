/*
 * cuda_self_job.cu
 *	  Small self-test jobs while the device opens.  They start CUDA's threads
 *	  and prove that the device sorts.
 *
 * In:  an open device.
 * Out: OK, or the reason why the device is unfit for use.
 *
 * The jobs go through the public API (gsort.h), as those of users do.  Engines
 * have different kernels for few and many keys and for both key widths.  One
 * job therefore runs for each combination, and two more jobs merge runs, one
 * for each width.
 */
#include "device/cuda_device.cuh"

#include <poll.h>
#include <stdlib.h>
#include <time.h>

#define SELF_OUTPUT_BLOCK_BYTES	4096
#define SELF_CHUNK_ROWS		512
#define SELF_LONG_BYTES		16384	/* one row, longer than an output block */
#define SELF_FEW_ROWS		64
#define SELF_MANY_ROWS		32768
#define SELF_RUNS			3
#define SELF_WAIT_SECONDS	60

typedef struct self_job
{
	gsort_device *device;
	gsort_job  *job;
	gsort_job_options options;	/* two wide columns make several words */
	int			wide;			/* nullable columns of more than 32 significant bits */
	uint32_t	rows;
	uint32_t	fed;
	uint64_t	keys[2 * SELF_CHUNK_ROWS];
	uint32_t	nulls[SELF_CHUNK_ROWS];
	uint32_t	row_start[SELF_CHUNK_ROWS];
	uint64_t	data[SELF_OUTPUT_BLOCK_BYTES / 8];
} self_job;

static gsort_status
fail_self_test(self_job *self, const char *how)
{
	return gsort_fail(self->device, GSORT_UNSUPPORTED, "the device's self test %s", how);
}

/* Waits up to SELF_WAIT_SECONDS for an event of this kind, if the call that it
 * follows was successful.  A failed event ends the wait. */
static gsort_status
wait_after(self_job *self, gsort_status called, gsort_event_kind kind)
{
	time_t		end = time(NULL) + SELF_WAIT_SECONDS;
	gsort_event event;

	if (called != GSORT_OK)
		return called;
	while (time(NULL) < end)
	{
		struct pollfd readable = {gsort_fd(self->device), POLLIN, 0};

		while (gsort_poll(self->device, &event, 1) == 1)
		{
			if (event.status != GSORT_OK || event.kind == kind)
				return event.status;
		}
		(void) poll(&readable, 1, 100);
	}
	return gsort_fail(self->device, GSORT_DEVICE_LOST, "the device's self test does not end");
}

/* Fills rows in descending order of their first column, which is also stored in
 * the row. */
static void
fill_row(self_job *self, uint32_t i, gsort_column_stats *stats)
{
	uint64_t	value = self->rows - self->fed++;
	/* all bits of a wide column vary: the complement swaps only the low ones */
	uint64_t	key = self->wide ? value << 40 ^ (value & 1 ? UINT64_MAX >> 24 : 0) : value;
	gsort_column_stats row = {key, key, key, key, 0};
	uint32_t	columns = self->options.key_columns;

	self->row_start[i] = i;
	self->data[i] = value;
	for (uint32_t c = 0; c < columns; c++)
	{
		self->keys[i * columns + c] = key;
		key_stats_fold(&stats[c], &row);
	}
}

static gsort_status
feed_chunk(self_job *self, uint32_t rows, uint64_t data_bytes, uint64_t more_bytes)
{
	gsort_column_stats stats[2];
	gsort_chunk chunk = {};

	key_stats_init(&stats[0]);
	key_stats_init(&stats[1]);
	for (uint32_t i = 0; i < rows; i++)
		fill_row(self, i, stats);
	chunk.struct_bytes = sizeof(chunk);
	chunk.rows = rows;
	chunk.data = self->data;
	chunk.data_bytes = data_bytes;
	chunk.more_bytes = more_bytes;
	chunk.row_start = self->row_start;
	chunk.keys = self->keys;
	chunk.nulls = self->wide ? self->nulls : NULL;
	chunk.stats = stats;
	return wait_after(self, gsort_job_append(self->job, &chunk), GSORT_EVENT_APPENDED);
}

static gsort_status
feed_rows(self_job *self)
{
	GSORT_TRY_STATUS(feed_chunk(self, 1, SELF_OUTPUT_BLOCK_BYTES,
								SELF_LONG_BYTES - SELF_OUTPUT_BLOCK_BYTES));
	for (int piece = 1; piece < SELF_LONG_BYTES / SELF_OUTPUT_BLOCK_BYTES; piece++)
		GSORT_TRY_STATUS(feed_chunk(self, 0, SELF_OUTPUT_BLOCK_BYTES, 0));
	while (self->fed < self->rows)
	{
		uint32_t	rows = (uint32_t) gsort_min_u64(self->rows - self->fed, SELF_CHUNK_ROWS);

		GSORT_TRY_STATUS(feed_chunk(self, rows, rows * sizeof(uint64_t), 0));
	}
	return GSORT_OK;
}

static gsort_status
fetch_block(self_job *self, uint64_t block)
{
	return wait_after(self, gsort_job_fetch(self->job, block, self->data, 0), GSORT_EVENT_FETCHED);
}

/* Sorts rows.  The short ones come back as 1, 2, 3 ..., and the long one
 * last. */
static gsort_status
sort_and_check(self_job *self)
{
	const gsort_block *blocks;
	uint64_t	n;
	uint64_t	expected = 1;

	GSORT_TRY_STATUS(gsort_job_reserve(self->job, self->rows,
									   self->rows * sizeof(uint64_t) + SELF_LONG_BYTES));
	GSORT_TRY_STATUS(feed_rows(self));
	GSORT_TRY_STATUS(wait_after(self, gsort_job_finish_run(self->job, GSORT_SORTED),
								GSORT_EVENT_RUN_FINISHED));
	GSORT_TRY_STATUS(gsort_job_blocks(self->job, &blocks, &n));
	for (uint64_t w = 0; w < n; w++)
	{
		int			is_long = (blocks[w].flags &
							   (GSORT_BLOCK_CONTINUED | GSORT_BLOCK_CONTINUES)) != 0;

		GSORT_TRY_STATUS(fetch_block(self, w));
		for (uint32_t r = 0; r < blocks[w].rows && !is_long; r++, expected++)
			if (self->data[r] != expected)
				return fail_self_test(self, "gave a wrong order");
	}
	return expected == self->rows ? GSORT_OK : fail_self_test(self, "lost rows");
}

/* Merges runs.  Rows come in descending order, so the merge order begins with
 * the last run. */
static gsort_status
merge_and_check(self_job *self)
{
	const uint8_t *order = (const uint8_t *) self->data;
	const gsort_block *blocks;
	uint64_t	n;

	for (int run = 0; run < SELF_RUNS; run++)
	{
		GSORT_TRY_STATUS(gsort_job_reserve(self->job, SELF_FEW_ROWS,
										   SELF_FEW_ROWS * sizeof(uint64_t)));
		GSORT_TRY_STATUS(feed_chunk(self, SELF_FEW_ROWS, SELF_FEW_ROWS * sizeof(uint64_t), 0));
		GSORT_TRY_STATUS(wait_after(self, gsort_job_finish_run(self->job, GSORT_SORTED_RUN),
									GSORT_EVENT_RUN_FINISHED));
		GSORT_TRY_STATUS(wait_after(self, gsort_job_next_run(self->job), GSORT_EVENT_RUN_BEGUN));
	}
	GSORT_TRY_STATUS(wait_after(self, gsort_job_merge(self->job), GSORT_EVENT_MERGED));
	GSORT_TRY_STATUS(gsort_job_blocks(self->job, &blocks, &n));
	if (n != 1 || blocks[0].rows != self->rows)
		return fail_self_test(self, "merged wrongly");
	GSORT_TRY_STATUS(fetch_block(self, 0));
	for (uint32_t i = 0; i < self->rows; i++)
		if (order[i] != SELF_RUNS - 1 - i / SELF_FEW_ROWS)
			return fail_self_test(self, "merged wrongly");
	return GSORT_OK;
}

/* Opens a job, does its work and closes it.  A failure of the work takes
 * precedence over one of the close. */
static gsort_status
run_self_job(self_job *self, gsort_engine engine, uint32_t rows, uint32_t columns,
			 gsort_status (*work) (self_job *))
{
	gsort_job_options *options = &self->options;
	gsort_status status;
	gsort_status closed;

	options->struct_bytes = sizeof(*options);
	options->key_columns = columns;
	options->null_mask = self->wide ? (1u << columns) - 1 : 0;
	options->block_bytes = SELF_OUTPUT_BLOCK_BYTES;
	options->flags = GSORT_TIES;
	options->engine = engine;
	self->rows = rows;
	self->fed = 0;
	GSORT_TRY_STATUS(gsort_job_open(self->device, options, &self->job));
	status = work(self);
	gsort_job_close(self->job);
	closed = wait_after(self, GSORT_OK, GSORT_EVENT_CLOSED);
	return status != GSORT_OK ? status : closed;
}

static gsort_status
run_self_jobs(self_job *self)
{
	for (self->wide = 0; self->wide < 2; self->wide++)
	{
		for (int i = GSORT_ENGINE_RADIX; i < GSORT_ENGINES; i++)
		{
			for (uint32_t rows : {SELF_FEW_ROWS, SELF_MANY_ROWS})
				GSORT_TRY_STATUS(run_self_job(self, (gsort_engine) i, rows, 1 + self->wide,
											  sort_and_check));
		}
		GSORT_TRY_STATUS(run_self_job(self, GSORT_ENGINE_AUTO, SELF_RUNS * SELF_FEW_ROWS, 1,
									  merge_and_check));
	}
	return GSORT_OK;
}

gsort_status
cuda_run_self_jobs(gsort_device *device)
{
	self_job   *self = (self_job *) calloc(1, sizeof(self_job));
	gsort_status status;

	if (self == NULL)
		return gsort_fail(device, GSORT_NOMEM, "out of memory");
	self->device = device;
	status = run_self_jobs(self);
	free(self);
	return status;
}
