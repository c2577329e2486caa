/*
 * radix_steps.h
 *	  The steps of the radix sort: they choose how to sort a range of pairs,
 *	  move pairs to the places of their digits, and sort a bucket.
 *
 * Each runs on one thread.  The caller owns all memory.
 */
#ifndef GSORT_RADIX_STEPS_H
#define GSORT_RADIX_STEPS_H

#include "host/radix_pairs.h"

/* --- scatter (radix_scatter.c) -------------------------------------------- */

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

/* --- the way by a sample (radix_sample.c) --------------------------------- */

/*
 * Returns the number of passes if the keys, which vary in these bits, are
 * sorted least significant digit first.  0: the digit divides them; it has a
 * table if that serves better.  The caller frees *table, which must be NULL at
 * first and stays so if there is none.
 */
uint32_t	radix_sample_choose(key_window window, const uint64_t *keys, uint64_t n,
								uint64_t varying, key_digit *digit, uint16_t **table);

/* --- a bucket (radix_bucket.c) -------------------------------------------- */

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

#endif							/* GSORT_RADIX_STEPS_H */
