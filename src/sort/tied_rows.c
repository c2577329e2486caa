/*
 * tied_rows.c
 *	  Sorts a tie run of rows that words have left undecided.
 *
 * In:  the tie run's rows in memory.  Their words agree up to an inexact value,
 *	    and later words have ordered them.  If the inexact key is equal in all
 *	    rows, as it often is, they are in order already.
 * Out: the same rows in the order of the sort's keys.
 *
 * If few rows are out of place, they are put in place.  If many are, they
 * usually tie because a few long texts share the beginning of their sort keys.
 * Then rows are sorted by the ranks of these texts, where a comparison would
 * take some microseconds.  Later words have ordered the rows of equal texts.
 * All other rows are compared.
 *
 * Runs in the backend that leads the sort.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "keys/dictionary.h"
#include "keys/key_types.h"
#include "sort/entry_sort.h"
#include "sort/tied_rows.h"

/* Comparisons are faster than ranks, for fewer rows. */
#define ROWS_TO_RANK		256

/* Each row of a tie run may be moved by this many places on average.  Beyond
 * that, the tie run is sorted as if it were in no order at all.  That is
 * cheaper for many rows, which may have ranks. */
#define MOVES_FOR_A_ROW		16
#define MOVES_FOR_ONE_OF_MANY	1

/* --- by comparing --------------------------------------------------------- */

/* Equal rows stay as the words have them, so that the order is the same each
 * time. */
static inline int
compare_tied_rows(const GpuSortTiedRow *a, const GpuSortTiedRow *b, GpuSortComparer *ties)
{
	int			result = gpusort_comparer_compare(ties, &a->comparand, &b->comparand);

	if (result != 0)
		return result;
	return a->number < b->number ? -1 : 1;
}

#define ST_SORT sort_rows_in_any_order
#define ST_ELEMENT_TYPE GpuSortTiedRow
#define ST_COMPARE(a, b, ties) compare_tied_rows(a, b, ties)
#define ST_COMPARE_ARG_TYPE GpuSortComparer
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Returns the place of a row among the first n.  All but the last of them,
 * which is the row itself, are in order.  The search begins at the end, in
 * steps that double, since the row is rarely far from it. */
static uint64
place_of_row(const GpuSortTiedRow *rows, uint64 n, const GpuSortTiedRow *row, GpuSortComparer *ties)
{
	uint64		behind = n - 1; /* the row belongs before this one */
	uint64		step = 1;
	uint64		before = 0;		/* and not before this one, or it belongs at the beginning */

	while (step <= behind)
	{
		if (compare_tied_rows(&rows[behind - step], row, ties) <= 0)
		{
			before = behind - step + 1;
			break;
		}
		behind -= step;
		step *= 2;
	}
	while (before < behind)
	{
		uint64		middle = before + (behind - before) / 2;

		if (compare_tied_rows(&rows[middle], row, ties) <= 0)
			before = middle + 1;
		else
			behind = middle;
	}
	return before;
}

/*
 * Sorts rows of which few are out of place, and not by much.  False: they are
 * in no such order, and have been left in another one.
 */
static bool
put_rows_in_place(GpuSortTiedRow *rows, uint64 n, GpuSortComparer *ties)
{
	uint64		moves = 0;
	uint64		moves_max = n * (n < ROWS_TO_RANK ? MOVES_FOR_A_ROW : MOVES_FOR_ONE_OF_MANY);

	for (uint64 i = 1; i < n; i++)
	{
		GpuSortTiedRow row = rows[i];
		uint64		place;

		CHECK_FOR_INTERRUPTS();
		if (compare_tied_rows(&rows[i - 1], &row, ties) <= 0)
			continue;
		place = place_of_row(rows, i, &row, ties);
		moves += i - place;
		if (moves > moves_max)
			return false;
		memmove(&rows[place + 1], &rows[place], (i - place) * sizeof(GpuSortTiedRow));
		rows[place] = row;
	}
	return true;
}

/* --- by ranks ------------------------------------------------------------- */

/* Makes a key whose words are the ranks of the rows' values.  False: it is no
 * text, or has too many values. */
