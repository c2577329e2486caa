/*
 * radix_sample.c
 *	  The choice among digits, a table and passes (see radix_steps.h).
 *
 * Texts, numbers in floating point and numbers of any length divide unevenly by
 * few bits.  A table then assigns a part to each value of more bits.  Short
 * keys are sorted least significant digit first, where crowded digits do no
 * harm.
 *
 * A search among splitters would cost more than a split.  A table of their
 * first bits needs one access, mostly to few of its lines.
 */
#include "host/radix_steps.h"

#include <stdlib.h>

#define SAMPLE_MAX		4096
#define TABLE_BITS_MAX	20
/* The sample and the table take little of the sort's time. */
#define ROWS_PER_SAMPLE	256
#define ROWS_PER_ENTRY	8
/* A digit is crowded if it has this many times the average. */
#define CROWDED			4
/* Up to this many passes cost less than a table and the sort of its parts. */
#define PASSES_MAX		3

static int
compare_entries(const void *a, const void *b)
{
	uint32_t	x = *(const uint32_t *) a;
	uint32_t	y = *(const uint32_t *) b;

	return x < y ? -1 : x > y;
}

/* Fills in a sorted sample of the digit, and returns its size.  Each stretch of
 * the keys gives one, at a place that follows no period. */
static uint32_t
take_sample(const uint64_t *keys, uint64_t n, key_digit digit, uint32_t *sample)
{
	uint64_t	stretch = n / SAMPLE_MAX > ROWS_PER_SAMPLE ? n / SAMPLE_MAX : ROWS_PER_SAMPLE;
	uint32_t	size = n / stretch < SAMPLE_MAX ? (uint32_t) (n / stretch) : SAMPLE_MAX;
	uint32_t	random = 1;

	for (uint32_t i = 0; i < size; i++)
	{
		random = random * 1664525 + 1013904223;
		sample[i] = digit_of(digit, keys[i * stretch + (random >> 8) % stretch], 0);
	}
	qsort(sample, size, sizeof(*sample), compare_entries);
	return size;
}

/* True if half of the sample is crowded by its bits above low_bits, and the
 * bits below divide it. */
static int
is_crowded(const uint32_t *sample, uint32_t size, uint32_t low_bits)
{
	uint32_t	divided = 0;
	uint32_t	end;

	for (uint32_t begin = 0; begin < size; begin = end)
	{
		uint32_t	most = 0;	/* rows of the most frequent entry */
		uint32_t	same = 0;

		for (end = begin;
			 end < size && sample[end] >> low_bits == sample[begin] >> low_bits; end++)
		{
			same = end > begin && sample[end] == sample[end - 1] ? same + 1 : 1;
			most = same > most ? same : most;
		}
		if ((end - begin) * SPLIT_DIGITS > CROWDED * size)
			divided += end - begin - most;
	}
	return divided > size / 2;
}

/* Assigns parts to the entries: each splitter begins one. */
static void
fill_table(uint16_t *table, uint32_t entries, const uint32_t *sample, uint32_t size)
{
	uint32_t	entry = 0;
	uint16_t	part = 0;

	for (uint32_t i = 1; i < SPLIT_DIGITS; i++)
	{
		uint32_t	splitter = sample[(uint64_t) i * size / SPLIT_DIGITS];

		/* an entry that comes again gets a part of its own */
		if (splitter < entry)
			continue;
		if (splitter == entry && part > 0)
			splitter++;
		while (entry < splitter)
			table[entry++] = part;
		part++;
	}
	while (entry < entries)
		table[entry++] = part;
}

uint32_t
radix_sample_choose(key_window window, const uint64_t *keys, uint64_t n, uint64_t varying,
					key_digit *digit, uint16_t **table)
{
	uint32_t	sample[SAMPLE_MAX];
	uint32_t	length = significant_bits(varying);
	uint32_t	span = length - (uint32_t) __builtin_ctzll(varying);
	uint32_t	passes = (span + PLAIN_BITS_MAX - 1) / PLAIN_BITS_MAX;
	uint32_t	bits = significant_bits(n / ROWS_PER_ENTRY);
	uint32_t	size;
	key_digit	entry;

	if (bits > TABLE_BITS_MAX)
		bits = TABLE_BITS_MAX;
	if (bits > length)
		bits = length;
	if (bits <= SPLIT_BITS_MAX)
		return 0;
	entry = digit_above(window, length - bits, bits);
	size = take_sample(keys, n, entry, sample);
	if (!is_crowded(sample, size, bits - SPLIT_BITS_MAX))
		return 0;
	if (passes <= PASSES_MAX)
		return passes;
	*table = malloc(sizeof(**table) << bits);
	if (*table != NULL)
	{
		fill_table(*table, 1u << bits, sample, size);
		*digit = (key_digit) {entry.shift, entry.mask, *table};
	}
	return 0;
}
