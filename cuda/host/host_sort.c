/*
 * host_sort.c
 *	  Sorts a run (see host_sort.h): keys to words, words to an order, the order
 *	  to row words and block begins.
 *
 * Memory: one block of 8 bytes per row holds the sort words first, later the
 * row words in sorted order, and stays.  A second block holds the other sort
 * words and the row numbers: 16 bytes per row, 12 if a single word has room for
 * the row numbers.  The second block ends with the sort, except for the row
 * numbers if the order is requested.  The keys stay in their extents until the
 * caller has the directory, so a failure in between loses nothing.
 *
 * Keys of several words are sorted by the first word; then the other words sort
 * the rows that it leaves tied (host_segments.c).
 *
 * Every step is a loop over parts of the rows, shared by the idle threads.
 */
#include "host/host_sort.h"
#include "host/radix_steps.h"
#include "rows/ties.h"
#include "rows/block_cut.h"

#include <stdlib.h>
#include <string.h>

typedef struct sorter
{
	const host_run *run;
	const key_plan *plan;
	uint64_t	rows;
	uint32_t	word;			/* number of the sort word that is made */
	uint32_t	row_bits;		/* bits of the row numbers below the words; 0: none */
	int			keys_checked;	/* an earlier pass has checked the keys */
	host_pairs	order;			/* rows NULL: the order as fed */
	host_pairs	spare;
	uint64_t   *row_words;
	uint32_t   *ties;
	tie_rule	ties_of;
	atomic_int	bad_keys;		/* a key contradicts the statistics */
} sorter;

/* --- memory --------------------------------------------------------------- */

static uint64_t
padded_rows(uint64_t rows)
{
	return (rows + 15) / 16 * 16;
}

uint64_t
host_sort_bytes(const gsort_job_options *options, uint64_t rows)
{
	uint64_t	bytes;

	if (rows == 0)
		return 0;
	bytes = whole_pages(8 * rows) + whole_pages(16 * padded_rows(rows));
	if (tie_bits_wanted(options))
		bytes += whole_pages(tie_bits_bytes(rows));
	return bytes;
}

uint64_t
host_sort_order_bytes(uint64_t rows)
{
	return whole_pages(4 * rows);
}

/* --- sort words ----------------------------------------------------------- */

/* Makes a sort word for each row; the first pass checks keys. */
static void
make_words_of(void *arg, uint64_t begin, uint64_t end)
{
	sorter	   *sort = arg;
	const uint32_t *rows = sort->order.rows;
	/* the local copy shows the compiler that no store of a word changes the
	 * plan */
	const key_plan plan = *sort->plan;
	int			is_first_pass = !sort->keys_checked;
	uint32_t	row_bits = sort->row_bits;
	int			bad_keys = 0;

	for (uint64_t i = begin; i < end; i++)
	{
		uint64_t	row = rows != NULL ? rows[i] : i;
		const uint64_t *keys = host_run_keys(sort->run, row);
		uint32_t	nulls = host_run_nulls(sort->run, row);
		uint64_t	word = key_plan_word(&plan, sort->word, keys, 1, nulls);

		if (rows != NULL && i + ROWS_AHEAD < end)
			__builtin_prefetch(host_run_keys(sort->run, rows[i + ROWS_AHEAD]));
		if (is_first_pass)
			bad_keys |= !key_plan_holds(&plan, keys, 1, nulls);
		sort->order.keys[i] = row_bits > 0 ? word << row_bits | i : word;
	}
	if (bad_keys)
		atomic_store(&sort->bad_keys, 1);
}

/* The bits of row numbers that the only word has room for; 0 if it lacks the
 * room, or if its ties are sorted by other words.  Equal keys have a word of no
 * bits. */
static uint32_t
row_bits_of(const key_plan *plan, uint64_t rows)
{
	uint32_t	bits = significant_bits(rows - 1);

	return plan->words <= 1 && plan->word_bits[0] + bits <= 64 ? bits : 0;
}

/* Makes the words of one number in the current order, sorts by them and
 * consumes one of the sides.  NOMEM, BAD_DATA. */
