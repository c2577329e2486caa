/*
 * fake_test.c
 *	  The host side of the CUDA device, on the fake runtime.  Whichever call is
 *	  refused, no memory is freed or returned while work on it is in progress,
 *	  the device goes on, and forbidden waits do not occur.
 *
 *	  fake_test [SEED]
 *
 * Kernels have no effect, so a sorted run has no blocks of its own; simulated
 * blocks have their bytes.
 */
#include "rig.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fake_cuda.h"
#include "device/arena.cuh"

#define CHUNKS			4
#define CHUNK_ROWS		64
#define CHUNK_BYTES		4096
/* keys of several words: enough rows for a sort by the first word */
#define WORDS_CHUNK_ROWS	1024
#define WORDS_CHUNK_BYTES	8192
#define RUNS			2
#define POLLS_MAX		10000
#define REFUSED_FOR_GOOD	1000000

/* Replaces the self-test jobs at opening, which check the kernels' effect. */
gsort_status cuda_run_self_jobs(gsort_device *device) __asm__(
	"_Z18cuda_run_self_jobsP12gsort_device");

gsort_status
cuda_run_self_jobs(gsort_device *device)
{
	(void) device;
	return GSORT_OK;
}

/* --- one job, whatever is refused ----------------------------------------- */

typedef struct life
{
	rig			rig;
	gsort_job  *job;
	uint64_t	events[GSORT_EVENT_CLOSED + 1];
	gsort_status last[GSORT_EVENT_CLOSED + 1];
	int			refused;		/* steps that ended with NOMEM */
	uint32_t	columns;
	uint32_t	chunk_rows;
	uint32_t	chunk_bytes;
	uint64_t	idle_bytes;		/* device memory without the job */
} life;

/* True if the call has taken the error that CUDA gave it.  Checked after each
 * call. */
static int
accepted(life *l, gsort_status status)
{
	CHECK(fake_left_error() == 0);
	CHECK(status == GSORT_OK || status == GSORT_NOMEM);
	l->refused += status == GSORT_NOMEM;
	return status == GSORT_OK;
}

static void
poll_until(life *l, gsort_event_kind kind, uint64_t wanted)
{
	struct pollfd readable = {gsort_fd(l->rig.device), POLLIN, 0};
	gsort_event event;

	for (int i = 0; i < POLLS_MAX && l->events[kind] < wanted; i++)
	{
		while (gsort_poll(l->rig.device, &event, 1) == 1)
		{
			l->events[event.kind]++;
			l->last[event.kind] = event.status;
			accepted(l, event.status);
		}
		CHECK(fake_left_error() == 0);
		if (l->events[kind] < wanted)
			(void) poll(&readable, 1, -1);
	}
	CHECK(l->events[kind] == wanted);
}

static gsort_status
append_chunk(life *l, int i)
{
	rig_buffer *buffer = &l->rig.buffers[i];
	/* with several columns the statistics claim any value, which makes several
	 * words */
	gsort_column_stats any = {0, UINT64_MAX, UINT64_MAX, 0, 0};
	gsort_column_stats stats[2] = {{0, l->chunk_rows - 1, l->chunk_rows - 1, 0, 0}, any};
	gsort_chunk chunk = {
		.rows = l->chunk_rows, .data = buffer->data,
		.data_bytes = l->chunk_bytes, .row_start = buffer->row_start, .keys = buffer->keys,
		.stats = stats
	};

	if (l->columns > 1)
		stats[0] = any;
	for (uint32_t row = 0; row < l->chunk_rows; row++)
	{
		buffer->row_start[row] = row * (l->chunk_bytes / l->chunk_rows / 8);
		buffer->keys[row * l->columns] = l->chunk_rows - 1 - row;
		buffer->keys[row * l->columns + l->columns - 1] = l->chunk_rows - 1 - row;
		buffer->data[row * (l->chunk_bytes / l->chunk_rows / 8)] =
			(uint64_t) (i * (int) l->chunk_rows) + row;
	}
	return gsort_job_append(l->job, &chunk);
}

