/*
 * radix_steps.h
 *	  Pairs, keys and digits, and the steps of the radix sort: they choose how
 *	  to sort a range of pairs, move pairs to the places of their digits, and
 *	  sort a bucket.
 *
 * A pair is a key and a row number, or both in one word: the row number in the
 * low bits, the key above.  The argument that tells is constant wherever a loop
 * is compiled.  Each step runs on one thread.  The caller owns all memory.
 */
#ifndef GSORT_RADIX_STEPS_H
#define GSORT_RADIX_STEPS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "host/host_pool.h"
#include "rows/host_device.h"

#define INLINED static inline __attribute__((always_inline))

#define SPLIT_BITS_MAX	10
#define SPLIT_DIGITS	(1u << SPLIT_BITS_MAX)
#define PLAIN_BITS_MAX	8		/* pair by pair, more digits cost a cache miss each */
/* Largest bucket that stays in one core's cache. */
#define CACHED_ROWS		(2 * HOST_SMALL_ROWS)
/* From this size on, the output of a scatter exceeds the caches. */
#define STREAMED_ROWS	(16 * HOST_SMALL_ROWS)

typedef struct host_pairs
{
	uint64_t   *keys;
	/* unused until the end if keys have the row numbers, otherwise NULL for 0,
	 * 1, ... (input only) */
	uint32_t   *rows;
} host_pairs;

typedef enum pair_shape
{
	ROWS_IN_KEYS,
	ROWS_GIVEN,
	ROWS_NUMBERED				/* the row number is the place */
} pair_shape;

typedef struct key_window
{
	uint32_t	row_bits;		/* number of row bits in a key; 0: rows are given */
	uint64_t	mask;			/* applied after a shift by row_bits */
} key_window;

/* A digit: some bits of a key; with a table, the entry of these bits. */
typedef struct key_digit
{
	uint32_t	shift;
	uint32_t	mask;			/* applied after the shift */
	const uint16_t *table;		/* NULL: none */
} key_digit;

typedef struct key_summary
{
	uint64_t	any;			/* OR: bits set in some key */
	uint64_t	all;			/* AND: bits set in every key */
	int			in_order;
} key_summary;

/* The sorted bits of a key. */
INLINED uint64_t
value_of(key_window window, uint64_t key)
{
	return key >> window.row_bits & window.mask;
}

/* The digit of that many bits above the lowest low_bits of the sorted bits. */
static inline key_digit
digit_above(key_window window, uint32_t low_bits, uint32_t bits)
{
	uint64_t	above = low_bits >= 64 ? 0 : window.mask >> low_bits;

	/* C leaves a shift by the full width undefined */
	return (key_digit) {
		above == 0 ? 0 : window.row_bits + low_bits, (uint32_t) (above & ((1u << bits) - 1)), NULL
	};
}

INLINED uint32_t
digit_of(key_digit digit, uint64_t key, int with_table)
{
	uint32_t	bits = (uint32_t) (key >> digit.shift) & digit.mask;

	return with_table ? digit.table[bits] : bits;
}

INLINED host_pairs
pairs_at(const host_pairs *pairs, uint64_t begin, pair_shape shape)
{
	return (host_pairs) {
		pairs->keys + begin, shape == ROWS_GIVEN ? pairs->rows + begin : NULL
	};
}

INLINED void
copy_pairs(const host_pairs *from, const host_pairs *to, uint64_t begin, uint64_t end,
		   pair_shape shape)
{
	memcpy(to->keys + begin, from->keys + begin, (end - begin) * sizeof(*to->keys));
	if (shape == ROWS_GIVEN)
		memcpy(to->rows + begin, from->rows + begin, (end - begin) * sizeof(*to->rows));
}

INLINED void
move_pair(const host_pairs *from, uint64_t i, const host_pairs *to, uint64_t place,
		  pair_shape shape)
{
	to->keys[place] = from->keys[i];
	if (shape != ROWS_IN_KEYS)
		to->rows[place] = shape == ROWS_GIVEN ? from->rows[i] : (uint32_t) i;
}

/* Number of bits below a digit that has bits bits, from the highest varying one
 * down. */
static inline uint32_t
bits_below(uint64_t varying, uint32_t bits)
{
	uint32_t	length = significant_bits(varying);

	return length > bits ? length - bits : 0;
}

/*
 * Digit width for the split of a range of n pairs.  The parts fit a cache, or
 * come as close as possible.  lines: radix_scatter writes whole cache lines.
 */
static inline uint32_t
split_bits(uint64_t n, uint64_t varying, int lines)
{
	uint32_t	most = lines ? SPLIT_BITS_MAX : PLAIN_BITS_MAX;
	uint32_t	bits = significant_bits(n / (CACHED_ROWS / 2));

	return lines || bits > most || significant_bits(varying) <= most ? most : bits;
}

