/*
 * radix_scatter.h
 *	  Moves pairs to the places of their digits.
 *
 * In:  a range of pairs; for each digit, the place of its next pair.
 * Out: the pairs at their places, in the order of the range within a digit.
 */
#ifndef GSORT_RADIX_SCATTER_H
#define GSORT_RADIX_SCATTER_H

#include "host/radix_pairs.h"

/* Pairs of a buffer: two cache lines of wide keys, one of row numbers. */
#define LINE_PAIRS		16
#define LINE_BYTES		64

typedef struct line_buffers
{
	_Alignas(LINE_BYTES) uint64_t keys[SPLIT_DIGITS][LINE_PAIRS];	/* narrow keys fill half */
	_Alignas(LINE_BYTES) uint32_t rows[SPLIT_DIGITS][LINE_PAIRS];
	uint32_t	begins[SPLIT_DIGITS];	/* the first place of each digit */
} line_buffers;

/* One pair after the other; from->rows is not read without with_rows. */
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

/* Does a scatter of a range of n pairs write whole cache lines, past the caches? */
int			radix_scatter_has_lines(const host_pairs *to, uint64_t n);

/*
 * The pairs [begin, end) of a range of n, all of which are scattered;
 * from->rows NULL: row i is i. Moves the places on.
 */
void		radix_scatter(line_buffers *lines, const host_pairs *from, const host_pairs *to,
						  uint64_t begin, uint64_t end, uint64_t n, key_digit digit,
						  uint32_t digits, uint32_t *places, int wide);

#endif							/* GSORT_RADIX_SCATTER_H */