/* False: the reservation or a chunk was refused for good. */
static int
feed(life *l)
{
	uint64_t	before = l->events[GSORT_EVENT_APPENDED];
	uint64_t	sent = 0;

	if (!accepted(l, gsort_job_reserve(l->job, CHUNKS * (uint64_t) l->chunk_rows,
									   CHUNKS * (uint64_t) l->chunk_bytes)) &&
		!accepted(l, gsort_job_reserve(l->job, CHUNKS * (uint64_t) l->chunk_rows,
									   CHUNKS * (uint64_t) l->chunk_bytes)))
		return 0;
	for (int i = 0; i < CHUNKS; i++)
	{
		if (accepted(l, append_chunk(l, i)))
			sent++;
		else
		{
			/* the caller owns the buffers again */
			CHECK(!fake_is_in_use(l->rig.buffers[i].data, l->chunk_bytes));
			CHECK(!fake_is_in_use(l->rig.buffers[i].keys,
								  l->chunk_rows * l->columns * sizeof(uint64_t)));
		}
	}
	poll_until(l, GSORT_EVENT_APPENDED, before + sent);
	return sent == CHUNKS;
}

static int
finish(life *l, gsort_finish_how how)
{
	uint64_t	before = l->events[GSORT_EVENT_RUN_FINISHED];

	if (!accepted(l, gsort_job_finish_run(l->job, how)))
		return 0;
	poll_until(l, GSORT_EVENT_RUN_FINISHED, before + 1);
	return l->last[GSORT_EVENT_RUN_FINISHED] == GSORT_OK;
}

/* The simulated header of a sorted run: one block holds all of it. */
static run_header one_block = {.n_begins = 1};

static uint64_t
used_bytes(life *l)
{
	gsort_device_info info;

	gsort_device_get_info(l->rig.device, &info);
	CHECK(!info.lost);
	return info.used_bytes;
}

static uint64_t
reserved_bytes(life *l)
{
	gsort_job_stats stats;

	gsort_job_get_stats(l->job, &stats);
	return stats.reserved_bytes;
}

/* Sorted, and fetched through another buffer.  What the sort alone needed has
 * been freed. */
static void
finish_and_fetch(life *l)
{
	rig_buffer *buffer = &l->rig.buffers[CHUNKS];
	const gsort_block *blocks;
	uint64_t	n;

	if (fake.answer_bytes == 0)
		fake.answer = &one_block;
	fake.answer_bytes = sizeof(run_header);
	if (!finish(l, GSORT_SORTED) && !finish(l, GSORT_SORTED))
	{
		fake.answer_bytes = 0;
		return;
	}
	fake.answer_bytes = 0;
	CHECK(reserved_bytes(l) == used_bytes(l) - l->idle_bytes);
	CHECK(gsort_job_blocks(l->job, &blocks, &n) == GSORT_OK && n == 1);
	for (uint64_t w = 0; w < n; w++)
	{
		uint64_t	before = l->events[GSORT_EVENT_FETCHED];

		if (!accepted(l, gsort_job_fetch(l->job, w, buffer->data, w)))
		{
			CHECK(!fake_is_in_use(buffer->data, blocks[w].bytes));
			continue;
		}
		poll_until(l, GSORT_EVENT_FETCHED, before + 1);
	}
}

static void
live_alone(life *l)
{
	if (feed(l))
		finish_and_fetch(l);
}

static void
live_in_runs(life *l)
{
	for (uint64_t run = 1; run <= RUNS; run++)
	{
		if (!feed(l) || !finish(l, GSORT_SORTED_RUN))
			return;
		if (!accepted(l, gsort_job_next_run(l->job)))
			return;
		poll_until(l, GSORT_EVENT_RUN_BEGUN, run);
		CHECK(l->last[GSORT_EVENT_RUN_BEGUN] == GSORT_OK);
	}
	for (uint64_t try = 1; try <= 2; try++)
	{
		gsort_status status = gsort_job_merge(l->job);

		if (status == GSORT_UNSUPPORTED || !accepted(l, status))	/* the keys are not retained */
			return;
		poll_until(l, GSORT_EVENT_MERGED, try);
		if (l->last[GSORT_EVENT_MERGED] == GSORT_OK)
		{
			rig_buffer *buffer = &l->rig.buffers[CHUNKS];

			if (accepted(l, gsort_job_fetch(l->job, 0, buffer->data, 0)))
				poll_until(l, GSORT_EVENT_FETCHED, 1);
			return;
		}
	}
}

