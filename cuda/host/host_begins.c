/*
 * host_begins.c
 *	  Row words in sorted order, and the block begins of a run (see
 *	  host_sort.h).
 *
 * A row word has a row's place and length (host_run.h).  The rows are divided
 * into parts, one task each.  A task copies the row words of its part into
 * sorted order and sums their lengths.  The sums give each part its offset in
 * the sorted stream.  Each part then finds the blocks that begin in it.
 */
#include "host/host_sort.h"

#include <stdlib.h>
#include <string.h>

#include "rows/block_cut.h"

/* The block begins of one part, and the sums that later parts need. */
typedef struct part_result
{
	uint64_t	units;			/* length of the part's rows */
	uint64_t	longest_short_units;
	uint64_t	before_units;	/* length of all rows before the part */
	uint64_t	place;			/* place of its first begin, in a room for all possible ones */
	uint64_t	n;				/* begins found */
} part_result;

typedef struct begin_search
{
	const host_run *run;
	const uint32_t *order;		/* NULL: the order as fed */
	uint64_t	rows;
	uint32_t	parts;
	uint64_t   *row_words;
	block_cut	cut;
	part_result *results;
	host_begins *begins;
} begin_search;

static void
order_row_words_part(void *arg, uint32_t part)
{
	const begin_search *search = arg;
	const uint32_t *rows = search->order;
	part_result *result = &search->results[part];
	uint64_t	long_units = block_cut_long_units(search->run->block_bytes);
	uint64_t	end = host_part_begin(search->rows, search->parts, part + 1);
	uint64_t	total = 0;
	uint64_t	longest = 0;

	for (uint64_t i = host_part_begin(search->rows, search->parts, part); i < end; i++)
	{
		uint64_t	word;
		uint64_t	units;

		if (rows != NULL && i + ROWS_AHEAD < end)
		{
			uint64_t	ahead = rows[i + ROWS_AHEAD];

			__builtin_prefetch((const uint64_t *) host_run_key_extent(search->run, ahead) +
							   ahead % GSORT_KEY_EXTENT_ROWS);
		}
		word = host_run_row_word(search->run, rows != NULL ? rows[i] : i);
		units = row_word_units(word);
		search->row_words[i] = word;
		total += units;
		if (units <= long_units && units > longest)
			longest = units;
	}
	result->units = total;
	result->longest_short_units = longest;
}

static void
find_begins_part(void *arg, uint32_t part)
{
	const begin_search *search = arg;
	const block_cut *cut = &search->cut;
	part_result *result = &search->results[part];
	uint64_t	i = host_part_begin(search->rows, search->parts, part);
	uint64_t	end = host_part_begin(search->rows, search->parts, part + 1);
	uint64_t	offset = result->before_units;
	uint64_t	previous = i > 0 ? row_word_units(search->row_words[i - 1]) : 0;
	/* short rows below this offset begin no block, which saves divisions */
	uint64_t	next_cut = 0;

	for (; i < end; i++)
	{
		uint64_t	units = row_word_units(search->row_words[i]);

		if (offset >= next_cut || units > cut->long_units || previous > cut->long_units)
		{
			if (block_cut_begins(cut, offset, units, previous))
				search->begins->begins[result->place + result->n++] = (block_begin) {i, offset};
			next_cut = (offset / cut->stride_units + 1) * cut->stride_units;
		}
		offset += units;
		previous = units;
	}
}

/* Computes the parts' offsets from their lengths, the block cut, and the room
 * for begins. 0: out of memory. */
static int
place_parts(begin_search *search)
{
	uint64_t	longest = 0;
	uint64_t	before = 0;
	uint64_t	place = 0;

	for (uint32_t part = 0; part < search->parts; part++)
	{
		part_result *result = &search->results[part];

		result->before_units = before;
		result->place = place;
		before += result->units;
		place += block_cut_begins_at_most(host_part_begin(search->rows, search->parts, part + 1) -
										  host_part_begin(search->rows, search->parts, part),
										  result->units, search->run->block_bytes);
		if (result->longest_short_units > longest)
			longest = result->longest_short_units;
	}
	search->cut = block_cut_make(search->run->block_bytes, search->run->with_ties, longest);
	search->begins->begins = malloc((place + 1) * sizeof(*search->begins->begins));
	return search->begins->begins != NULL;
}

static void
join_begins(const begin_search *search)
{
	host_begins *begins = search->begins;

	begins->n = 0;
	for (uint32_t part = 0; part < search->parts; part++)
	{
		const part_result *found = &search->results[part];

		memmove(begins->begins + begins->n, begins->begins + found->place,
				found->n * sizeof(*begins->begins));
		begins->n += found->n;
	}
}

int
host_begins_find(const host_run *run, host_pool *pool, const uint32_t *order, uint64_t rows,
				 uint64_t *row_words, host_begins *begins)
{
	begin_search search = {
		.run = run, .order = order, .rows = rows, .parts = host_parts(pool, rows),
		.row_words = row_words, .begins = begins
	};
	int			placed;

	search.results = calloc(search.parts, sizeof(*search.results));
	if (search.results == NULL)
		return 0;
	host_pool_for(pool, search.parts, order_row_words_part, &search);
	placed = place_parts(&search);
	if (placed)
	{
		host_pool_for(pool, search.parts, find_begins_part, &search);
		join_begins(&search);
	}
	free(search.results);
	return placed;
}
