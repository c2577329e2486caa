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

/* Pairs in a buffer: two cache lines of wide keys, one of row numbers. */
#define LINE_PAIRS		16
#define LINE_BYTES		64

typedef struct line_buffers
{
	/* narrow keys fill half of it */
	_Alignas(LINE_BYTES) uint64_t keys[SPLIT_DIGITS][LINE_PAIRS];
	_Alignas(LINE_BYTES) uint32_t rows[SPLIT_DIGITS][LINE_PAIRS];
	uint32_t	begins[SPLIT_DIGITS];	/* first place of each digit */
} line_buffers;

/* Scatters pair by pair; reads from->rows only if with_rows. */
INLINED void
scatter_plainly(const host_pairs *from, const host_pairs *to, uint64_t begin, uint64_t end,
				key_digit digit, uint32_t *places, int wide, int with_rows)
{
	for (uint64_t i = begin; i < end; i++)
	{
		uint64_t	key = key_at(from->keys, i, wide);
		uint32_t	place = places[digit_of(digit, key)]++;

		put_key(to->keys, place, key, wide);
		to->rows[place] = with_rows ? from->rows[i] : (uint32_t) i;
	}
}

/* True if a scatter of n pairs writes whole cache lines past the caches. */
int			radix_scatter_has_lines(const host_pairs *to, uint64_t n);

/*
 * Scatters the pairs [begin, end) of a range of n, all of which are scattered.
 * from->rows NULL: row i is i.  Advances the places.
 */
void		radix_scatter(line_buffers *lines, const host_pairs *from, const host_pairs *to,
						  uint64_t begin, uint64_t end, uint64_t n, key_digit digit,
						  uint32_t digits, uint32_t *places, int wide);

#endif							/* GSORT_RADIX_SCATTER_H */
