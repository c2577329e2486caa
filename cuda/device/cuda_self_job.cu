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

#define SELF_FEW_ROWS		64
#define SELF_MANY_ROWS		32768
#define SELF_BLOCK_BYTES	(SELF_MANY_ROWS * sizeof(uint64_t))
#define SELF_COLUMNS_MAX	2
#define SELF_RUNS			3
#define SELF_WAIT_SECONDS	60

typedef struct self_job
{
	gsort_device *device;
	gsort_job  *job;
	int			wide;			/* nullable columns of more than 32 significant bits */
	uint32_t	columns;		/* two wide ones make several words */
	uint32_t	rows;			/* in each run */
	uint64_t	keys[SELF_COLUMNS_MAX * SELF_MANY_ROWS];
	uint32_t	nulls[SELF_MANY_ROWS];
	uint32_t	row_start[SELF_MANY_ROWS];
	uint64_t	data[SELF_MANY_ROWS];
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

/* Feeds a run's rows, the greatest first.  Each row is its value. */
static gsort_status
feed_run(self_job *self, uint64_t greatest)
{
	gsort_column_stats stats[SELF_COLUMNS_MAX];
	gsort_chunk chunk = {};

	key_stats_init(&stats[0]);
	for (uint32_t i = 0; i < self->rows; i++)
	{
		uint64_t	value = greatest - i;
		/* all bits of a wide column vary: the complement swaps only the low
		 * ones */
		uint64_t	key = self->wide ? value << 40 ^ (value & 1 ? UINT64_MAX >> 24 : 0) : value;
		gsort_column_stats row = {key, key, key, key, 0};

		key_stats_fold(&stats[0], &row);
		self->row_start[i] = i;
		self->data[i] = value;
		for (uint32_t c = 0; c < self->columns; c++)
			self->keys[i * self->columns + c] = key;
	}
	stats[1] = stats[0];
	chunk.rows = self->rows;
	chunk.data = self->data;
	chunk.data_bytes = self->rows * sizeof(uint64_t);
	chunk.row_start = self->row_start;
	chunk.keys = self->keys;
	chunk.nulls = self->nulls;
	chunk.stats = stats;
	GSORT_TRY_STATUS(gsort_job_reserve(self->job, chunk.rows, chunk.data_bytes));
	return wait_after(self, gsort_job_append(self->job, &chunk), GSORT_EVENT_APPENDED);
}

static gsort_status
fetch_block(self_job *self, uint64_t block)
{
	return wait_after(self, gsort_job_fetch(self->job, block, self->data, 0), GSORT_EVENT_FETCHED);
}

/* Sorts a run, which comes back with the greatest row last. */
static gsort_status
sort_run_and_check(self_job *self, uint64_t greatest)
{
	const gsort_block *blocks;
	uint64_t	value = greatest - self->rows;
	uint64_t	n;

	GSORT_TRY_STATUS(feed_run(self, greatest));
	GSORT_TRY_STATUS(wait_after(self, gsort_job_finish_run(self->job, GSORT_SORTED_RUN),
								GSORT_EVENT_RUN_FINISHED));
	GSORT_TRY_STATUS(gsort_job_blocks(self->job, &blocks, &n));
	for (uint64_t b = 0; b < n; b++)
	{
		GSORT_TRY_STATUS(fetch_block(self, b));
		for (uint32_t r = 0; r < blocks[b].rows; r++)
			if (self->data[r] != ++value)
				return fail_self_test(self, "gave a wrong order");
	}
	if (value != greatest)
		return fail_self_test(self, "lost rows");
	return wait_after(self, gsort_job_next_run(self->job), GSORT_EVENT_RUN_BEGUN);
}

/* Merges the runs.  The merge order begins with the last one, which has the
 * least rows. */
static gsort_status
merge_and_check(self_job *self)
{
	const uint8_t *order = (const uint8_t *) self->data;

	GSORT_TRY_STATUS(wait_after(self, gsort_job_merge(self->job), GSORT_EVENT_MERGED));
	GSORT_TRY_STATUS(fetch_block(self, 0));
	for (uint32_t i = 0; i < SELF_RUNS * self->rows; i++)
		if (order[i] != SELF_RUNS - 1 - i / self->rows)
			return fail_self_test(self, "merged wrongly");
	return GSORT_OK;
}

static gsort_status
sort_runs_and_check(self_job *self, uint32_t runs)
{
	for (uint32_t run = runs; run > 0; run--)
		GSORT_TRY_STATUS(sort_run_and_check(self, run * self->rows));
	return runs == SELF_RUNS ? merge_and_check(self) : GSORT_OK;
}

/* Opens a job, does its work and closes it.  A failure of the work takes
 * precedence over one of the close. */
static gsort_status
run_self_job(self_job *self, gsort_engine engine, uint32_t rows, uint32_t columns, uint32_t runs)
{
	gsort_job_options options = {};
	gsort_status status;
	gsort_status closed;

	options.key_columns = self->columns = columns;
	options.null_mask = self->wide ? (1u << columns) - 1 : 0;
	options.block_bytes = SELF_BLOCK_BYTES;
	options.flags = GSORT_TIES;
	options.engine = engine;
	self->rows = rows;
	GSORT_TRY_STATUS(gsort_job_open(self->device, &options, &self->job));
	status = sort_runs_and_check(self, runs);
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
				GSORT_TRY_STATUS(run_self_job(self, (gsort_engine) i, rows, 1 + self->wide, 1));
		}
		GSORT_TRY_STATUS(run_self_job(self, GSORT_ENGINE_AUTO, SELF_FEW_ROWS, 1, SELF_RUNS));
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