/* Closed while everything is in progress. */
static void
live_shortly(life *l)
{
	if (accepted(l, gsort_job_reserve(l->job, CHUNKS * (uint64_t) l->chunk_rows,
									  CHUNKS * (uint64_t) l->chunk_bytes)))
		for (int i = 0; i < CHUNKS; i++)
			accepted(l, append_chunk(l, i));
	accepted(l, gsort_job_finish_run(l->job, GSORT_SORTED));
}

static run_header tied_header = {.n_begins = 1, .tied = 100, .segments = 30};

/* Keys of two words; the simulated header reports rows tied by the first. */
static void
live_with_words(life *l)
{
	fake.answer = &tied_header;
	fake.answer_bytes = sizeof(tied_header);
	live_alone(l);
	fake.answer_bytes = 0;
}

static void
run_job(life *l, void (*live) (life *l))
{
	int			has_words = live == live_with_words;
	gsort_job_options options = {
		.key_columns = has_words ? 2 : 1, .block_bytes = 2 *
			CHUNKS * (has_words ? WORDS_CHUNK_BYTES : CHUNK_BYTES), .flags = GSORT_TIES
	};

	l->columns = options.key_columns;
	l->chunk_rows = has_words ? WORDS_CHUNK_ROWS : CHUNK_ROWS;
	l->chunk_bytes = has_words ? WORDS_CHUNK_BYTES : CHUNK_BYTES;
	memset(l->events, 0, sizeof(l->events));
	l->idle_bytes = used_bytes(l);
	if (!accepted(l, gsort_job_open(l->rig.device, &options, &l->job)))
		return;
	live(l);
	gsort_job_close(l->job);
	poll_until(l, GSORT_EVENT_CLOSED, 1);
}

/* --- what is refused ------------------------------------------------------ */

/* Refuses each call in turn, once or from there on. */
static void
test_refused(void (*live) (life *l), uint64_t refused_for, int must_refuse)
{
	life		l = {.refused = 0};
	uint64_t	idle_bytes;
	uint64_t	idle_arrays;
	uint64_t	n = 0;

	if (!CHECK(rig_open(&l.rig, GSORT_KIND_CUDA, 0)))
		return;
	idle_bytes = used_bytes(&l);
	idle_arrays = fake.allocated;
	do
	{
		n++;
		fake.calls = 0;
		fake.refuse_at = n;
		fake.refuse_for = refused_for;
		run_job(&l, live);
		fake.refuse_at = 0;
		CHECK(used_bytes(&l) == idle_bytes);
		CHECK(fake.allocated == idle_arrays);
		CHECK(fake.freed_in_use == 0);
		/* as without a refusal */
		run_job(&l, live_alone);
	} while (fake.calls >= n && n < 1000 && checks_failed == 0);
	CHECK(l.refused > 0 || !must_refuse);
	CHECK(n > 20);
	printf("%s: %llu calls\n", current_test, (unsigned long long) n);
	rig_close(&l.rig);
}

/* The same by gsort_set_fail_at.  A job that does not fail returns its
 * memory. */
static void
test_fail_at(void (*live) (life *l), uint32_t kinds, const char *what)
{
	life		l = {.refused = 0};
	uint64_t	idle_bytes;
	uint64_t	n = 0;
	gsort_device_info info;

	current_test = what;
	if (!CHECK(rig_open(&l.rig, GSORT_KIND_CUDA, 0)))
		return;
	idle_bytes = used_bytes(&l);
	do
	{
		gsort_set_fail_at(l.rig.device, ++n, kinds);
		run_job(&l, live);
		gsort_device_get_info(l.rig.device, &info);
		gsort_set_fail_at(l.rig.device, 0, 0);
		CHECK(used_bytes(&l) == idle_bytes);
		CHECK(fake.freed_in_use == 0);
	} while (info.fail_count >= n && checks_failed == 0);
	CHECK(n > 5);
	CHECK(l.refused > 0);
	printf("%s: %llu points\n", what, (unsigned long long) n);
	rig_close(&l.rig);
}

/* --- what waits ----------------------------------------------------------- */

