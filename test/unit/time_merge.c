/*
 * time_merge.c
 *	  Times one merge: runs of one-unit rows with one random 64-bit key, fed,
 *	  finished and left unread.
 */
#include "rig.h"

#include <string.h>
#include <time.h>

#define RUNS			16
#define ROUNDS			3
#define CHUNK_ROWS		RIG_CHUNK_ROWS
#define BLOCK_BYTES	(CHUNK_ROWS * 8)

static int
wait_for(rig *rig, gsort_event_kind kind)
{
	gsort_event event;

	for (;;)
	{
		int			n = gsort_poll(rig->device, &event, 1);

		if (n == 1 && event.status != GSORT_OK)
			return 0;
		if (n == 1 && event.kind == kind)
			return 1;
		if (n == 0)
			nanosleep(&(struct timespec) {.tv_nsec = 50000}, NULL);
	}
}

static int
append_rows(rig *rig, gsort_job *job, uint32_t rows)
{
	rig_buffer *buffer = &rig->buffers[0];
	gsort_column_stats stats = {0, UINT64_MAX, UINT64_MAX, 0, 0};
	gsort_chunk chunk = {
		.rows = rows, .data = buffer->data,
		.data_bytes = (uint64_t) rows * 8, .row_start = buffer->row_start, .keys = buffer->keys,
		.stats = &stats
	};

	for (uint32_t row = 0; row < rows; row++)
	{
		buffer->keys[row] = random64();
		buffer->row_start[row] = row;
	}
	return gsort_job_append(job, &chunk) == GSORT_OK && wait_for(rig, GSORT_EVENT_APPENDED);
}

static int
make_run(rig *rig, gsort_job *job, uint64_t rows)
{
	if (gsort_job_reserve(job, rows, rows * 8) != GSORT_OK)
		return 0;
	while (rows > 0)
	{
		uint32_t	now = (uint32_t) (rows < CHUNK_ROWS ? rows : CHUNK_ROWS);

		if (!append_rows(rig, job, now))
			return 0;
		rows -= now;
	}
	return gsort_job_finish_run(job, GSORT_SORTED_RUN) == GSORT_OK &&
		wait_for(rig, GSORT_EVENT_RUN_FINISHED) && gsort_job_next_run(job) == GSORT_OK &&
		wait_for(rig, GSORT_EVENT_RUN_BEGUN);
}

static int
time_one(rig *rig, gsort_job *job, uint64_t rows)
{
	gsort_job_stats stats;

	for (int run = 0; run < RUNS; run++)
	{
		if (!make_run(rig, job, rows))
			return 0;
	}
	if (gsort_job_merge(job) != GSORT_OK || !wait_for(rig, GSORT_EVENT_MERGED))
		return 0;
	gsort_job_get_stats(job, &stats);
	printf("%d runs of %llu rows: merge %.1f ms on the device, %.2f ns a row\n", RUNS,
		   (unsigned long long) rows, stats.merge_ms, stats.merge_ms * 1e6 / (double) stats.rows);
	return 1;
}

int
time_merge(gsort_kind kind, uint64_t rows)
{
	gsort_job_options options = {
		.key_columns = 1, .block_bytes = BLOCK_BYTES
	};
	int			ok = 1;
	rig			rig;

	if (!rig_open(&rig, kind, 0))
		return 2;
	memset(rig.buffers[0].data, 0, BLOCK_BYTES);
	for (int round = 0; round < ROUNDS && ok; round++)
	{
		gsort_job  *job;

		ok = gsort_job_open(rig.device, &options, &job) == GSORT_OK && time_one(&rig, job, rows);
		if (!ok)
			printf("%s\n", gsort_error_text(rig.device));
		else
		{
			gsort_job_close(job);
			ok = wait_for(&rig, GSORT_EVENT_CLOSED);
		}
	}
	rig_close(&rig);
	return !ok;
}
