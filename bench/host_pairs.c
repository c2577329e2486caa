/*
 * host_pairs.c
 *	  Times the host device's sort of (key, row number) pairs, by kinds of keys.
 *
 *	  bench/host_pairs PAIRS THREADS REPEATS [KIND]
 *
 * In:  none; keys are made from a hash of their place, so that each run has the
 *		same.
 * Out: CSV: kind, key bits, pairs, threads; median, minimum and maximum
 *		milliseconds; the minimum of all threads' processor time, which other
 *		programs disturb less; whether the order of the first run was correct.
 *
 * Needs neither PostgreSQL nor a GPU.  Built by `make bench/host_pairs`.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pairs_sort.h"

typedef struct bench
{
	gsort_device *device;
	uint64_t	n;
	int			threads;
	int			repeats;
} bench;

typedef struct arrays
{
	void	   *keys;			/* the original keys */
	void	   *work;			/* the copy that is sorted */
	void	   *keys_out;
	uint32_t   *rows_out;
	void	   *scratch;
	size_t		scratch_bytes;
} arrays;

static const char *const kinds[] = {
	"random", "in_order", "descending", "shuffled_ids", "few", "hash_of_600000", "session_times",
	"zipf", "hash_of_zipf", "hex", "three_prefixes", "whole_doubles", "equal"
};

static void
die(const char *why)
{
	fprintf(stderr, "host_pairs: %s\n", why);
	exit(1);
}

/* The finalizer of MurmurHash3: any bit of x changes half of the result's
 * bits. */
static uint64_t
mixed(uint64_t x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

/* A number from 1 to n; each power of two is equally likely. */
static uint64_t
zipf(uint64_t random, uint64_t n)
{
	return (uint64_t) exp((double) (random >> 11) / 9007199254740992.0 * log((double) n));
}

static uint64_t
hex_digits(uint64_t random)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t	key = 0;

	for (int i = 0; i < 8; i++)
		key = key << 8 | (uint64_t) digits[random >> 4 * i & 15];
	return key;
}

static uint64_t
bits_of_double(double value)
{
	uint64_t	bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits | 1ull << 63;
}

static uint64_t
wide_key(const char *kind, uint64_t i, uint64_t n)
{
	static const uint64_t prefixes[] = {
		0x4141414141ull << 24, 0x4242424242ull << 24, 0x5a5a5a5a5aull << 24
	};
	uint64_t	random = mixed(2 * i + 77);

	if (strcmp(kind, "random") == 0)
		return random;
	if (strcmp(kind, "in_order") == 0)
		return 37 * i;
	if (strcmp(kind, "descending") == 0)
		return 37 * (n - i);
	if (strcmp(kind, "shuffled_ids") == 0)
		return random % (2 * n);
	if (strcmp(kind, "few") == 0)
		return random % 1000;
	if (strcmp(kind, "hash_of_600000") == 0)
		return mixed(random % 600000);
	if (strcmp(kind, "session_times") == 0)
		return i / 10 * 1000000 + random % 50000000;
	if (strcmp(kind, "zipf") == 0)
		return zipf(random, n);
	if (strcmp(kind, "hash_of_zipf") == 0)
		return mixed(zipf(random, n));
	if (strcmp(kind, "hex") == 0)
		return hex_digits(random);
	if (strcmp(kind, "three_prefixes") == 0)
		return prefixes[random % 3] | random >> 40;
	if (strcmp(kind, "whole_doubles") == 0)
		return bits_of_double((double) (random % 2000000));
	return 5;
}

/* Short keys are the upper halves of keys that fill 64 bits. */
static uint64_t
key_of(const char *kind, uint64_t i, uint64_t n, uint32_t key_bits)
{
	uint64_t	key = wide_key(kind, i, n);

	return key_bits == 32 && key > UINT32_MAX ? key >> 32 : key;
}

static uint64_t
key_at(const void *keys, uint64_t i, uint32_t key_bits)
{
	return key_bits == 64 ? ((const uint64_t *) keys)[i] : ((const uint32_t *) keys)[i];
}

static void *
allocate(size_t bytes)
{
	void	   *memory = aligned_alloc(4096, (bytes / 4096 + 1) * 4096);

	if (memory == NULL)
		die("out of memory");
	memset(memory, 1, bytes);	/* keeps page faults out of the timing */
	return memory;
}

static double
now_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double) now.tv_sec * 1e3 + (double) now.tv_nsec * 1e-6;
}