static gsort_status
sort_by_word(sorter *sort, uint32_t word, host_pool *pool, host_pairs sides[2],
			 const atomic_int *cancel)
{
	host_radix_sort radix = {
		.n = sort->rows, .bits = sort->plan->word_bits[word], .cancel = cancel
	};
	host_pairs	sorted;

	if (atomic_load(cancel))
		return GSORT_NOMEM;
	sort->word = word;
	sort->row_bits = sort->order.rows == NULL ? row_bits_of(sort->plan, sort->rows) : 0;
	host_pool_for_rows(pool, sort->rows, make_words_of, sort);
	sort->keys_checked = 1;
	if (atomic_load(&sort->bad_keys))
		return GSORT_BAD_DATA;
	radix.row_bits = sort->row_bits;
	radix.in = sort->order;
	radix.sides[0] = sides[0];
	radix.sides[1] = sides[1];
	if (!host_radix_run(pool, &radix, &sorted))
		return GSORT_NOMEM;
	if (sorted.keys == sides[0].keys)
	{
		sides[0] = sides[1];
		sides[1] = sorted;
	}
	sort->order = sorted;
	return GSORT_OK;
}

/* Sorts rows from begin to end, which share their first word, by the other
 * words, last to first.  The space of that word holds these meanwhile. */
static gsort_status
sort_long_segment(const sorter *sort, uint64_t begin, uint64_t end, host_pool *pool,
				  const host_pairs *spare, const atomic_int *cancel)
{
	uint64_t   *first_words = sort->order.keys + begin;
	uint64_t	first_word = first_words[0];
	uint32_t   *rows = sort->order.rows + begin;
	host_pairs	sides[2] = {{spare->keys + begin, spare->rows + begin},
		{first_words, rows}};
	sorter		segment = {
		.run = sort->run, .plan = sort->plan, .rows = end - begin,
		.keys_checked = 1, .order = sides[1]
	};
	gsort_status status = GSORT_OK;

	for (uint32_t word = sort->plan->words; word-- > 1 && status == GSORT_OK;)
		status = sort_by_word(&segment, word, pool, sides, cancel);
	if (segment.order.rows != rows)
		memcpy(rows, segment.order.rows, segment.rows * sizeof(*rows));
	for (uint64_t i = 0; i < segment.rows; i++)
		first_words[i] = first_word;
	return status;
}

static gsort_status
sort_segments(const sorter *sort, host_pool *pool, const host_pairs *spare,
			  const atomic_int *cancel)
{
	const host_segments segments = {
		.run = sort->run, .plan = sort->plan, .n = sort->rows, .sides = {sort->order, *spare},
		.cancel = cancel
	};
	gsort_status status = GSORT_OK;
	uint64_t	begin;
	uint64_t	end = 0;

	host_segments_sort(pool, &segments);
	while (status == GSORT_OK && host_segments_next_long(&segments, &begin, &end))
		status = sort_long_segment(sort, begin, end, pool, spare, cancel);
	return status;
}

static void
number_rows_of(void *arg, uint64_t begin, uint64_t end)
{
	const sorter *sort = arg;

	for (uint64_t i = begin; i < end; i++)
		sort->order.rows[i] = (uint32_t) i;
}

static void
number_rows(sorter *sort, host_pool *pool, uint32_t *rows)
{
	sort->order.rows = rows;
	host_pool_for_rows(pool, sort->rows, number_rows_of, sort);
}

/* Sorts by the first word, which has 64 bits if more words follow; these sort
 * its ties.  NOMEM, BAD_DATA. */
static gsort_status
sort_words(sorter *sort, host_pool *pool, const atomic_int *cancel)
{
	host_pairs	sides[2] = {sort->spare, sort->order};
	gsort_status status;

	sort->order.rows = NULL;
	status = sort_by_word(sort, 0, pool, sides, cancel);
	if (status != GSORT_OK || sort->plan->words <= 1)
		return status;
	if (sort->order.rows == NULL)
		number_rows(sort, pool, sides[1].rows);
	return sort_segments(sort, pool, &sides[0], cancel);
}

/* --- ties ----------------------------------------------------------------- */

static inline row_keys
keys_at(const sorter *sort, uint64_t i)
{
	uint64_t	row = sort->order.rows != NULL ? sort->order.rows[i] : i;

	return (row_keys) {
		host_run_keys(sort->run, row), 1,
		sort->run->null_mask != 0 ? host_run_null_bits(sort->run, row) : NULL
	};
}

/* Sets the tie bits of the rows.  Two parts never share a word of
 * bits. */
static void
mark_ties_of(void *arg, uint64_t begin, uint64_t end)
{
	const sorter *sort = arg;
	const uint64_t *words = sort->order.keys;

	for (uint64_t i = begin > 0 ? begin : 1; i < end; i++)
	{
		uint64_t	difference = (words[i] ^ words[i - 1]) >> sort->row_bits;
		row_keys	row;
		row_keys	before;

		if ((difference & sort->ties_of.decisive_bits) != 0)
			continue;
		row = keys_at(sort, i);
		before = keys_at(sort, i - 1);
		if (tie_rule_ties(&sort->ties_of, difference, &row, &before))
			sort->ties[i / 32] |= 1u << i % 32;
	}
}

