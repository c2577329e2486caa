/*
 * host_radix.c
 *	  Least significant digit first, 8 bits a pass.
 *
 * Each pass cuts its input into parts.  Every part counts its digits; a prefix
 * sum over (digit, part) tells each part where its pairs of each digit go,
 * which keeps the order of equal digits; then every part scatters.  A digit
 * that is the same in all keys costs the counting only.
 */
#include "host/host_radix.h"

#include <stdlib.h>
#include <string.h>

/* Measured with 5 M pairs of 64 and 32 bits: 6 and 11 bits both took longer. */
#define DIGIT_BITS		8
#define DIGITS			(1u << DIGIT_BITS)
#define PARTS_MAX		256
/* Below this, waking other threads costs more than they save.  Builds that look
 * for races have it small: then short inputs, all that their slow programs can
 * take, are shared too. */
#ifndef HOST_SMALL_ROWS
#define HOST_SMALL_ROWS	(1u << 14)
#endif
/* Larger parts would make light tasks wait for long. */
#define PART_ROWS_MAX	(1u << 20)

typedef struct radix_pass
{
	uint64_t	n;
	uint32_t	parts;
	uint32_t	shift;
	uint32_t	mask;
	int			wide;
	host_pairs	from;
	host_pairs	to;
	uint32_t	(*counts)[DIGITS];	/* [parts]; after the prefix sum: where to write next */
} radix_pass;

uint32_t
host_parts(const host_pool *pool, uint64_t n)
{
	uint64_t	parts = (uint64_t) host_pool_threads(pool);

	if (n < HOST_SMALL_ROWS)
		return 1;
	if (n / PART_ROWS_MAX > parts)
		parts = n / PART_ROWS_MAX;
	return parts < PARTS_MAX ? (uint32_t) parts : PARTS_MAX;
}

static inline __attribute__((always_inline)) uint64_t
key_at(const void *keys, uint64_t i, int wide)
{
	return wide ? ((const uint64_t *) keys)[i] : ((const uint32_t *) keys)[i];
}

static inline __attribute__((always_inline)) void
count_digits(const radix_pass *pass, uint32_t part, int wide)
{
	uint32_t   *counts = pass->counts[part];
	uint64_t	end = host_part_begin(pass->n, pass->parts, part + 1);

	memset(counts, 0, sizeof(*pass->counts));
	for (uint64_t i = host_part_begin(pass->n, pass->parts, part); i < end; i++)
		counts[key_at(pass->from.keys, i, wide) >> pass->shift & pass->mask]++;
}

static void
count_part(void *arg, uint32_t part)
{
	const radix_pass *pass = arg;

	if (pass->wide)
		count_digits(pass, part, 1);
	else
		count_digits(pass, part, 0);
}

/* Moves the part's pairs to the places of their digits.  wide and with_rows are
 * constants where it is called. */
static inline __attribute__((always_inline)) void
scatter_pairs(const radix_pass *pass, uint32_t part, int wide, int with_rows)
{
	uint32_t   *next = pass->counts[part];
	const void *keys = pass->from.keys;
	const uint32_t *rows = pass->from.rows;
	uint32_t   *rows_out = pass->to.rows;
	uint32_t	shift = pass->shift;
	uint32_t	mask = pass->mask;
	uint64_t	end = host_part_begin(pass->n, pass->parts, part + 1);

	for (uint64_t i = host_part_begin(pass->n, pass->parts, part); i < end; i++)
	{
		uint64_t	key = key_at(keys, i, wide);
		uint32_t	to = next[key >> shift & mask]++;

		if (wide)
			((uint64_t *) pass->to.keys)[to] = key;
		else
			((uint32_t *) pass->to.keys)[to] = (uint32_t) key;
		rows_out[to] = with_rows ? rows[i] : (uint32_t) i;
	}
}

static void
scatter_part(void *arg, uint32_t part)
{
	const radix_pass *pass = arg;

	if (pass->wide && pass->from.rows != NULL)
		scatter_pairs(pass, part, 1, 1);
	else if (pass->wide)
		scatter_pairs(pass, part, 1, 0);
	else if (pass->from.rows != NULL)
		scatter_pairs(pass, part, 0, 1);
	else
		scatter_pairs(pass, part, 0, 0);
}

/* Is one digit that of all keys? */
static int
pass_is_trivial(const radix_pass *pass)
{
	uint64_t	digit = key_at(pass->from.keys, 0, pass->wide) >> pass->shift & pass->mask;
	uint64_t	count = 0;

	for (uint32_t part = 0; part < pass->parts; part++)
		count += pass->counts[part][digit];
	return count == pass->n;
}

/* Turns counts into places: digit after digit, and for one digit part after
 * part, which keeps the sort stable. */
static void
counts_to_places(const radix_pass *pass)
{
	uint32_t	place = 0;

	for (uint32_t digit = 0; digit < DIGITS; digit++)
	{
		for (uint32_t part = 0; part < pass->parts; part++)
		{
			uint32_t	count = pass->counts[part][digit];

			pass->counts[part][digit] = place;
			place += count;
		}
	}
}

/* A pass for each digit, from the lowest on.  A digit that all keys share takes
 * a count only. */
static void
run_passes(host_pool *pool, const host_radix_sort *sort, radix_pass *pass)
{
	int			side = 0;

	for (uint32_t bit = sort->begin_bit; bit < sort->end_bit; bit += DIGIT_BITS)
	{
		uint32_t	bits = sort->end_bit - bit;

		if (sort->cancel != NULL && atomic_load(sort->cancel))
			return;
		pass->shift = bit;
		pass->mask = (1u << (bits < DIGIT_BITS ? bits : DIGIT_BITS)) - 1;
		host_pool_for(pool, pass->parts, count_part, pass);
		if (pass_is_trivial(pass))
			continue;
		counts_to_places(pass);
		pass->to = sort->sides[side];
		host_pool_for(pool, pass->parts, scatter_part, pass);
		pass->from = pass->to;
		side = !side;
	}
}

int
host_radix_run(host_pool *pool, const host_radix_sort *sort, host_pairs *sorted)
{
	radix_pass	pass = {
		.n = sort->n,
		.parts = host_parts(pool, sort->n),
		.wide = sort->key_bits == 64,
		.from = sort->in,
	};

	pass.counts = malloc(pass.parts * sizeof(*pass.counts));
	if (pass.counts == NULL)
		return 0;
	if (sort->n > 0)
		run_passes(pool, sort, &pass);
	free(pass.counts);
	*sorted = pass.from;
	return 1;
}