static int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

/* True if the order is stable and consists of the original keys. */
static int
is_right(const bench *b, const arrays *a, uint32_t key_bits)
{
	for (uint64_t i = 1; i < b->n; i++)
	{
		uint64_t	before = key_at(a->keys, a->rows_out[i - 1], key_bits);
		uint64_t	key = key_at(a->keys, a->rows_out[i], key_bits);

		if (key_at(a->keys_out, i, key_bits) != key || before > key ||
			(before == key && a->rows_out[i - 1] >= a->rows_out[i]))
			return 0;
	}
	return 1;
}

/* The milliseconds of a sort; *cpu becomes its processor time if that is
 * less. */
static double
time_sort(const bench *b, const gsort_pairs *pairs, const arrays *a, double *cpu)
{
	double		began;
	double		cpu_began;

	memcpy(a->work, a->keys, b->n * pairs->key_bits / 8);
	began = now_ms(CLOCK_MONOTONIC);
	cpu_began = now_ms(CLOCK_PROCESS_CPUTIME_ID);
	if (!pairs_on_host(b->device, pairs, a->scratch, a->scratch_bytes))
		die("the sort has failed");
	*cpu = fmin(*cpu, now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu_began);
	return now_ms(CLOCK_MONOTONIC) - began;
}

static void
run_case(const bench *b, const char *kind, uint32_t key_bits)
{
	size_t		key_bytes = b->n * key_bits / 8;
	arrays		a = {
		allocate(key_bytes), allocate(key_bytes), allocate(key_bytes), allocate(4 * b->n), NULL, 0
	};
	uint64_t	any = 1;
	double	   *times = allocate((size_t) b->repeats * sizeof(double));
	double		cpu = INFINITY;
	gsort_pairs pairs = {
		.key_bits = key_bits, .n = b->n, .d_keys = a.work,
		.d_keys_out = a.keys_out, .d_rows_out = a.rows_out
	};
	int			right = 1;

	for (uint64_t i = 0; i < b->n; i++)
	{
		uint64_t	key = key_of(kind, i, b->n, key_bits);

		any |= key;
		if (key_bits == 64)
			((uint64_t *) a.keys)[i] = key;
		else
			((uint32_t *) a.keys)[i] = (uint32_t) key;
	}
	/* like a sort's plan: no bits above the highest set one */
	while (pairs.bits < key_bits && any >> pairs.bits != 0)
		pairs.bits++;
	a.scratch_bytes = pairs_on_host_scratch_bytes(&pairs);
	a.scratch = allocate(a.scratch_bytes);
	for (int i = 0; i < b->repeats; i++)
	{
		times[i] = time_sort(b, &pairs, &a, &cpu);
		if (i == 0)
			right = is_right(b, &a, key_bits);
	}
	qsort(times, (size_t) b->repeats, sizeof(double), compare_doubles);
	printf("%s,%u,%llu,%d,%.2f,%.2f,%.2f,%.2f,%s\n", kind, key_bits, (unsigned long long) b->n,
		   b->threads, times[b->repeats / 2], times[0], times[b->repeats - 1], cpu,
		   right ? "yes" : "no");
	fflush(stdout);
	free(a.keys);
	free(a.work);
	free(a.keys_out);
	free(a.rows_out);
	free(a.scratch);
	free(times);
}

int
main(int argc, char **argv)
{
	gsort_device_options options = {.kind = GSORT_KIND_HOST};
	bench		b = {0};
	char		why[256] = "";

	if (argc < 4)
		die("usage: bench/host_pairs PAIRS THREADS REPEATS [KIND]");
	b.n = strtoull(argv[1], NULL, 10);
	b.threads = options.threads = atoi(argv[2]);
	b.repeats = atoi(argv[3]);
	if (b.n < 2 || b.repeats < 1)
		die("two pairs and one run at least");
	if (gsort_open(&options, &b.device, why, sizeof(why)) != GSORT_OK)
		die(why);
	printf("kind,key_bits,pairs,threads,ms_median,ms_min,ms_max,cpu_ms_min,right\n");
	for (uint32_t key_bits = 64; key_bits >= 32; key_bits /= 2)
	{
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		{
			if (argc < 5 || strcmp(argv[4], kinds[i]) == 0)
				run_case(&b, kinds[i], key_bits);
		}
	}
	gsort_shut(b.device);
	return 0;
}
