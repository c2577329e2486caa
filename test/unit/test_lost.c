/*
 * test_lost.c
 *	  A device that is lost under work: every operation still ends with an event,
 *	  every later call answers DEVICE_LOST, and shutting returns.
 *
 * Runs in a process of its own: the CUDA context is dead after it.
 */
#include "rig.h"

#include <poll.h>
#include <string.h>

#include "device_memory.h"

#define CHUNKS			4
#define CHUNK_ROWS		64
#define CHUNK_BYTES		4096
#define POLLS_MAX		50

typedef struct counts
{
	int			events[GSORT_EVENT_CLOSED + 1];
	int			lost[GSORT_EVENT_CLOSED + 1];
} counts;

static void
append_chunks(rig *rig, gsort_job *job, int first_buffer)
{
	gsort_column_stats stats = {0, CHUNK_ROWS - 1, CHUNK_ROWS - 1, 0, 0};

	for (int i = 0; i < CHUNKS; i++)
	{
		rig_buffer *buffer = &rig->buffers[first_buffer + i];
		gsort_chunk chunk = {
			.struct_bytes = sizeof(chunk), .rows = CHUNK_ROWS, .data = buffer->data,
			.data_bytes = CHUNK_BYTES, .row_start = buffer->row_start, .keys = buffer->keys,
			.stats = &stats
		};

		for (uint32_t row = 0; row < CHUNK_ROWS; row++)
		{
			buffer->row_start[row] = row * (CHUNK_BYTES / CHUNK_ROWS / 8);
			buffer->keys[row] = CHUNK_ROWS - 1 - row;
		}
		CHECK(gsort_job_append(job, &chunk) == GSORT_OK);
	}
}

static gsort_job *
open_fed_job(rig *rig, int first_buffer)
{
	gsort_job_options options = {
		.struct_bytes = sizeof(options), .key_columns = 1, .window_bytes = 65536
	};
	gsort_job  *job = NULL;

	CHECK(gsort_job_open(rig->device, &options, &job) == GSORT_OK);
	CHECK(gsort_job_grant(job, CHUNKS * CHUNK_ROWS, CHUNKS * CHUNK_BYTES) == GSORT_OK);
	append_chunks(rig, job, first_buffer);
	return job;
}

/* As a caller does who knows that the descriptor may stay silent. */
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
		.struct_bytes = sizeof(options), .key_columns = 1, .window_bytes = 65536
	};
	gsort_job  *other;

	CHECK(gsort_job_open(rig->device, &options, &other) == GSORT_DEVICE_LOST);
	CHECK(gsort_job_grant(job, 1, 8) == GSORT_DEVICE_LOST);
	CHECK(gsort_job_cut(job, GSORT_SORTED) == GSORT_DEVICE_LOST);
	CHECK(strlen(gsort_error_text(rig->device)) > 0);
}

int
test_lost(gsort_kind kind)
{
	counts		c = {{0}, {0}};
	gsort_job  *feeding;
	gsort_job  *cutting;
	rig			rig;

	current_test = "lost device";
	if (!rig_open(&rig, kind, 0, 0))
		return 2;
	cutting = open_fed_job(&rig, 0);
	feeding = open_fed_job(&rig, CHUNKS);
	device_break();
	/* whichever call meets the error first */
	CHECK(gsort_job_cut(cutting, GSORT_SORTED) == GSORT_DEVICE_LOST);
	take_events(&rig, &c, GSORT_EVENT_APPENDED, 2 * CHUNKS);
	check_refusals(&rig, feeding);
	gsort_job_close(feeding);
	gsort_job_close(cutting);
	take_events(&rig, &c, GSORT_EVENT_CLOSED, 2);
	CHECK(c.lost[GSORT_EVENT_CLOSED] == 2);
	printf("%s\n", gsort_error_text(rig.device));
	rig_close(&rig);
	printf("%d passed, %d failed\n", checks_passed, checks_failed);
	return checks_failed > 0;
}