static inline key_summary
summarize(key_window window, const uint64_t *keys, uint64_t begin, uint64_t end)
{
	uint64_t	before = value_of(window, keys[begin]);
	key_summary summary = {before, before, 1};

	for (uint64_t i = begin + 1; i < end; i++)
	{
		uint64_t	value = value_of(window, keys[i]);

		summary.any |= value;
		summary.all &= value;
		summary.in_order &= value >= before;
		before = value;
	}
	return summary;
}

static inline void
count_digits(const uint64_t *keys, uint64_t begin, uint64_t end, key_digit digit, uint32_t *counts)
{
	if (digit.table != NULL)
	{
		for (uint64_t i = begin; i < end; i++)
			counts[digit_of(digit, keys[i], 1)]++;
		return;
	}
	for (uint64_t i = begin; i < end; i++)
		counts[digit_of(digit, keys[i], 0)]++;
}

/* The first of the places [low, high) of rising words, stride apart, that holds
 * more than word; high if there is none. */
static inline uint64_t
first_above(const uint64_t *words, size_t stride, uint64_t low, uint64_t high, uint64_t word)
{
	while (low < high)
	{
		uint64_t	middle = low + (high - low) / 2;

		if (words[middle * stride] <= word)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static inline void
counts_to_places(uint32_t *counts, uint32_t digits, uint32_t place)
{
	for (uint32_t digit = 0; digit < digits; digit++)
	{
		uint32_t	count = counts[digit];

		counts[digit] = place;
		place += count;
	}
}

/* --- scatters --------------------------------------------- */

/* Pairs in a buffer: two cache lines of keys, one of row numbers. */
#define LINE_PAIRS		16
#define LINE_BYTES		64

typedef struct line_buffers
{
	_Alignas(LINE_BYTES) uint64_t keys[SPLIT_DIGITS][LINE_PAIRS];
	_Alignas(LINE_BYTES) uint32_t rows[SPLIT_DIGITS][LINE_PAIRS];
	uint32_t	begins[SPLIT_DIGITS];	/* first place of each digit */
} line_buffers;

INLINED void
scatter_plainly(const host_pairs *from, const host_pairs *to, uint64_t begin, uint64_t end,
				key_digit digit, uint32_t *places, pair_shape shape)
{
	for (uint64_t i = begin; i < end; i++)
		move_pair(from, i, to, places[digit_of(digit, from->keys[i], 0)]++, shape);
}

/* True if a scatter of n pairs had better write whole cache lines past the
 * caches. */
int			radix_scatter_has_lines(const host_pairs *to, uint64_t n, pair_shape shape);

/* Scatters the pairs [begin, end), and advances the places.  lines NULL: pair
 * by pair. */
void		radix_scatter(line_buffers *lines, const host_pairs *from, const host_pairs *to,
						  uint64_t begin, uint64_t end, key_digit digit, uint32_t digits,
						  uint32_t *places, pair_shape shape);

/* --- the way by a sample ---------------------------------- */

/*
 * Returns the number of passes if the keys, which vary in these bits, are
 * sorted least significant digit first.  0: the digit divides them; it has a
 * table if that serves better.  The caller frees *table, which must be NULL at
 * first and stays so if there is none.
 */
uint32_t	radix_sample_choose(key_window window, const uint64_t *keys, uint64_t n,
								uint64_t varying, key_digit *digit, uint16_t **table);

/* --- a bucket --------------------------------------------- */

/* A thread's memory, 400 kB. */
typedef struct radix_workspace
{
	uint64_t	keys[CACHED_ROWS];
	uint32_t	rows[CACHED_ROWS];
} radix_workspace;

/* Sorts the pairs [begin, end) of a side, at least one, into side 0; overwrites
 * side 1 there. */
void		radix_bucket_sort(const host_pairs sides[2], key_window window, radix_workspace *work,
							  int side, uint64_t begin, uint64_t end);

/* --- the whole sort (host_radix.c) --------------------------------------- */

/*
 * Stable sort of n pairs on the threads of the pool, by the keys' low bits.  A
 * caller whose keys leave room puts the row numbers into the low row_bits bits
 * of the keys, where they stay.  Such pairs take two thirds of the memory and
 * time.  Only the counts of digits are not the caller's memory.  The caller may
 * be any thread, and does its share.
 */
typedef struct host_radix_sort
{
	uint64_t	n;
	uint32_t	row_bits;		/* 0: the keys are without row numbers */
	uint32_t	bits;			/* of the keys, above the row numbers */
	host_pairs	in;				/* read-only, unless it equals sides[1] */
	/* fastest if aligned to cache lines; sides[1].rows is unused if the keys
	 * have the row numbers */
	host_pairs	sides[2];
	const atomic_int *cancel;	/* not 0: the sort ends early with any result; may be NULL */
} host_radix_sort;

/* Sorts. *sorted is the result: in if that was sorted already, otherwise
 * sides[0].  0: out of memory. */
int			host_radix_run(host_pool *pool, const host_radix_sort *sort, host_pairs *sorted);

#endif							/* GSORT_RADIX_STEPS_H */
