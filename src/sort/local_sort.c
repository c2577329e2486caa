/*
 * local_sort.c
 *	  Sorts a small input in the backend: below the crossover a request to the
 *	  device costs more than the sort.
 *
 * In:  a feed's private chunks: rows and their key words, as the device would
 *	    get them.
 * Out: pointers to the rows in key order.
 *
 * Stable, so that it gives the same order as the device.  The first words are sorted by radix, what
 * they leave by comparing.  What words leave undecided the operators' comparators decide; where
 * words are not to be trusted, these decide all.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "sort/local_sort.h"

/* Fewer entries are compared sooner than counted. */
#define ROWS_FOR_RADIX	128

#define DIGITS			8		/* of a word */
#define DIGIT_VALUES	256

/* What is moved while sorting; kept small. */
typedef struct LocalEntry
{
	uint64		first_key;		/* most comparisons end here */
	uint32		nulls;
	uint32		row;			/* its number, the last tie-break */
} LocalEntry;

typedef struct LocalOrder
{
	const GpuSortKeys *keys;
	bool		by_words;		/* they come first */
	GpuSortComparer *comparer;	/* then this; NULL: words decide all */
	const uint64 **words;		/* of each row */
	const char **rows;
} LocalOrder;

static int
compare_rows(const LocalOrder *order, const LocalEntry *a, const LocalEntry *b)
{
	GpuSortComparer *comparer = order->comparer;

	return gpusort_comparer_compare_slots(comparer,
										  gpusort_row_store(comparer->format, order->rows[a->row],
															comparer->a),
										  gpusort_row_store(comparer->format, order->rows[b->row],
															comparer->b));
}

static inline int
compare_entries(const LocalEntry *a, const LocalEntry *b, const LocalOrder *order)
{
	int			result = 0;

	if (likely(order->by_words))
	{
		if (likely(((a->nulls | b->nulls) & 1) == 0 && a->first_key != b->first_key))
			return a->first_key < b->first_key ? -1 : 1;
		result = gpusort_keys_compare(order->keys, order->words[a->row], a->nulls,
									  order->words[b->row], b->nulls);
	}
	if (result == 0 && order->comparer != NULL)
		result = compare_rows(order, a, b);
	if (result != 0)
		return result;
	return a->row < b->row ? -1 : 1;
}

#define ST_SORT sort_local_entries
#define ST_ELEMENT_TYPE LocalEntry
#define ST_COMPARE(a, b, order) compare_entries(a, b, order)
#define ST_COMPARE_ARG_TYPE LocalOrder
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

static inline int
digit_of(uint64 key, int digit)
{
	return key >> (8 * digit) & (DIGIT_VALUES - 1);
}

/* Moves entries to where their digit puts them, after counts[] of each digit's values. */
static void
move_by_digit(const LocalEntry *from, LocalEntry *to, uint64 n, int digit, const uint32 *counts)
{
	uint32		place[DIGIT_VALUES];
	uint32		sum = 0;

	for (int v = 0; v < DIGIT_VALUES; v++)
	{
		place[v] = sum;
		sum += counts[v];
	}
	for (uint64 i = 0; i < n; i++)
		to[place[digit_of(from[i].first_key, digit)]++] = from[i];
}

/* Sorts by the first word, from the last digit to the first, those left out that all have in common.
 * Returns where the entries are then: in one array or the other. */
static LocalEntry *
sort_first_words(LocalEntry *entries, LocalEntry *other, uint64 n)
{
	uint32		counts[DIGITS][DIGIT_VALUES];

	memset(counts, 0, sizeof(counts));
	for (uint64 i = 0; i < n; i++)
		for (int d = 0; d < DIGITS; d++)
			counts[d][digit_of(entries[i].first_key, d)]++;
	for (int d = 0; d < DIGITS; d++)
	{
		LocalEntry *moved = other;

		if (counts[d][digit_of(entries[0].first_key, d)] == n)
			continue;
		CHECK_FOR_INTERRUPTS();
		move_by_digit(entries, moved, n, d, counts[d]);
		other = entries;
		entries = moved;
	}
	return entries;
}