/* --- row words and block begins ------------------------------------------ */

/*
 * The rows are divided into parts, one task each.  A task copies the row words
 * of its part into sorted order and sums their lengths.  The sums give each
 * part its offset in the sorted stream.  Each part then finds the blocks that
 * begin in it.
 */

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
			__builtin_prefetch(host_run_row_word(search->run, rows[i + ROWS_AHEAD]));
		word = *host_run_row_word(search->run, rows != NULL ? rows[i] : i);
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

/* Finds row words in sorted order, and the block begins.  order NULL: as fed.
 * row_words has room for all rows.  0: out of memory. */
static int
find_begins(const host_run *run, host_pool *pool, const uint32_t *order, uint64_t rows,
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

/* --- the sort ------------------------------------------------------------- */

static uint64_t
work_bytes(const key_plan *plan, uint64_t rows)
{
	if (plan->words == 0)
		return 0;
	/* row numbers inside the words take no space on one of the two sides */
	return (row_bits_of(plan, rows) > 0 ? 12 : 16) * padded_rows(rows);
}

/* Divides the two blocks into sort words and row numbers; each begins at a
 * cache line. */
static void
lay_out(sorter *sort, uint64_t *retained, char *work)
{
	uint64_t	rows = padded_rows(sort->rows);

	sort->order.keys = retained;
	if (work == NULL)
		return;
	sort->spare.keys = (uint64_t *) work;
	sort->spare.rows = (uint32_t *) (work + 8 * rows);
	if (row_bits_of(sort->plan, sort->rows) == 0)
		sort->order.rows = sort->spare.rows + rows;
}

static gsort_status
sort_in_blocks(sorter *sort, host_pool *pool, const atomic_int *cancel, host_begins *begins)
{
	gsort_status status = sort_words(sort, pool, cancel);

	if (status != GSORT_OK)
		return status;
	if (atomic_load(cancel))
		return GSORT_NOMEM;
	if (sort->ties != NULL)
		host_pool_for_rows(pool, sort->rows, mark_ties_of, sort);
	return find_begins(sort->run, pool, sort->order.rows, sort->rows, sort->row_words, begins) ?
		GSORT_OK : GSORT_NOMEM;
}

static void
end_work(host_run *run, const sorter *sort, char *work, uint64_t bytes, int retain_order)
{
	uint64_t	order_bytes = host_sort_order_bytes(sort->rows);

	if (retain_order && sort->order.rows != NULL)
	{
		run->order = (uint32_t *) work;
		memmove(run->order, sort->order.rows, 4 * sort->rows);
		host_block_give(run->memory, &run->account, work + order_bytes,
						whole_pages(bytes) - order_bytes);
	}
	else
		host_block_give(run->memory, &run->account, work, bytes);
}

gsort_status
host_run_sort(host_run *run, host_pool *pool, const key_plan *plan, const tie_rule *ties_of,
			  uint64_t rows, int retain_order, uint64_t limit_bytes, const atomic_int *cancel,
			  host_begins *begins)
{
	uint64_t	bytes = work_bytes(plan, rows);
	sorter		sort = {
		.run = run, .plan = plan, .rows = rows, .ties_of = *ties_of
	};
	gsort_status status = GSORT_NOMEM;
	char	   *work = NULL;

	memset(begins, 0, sizeof(*begins));
	if (rows == 0)
		return GSORT_OK;
	run->rows = rows;
	run->row_words = host_block_take(run->memory, &run->account, 8 * rows, limit_bytes);
	if (run->with_ties && run->row_words != NULL)
		run->ties = host_block_take(run->memory, &run->account, tie_bits_bytes(rows), limit_bytes);
	if (bytes > 0 && run->row_words != NULL)
		work = host_block_take(run->memory, &run->account, bytes, limit_bytes);
	if (run->row_words != NULL && (run->ties != NULL || !run->with_ties) &&
		(work != NULL || bytes == 0))
	{
		sort.row_words = run->row_words;
		sort.ties = run->ties;
		lay_out(&sort, run->row_words, work);
		status = sort_in_blocks(&sort, pool, cancel, begins);
	}
	if (status == GSORT_BAD_DATA)
		run->bad_data = GSORT_BAD_KEYS;
	end_work(run, &sort, work, bytes, retain_order && status == GSORT_OK);
	if (status != GSORT_OK)
	{
		free(begins->begins);
		memset(begins, 0, sizeof(*begins));
		host_run_drop_order(run);
	}
	return status;
}
