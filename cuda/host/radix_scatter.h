/*
 * radix_scatter.h
 *	  Moves pairs to the places of their digits.
 *
 * In:  a range of pairs; for each digit, the place of its next pair.
 * Out: the pairs at their places, in input order within a digit.
 */
#ifndef GSORT_RADIX_SCATTER_H
#define GSORT_RADIX_SCATTER_H

#include "host/radix_pairs.h"

/* Pairs in a buffer: two cache lines of keys, one of row numbers. */
#define LINE_PAIRS		16
#define LINE_BYTES		64

typedef struct line_buffers
{
	_Alignas(LINE_BYTES) uint64_t keys[SPLIT_DIGITS][LINE_PAIRS];
	_Alignas(LINE_BYTES) uint32_t rows[SPLIT_DIGITS][LINE_PAIRS];
	uint32_t	begins[SPLIT_DIGITS];	/* first place of each digit */
} line_buffers;

/* Scatters pair by pair. */
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

#endif							/* GSORT_RADIX_SCATTER_H */