/* Sorts the groups of entries whose first words are equal. */
static void
sort_equal_first_words(LocalEntry *entries, uint64 n, LocalOrder *order)
{
	uint64		begin = 0;

	for (uint64 i = 1; i <= n; i++)
	{
		if (i < n && entries[i].first_key == entries[begin].first_key)
			continue;
		if (i - begin > 1)
			sort_local_entries(entries + begin, i - begin, order);
		begin = i;
	}
}

/* Do the first words alone bring rows into order, but for those that have the same one? */
static bool
radix_serves(const LocalEntry *entries, uint64 n, const LocalOrder *order)
{
	uint32		nulls = 0;

	if (!order->by_words || n < ROWS_FOR_RADIX || n > PG_UINT32_MAX)
		return false;
	for (uint64 i = 0; i < n; i++)
		nulls |= entries[i].nulls;
	return (nulls & 1) == 0;
}

/* Returns where the sorted entries are. */
static LocalEntry *
sort_entries(LocalEntry *entries, LocalEntry *other, uint64 n, LocalOrder *order)
{
	if (!radix_serves(entries, n, order))
	{
		sort_local_entries(entries, n, order);
		return entries;
	}
	entries = sort_first_words(entries, other, n);
	/* in the order they came in, if that is all */
	if (order->keys->n_words > 1 || order->comparer != NULL)
		sort_equal_first_words(entries, n, order);
	return entries;
}

/* Lists a chunk's rows, from row number n on; returns the number of the next. */
static uint64
list_chunk(const GpuSortFeed *feed, const GpuSortChunkHeader *chunk, uint64 n,
		   LocalEntry *entries, const uint64 **words, const char **rows)
{
	const uint32 *row_start = gpusort_chunk_row_start(chunk);
	const uint64 *key = gpusort_chunk_keys(chunk);

	for (uint32 r = 0; r < chunk->rows; r++, n++, key += feed->n_words)
	{
		entries[n].first_key = key[0];
		entries[n].nulls = gpusort_chunk_nulls(chunk)[r];
		entries[n].row = (uint32) n;
		words[n] = key;
		rows[n] = gpusort_chunk_data(chunk) + (Size) row_start[r] * 8;
	}
	return n;
}

const char **
gpusort_local_sort(const GpuSortFeed *feed, GpuSortOrdering *ordering)
{
	Size		room = feed->rows + 1;
	LocalOrder	order = {.keys = feed->keys,.by_words = ordering->check == NULL};
	LocalEntry *entries = palloc_extended(room * sizeof(LocalEntry), MCXT_ALLOC_HUGE);
	const char **rows = palloc_extended(room * sizeof(char *), MCXT_ALLOC_HUGE);
	LocalEntry *other = palloc_extended(room * sizeof(LocalEntry), MCXT_ALLOC_HUGE);
	const char **sorted = palloc_extended(room * sizeof(char *), MCXT_ALLOC_HUGE);
	LocalEntry *in_order;
	uint64		n = 0;
	ListCell   *lc;

	order.words = palloc_extended(room * sizeof(uint64 *), MCXT_ALLOC_HUGE);
	order.rows = rows;
	order.comparer = order.by_words ? ordering->ties : ordering->check->comparer;
	foreach(lc, feed->private_chunks)
		n = list_chunk(feed, (const GpuSortChunkHeader *) lfirst(lc), n, entries, order.words, rows);
	Assert(n == feed->rows);
	in_order = sort_entries(entries, other, n, &order);
	for (uint64 i = 0; i < n; i++)
		sorted[i] = rows[in_order[i].row];
	pfree(entries);
	pfree(other);
	pfree(rows);
	pfree(order.words);
	return sorted;
}
