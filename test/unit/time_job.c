/*
 * time_job.c
 *	  Times one job: rows with random keys of 64 bits, fed in chunks
 *	  that lie ready in pinned memory, sorted, and fetched in order.
 *
 * The first key may be one that several rows share; of several keys the last is open.  Rows have one length, or any between
 * two.
 */
#include "rig.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define WINDOW_BYTES	(1u << 20)
#define CHUNK_UNITS		(WINDOW_BYTES / 8)
#define ROW_UNITS_LEAST	4		/* of the longest row */
#define WINDOWS_AHEAD	8

typedef struct timed_chunk
{
	uint64_t	data[CHUNK_UNITS];
	uint32_t	row_start[CHUNK_UNITS / ROW_UNITS_LEAST];
	uint64_t	units;
} timed_chunk;

typedef struct timing
{
	gsort_device *device;
	gsort_job  *job;
	timed_chunk *chunks;
	uint64_t   *keys;			/* [rows][columns] */
	uint32_t	columns;
	uint64_t	sharing;		/* rows for each first key, on average */
	uint64_t	least_units;	/* of a row */
	uint64_t	most_units;
	uint64_t	chunk_rows;
	uint64_t   *windows;		/* buffers */
	uint64_t	rows;
	uint64_t	events[GSORT_EVENT_CLOSED + 1];
	int			failed;
} timing;

static double
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

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
take_events(timing *t, gsort_event_kind kind, uint64_t wanted)
{
	gsort_event events[64];

	while (t->events[kind] < wanted && !t->failed)
	{
		int			n = gsort_poll(t->device, events, 64);

		for (int i = 0; i < n; i++)
		{
			t->events[events[i].kind]++;
			t->failed |= events[i].status != GSORT_OK;
		}
		if (n == 0)
			nanosleep(&(struct timespec) {.tv_nsec = 50000}, NULL);
	}
}

static uint64_t
rows_of_chunk(const timing *t, uint64_t chunk)
{
	uint64_t	left = t->rows - chunk * t->chunk_rows;

	return left < t->chunk_rows ? left : t->chunk_rows;
}

static uint64_t *
keys_of_chunk(const timing *t, uint64_t chunk)
{
	return t->keys + chunk * t->chunk_rows * t->columns;
}

static void
fill_chunk(const timing *t, uint64_t number)
{
	timed_chunk *chunk = &t->chunks[number];
	uint64_t   *keys = keys_of_chunk(t, number);

	chunk->units = 0;
	for (uint64_t row = 0; row < rows_of_chunk(t, number); row++)
	{
		uint64_t	units = t->least_units + random_below(t->most_units - t->least_units + 1);

		for (uint32_t c = 0; c < t->columns; c++)
			keys[row * t->columns + c] = random64();
		if (t->sharing > 1)
			keys[row * t->columns] = mix64(random_below(t->rows / t->sharing + 1));
		chunk->row_start[row] = (uint32_t) chunk->units;
		for (uint64_t unit = 0; unit < units; unit++)
			chunk->data[chunk->units++] = keys[row * t->columns];
	}
}

static void
append_all(timing *t, uint64_t n_chunks)
{
	gsort_column_stats stats[GSORT_MAX_KEY_COLUMNS];

	for (uint32_t c = 0; c < t->columns; c++)
		stats[c] = (gsort_column_stats) {0, UINT64_MAX, UINT64_MAX, 0, 0};
	for (uint64_t i = 0; i < n_chunks && !t->failed; i++)
	{
		gsort_chunk chunk = {
			.struct_bytes = sizeof(chunk),
			.rows = (uint32_t) rows_of_chunk(t, i),
			.data = t->chunks[i].data,
			.data_bytes = t->chunks[i].units * 8,
			.row_start = t->chunks[i].row_start,
			.keys = keys_of_chunk(t, i),
			.stats = stats,
		};

		t->failed |= gsort_job_append(t->job, &chunk) != GSORT_OK;
	}
	take_events(t, GSORT_EVENT_APPENDED, n_chunks);
}

