/*
 * time_calls.c
 *	  Times each call of gsort.h while several jobs are in progress.  Only
 *	  opening, pinning and shutting may wait, because all sessions wait for the
 *	  time of any other call.
 *
 * Rows of 56 bytes have one random 64-bit key, in chunks that lie ready in
 * pinned memory.  Jobs of different sizes and engines start one after another.
 * One job is thus fed while another is finished, fetched, merged or closed.  The
 * report lists the longest call of each kind, the count, and the number of
 * calls above one millisecond.
 */
#include "rig.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define ROW_UNITS		7
#define BLOCK_BYTES	(1u << 20)
#define CHUNK_ROWS		(BLOCK_BYTES / 8 / ROW_UNITS)
#define CHUNKS			64		/* number of distinct chunks; a job is fed them repeatedly */
#define JOBS			6
#define ROUNDS			3		/* lives of each job */
#define BLOCKS_AHEAD	4

typedef enum call_kind
{
	CALL_JOB_OPEN,
	CALL_RESERVE,
	CALL_APPEND,
	CALL_FINISH,
	CALL_FETCH,
	CALL_NEXT_RUN,
	CALL_MERGE,
	CALL_CLOSE,
	CALL_POLL,
	CALLS
} call_kind;

static const char *const call_names[CALLS] = {
	"job_open", "reservation", "append", "finish", "fetch", "next_run", "merge", "close", "poll"
};

typedef struct call_time
{
	uint64_t	count;
	uint64_t	slow;			/* calls above one millisecond */
	double		longest_ms;
	double		sum_ms;
} call_time;

typedef struct timed_chunk
{
	uint64_t	data[CHUNK_ROWS * ROW_UNITS];
	uint64_t	keys[CHUNK_ROWS];
	uint32_t	row_start[CHUNK_ROWS];
	uint32_t	unused[CHUNK_ROWS % 2];	/* aligns the next member to 8 bytes */
} timed_chunk;

typedef enum job_phase
{
	JOB_NONE,
	JOB_FEEDING,
	JOB_WAITING,				/* for the event that ends a step */
	JOB_FETCHING,
	JOB_CLOSING
} job_phase;

typedef struct timed_job
{
	gsort_job  *job;
	job_phase	phase;
	uint64_t	rows;
	gsort_engine engine;
	int			runs;			/* 1: finished SORTED; more: SORTED_RUN, then merged */
	int			lives;
	int			run;			/* the current run */
	uint64_t	fed;
	uint64_t	next_block;
	uint64_t	blocks_out;
	uint64_t	n_blocks;
	uint64_t   *buffers;
} timed_job;

typedef struct timing
{
	gsort_device *device;
	timed_chunk *chunks;
	timed_job	jobs[JOBS];
	call_time	calls[CALLS];
	int			failed;
} timing;

static double
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

static void
note(timing *t, call_kind kind, double began_ms, gsort_status status)
{
	call_time  *call = &t->calls[kind];
	double		ms = now_ms() - began_ms;

	call->count++;
	call->sum_ms += ms;
	call->slow += ms > 1;
	call->longest_ms = ms > call->longest_ms ? ms : call->longest_ms;
	if (status != GSORT_OK && !t->failed)
	{
		printf("%s: status %d: %s\n", call_names[kind], status, gsort_error_text(t->device));
		t->failed = 1;
	}
}

#define TIMED(t, kind, expression) \
	do \
	{ \
		double		timed_began_ms = now_ms(); \
		gsort_status timed_status = (expression); \
		\
		note((t), (kind), timed_began_ms, timed_status); \
	} while (0)

static void *
pinned_pages(gsort_device *device, size_t bytes)
{
	void	   *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
							 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (pages == MAP_FAILED)
		abort();
	gsort_pin(device, pages, bytes);
	return pages;
}