static bool
make_ranked_key(const GpuSortOrdering *ordering, const GpuSortTiedRow *rows, uint64 n,
				GpuSortKeys *keys)
{
	int			k = ordering->ties->first_key;
	GpuSortOrder order = *ordering->spec->order;
	Form_pg_attribute attr = TupleDescAttr(ordering->spec->desc, order.columns[k] - 1);
	int32		typmod = attr->atttypmod;
	Oid			type = gpusort_key_type(attr->atttypid, &typmod, order.operators[k]);
	GpuSortKeyEncoding encoding = {.n_words = 1};
	int			least;
	int			most;

	/* texts have no words under some operators and collations */
	if (!gpusort_dictionary_may_be_of(type, order.collations[k]) ||
		!gpusort_sortkey_has_words(attr->atttypid, attr->atttypmod, order.operators[k],
								   order.collations[k], &least, &most))
		return false;
	encoding.dictionary = gpusort_dictionary_begin(type, order.collations[k], order.operators[k]);
	for (uint64 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!rows[i].comparand.is_null &&
			!gpusort_dictionary_count(encoding.dictionary, rows[i].comparand.value))
			return false;
	}
	if (!gpusort_dictionary_rank(encoding.dictionary))
		return false;
	order.n_keys = 1;
	order.columns += k;
	order.operators += k;
	order.collations += k;
	order.nulls_first += k;
	gpusort_keys_make(&order, 1, &encoding, ordering->spec->desc, keys);
	return true;
}

/* Sorts rows by the ranks of their first undecided key.  Rows that agree in it
 * stay as the words have them.  Does nothing if there are no ranks. */
static void
sort_by_ranks(const GpuSortOrdering *ordering, GpuSortTiedRow *rows, uint64 n)
{
	Size		row_bytes = n * sizeof(GpuSortTiedRow);
	Size		entry_bytes = n * sizeof(GpuSortEntry);
	GpuSortTiedRow *unsorted;
	GpuSortEntry *entries;
	GpuSortKeys keys;

	if (!make_ranked_key(ordering, rows, n, &keys))
		return;
	unsorted = palloc_extended(row_bytes, MCXT_ALLOC_HUGE);
	for (uint64 i = 0; i < n; i++)
		unsorted[rows[i].number] = rows[i];
	entries = palloc_extended(entry_bytes, MCXT_ALLOC_HUGE);
	for (uint64 i = 0; i < n; i++)
	{
		entries[i] = (GpuSortEntry) {.nulls = unsorted[i].comparand.is_null,.row = (uint32) i};
		if (!unsorted[i].comparand.is_null)
			gpusort_sortkey_encode(&keys.keys[0], unsorted[i].comparand.value, &entries[i].word);
	}
	entries = gpusort_sort_entries(entries, palloc_extended(entry_bytes, MCXT_ALLOC_HUGE), n,
								   ordering->spec->order->nulls_first[ordering->ties->first_key],
								   NULL, NULL);
	for (uint64 i = 0; i < n; i++)
		rows[i] = unsorted[entries[i].row];
}

/* --- all tie runs --------------------------------------------------------- */

/* Tries the cheapest way first. */
void
gpusort_sort_tied_rows(const GpuSortOrdering *ordering, GpuSortTiedRow *rows, uint64 n,
					   Size taken_bytes)
{
	Size		rank_bytes = n * 2 * (sizeof(GpuSortTiedRow) + sizeof(GpuSortEntry));
	MemoryContext context;
	MemoryContext old_context;

	if (put_rows_in_place(rows, n, ordering->ties))
		return;
	if (n >= ROWS_TO_RANK && taken_bytes + rank_bytes <= (Size) ordering->spec->work_mem * 1024)
	{
		context = AllocSetContextCreate(CurrentMemoryContext, "gpusort tied rows",
										ALLOCSET_DEFAULT_SIZES);
		old_context = MemoryContextSwitchTo(context);
		sort_by_ranks(ordering, rows, n);
		MemoryContextSwitchTo(old_context);
		MemoryContextDelete(context);
		if (put_rows_in_place(rows, n, ordering->ties))
			return;
	}
	sort_rows_in_any_order(rows, n, ordering->ties);
}