static void
test_nothing_waits(void)
{
	life		l = {.refused = 0};
	uint64_t	before;
	uint64_t	launches;

	current_test = "nothing but open, pin and shut waits";
	if (!CHECK(rig_open(&l.rig, GSORT_KIND_CUDA, 0)))
		return;
	CHECK(fake.loads_eagerly);
	before = fake.blocking_calls;
	run_job(&l, live_alone);
	run_job(&l, live_in_runs);
	run_job(&l, live_shortly);
	fake.launches = 0;
	run_job(&l, live_with_words);
	launches = fake.launches;
	tied_header.tied = 0;
	fake.launches = 0;
	run_job(&l, live_with_words);
	tied_header.tied = 100;
	CHECK(launches > fake.launches + 5);
	CHECK(fake.blocking_calls == before);
	CHECK(l.refused == 0);
	rig_close(&l.rig);
}

/* Opening runs in a thread, beside others that may read the environment. */
static void
test_environment(void)
{
	rig			rig;

	current_test = "opening leaves the environment alone";
	CHECK(setenv("CUDA_MODULE_LOADING", "LAZY", 1) == 0);
	if (CHECK(rig_open(&rig, GSORT_KIND_CUDA, 0)))
		rig_close(&rig);
	CHECK(strcmp(getenv("CUDA_MODULE_LOADING"), "LAZY") == 0);
}

/* Nothing waits for CUDA's threads once the device is lost. */
static void
test_shut_when_lost(void)
{
	gsort_job_options options = {.key_columns = 1, .block_bytes = CHUNK_BYTES};
	life		l = {.columns = 1, .chunk_rows = CHUNK_ROWS, .chunk_bytes = CHUNK_BYTES};
	uint64_t	wakes;
	int			fd;

	current_test = "a lost device that is shut leaves what CUDA's threads still touch";
	if (!CHECK(rig_open(&l.rig, GSORT_KIND_CUDA, 0)))
		return;
	fd = gsort_fd(l.rig.device);
	CHECK(gsort_job_open(l.rig.device, &options, &l.job) == GSORT_OK);
	CHECK(gsort_job_reserve(l.job, CHUNK_ROWS, CHUNK_BYTES) == GSORT_OK);
	CHECK(append_chunk(&l, 0) == GSORT_OK);
	fake.lost = 1;
	rig_close(&l.rig);
	if (CHECK(read(fd, &wakes, sizeof(wakes)) < 0 && errno == EAGAIN))
	{
		fake_finish_all();
		CHECK(read(fd, &wakes, sizeof(wakes)) == sizeof(wakes));
		close(fd);
	}
	fake.lost = 0;
}

/* The pool returns its memory step by step, while no work is in progress. */
static void
test_trim(void)
{
	life		l = {.refused = 0};
	uint64_t	before;

	current_test = "memory goes back bit by bit";
	if (!CHECK(rig_open(&l.rig, GSORT_KIND_CUDA, 0)))
		return;
	before = fake.blocking_calls;
	fake.reserved_bytes = 7ull << 30;
	fake.most_trimmed = 0;
	fake.trims_of_busy = 0;
	run_job(&l, live_alone);
	for (int i = 0; i < POLLS_MAX && fake.reserved_bytes > 1ull << 30; i++)
	{
		gsort_event event;

		CHECK(gsort_poll(l.rig.device, &event, 1) == 0);
	}
	CHECK(fake.reserved_bytes == 1ull << 30);
	CHECK(fake.most_trimmed <= 1ull << 30);
	CHECK(fake.trims_of_busy == 0);
	CHECK(fake.blocking_calls == before);
	rig_close(&l.rig);
}

/* --- memory that is not pinned -------------------------------------------- */

static void
open_unpinned(life *l, gsort_job_options *options)
{
	fake.pin_fails = 1;
	CHECK(rig_open(&l->rig, GSORT_KIND_CUDA, 0));
	fake.pin_fails = 0;
	CHECK(gsort_job_open(l->rig.device, options, &l->job) == GSORT_OK);
	CHECK(gsort_job_reserve(l->job, 1 << 22, 1ull << 30) == GSORT_OK);
}

