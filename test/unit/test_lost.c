/*
 * test_lost.c
 *	  A device that is lost during work: every operation still ends with an
 *	  event, every later call returns DEVICE_LOST, and the shutdown returns.
 *
 * test_lost breaks the CUDA device in a separate process, because the context
 * is dead afterwards. test_lost_at uses gsort_set_fail_at to lose any device at
 * each call in turn, which leaves the process intact.
 */
#include "rig.h"

#include <poll.h>
#include <string.h>

#include "device_memory.h"

#define CHUNKS			4
#define CHUNK_ROWS		64
#define CHUNK_BYTES		4096
#define POLLS_MAX		50
#define RUNS			2

typedef struct counts
{
	int			events[GSORT_EVENT_CLOSED + 1];
	int			lost[GSORT_EVENT_CLOSED + 1];
} counts;

static gsort_status
append_chunk(rig_buffer *buffer, gsort_job *job)
{
	gsort_column_stats stats = {0, CHUNK_ROWS - 1, CHUNK_ROWS - 1, 0, 0};
	gsort_chunk chunk = {
		.rows = CHUNK_ROWS, .data = buffer->data,
		.data_bytes = CHUNK_BYTES, .row_start = buffer->row_start, .keys = buffer->keys,
		.stats = &stats
	};

	for (uint32_t row = 0; row < CHUNK_ROWS; row++)
	{
		buffer->row_start[row] = row * (CHUNK_BYTES / CHUNK_ROWS / 8);
		buffer->keys[row] = CHUNK_ROWS - 1 - row;
	}
	return gsort_job_append(job, &chunk);
}

static void
append_chunks(rig *rig, gsort_job *job, int first_buffer)
{
	for (int i = 0; i < CHUNKS; i++)
		CHECK(append_chunk(&rig->buffers[first_buffer + i], job) == GSORT_OK);
}

static gsort_job *
open_fed_job(rig *rig, int first_buffer)
{
	gsort_job_options options = {
		.key_columns = 1, .block_bytes = 65536
	};
	gsort_job  *job = NULL;

	CHECK(gsort_job_open(rig->device, &options, &job) == GSORT_OK);
	CHECK(gsort_job_reserve(job, CHUNKS * CHUNK_ROWS, CHUNKS * CHUNK_BYTES) == GSORT_OK);
	append_chunks(rig, job, first_buffer);
	return job;
}

/* Polls like a caller who knows that the descriptor may stay silent. */
static void
take_events(rig *rig, counts *c, gsort_event_kind kind, int wanted)
{
	struct pollfd readable = {gsort_fd(rig->device), POLLIN, 0};

	for (int i = 0; i < POLLS_MAX && c->events[kind] < wanted; i++)
	{
		gsort_event event;

		poll(&readable, 1, 100);
		while (gsort_poll(rig->device, &event, 1) == 1)
		{
			c->events[event.kind]++;
			c->lost[event.kind] += event.status == GSORT_DEVICE_LOST;
		}
	}
	CHECK(c->events[kind] == wanted);
}

static void
check_refusals(rig *rig, gsort_job *job)
{
	gsort_job_options options = {
		.key_columns = 1, .block_bytes = 65536
	};
	gsort_job  *other;

	CHECK(gsort_job_open(rig->device, &options, &other) == GSORT_DEVICE_LOST);
	CHECK(gsort_job_reserve(job, 1, 8) == GSORT_DEVICE_LOST);
	CHECK(gsort_job_finish_run(job, GSORT_SORTED) == GSORT_DEVICE_LOST);
	CHECK(strlen(gsort_error_text(rig->device)) > 0);
}

int
test_lost(gsort_kind kind)
{
	counts		c = {{0}, {0}};
	gsort_job  *feeding;
	gsort_job  *finishing;
	rig			rig;

	current_test = "lost device";
	if (!rig_open(&rig, kind, 0))
		return 2;
	finishing = open_fed_job(&rig, 0);
	feeding = open_fed_job(&rig, CHUNKS);
	device_break();
	/* any of the calls may meet the error first */
	CHECK(gsort_job_finish_run(finishing, GSORT_SORTED) == GSORT_DEVICE_LOST);
	take_events(&rig, &c, GSORT_EVENT_APPENDED, 2 * CHUNKS);
	check_refusals(&rig, feeding);
	gsort_job_close(feeding);
	gsort_job_close(finishing);
	take_events(&rig, &c, GSORT_EVENT_CLOSED, 2);
	CHECK(c.lost[GSORT_EVENT_CLOSED] == 2);
	printf("%s\n", gsort_error_text(rig.device));
	rig_close(&rig);
	printf("%d passed, %d failed\n", checks_passed, checks_failed);
	return checks_failed > 0;
}

/* --- a loss at each call in turn ------------------------------------------ */

/* A job that continues as long as its device does. */
typedef struct lost_run
{
	rig			rig;
	gsort_job  *job;
	int			under_way;		/* operations with outstanding events */
	int			lost;			/* a call or an event has reported the loss */
} lost_run;