static void
begin_job(timing *t, int number)
{
	timed_job  *mine = &t->jobs[number];
	gsort_job_options options = {
		.key_columns = 1, .block_bytes = BLOCK_BYTES,
		.flags = number % 2 ? GSORT_TIES : 0, .tag = (uint64_t) number, .engine = mine->engine
	};

	TIMED(t, CALL_JOB_OPEN, gsort_job_open(t->device, &options, &mine->job));
	mine->phase = JOB_FEEDING;
	mine->run = 0;
	mine->fed = 0;
}

/* Appends one chunk, or finishes behind the last one. */
static void
feed_job(timing *t, timed_job *mine)
{
	gsort_column_stats stats = {0, UINT64_MAX, UINT64_MAX, 0, 0};
	const timed_chunk *from = &t->chunks[mine->fed / CHUNK_ROWS % CHUNKS];
	uint64_t	rows = mine->rows - mine->fed < CHUNK_ROWS ? mine->rows - mine->fed : CHUNK_ROWS;
	gsort_chunk chunk = {
		.rows = (uint32_t) rows, .data = from->data,
		.data_bytes = rows * ROW_UNITS * 8, .row_start = from->row_start, .keys = from->keys,
		.stats = &stats
	};

	TIMED(t, CALL_RESERVE, gsort_job_reserve(mine->job, rows, chunk.data_bytes));
	TIMED(t, CALL_APPEND, gsort_job_append(mine->job, &chunk));
	mine->fed += rows;
	if (mine->fed < mine->rows)
		return;
	TIMED(t, CALL_FINISH,
		  gsort_job_finish_run(mine->job, mine->runs > 1 ? GSORT_SORTED_RUN : GSORT_SORTED));
	mine->phase = JOB_WAITING;
}

static void
begin_fetching(timing *t, timed_job *mine)
{
	const gsort_block *blocks;

	t->failed |= gsort_job_blocks(mine->job, &blocks, &mine->n_blocks) != GSORT_OK;
	mine->next_block = 0;
	mine->blocks_out = 0;
	mine->phase = JOB_FETCHING;
}

static void
end_fetching(timing *t, timed_job *mine)
{
	if (mine->runs > 1 && mine->run < mine->runs)
	{
		TIMED(t, CALL_NEXT_RUN, gsort_job_next_run(mine->job));
		mine->run++;
		mine->phase = JOB_WAITING;
		return;
	}
	TIMED(t, CALL_CLOSE, (gsort_job_close(mine->job), GSORT_OK));
	mine->phase = JOB_CLOSING;
}

static void
fetch_block(timing *t, timed_job *mine)
{
	if (mine->next_block < mine->n_blocks && mine->blocks_out < BLOCKS_AHEAD)
	{
		TIMED(t, CALL_FETCH,
			  gsort_job_fetch(mine->job, mine->next_block, mine->buffers + mine->next_block %
							  BLOCKS_AHEAD * (BLOCK_BYTES / 8), mine->next_block));
		mine->next_block++;
		mine->blocks_out++;
	}
	else if (mine->blocks_out == 0)
		end_fetching(t, mine);
}

static void
take_event(timing *t, const gsort_event *event)
{
	timed_job  *mine = &t->jobs[event->job_tag];

	if (event->status != GSORT_OK && !t->failed)
	{
		printf("event %d: status %d: %s\n", event->kind, event->status,
			   gsort_error_text(t->device));
		t->failed = 1;
	}
	switch (event->kind)
	{
		case GSORT_EVENT_APPENDED:
			break;
		case GSORT_EVENT_RUN_FINISHED:
		case GSORT_EVENT_MERGED:
			begin_fetching(t, mine);
			break;
		case GSORT_EVENT_FETCHED:
			mine->blocks_out--;
			break;
		case GSORT_EVENT_RUN_BEGUN:
			mine->fed = 0;
			mine->phase = JOB_FEEDING;
			if (mine->run == mine->runs)
			{
				TIMED(t, CALL_MERGE, gsort_job_merge(mine->job));
				mine->phase = JOB_WAITING;
			}
			break;
		case GSORT_EVENT_CLOSED:
			mine->phase = JOB_NONE;
			mine->lives--;
			break;
	}
}

