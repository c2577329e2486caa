/*
 * test_pairs.c
 *	  Sorts of pairs against a stable reference: every engine, both widths, any
 *	  number of bits, with and without rows and output keys; and the choice of
 *	  the engine.
 */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

#include "device_memory.h"
#include "host/radix_steps.h"
#include "pairs_sort.h"

#define PAIRS_MAX	200000
#define MANY_PAIRS	1500000		/* the partition's buckets exceed a tile */
#define UNCOUNTED_PAIRS	16100000	/* above UNCOUNTED_PAIRS_MIN of cuda/sort/partition_plan.cuh */

typedef struct pair
{
	uint64_t	digits;			/* the significant bits */
	uint64_t	key;
	uint32_t	place;
	uint32_t	row;
} pair;

static int
compare_pairs(const void *a, const void *b)
{
	const pair *x = a;
	const pair *y = b;

	if (x->digits != y->digits)
		return x->digits < y->digits ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static uint64_t
key_at(const void *keys, uint32_t key_bits, uint64_t i)
{
	return key_bits == 64 ? ((const uint64_t *) keys)[i] : ((const uint32_t *) keys)[i];
}

#define FEW_VALUES	1000

/* Distributions of the keys. */
typedef enum keys_kind
{
	KEYS_EVEN,					/* any value */
	KEYS_MIXED,					/* two thirds random, one third of five values */
	/* few values, spread over all keys: words cannot separate neighbours */
	KEYS_FEW_VALUES,
	KEYS_TIED,					/* three values in the sorted bits, any bits below */
	KEYS_SKEWED,				/* any length in bits */
	KEYS_OF_PREFIXES,			/* one of two prefixes, and any suffix */
	KEYS_OF_DIGITS,				/* texts of hexadecimal digits */
	KEYS_SHORT,					/* any length of 5 to 24 bits: low digits first */
	KEYS_BY_PLACE,				/* from here on keys depend on their places */
	KEYS_FROM_BELOW = KEYS_BY_PLACE,
	KEYS_FROM_ABOVE,
	/* in order, except for one key where a part of the threads begins */
	KEYS_ONE_DESCENT,
	/* 0 and 1 alternating, and a key for each higher bit: nested buckets */
	KEYS_DEEP,
	KEYS_ALL_ONE,
	KEYS_KINDS
} keys_kind;

static uint64_t
text_of_digits(uint64_t digits)
{
	uint64_t	text = 0;

	for (int i = 0; i < 8; i++, digits >>= 4)
		text = text << 8 | (uint8_t) "0123456789abcdef"[digits & 15];
	return text;
}

static uint64_t
random_key(keys_kind kind)
{
	if (kind == KEYS_EVEN)
		return random64();
	if (kind == KEYS_FEW_VALUES)
		return (random_below(FEW_VALUES) + 1) * 0x9e3779b97f4a7c15u;
	if (kind == KEYS_TIED)
		return random_below(3);
	if (kind == KEYS_SKEWED)
		return random64() >> random_below(64);
	if (kind == KEYS_OF_PREFIXES)
		return (random_below(2) * 0x4141414200000000u + 0x2323000023230000u) ^ (random64() & 0xffff0000ffffu);
	if (kind == KEYS_OF_DIGITS)
		return text_of_digits(random64());
	if (kind == KEYS_SHORT)
		return random64() % 0x1000000 >> random_below(20);
	return random_below(3) == 0 ? random_below(5) : random64();
}

static uint64_t
key_by_place(keys_kind kind, uint64_t i, uint64_t n)
{
	uint64_t	key = kind == KEYS_FROM_ABOVE ? n - i : i + 1;

	if (kind == KEYS_ALL_ONE)
		key = 1;
	else if (kind == KEYS_ONE_DESCENT && i == host_part_begin(n, 2 + (uint32_t) (n % 3), 1))
		key = 0;
	else if (kind == KEYS_DEEP)
		key = i % (n / 64 + 1) == 0 ? 1ull << i / (n / 64 + 1) % 64 : i % 2;
	return key;
}

/* The input on the host, and the reference. */
typedef struct pairs_case
{
	uint32_t	key_bits;
	uint64_t	n;
	size_t		key_bytes;		/* bytes of all keys */
	void	   *keys;
	uint32_t   *rows;
	pair	   *sorted;
} pairs_case;

static void
make_case(pairs_case *c, const gsort_pairs *pairs, keys_kind kind, int with_rows)
{
	c->key_bits = pairs->key_bits;
	c->n = pairs->n;
	c->key_bytes = pairs->n * pairs->key_bits / 8;
	c->keys = malloc(c->key_bytes + 1);
	c->rows = with_rows ? malloc(c->n * sizeof(uint32_t) + 1) : NULL;
	c->sorted = malloc(c->n * sizeof(pair) + 1);
	for (uint64_t i = 0; i < c->n; i++)
	{
		uint64_t	key = kind < KEYS_BY_PLACE ? random_key(kind) :
			key_by_place(kind, i, pairs->n);

		if (c->key_bits == 64)
			((uint64_t *) c->keys)[i] = key;
		else
			((uint32_t *) c->keys)[i] = (uint32_t) key;
		key = key_at(c->keys, c->key_bits, i);
		if (with_rows)
			c->rows[i] = (uint32_t) random64();
		c->sorted[i].digits = key & key_low_bits(pairs->bits);
		c->sorted[i].key = key;
		c->sorted[i].place = (uint32_t) i;
		c->sorted[i].row = with_rows ? c->rows[i] : (uint32_t) i;
	}
	qsort(c->sorted, c->n, sizeof(pair), compare_pairs);
}

static void
check_case(const pairs_case *c, const gsort_pairs *pairs, int on_gpu)
{
	uint32_t   *rows = malloc(c->n * sizeof(uint32_t) + 1);
	void	   *keys = malloc(c->key_bytes + 1);
	int			rows_right = 1;
	int			keys_right = 1;

	device_read(on_gpu, rows, pairs->d_rows_out, c->n * sizeof(uint32_t));
	for (uint64_t i = 0; i < c->n; i++)
		rows_right &= rows[i] == c->sorted[i].row;
	CHECK(rows_right);
	if (pairs->d_keys_out != NULL)
	{
		device_read(on_gpu, keys, pairs->d_keys_out, c->key_bytes);
		for (uint64_t i = 0; i < c->n; i++)
			keys_right &= key_at(keys, c->key_bits, i) == c->sorted[i].key;
		CHECK(keys_right);
	}
	free(rows);
	free(keys);
}

static void
sort_case(rig *rig, gsort_pairs *pairs, keys_kind kind, int with_rows, int with_keys_out)
{
	int			on_gpu = rig->kind == GSORT_KIND_CUDA;
	pairs_case	c;
	size_t		scratch_bytes;
	void	   *scratch;
	uint32_t   *d_rows = NULL;

	make_case(&c, pairs, kind, with_rows);
	pairs->d_keys = device_alloc(on_gpu, c.key_bytes);
	device_write(on_gpu, pairs->d_keys, c.keys, c.key_bytes);
	if (with_rows)
	{
		d_rows = device_alloc(on_gpu, c.n * sizeof(uint32_t));
		device_write(on_gpu, d_rows, c.rows, c.n * sizeof(uint32_t));
	}
	pairs->d_rows = d_rows;
	pairs->d_keys_out = with_keys_out ? device_alloc(on_gpu, c.key_bytes) : NULL;
	pairs->d_rows_out = device_alloc(on_gpu, c.n * sizeof(uint32_t));
	scratch_bytes = pairs_scratch_bytes(rig->device, pairs);
	CHECK(scratch_bytes > 0);
	scratch = device_alloc(on_gpu, scratch_bytes);
	CHECK(!pairs_sort(rig->device, pairs, scratch, scratch_bytes - 1));
	CHECK(pairs_sort(rig->device, pairs, scratch, scratch_bytes));
	check_case(&c, pairs, on_gpu);
	device_free(on_gpu, scratch);
	device_free(on_gpu, pairs->d_keys);
	device_free(on_gpu, pairs->d_rows_out);
	if (with_rows)
		device_free(on_gpu, d_rows);
	if (with_keys_out)
		device_free(on_gpu, pairs->d_keys_out);
	free(c.keys);
	free(c.rows);
	free(c.sorted);
}

/* The choice is never AUTO, never an engine that the device lacks, and follows
 * the table of measurements. */
static void
test_choice(void)
{
	for (uint32_t round = 0; round < 4096; round++)
	{
		uint32_t	bits = (uint32_t) random_below(65);
		uint64_t	n = random64() >> (33 + random_below(31));
		gsort_engine wanted = (gsort_engine) (round % GSORT_ENGINES);
		int			serves = round >> 3 & 1;
		int			capability = round >> 4 & 1 ? MEASURED_CAPABILITY : 80;
		gsort_engine engine = choose_engine(wanted, n, bits, round >> 5 & 1, serves, capability);

		CHECK(engine > GSORT_ENGINE_AUTO && engine < GSORT_ENGINES);
		CHECK(serves || engine != GSORT_ENGINE_PARTITION);
		CHECK(bits > 0 || engine != GSORT_ENGINE_PARTITION);
		CHECK(n <= RADIX_PAIRS_MAX || engine != GSORT_ENGINE_RADIX);
		CHECK(n <= MERGE_PAIRS_MAX || engine != GSORT_ENGINE_MERGE);
		CHECK(wanted != GSORT_ENGINE_MERGE || n > MERGE_PAIRS_MAX || engine == wanted);
		CHECK(wanted != GSORT_ENGINE_CUB_RADIX || engine == wanted);
		CHECK(wanted != GSORT_ENGINE_AUTO || n > RADIX_PAIRS_MAX ||
			  (engine == GSORT_ENGINE_CUB_RADIX) == (capability != MEASURED_CAPABILITY));
		CHECK(wanted != GSORT_ENGINE_PARTITION || !serves || bits == 0 || engine == wanted);
		CHECK(wanted == GSORT_ENGINE_AUTO || engine == wanted || engine == GSORT_ENGINE_RADIX || n > RADIX_PAIRS_MAX);
	}
	CHECK(choose_engine(GSORT_ENGINE_AUTO, 100000000, 64, 0, 1, MEASURED_CAPABILITY) == GSORT_ENGINE_PARTITION);
	CHECK(choose_engine(GSORT_ENGINE_AUTO, 100000000, 8, 0, 1, MEASURED_CAPABILITY) == GSORT_ENGINE_RADIX);
	CHECK(choose_engine(GSORT_ENGINE_AUTO, 100000000, 24, 0, 1, MEASURED_CAPABILITY) == GSORT_ENGINE_RADIX);
	CHECK(choose_engine(GSORT_ENGINE_AUTO, PARTITION_PAIRS_FOUR_PASSES, 32, 0, 1, MEASURED_CAPABILITY) == GSORT_ENGINE_PARTITION);
	CHECK(choose_engine(GSORT_ENGINE_AUTO, PARTITION_PAIRS_FOUR_PASSES - 1, 32, 0, 1, MEASURED_CAPABILITY) == GSORT_ENGINE_RADIX);
	CHECK(choose_engine(GSORT_ENGINE_AUTO, PARTITION_PAIRS_FOUR_PASSES, 32, 1, 1, MEASURED_CAPABILITY) == GSORT_ENGINE_RADIX);
	CHECK(choose_engine(GSORT_ENGINE_AUTO, PARTITION_PAIRS_FOUR_PASSES, 32, 0, 0, MEASURED_CAPABILITY) == GSORT_ENGINE_RADIX);
	CHECK(choose_engine(GSORT_ENGINE_AUTO, 100000, 64, 0, 1, MEASURED_CAPABILITY) == GSORT_ENGINE_MERGE);
	CHECK(choose_engine(GSORT_ENGINE_RADIX, RADIX_PAIRS_MAX, 64, 0, 1, MEASURED_CAPABILITY) == GSORT_ENGINE_RADIX);
	CHECK(choose_engine(GSORT_ENGINE_RADIX, RADIX_PAIRS_MAX + 1ull, 64, 0, 1, MEASURED_CAPABILITY) == GSORT_ENGINE_PARTITION);
	CHECK(choose_engine(GSORT_ENGINE_RADIX, RADIX_PAIRS_MAX + 1ull, 64, 0, 0, MEASURED_CAPABILITY) == GSORT_ENGINE_CUB_RADIX);
	CHECK(choose_engine(GSORT_ENGINE_AUTO, 100000, 32, 0, 1, MEASURED_CAPABILITY) == GSORT_ENGINE_RADIX);
}

static gsort_pairs
describe_round(int round, uint64_t n)
{
	gsort_pairs pairs = {.key_bits = round & 1 ? 64 : 32, .n = n};

	pairs.bits = round % 3 == 0 ? pairs.key_bits : (uint32_t) random_below(pairs.key_bits + 1);
	return pairs;
}

/* Bit 0: long keys; 1: rows; 2: sorted keys. */
#define TIED_SHAPES 8

static void
sort_tied(rig *rig, gsort_engine engine, uint32_t n, int shape, int no_bits)
{
	gsort_pairs pairs = describe_round(0, limited_rows(n));

	pairs.engine = engine;
	pairs.key_bits = shape & 1 ? 64 : 32;
	pairs.bits = no_bits ? 0 : pairs.key_bits;
	sort_case(rig, &pairs, KEYS_TIED, shape >> 1 & 1, shape >> 2 & 1);
}

/* Every engine keeps ties in the order of the input, also at the borders of its
 * tiles.  Tiles of the merge sort hold a multiple of 256 pairs. */
static void
test_ties(rig *rig)
{
	static const uint32_t borders[] = {256, 2048, 2816, 4352, 5120, 7680, 8192, 65536};
	int			last_engine = rig->kind == GSORT_KIND_CUDA ? GSORT_ENGINES - 1 : GSORT_ENGINE_RADIX;

	for (int engine = GSORT_ENGINE_AUTO; engine <= last_engine; engine++)
	{
		for (int shape = 0; shape < 4 * TIED_SHAPES; shape++)
		{
			uint32_t	border = borders[(shape + shape / 8 + engine) % (int) (sizeof(borders) / sizeof(borders[0]))];

			for (uint32_t n = border - 1; n <= border + 1; n++)
				sort_tied(rig, (gsort_engine) engine, n, shape, 0);
			sort_tied(rig, (gsort_engine) engine, 2 * border + 1, shape, 1);
		}
	}
}

/* Cases that the partition keeps: both key types, with all and with some of
 * their bits, and enough pairs to skip the counts. */
static void
test_even_many(rig *rig)
{
	static const uint32_t shapes[][2] = {{32, 32}, {32, 27}, {64, 64}, {64, 32}, {64, 57}, {32, 32}, {64, 64}};

	for (int round = 0; round < (int) (sizeof(shapes) / sizeof(shapes[0])) && rig->kind == GSORT_KIND_CUDA; round++)
	{
		gsort_pairs pairs = describe_round(round, round < 5 ? MANY_PAIRS : limited_rows(UNCOUNTED_PAIRS));

		pairs.engine = GSORT_ENGINE_PARTITION;
		pairs.key_bits = shapes[round][0];
		pairs.bits = shapes[round][1];
		sort_case(rig, &pairs, KEYS_EVEN, round & 1, round >> 1 & 1);
	}
}

/* Enough pairs that the host device writes past the caches and shares buckets
 * among its threads. */
static void
test_host_many(rig *rig)
{
	/* sizes at which the method of a bucket changes, and their neighbours */
	static const uint32_t borders[] = {24, 512, 16384, 32768, 262144, MANY_PAIRS};

	for (int round = 0; round < 4 * KEYS_KINDS * 6 && rig->kind == GSORT_KIND_HOST; round++)
	{
		uint32_t	n = borders[round / (4 * KEYS_KINDS)] + (uint32_t) random_below(3) - 1;
		gsort_pairs pairs = describe_round(3 * round + (round >> 2 & 1), limited_rows(n));

		sort_case(rig, &pairs, (keys_kind) (round / 4 % KEYS_KINDS), round >> 1 & 1, round & 1);
	}
}

/* The number of passes for keys of a kind.  0: one split of them; its largest
 * part in thousandths, with a table only if table_wanted. */
static uint32_t
choose_way(keys_kind kind, int table_wanted, uint32_t *largest)
{
	uint64_t   *keys = malloc(MANY_PAIRS * sizeof(*keys));
	uint32_t	counts[SPLIT_DIGITS] = {0};
	key_window	window = {0, UINT64_MAX};
	uint64_t	any = 0;
	uint64_t	all = UINT64_MAX;
	uint16_t   *table = NULL;
	key_digit	digit;
	uint32_t	passes;

	for (uint32_t i = 0; i < MANY_PAIRS; i++)
	{
		keys[i] = random_key(kind);
		any |= keys[i];
		all &= keys[i];
	}
	digit = digit_above(window, bits_below(any ^ all, SPLIT_BITS_MAX), SPLIT_BITS_MAX);
	passes = radix_sample_choose(window, keys, MANY_PAIRS, any ^ all, &digit, &table);
	CHECK((table != NULL) == table_wanted && digit.table == table);
	for (uint64_t entry = 1; table != NULL && entry <= digit.mask; entry++)
		CHECK(table[entry] >= table[entry - 1] && table[entry] < SPLIT_DIGITS);
	count_digits(keys, 0, MANY_PAIRS, digit, counts);
	*largest = 0;
	for (uint32_t i = 0; i < SPLIT_DIGITS; i++)
	{
		if (counts[i] / (MANY_PAIRS / 1000) > *largest)
			*largest = counts[i] / (MANY_PAIRS / 1000);
	}
	free(table);
	free(keys);
	return passes;
}

/* The host device's sort divides keys evenly, or sorts them in passes. */
static void
test_host_ways(void)
{
	uint32_t	largest;

	CHECK(choose_way(KEYS_EVEN, 0, &largest) == 0 && largest < 3);
	CHECK(choose_way(KEYS_OF_DIGITS, 1, &largest) == 0 && largest < 10);
	CHECK(choose_way(KEYS_SHORT, 0, &largest) == 3);
}

void
test_pairs(rig *rig)
{
	static const uint32_t counts[] = {1, 2, 255, 4096, 16385, PAIRS_MAX};

	current_test = "pairs";
	for (int engine = GSORT_ENGINE_AUTO; engine < GSORT_ENGINES; engine++)
	{
		/* the host device has one engine, so a second round suffices to check
		 * the names */
		for (int round = 0; round < (engine <= GSORT_ENGINE_RADIX || rig->kind == GSORT_KIND_CUDA ? 96 : 16); round++)
		{
			uint32_t	n = counts[(round / 16) % (sizeof(counts) / sizeof(counts[0]))];
			gsort_pairs pairs = describe_round(round, limited_rows(n));

			pairs.engine = (gsort_engine) engine;
			sort_case(rig, &pairs, KEYS_MIXED, round >> 2 & 1, round >> 3 & 1);
		}
		for (int round = 0; round < 4 && rig->kind == GSORT_KIND_CUDA; round++)
		{
			gsort_pairs pairs = describe_round(3 * round, MANY_PAIRS);

			pairs.engine = (gsort_engine) engine;
			sort_case(rig, &pairs, KEYS_MIXED, round >> 1, round & 1);
			/* the partition hands these to the radix sort */
			sort_case(rig, &pairs, KEYS_FEW_VALUES, round & 1, round >> 1);
		}
	}
	test_even_many(rig);
	test_host_many(rig);
	if (rig->kind == GSORT_KIND_HOST)
		test_host_ways();
	test_ties(rig);
	test_choice();
}