/* True if the call was accepted.  A lost device accepts none. */
static int
accepted(lost_run *run, gsort_status status)
{
	CHECK(status == GSORT_OK || status == GSORT_DEVICE_LOST);
	CHECK(!run->lost || status == GSORT_DEVICE_LOST);
	run->lost |= status == GSORT_DEVICE_LOST;
	return status == GSORT_OK;
}

/* Every operation ends with an event, whatever happens to the device. */
static void
take_all_events(lost_run *run)
{
	struct pollfd readable = {gsort_fd(run->rig.device), POLLIN, 0};

	for (int i = 0; i < POLLS_MAX && run->under_way > 0; i++)
	{
		gsort_event event;

		poll(&readable, 1, 100);
		while (gsort_poll(run->rig.device, &event, 1) == 1)
		{
			run->under_way--;
			accepted(run, event.status);
		}
	}
	CHECK(run->under_way == 0);
}

static void
feed_and_finish(lost_run *run, gsort_finish_how how)
{
	if (accepted(run, gsort_job_reserve(run->job, CHUNKS * CHUNK_ROWS, CHUNKS * CHUNK_BYTES)))
		for (int i = 0; i < CHUNKS; i++)
			run->under_way += accepted(run, append_chunk(&run->rig.buffers[i], run->job));
	run->under_way += accepted(run, gsort_job_finish_run(run->job, how));
	take_all_events(run);
}

static void
fetch_all(lost_run *run)
{
	const gsort_block *blocks;
	uint64_t	n;

	if (!CHECK(gsort_job_blocks(run->job, &blocks, &n) == GSORT_OK))
		return;
	for (uint64_t i = 0; i < n; i++)
	{
		run->under_way += accepted(run, gsort_job_fetch(run->job, i, run->rig.buffers[i].data, i));
		take_all_events(run);
	}
}

static void
live_alone(lost_run *run)
{
	feed_and_finish(run, GSORT_SORTED);
	if (!run->lost)
		fetch_all(run);
}

static void
live_in_runs(lost_run *run)
{
	for (int i = 0; i < RUNS && !run->lost; i++)
	{
		feed_and_finish(run, GSORT_SORTED_RUN);
		if (!run->lost)
			fetch_all(run);
		run->under_way += accepted(run, gsort_job_next_run(run->job));
		take_all_events(run);
	}
	run->under_way += accepted(run, gsort_job_merge(run->job));
	take_all_events(run);
	if (!run->lost)
		fetch_all(run);
}

static void
run_job(lost_run *run, void (*live) (lost_run *run))
{
	gsort_job_options options = {
		.key_columns = 1, .block_bytes = CHUNK_BYTES
	};

	if (!accepted(run, gsort_job_open(run->rig.device, &options, &run->job)))
		return;
	live(run);
	gsort_job_close(run->job);
	run->under_way++;
	take_all_events(run);
}

/* Loses the device at the n-th call.  Returns the number of calls. */
static uint64_t
lose_at(gsort_kind kind, uint64_t n, void (*live) (lost_run *run))
{
	lost_run	run = {.under_way = 0};
	gsort_device_info info;

	if (!CHECK(rig_open(&run.rig, kind, 0)))
		return 0;
	gsort_set_fail_at(run.rig.device, n, GSORT_FAIL_CALLS);
	run_job(&run, live);
	gsort_device_get_info(run.rig.device, &info);
	CHECK(info.fail_at == n);
	CHECK(info.lost == (info.fail_count >= n));
	/* a failure after the last event shows in the next call */
	CHECK(info.lost >= run.lost);
	if (!info.lost)
	{
		/* arms the failure again, with the same device */
		gsort_set_fail_at(run.rig.device, 1, GSORT_FAIL_CALLS);
		run_job(&run, live);
		CHECK(run.lost);
	}
	rig_close(&run.rig);
	return info.fail_count;
}

/* Opens one device per call; calls: the minimum number of calls. */
static void
lose_at_each(gsort_kind kind, uint64_t calls, void (*live) (lost_run *run))
{
	uint64_t	n = lose_at(kind, UINT64_MAX, live);
	sweep		sweep;

	CHECK(n >= calls);
	sweep_begin(&sweep, n);
	while ((n = sweep_next(&sweep)) != 0)
		CHECK(lose_at(kind, n, live) >= n);
	sweep_end(&sweep);
}

void
test_lost_at(gsort_kind kind)
{
	current_test = "a device lost at each call";
	/* the calls of the job itself: open, reservation, appends, finish, blocks,
	 * their ends, close */
	lose_at_each(kind, 1 + 1 + 2 * (2 * CHUNKS + 1) + 1, live_alone);
	current_test = "a device lost at each call of several runs";
	lose_at_each(kind, 1 + RUNS * (1 + 2 * (2 * CHUNKS + 2)) + 2 * 2 + 1, live_in_runs);
}