/* A request without room in the staging is refused, and succeeds later. */
static void
test_staging(void)
{
	gsort_job_options options = {
		.key_columns = 1, .block_bytes = GSORT_BLOCK_BYTES_MAX
	};
	life		l = {.refused = 0};
	gsort_column_stats stats = {0, 0, 0, 0, 0};
	uint64_t	sent = 0;
	uint64_t	before;
	gsort_chunk chunk = {.rows = 1, .data_bytes = GSORT_BLOCK_BYTES_MAX, .stats = &stats};

	current_test = "staging is bounded";
	open_unpinned(&l, &options);
	l.rig.buffers[0].row_start[0] = 0;
	l.rig.buffers[0].keys[0] = 0;
	chunk.data = l.rig.buffers[0].data;
	chunk.row_start = l.rig.buffers[0].row_start;
	chunk.keys = l.rig.buffers[0].keys;
	before = fake.blocking_calls;
	while (sent < 200 && accepted(&l, gsort_job_append(l.job, &chunk)))
		sent++;
	/* 32 MiB, and the size of the failed pin; each row's begin and key come
	 * along */
	CHECK(sent >= (32 >> 2) - 2 && sent < 200);
	CHECK(l.refused == 1);
	CHECK(fake.blocking_calls == before);
	poll_until(&l, GSORT_EVENT_APPENDED, sent);
	CHECK(gsort_job_append(l.job, &chunk) == GSORT_OK);
	poll_until(&l, GSORT_EVENT_APPENDED, sent + 1);
	gsort_job_close(l.job);
	poll_until(&l, GSORT_EVENT_CLOSED, 1);
	rig_close(&l.rig);
}

static void
test_unpinned(void)
{
	life		l = {.refused = 0};
	uint64_t	before;

	current_test = "memory that is not pinned";
	fake.pin_fails = 1;
	CHECK(rig_open(&l.rig, GSORT_KIND_CUDA, 0));
	fake.pin_fails = 0;
	before = fake.blocking_calls;
	run_job(&l, live_alone);
	CHECK(l.refused == 0);
	CHECK(fake.blocking_calls == before);
	rig_close(&l.rig);
}

static void
test_second_pin(void)
{
	gsort_device_info info;
	rig			rig;
	void	   *pages = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
							 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	current_test = "a second pin that fails";
	CHECK(rig_open(&rig, GSORT_KIND_CUDA, 0));
	fake.pin_fails = 1;
	CHECK(gsort_pin(rig.device, pages, 1 << 20) == GSORT_UNSUPPORTED);
	fake.pin_fails = 0;
	gsort_device_get_info(rig.device, &info);
	CHECK(info.pinned == 1);
	rig_close(&rig);
	munmap(pages, 1 << 20);
}

/* --- two devices, a thread for each --------------------------------------- */

static life other;

static void *
append_to_other(void *arg)
{
	(void) arg;
	CHECK(append_chunk(&other, 0) == GSORT_OK);
	return NULL;
}

