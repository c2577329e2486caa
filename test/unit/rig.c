/*
 * rig.c
 *	  The device under test, random numbers and inputs (see rig.h).
 */
#define _GNU_SOURCE				/* for qsort_r */

#include "rig.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

int			checks_passed;
int			checks_failed;
const char *current_test = "";
uint64_t	random_state;
int			rig_ordinal;
uint32_t	rows_limit;
uint32_t	sweep_limit_ms;

int
check_at(int ok, const char *file, int line, const char *what)
{
	if (ok)
		checks_passed++;
	else
	{
		checks_failed++;
		printf("not ok: %s: %s:%d: %s\n", current_test, file, line, what);
		fflush(stdout);
	}
	return ok;
}

uint64_t
mix64(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

uint64_t
random64(void)
{
	return mix64(random_state++);
}

uint64_t
random_below(uint64_t limit)
{
	return random64() % limit;
}

/* --- device --------------------------------------------------------------- */

static void
make_buffers(rig *rig)
{
	size_t		keys_bytes = RIG_CHUNK_ROWS * GSORT_MAX_KEY_COLUMNS * sizeof(uint64_t);
	size_t		each = GSORT_BLOCK_BYTES_MAX + keys_bytes + 2 * RIG_CHUNK_ROWS * sizeof(uint32_t);

	rig->arena_bytes = RIG_BUFFERS * each;
	/* its pages come as they are used: most rigs use few, and are opened by the hundred */
	rig->arena = mmap(NULL, rig->arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (rig->arena == MAP_FAILED)
		abort();
	for (int i = 0; i < RIG_BUFFERS; i++)
	{
		rig_buffer *buffer = &rig->buffers[i];

		buffer->data = (uint64_t *) ((char *) rig->arena + i * each);
		buffer->keys = buffer->data + GSORT_BLOCK_BYTES_MAX / 8;
		buffer->row_start = (uint32_t *) (buffer->keys + RIG_CHUNK_ROWS * GSORT_MAX_KEY_COLUMNS);
		buffer->nulls = buffer->row_start + RIG_CHUNK_ROWS;
		buffer->next_free = rig->free_buffers;
		rig->free_buffers = buffer;
	}
}

static gsort_device_options
device_options(const rig *rig)
{
	gsort_device_options options = {
		.kind = rig->kind,
		.ordinals = &rig_ordinal,
		.n_ordinals = rig->kind == GSORT_KIND_CUDA ? 1 : 0,
		.budget_bytes = rig->budget_bytes,
		/* more threads give race detectors more interleavings, even on one
		 * core */
		.threads = rows_limit != 0 ? 4 : 0,
	};

	return options;
}

static void *
open_device(void *arg)
{
	rig		   *opened = arg;
	gsort_device_options options = device_options(opened);
	char		reason[256];
	gsort_status status = gsort_open(&options, &opened->device, reason, sizeof(reason));

	if (status == GSORT_OK)
		return NULL;
	printf("no device (status %d): %s\n", status, reason);
	opened->device = NULL;
	return NULL;
}

static void *
pin_buffers(void *arg)
{
	rig		   *opened = arg;
	gsort_status status = gsort_pin(opened->device, opened->arena, opened->arena_bytes);

	CHECK(status == GSORT_OK || status == GSORT_UNSUPPORTED);
	return NULL;
}

/* Makes blocking calls in threads other than the one of the later calls, as the
 * service does. */
static void
in_another_thread(void *(*call) (void *), rig *arg)
{
	pthread_t	thread;

	if (pthread_create(&thread, NULL, call, arg) != 0)
		abort();
	pthread_join(thread, NULL);
}

int
rig_open(rig *rig, gsort_kind kind, uint64_t budget_bytes)
{
	memset(rig, 0, sizeof(*rig));
	rig->kind = kind;
	rig->budget_bytes = budget_bytes;
	in_another_thread(open_device, rig);
	if (rig->device == NULL)
		return 0;
	make_buffers(rig);
	in_another_thread(pin_buffers, rig);
	return 1;
}

void
rig_close(rig *rig)
{
	gsort_shut(rig->device);
	munmap(rig->arena, rig->arena_bytes);
}

/* --- time ----------------------------------------------------------------- */

uint64_t
rig_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

/* --- points at which something fails -------------------------------------- */

#define POINTS_AT_LEAST		4

static uint64_t
common_divisor(uint64_t a, uint64_t b)
{
	return b == 0 ? a : common_divisor(b, a % b);
}

void
sweep_begin(sweep *s, uint64_t points)
{
	s->points = points;
	s->tried = 0;
	/* in order, or by the golden section from a random start */
	s->step = sweep_limit_ms == 0 ? 1 : points * 618 / 1000 + 1;
	while (s->step > 1 && common_divisor(points, s->step) != 1)
		s->step--;
	s->last = sweep_limit_ms == 0 || points == 0 ? 0 : random_below(points);
	s->began_ms = rig_now_ms();
}

uint64_t
sweep_next(sweep *s)
{
	if (s->tried == s->points || (sweep_limit_ms != 0 && s->tried >= POINTS_AT_LEAST &&
								  rig_now_ms() - s->began_ms >= sweep_limit_ms))
		return 0;
	s->tried++;
	s->last = (s->last + s->step - 1) % s->points + 1;
	return s->last;
}

void
sweep_end(const sweep *s)
{
	printf("%s: %llu of %llu points, %llu ms\n", current_test, (unsigned long long) s->tried,
		   (unsigned long long) s->points, (unsigned long long) (rig_now_ms() - s->began_ms));
	fflush(stdout);
}

/* --- inputs --------------------------------------------------------------- */

static uint64_t
make_key(key_shape shape, uint32_t i, uint32_t n)
{
	switch (shape)
	{
		case KEYS_UNIFORM:
			return random64();
		case KEYS_FEW:
			return random_below(7) * 0x0123456789abcdefull;
		case KEYS_ASCENDING:
			return 1000000 + (uint64_t) i * 3;
		case KEYS_DESCENDING:
			return UINT64_MAX - (uint64_t) i * 0x10001;
		case KEYS_EQUAL:
			return 0x8000000000000000ull;
		case KEYS_OUTLIER:
			return i == n / 2 ? UINT64_MAX : random_below(100);
		case KEYS_SPARSE_BITS:
			return (random64() & 0x8000300000f00c01ull) | 0x0000000100000002ull;
		case KEYS_EXTREMES:
			return random_below(2) ? random_below(2) : UINT64_MAX - random_below(2);
		case KEYS_NARROW:
			return 0xfffffffffff00000ull + random_below(100000);
		case KEY_SHAPES:
			break;
	}
	return 0;
}

int
input_compare(const input *in, uint32_t a, uint32_t b)
{
	for (uint32_t c = 0; c < in->columns; c++)
	{
		int			a_null = in->nulls[a] >> c & 1;
		int			b_null = in->nulls[b] >> c & 1;
		uint64_t	a_key = in->keys[(uint64_t) a * in->columns + c];
		uint64_t	b_key = in->keys[(uint64_t) b * in->columns + c];

		if (a_null != b_null)
			return a_null == (int) (in->null_first_mask >> c & 1) ? -1 : 1;
		if (!a_null && a_key != b_key)
			return a_key < b_key ? -1 : 1;
	}
	return 0;
}

static int
compare_rows(const void *a, const void *b, void *in)
{
	uint32_t	row_a = *(const uint32_t *) a;
	uint32_t	row_b = *(const uint32_t *) b;
	int			result = input_compare(in, row_a, row_b);

	if (result == 0)
		result = row_a < row_b ? -1 : row_a > row_b;
	return result;
}

uint32_t
limited_rows(uint32_t n)
{
	return rows_limit != 0 && n > rows_limit ? rows_limit : n;
}

input *
input_make(uint32_t n, uint32_t columns, uint32_t null_mask, key_shape shape,
		   uint32_t min_units, uint32_t max_units, uint32_t long_every, uint32_t long_units)
{
	input	   *in = calloc(1, sizeof(*in));

	in->seed = random64();
	in->n = n;
	in->columns = columns;
	in->null_mask = null_mask;
	in->null_first_mask = (uint32_t) random64() & null_mask;
	in->keys = calloc((uint64_t) n * columns + 1, sizeof(uint64_t));
	in->nulls = calloc(n + 1, sizeof(uint32_t));
	in->units = calloc(n + 1, sizeof(uint32_t));
	in->order = calloc(n + 1, sizeof(uint32_t));
	for (uint32_t i = 0; i < n; i++)
	{
		/* later columns break ties, so the first one has few values */
		for (uint32_t c = 0; c < columns; c++)
			in->keys[(uint64_t) i * columns + c] =
				make_key((shape + c * 3) % KEY_SHAPES, i, n);
		if (null_mask != 0 && random_below(4) == 0)
			in->nulls[i] = (uint32_t) random64() & null_mask;
		in->units[i] = min_units + (uint32_t) random_below(max_units - min_units + 1);
		if (long_every != 0 && i % long_every == long_every - 1)
			in->units[i] = max_units + (uint32_t) random_below(long_units - max_units + 1);
		in->total_units += in->units[i];
		in->order[i] = i;
	}
	qsort_r(in->order, n, sizeof(uint32_t), compare_rows, in);
	return in;
}

input *
input_slice(const input *in, uint32_t first, uint32_t n)
{
	input	   *slice = calloc(1, sizeof(*slice));

	*slice = *in;
	slice->seed = in->seed + first;
	slice->n = n;
	slice->total_units = 0;
	slice->keys = calloc((uint64_t) n * in->columns + 1, sizeof(uint64_t));
	slice->nulls = calloc(n + 1, sizeof(uint32_t));
	slice->units = calloc(n + 1, sizeof(uint32_t));
	slice->order = calloc(n + 1, sizeof(uint32_t));
	memcpy(slice->keys, in->keys + (uint64_t) first * in->columns,
		   (uint64_t) n * in->columns * sizeof(uint64_t));
	memcpy(slice->nulls, in->nulls + first, n * sizeof(uint32_t));
	memcpy(slice->units, in->units + first, n * sizeof(uint32_t));
	for (uint32_t i = 0; i < n; i++)
	{
		slice->total_units += slice->units[i];
		slice->order[i] = i;
	}
	qsort_r(slice->order, n, sizeof(uint32_t), compare_rows, slice);
	return slice;
}

input *
input_reordered(input *in)
{
	input	   *again = input_slice(in, 0, in->n);

	input_free(in);
	return again;
}

void
input_free(input *in)
{
	free(in->keys);
	free(in->nulls);
	free(in->units);
	free(in->order);
	free(in);
}

uint64_t
input_unit(const input *in, uint32_t row, uint64_t unit)
{
	return (in->seed + row) * 0x9e3779b97f4a7c15ull + unit * 0xbf58476d1ce4e5b9ull;
}
