/*
 * radix_pairs.h
 *	  Pairs, keys and digits, as used by the steps of the radix sort.
 *
 * The key width is an argument that is constant wherever a loop is compiled.
 */
#ifndef GSORT_RADIX_PAIRS_H
#define GSORT_RADIX_PAIRS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "host/host_parts.h"

#define INLINED static inline __attribute__((always_inline))

#define SPLIT_BITS_MAX	10
#define SPLIT_DIGITS	(1u << SPLIT_BITS_MAX)
#define PLAIN_BITS_MAX	8
/* Largest bucket that stays in one core's cache. */
#define CACHED_ROWS		(2 * HOST_SMALL_ROWS)
/* From this size on, the output of a scatter exceeds the caches. */
#define STREAMED_ROWS	(16 * HOST_SMALL_ROWS)

typedef struct host_pairs
{
	void	   *keys;
	uint32_t   *rows;			/* NULL: 0, 1, ... (input only) */
} host_pairs;

/* The bits of a key that the sort uses. */
typedef struct key_window
{
	int			wide;			/* keys have 64 bits, not 32 */
	uint32_t	begin_bit;
	uint64_t	mask;			/* applied after a shift by begin_bit */
} key_window;

/* A digit: some bits of a key. */
typedef struct key_digit
{
	uint32_t	shift;
	uint32_t	mask;
} key_digit;

/* The summary of a range of keys. */
typedef struct key_summary
{
	uint64_t	any;			/* OR: bits set in some key */
	uint64_t	all;			/* AND: bits set in every key */
	int			in_order;
} key_summary;

INLINED uint64_t
key_at(const void *keys, uint64_t i, int wide)
{
	return wide ? ((const uint64_t *) keys)[i] : ((const uint32_t *) keys)[i];
}

INLINED void
put_key(void *keys, uint64_t i, uint64_t key, int wide)
{
	if (wide)
		((uint64_t *) keys)[i] = key;
	else
		((uint32_t *) keys)[i] = (uint32_t) key;
}

INLINED size_t
key_bytes(int wide)
{
	return wide ? sizeof(uint64_t) : sizeof(uint32_t);
}

/* The sorted bits of a key. */
INLINED uint64_t
value_at(key_window window, const void *keys, uint64_t i, int wide)
{
	return key_at(keys, i, wide) >> window.begin_bit & window.mask;
}

/* The digit of that many bits above the lowest low_bits of the sorted bits. */
static inline key_digit
digit_above(key_window window, uint32_t low_bits, uint32_t bits)
{
	uint64_t	above = low_bits >= 64 ? 0 : window.mask >> low_bits;

	/* C leaves a shift by the full width undefined */
	return (key_digit) {
		above == 0 ? 0 : window.begin_bit + low_bits, (uint32_t) (above & ((1u << bits) - 1))
	};
}

INLINED uint32_t
digit_of(key_digit digit, uint64_t key)
{
	return (uint32_t) (key >> digit.shift) & digit.mask;
}

INLINED host_pairs
pairs_at(const host_pairs *pairs, uint64_t begin, int wide)
{
	return (host_pairs) {(char *) pairs->keys + begin * key_bytes(wide), pairs->rows + begin};
}

INLINED void
copy_pairs(const host_pairs *from, const host_pairs *to, uint64_t begin, uint64_t end, int wide)
{
	host_pairs	source = pairs_at(from, begin, wide);
	host_pairs	target = pairs_at(to, begin, wide);

	memcpy(target.keys, source.keys, (end - begin) * key_bytes(wide));
	memcpy(target.rows, source.rows, (end - begin) * sizeof(uint32_t));
}

static inline uint32_t
bit_length(uint64_t value)
{
	return value == 0 ? 0 : 64 - (uint32_t) __builtin_clzll(value);
}

/* Number of bits below a digit that has bits bits, from the highest varying one
 * down. */
static inline uint32_t
bits_below(uint64_t varying, uint32_t bits)
{
	uint32_t	length = bit_length(varying);

	return length > bits ? length - bits : 0;
}

/*
 * Digit width for the split of a range of n pairs.  The parts fit a cache, or
 * come as close as possible.  lines: radix_scatter writes whole cache lines;
 * without it, more than a few digits cost a cache miss per pair.
 */
static inline uint32_t
split_bits(uint64_t n, uint64_t varying, int lines)
{
	uint32_t	most = lines ? SPLIT_BITS_MAX : PLAIN_BITS_MAX;
	uint32_t	bits = bit_length(n / (CACHED_ROWS / 2));

	return lines || bits > most || bit_length(varying) <= most ? most : bits;
}

/* Summarizes a range of at least one key. */
INLINED key_summary
summarize(key_window window, const void *keys, uint64_t begin, uint64_t end, int wide)
{
	uint64_t	before = value_at(window, keys, begin, wide);
	key_summary summary = {before, before, 1};

	for (uint64_t i = begin + 1; i < end; i++)
	{
		uint64_t	value = value_at(window, keys, i, wide);

		summary.any |= value;
		summary.all &= value;
		summary.in_order &= value >= before;
		before = value;
	}
	return summary;
}

INLINED void
count_digits(const void *keys, uint64_t begin, uint64_t end, key_digit digit, uint32_t *counts,
			 int wide)
{
	for (uint64_t i = begin; i < end; i++)
		counts[digit_of(digit, key_at(keys, i, wide))]++;
}

/* Turns counts into places; the first pair goes to place. */
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

#endif							/* GSORT_RADIX_PAIRS_H */