static void
append_in_thread(void)
{
	pthread_t	thread;

	CHECK(pthread_create(&thread, NULL, append_to_other, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

/* The launches of a finish. */
static uint64_t
launches_counted(life *l, void (*meanwhile) (void))
{
	gsort_job_options options = {.key_columns = 1,
								 .block_bytes = 2 * CHUNKS * CHUNK_BYTES, .engine = GSORT_ENGINE_RADIX};
	gsort_device_info info;

	memset(l->events, 0, sizeof(l->events));
	CHECK(gsort_job_open(l->rig.device, &options, &l->job) == GSORT_OK);
	CHECK(feed(l));
	gsort_set_fail_at(l->rig.device, UINT64_MAX, GSORT_FAIL_LAUNCHES);
	fake.meanwhile = meanwhile;
	CHECK(finish(l, GSORT_SORTED_RUN));
	CHECK(fake.meanwhile == NULL);
	gsort_device_get_info(l->rig.device, &info);
	gsort_set_fail_at(l->rig.device, 0, 0);
	gsort_job_close(l->job);
	poll_until(l, GSORT_EVENT_CLOSED, 1);
	return info.fail_count;
}

/* Each device counts its own launches, even if another one launches in the
 * middle of a sort. */
static void
test_two_devices(void)
{
	gsort_job_options options = {.key_columns = 1, .block_bytes = CHUNK_BYTES};
	int			ordinal = rig_ordinal;
	uint64_t	alone;
	life		l = {.columns = 1, .chunk_rows = CHUNK_ROWS, .chunk_bytes = CHUNK_BYTES};

	current_test = "two devices count launches of their own";
	other = (life) {.columns = 1, .chunk_rows = CHUNK_ROWS, .chunk_bytes = CHUNK_BYTES};
	CHECK(rig_open(&l.rig, GSORT_KIND_CUDA, 0));
	rig_ordinal = 0;
	CHECK(rig_open(&other.rig, GSORT_KIND_CUDA, 0));
	rig_ordinal = ordinal;
	CHECK(gsort_job_open(other.rig.device, &options, &other.job) == GSORT_OK);
	CHECK(gsort_job_reserve(other.job, CHUNK_ROWS, CHUNK_BYTES) == GSORT_OK);
	alone = launches_counted(&l, NULL);
	CHECK(launches_counted(&l, append_in_thread) == alone);
	rig_close(&other.rig);
	rig_close(&l.rig);
}

/* --- the budget ----------------------------------------------------------- */

static uint64_t
budget_now(rig *rig)
{
	gsort_device_info info;

	gsort_set_budget(rig->device, 0);
	gsort_device_get_info(rig->device, &info);
	return info.budget_bytes;
}

/* The default budget is a share of the memory that other programs leave; the
 * device's own memory counts as free. */
static void
test_default_budget(void)
{
	const uint64_t gib = (uint64_t) 1 << 30;
	rig			rig;

	current_test = "a share of what is free";
	rig_open(&rig, GSORT_KIND_CUDA, 0);
	CHECK(budget_now(&rig) == 8 * gib / 5 * 4);
	fake.taken_bytes = 6 * gib;
	CHECK(budget_now(&rig) == 2 * gib / 5 * 4);
	fake.reserved_bytes = gib;
	CHECK(budget_now(&rig) == 2 * gib / 5 * 4);
	fake.taken_bytes = 0;
	CHECK(budget_now(&rig) == 8 * gib / 5 * 4);
	fake.reserved_bytes = 0;
	rig_close(&rig);
}

int
main(int argc, char **argv)
{
	uint64_t	seed = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t) time(NULL);

	printf("seed %llu\n", (unsigned long long) seed);
	setvbuf(stdout, NULL, _IOLBF, 0);
	fake.random_state = seed * 2 + 1;
	random_state = seed;
	gsort_prepare(0);
	/* a device that is no thread's current device by default */
	rig_ordinal = FAKE_DEVICES - 1;
	test_nothing_waits();
	test_environment();
	test_shut_when_lost();
	test_default_budget();
	test_trim();
	test_unpinned();
	test_staging();
	test_second_pin();
	test_two_devices();
	current_test = "a call refused once, alone";
	test_refused(live_alone, 1, 1);
	current_test = "a call refused once, keys of several words";
	test_refused(live_with_words, 1, 1);
	current_test = "a call refused once, in runs";
	test_refused(live_in_runs, 1, 1);
	current_test = "a call refused once, closed shortly";
	test_refused(live_shortly, 1, 1);
	current_test = "calls refused from one on, alone";
	test_refused(live_alone, REFUSED_FOR_GOOD, 1);
	current_test = "calls refused from one on, keys of several words";
	test_refused(live_with_words, REFUSED_FOR_GOOD, 1);
	current_test = "calls refused from one on, in runs";
	test_refused(live_in_runs, REFUSED_FOR_GOOD, 1);
	current_test = "calls refused from one on, closed shortly";
	test_refused(live_shortly, REFUSED_FOR_GOOD, 1);
	test_fail_at(live_in_runs, GSORT_FAIL_LAUNCHES, "refused launches and calls in runs");
	test_fail_at(live_alone, GSORT_FAIL_LAUNCHES, "refused launches and calls");
	test_fail_at(live_with_words, GSORT_FAIL_LAUNCHES,
				 "refused launches and calls, keys of several words");
	test_fail_at(live_in_runs, GSORT_FAIL_ALLOCATIONS, "no memory, in runs");
	test_lost_at(GSORT_KIND_CUDA);
	current_test = "each call is for the device that was opened";
	CHECK(fake.mixed_devices == 0);
	current_test = "who waits is woken";
	CHECK(fake.silent_waits == 0);
	printf("%d passed, %d failed\n", checks_passed, checks_failed);
	return checks_failed > 0;
}
