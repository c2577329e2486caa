/*
 * local_sort.c
 *	  Sorts a small input in the backend: below the crossover a request to the
 *	  device costs more than the sort.
 *
 * In:  a feed's private chunks: rows and their key words, as the device would
 *	    get them.
 * Out: pointers to the rows in key order.
 *
 * Stable, so that it gives the same order as the device.  Rows are sorted by their first words
 * (entry_sort.c), then by the others.  What words leave undecided the operators' comparators decide;
 * where words are not to be trusted, these decide all.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "sort/entry_sort.h"
#include "sort/local_sort.h"

typedef struct LocalOrder
{
	const GpuSortKeys *keys;
	bool		by_words;		/* they come first */
	GpuSortComparer *comparer;	/* then this; NULL: words decide all */
	const uint64 **words;		/* of each row */
	const char **rows;
} LocalOrder;

static int
compare_rows(const LocalOrder *order, const GpuSortEntry *a, const GpuSortEntry *b)
{
	GpuSortComparer *comparer = order->comparer;

	return gpusort_comparer_compare_slots(comparer,
										  gpusort_row_store(comparer->format, order->rows[a->row],
															comparer->a),
										  gpusort_row_store(comparer->format, order->rows[b->row],
															comparer->b));
}

static int
compare_entries(const GpuSortEntry *a, const GpuSortEntry *b, const LocalOrder *order)
{
	int			result = 0;

	if (likely(order->by_words))
		result = gpusort_keys_compare(order->keys, order->words[a->row], a->nulls,
									  order->words[b->row], b->nulls);
	if (result == 0 && order->comparer != NULL)
		result = compare_rows(order, a, b);
	if (result != 0)
		return result;
	return a->row < b->row ? -1 : 1;
}

#define ST_SORT sort_by_comparing
#define ST_ELEMENT_TYPE GpuSortEntry
#define ST_COMPARE(a, b, order) compare_entries(a, b, order)
#define ST_COMPARE_ARG_TYPE const LocalOrder
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

static void
sort_ties(GpuSortEntry *entries, uint64 n, void *order)
{
	sort_by_comparing(entries, n, order);
}

/* Lists a chunk's rows, from row number n on; returns the number of the next. */
static uint64
list_chunk(const GpuSortFeed *feed, const GpuSortChunkHeader *chunk, uint64 n,
		   GpuSortEntry *entries, const LocalOrder *order)
{
	const uint32 *row_start = gpusort_chunk_row_start(chunk);
	const uint64 *key = gpusort_chunk_keys(chunk);

	for (uint32 r = 0; r < chunk->rows; r++, n++, key += feed->n_words)
	{
		entries[n].word = order->by_words ? key[0] : 0;
		entries[n].nulls = gpusort_chunk_nulls(chunk)[r];
		entries[n].row = (uint32) n;
		order->words[n] = key;
		order->rows[n] = gpusort_chunk_data(chunk) + (Size) row_start[r] * 8;
	}
	return n;
}

const char **
gpusort_local_sort(const GpuSortFeed *feed, GpuSortOrdering *ordering)
{
	Size		room = feed->rows + 1;
	LocalOrder	order = {.keys = feed->keys,.by_words = ordering->check == NULL};
	GpuSortEntry *entries = palloc_extended(room * sizeof(GpuSortEntry), MCXT_ALLOC_HUGE);
	GpuSortEntry *other = palloc_extended(room * sizeof(GpuSortEntry), MCXT_ALLOC_HUGE);
	const char **sorted = palloc_extended(room * sizeof(char *), MCXT_ALLOC_HUGE);
	bool		words_decide;
	GpuSortEntry *in_order;
	uint64		n = 0;
	ListCell   *lc;

	order.words = palloc_extended(room * sizeof(uint64 *), MCXT_ALLOC_HUGE);
	order.rows = palloc_extended(room * sizeof(char *), MCXT_ALLOC_HUGE);
	order.comparer = order.by_words ? ordering->ties : ordering->check->comparer;
	/* in the order they came in, if that is all */
	words_decide = order.by_words && feed->n_words == 1 && order.comparer == NULL;
	foreach(lc, feed->private_chunks)
		n = list_chunk(feed, (const GpuSortChunkHeader *) lfirst(lc), n, entries, &order);
	Assert(n == feed->rows);
	in_order = gpusort_sort_entries(entries, other, n, (feed->keys->null_first_mask & 1) != 0,
									words_decide ? NULL : sort_ties, &order);
	for (uint64 i = 0; i < n; i++)
		sorted[i] = order.rows[in_order[i].row];
	pfree(entries);
	pfree(other);
	pfree(order.rows);
	pfree(order.words);
	return sorted;
}