static void
poll_all(timing *t)
{
	gsort_event events[64];
	int			n;
	double		began_ms = now_ms();

	n = gsort_poll(t->device, events, 64);
	note(t, CALL_POLL, began_ms, GSORT_OK);
	for (int i = 0; i < n; i++)
		take_event(t, &events[i]);
}

/* Advances all jobs by a step; false if all of them have ended. */
static int
step_jobs(timing *t)
{
	int			alive = 0;

	for (int j = 0; j < JOBS; j++)
	{
		timed_job  *mine = &t->jobs[j];

		alive |= mine->lives > 0;
		if (mine->phase == JOB_NONE && mine->lives > 0)
			begin_job(t, j);
		else if (mine->phase == JOB_FEEDING)
			feed_job(t, mine);
		else if (mine->phase == JOB_FETCHING)
			fetch_block(t, mine);
	}
	return alive;
}

static void
make_chunks(timing *t)
{
	t->chunks = pinned_pages(t->device, CHUNKS * sizeof(timed_chunk));
	for (int c = 0; c < CHUNKS; c++)
		for (uint64_t row = 0; row < CHUNK_ROWS; row++)
		{
			timed_chunk *chunk = &t->chunks[c];

			chunk->keys[row] = random64();
			chunk->row_start[row] = (uint32_t) (row * ROW_UNITS);
			for (uint64_t unit = 0; unit < ROW_UNITS; unit++)
				chunk->data[row * ROW_UNITS + unit] = chunk->keys[row];
		}
}

static void
describe_jobs(timing *t, uint64_t rows)
{
	for (int j = 0; j < JOBS; j++)
	{
		timed_job  *mine = &t->jobs[j];

		mine->rows = rows >> j;
		if (mine->rows == 0)
			mine->rows = 1;
		mine->engine = (gsort_engine) (j % GSORT_ENGINES);
		mine->runs = j % 3 == 2 ? 3 : 1;
		mine->lives = ROUNDS;
		mine->buffers = pinned_pages(t->device, BLOCKS_AHEAD * (size_t) BLOCK_BYTES);
	}
}

static void
tell(const timing *t)
{
	for (int kind = 0; kind < CALLS; kind++)
	{
		const call_time *call = &t->calls[kind];

		printf("%-9s %8llu calls, longest %8.3f ms, mean %7.4f ms, %llu over 1 ms\n",
			   call_names[kind], (unsigned long long) call->count, call->longest_ms,
			   call->count > 0 ? call->sum_ms / (double) call->count : 0,
			   (unsigned long long) call->slow);
	}
}

/* After the last job: the pool returns its memory step by step. */
static void
poll_for_a_while(timing *t)
{
	double		until_ms = now_ms() + 1000;

	while (now_ms() < until_ms)
		poll_all(t);
}

int
time_calls(gsort_kind kind, uint64_t rows)
{
	gsort_device_options options = {.kind = kind};
	timing		t;
	char		reason[256];
	double		began_ms = now_ms();

	memset(&t, 0, sizeof(t));
	if (gsort_open(&options, &t.device, reason, sizeof(reason)) != GSORT_OK)
	{
		printf("no device: %s\n", reason);
		return 2;
	}
	printf("open %.1f ms\n", now_ms() - began_ms);
	make_chunks(&t);
	describe_jobs(&t, rows);
	while (!t.failed && step_jobs(&t))
		poll_all(&t);
	tell(&t);
	memset(t.calls, 0, sizeof(t.calls));
	poll_for_a_while(&t);
	printf("idle: poll longest %.3f ms\n", t.calls[CALL_POLL].longest_ms);
	began_ms = now_ms();
	gsort_shut(t.device);
	printf("shut %.1f ms\n", now_ms() - began_ms);
	return t.failed;
}