static void
fetch_all(timing *t)
{
	const gsort_window *windows;
	uint64_t	n = 0;

	t->failed |= gsort_job_windows(t->job, &windows, &n) != GSORT_OK;
	for (uint64_t i = 0; i < n && !t->failed; i++)
	{
		if (i >= WINDOWS_AHEAD)
			take_events(t, GSORT_EVENT_FETCHED, i - WINDOWS_AHEAD + 1);
		t->failed |= gsort_job_fetch(t->job, i,
									 t->windows + i % WINDOWS_AHEAD * (WINDOW_BYTES / 8),
									 i) != GSORT_OK;
	}
	take_events(t, GSORT_EVENT_FETCHED, n);
}

static int
time_one(timing *t, uint64_t n_chunks)
{
	gsort_job_options options = {
		.struct_bytes = sizeof(options), .key_columns = t->columns, .window_bytes = WINDOW_BYTES,
		.open_mask = t->columns > 1 ? 1u << (t->columns - 1) : 0
	};
	gsort_job_stats stats;
	double		begin_ms;
	double		appended_ms;
	double		cut_ms;
	double		fetched_ms;

	for (int kind = 0; kind <= GSORT_EVENT_CLOSED; kind++)
		t->events[kind] = 0;
	if (gsort_job_open(t->device, &options, &t->job) != GSORT_OK ||
		gsort_job_grant(t->job, t->rows, t->rows * t->most_units * 8) != GSORT_OK)
	{
		printf("%s\n", gsort_error_text(t->device));
		return 0;
	}
	begin_ms = now_ms();
	append_all(t, n_chunks);
	appended_ms = now_ms();
	t->failed |= gsort_job_cut(t->job, GSORT_SORTED) != GSORT_OK;
	take_events(t, GSORT_EVENT_CUT, 1);
	cut_ms = now_ms();
	fetch_all(t);
	fetched_ms = now_ms();
	gsort_job_get_stats(t->job, &stats);
	printf("%llu rows: append %.1f ms, sort %.1f ms (%.1f ms on the device), fetch %.1f ms, "
		   "%u key bits, %.1f bytes a row at most\n",
		   (unsigned long long) t->rows, appended_ms - begin_ms, cut_ms - appended_ms,
		   stats.sort_ms, fetched_ms - cut_ms, stats.key_bits,
		   (double) stats.peak_bytes / (double) t->rows);
	gsort_job_close(t->job);
	take_events(t, GSORT_EVENT_CLOSED, 1);
	return !t->failed;
}

int
time_job(gsort_kind kind, uint64_t rows, uint32_t columns, uint64_t sharing, uint64_t least_units, uint64_t most_units)
{
	gsort_device_options options = {.struct_bytes = sizeof(options), .kind = kind};
	timing		t = {.rows = rows, .columns = columns, .sharing = sharing, .least_units = least_units, .most_units = most_units,
	.chunk_rows = CHUNK_UNITS / most_units};
	uint64_t	n_chunks = (rows + t.chunk_rows - 1) / t.chunk_rows;
	size_t		keys_bytes = rows * columns * sizeof(uint64_t) + 1;
	char		reason[256];
	int			ok = 1;

	if (gsort_open(&options, &t.device, reason, sizeof(reason)) != GSORT_OK)
	{
		printf("no device: %s\n", reason);
		return 2;
	}
	t.chunks = pinned_pages(t.device, n_chunks * sizeof(timed_chunk) + 1);
	t.keys = pinned_pages(t.device, keys_bytes);
	t.windows = pinned_pages(t.device, WINDOWS_AHEAD * (size_t) WINDOW_BYTES);
	for (uint64_t i = 0; i < n_chunks; i++)
		fill_chunk(&t, i);
	/* the first meets fresh memory, the second what the first left */
	for (int round = 0; round < 3 && ok; round++)
		ok = time_one(&t, n_chunks);
	gsort_shut(t.device);
	munmap(t.chunks, n_chunks * sizeof(timed_chunk) + 1);
	munmap(t.keys, keys_bytes);
	munmap(t.windows, WINDOWS_AHEAD * (size_t) WINDOW_BYTES);
	return !ok;
}
