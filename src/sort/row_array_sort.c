/*
 * row_array_sort.c
 *	  The order of the rows of a small input.
 *
 * In:  an array of rows, each with an entry: a word or value of its first key.
 * Out: the entries in order.
 *
 * When there are some rows, values become words too, if these cost no sort key
 * of a collation's, or if their type abbreviates to words.  The operators'
 * comparators compare all other values.  They are looked up when two rows need
 * them.
 *
 * Runs in the backend that leads the sort.  Memory is the array's.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "keys/key_types.h"
#include "sort/row_array_internal.h"

/* When this many values have the same word, the others are expected to have it
 * too. */
#define VALUES_TO_TRY		8

/* Comparisons are faster than words, by an encoder or by abbreviations, for
 * fewer rows. */
#define ROWS_TO_ENCODE		3
#define ROWS_TO_ABBREVIATE	64

/* --- the order ------------------------------------------------------------ */

static GpuSortComparer *
comparer_of(GpuSortRowArray *array)
{
	MemoryContext old_context;

	if (likely(array->comparer != NULL))
		return array->comparer;
	old_context = MemoryContextSwitchTo(array->context);
	/* only its keys are used */
	array->comparer = gpusort_comparer_make(array->order, 0, array->format, array->result,
											array->result);
	MemoryContextSwitchTo(old_context);
	return array->comparer;
}

static inline int
compare_values(const GpuSortEntry *a, const GpuSortEntry *b, GpuSortRowArray *array)
{
	int			result = ApplySortComparator((Datum) a->word, a->nulls != 0, (Datum) b->word,
											 b->nulls != 0, array->support);

	if (result == 0)
		array->tied = true;
	return result;
}

#define ST_SORT sort_by_comparing
#define ST_ELEMENT_TYPE GpuSortEntry
#define ST_COMPARE(a, b, array) compare_values(a, b, array)
#define ST_COMPARE_ARG_TYPE GpuSortRowArray
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Compares two entries, as they came, by the first key. */
static int
compare_first_key(GpuSortRowArray *array, const GpuSortEntry *a, const GpuSortEntry *b)
{
	if (array->words == VALUES)
		return ApplySortComparator((Datum) a->word, a->nulls != 0, (Datum) b->word, b->nulls != 0,
								   &comparer_of(array)->keys[0]);
	if (a->nulls != b->nulls)
		return (a->nulls != 0) == array->order->nulls_first[0] ? -1 : 1;
	return a->word < b->word ? -1 : a->word > b->word;
}

/* Compares two entries by another key. */
static int
compare_key(GpuSortRowArray *array, const GpuSortEntry *a, const GpuSortEntry *b, int key)
{
	AttrNumber	column = array->order->columns[key];
	bool		a_is_null;
	bool		b_is_null;
	Datum		a_value = slot_getattr(gpusort_row_array_store(array, array->rows[a->row]), column,
									   &a_is_null);
	Datum		b_value = slot_getattr(gpusort_row_array_store(array, array->rows[b->row]), column,
									   &b_is_null);

	return ApplySortComparator(a_value, a_is_null, b_value, b_is_null,
							   &comparer_of(array)->keys[key]);
}

/* The comparison goes on where the last one has ended. */
bool
gpusort_row_array_is_in_order(GpuSortRowArray *array, uint64 rows)
{
	rows = Min(rows, array->n);
	for (array->in_order = Max(1, array->in_order); array->in_order < rows; array->in_order++)
	{
		const GpuSortEntry *entry = &array->entries[array->in_order];
		int			order = compare_first_key(array, entry - 1, entry);

		for (int key = 1; order == 0 && key < array->order->n_keys; key++)
			order = compare_key(array, entry - 1, entry, key);
		if (order > 0)
			return false;
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

/* Gives the entries the values of this key. */
static void
take_values(GpuSortRowArray *array, GpuSortEntry *entries, uint64 n, int key)
{
	for (uint64 i = 0; i < n; i++)
	{
		bool		is_null;

		entries[i].word = slot_getattr(gpusort_row_array_store(array, array->rows[entries[i].row]),
									   array->order->columns[key], &is_null);
		entries[i].nulls = is_null;
	}
}

static void sort_by_key(GpuSortRowArray *array, GpuSortEntry *entries, uint64 n, int key);

/* Sorts the tie runs of entries that have the same value of a key, by the next
 * one. */
static void
sort_tie_runs(GpuSortRowArray *array, GpuSortEntry *entries, uint64 n, int key)
{
	uint64		begin = 0;

	for (uint64 i = 1; i <= n; i++)
	{
		array->support = &array->comparer->keys[key];
		if (i < n && compare_values(&entries[begin], &entries[i], array) == 0)
			continue;
		if (i - begin > 1)
			sort_by_key(array, entries + begin, i - begin, key + 1);
		begin = i;
	}
}

/* Sorts entries that have this key's values. */
static void
sort_values(GpuSortRowArray *array, GpuSortEntry *entries, uint64 n, int key)
{
	array->support = &comparer_of(array)->keys[key];
	array->tied = false;
	sort_by_comparing(entries, n, array);
	if (array->tied && key + 1 < array->order->n_keys)
		sort_tie_runs(array, entries, n, key);
}

/* Sorts entries that are equal in the keys before this one. */
static void
sort_by_key(GpuSortRowArray *array, GpuSortEntry *entries, uint64 n, int key)
{
	take_values(array, entries, n, key);
	sort_values(array, entries, n, key);
}

/* Does a word that was encoded stand for a single value? */
static bool
is_closed(const GpuSortRowArray *array, uint64 word)
{
	const GpuSortKeys *keys = &array->encoder;

	return array->has_cheap_words && keys->n_words == 1 &&
		(keys->inexact_mask == 0 || (word & keys->inexact_bits[0]) != keys->inexact_code[0]);
}

/* Sorts entries that have the same word, or none.  It begins with the first key
 * if the word may stand for several of its values, else with the second. */
static void
sort_ties(GpuSortEntry *entries, uint64 n, void *arg)
{
	GpuSortRowArray *array = arg;
	bool		is_exact = entries->nulls != 0 || array->words == EXACT_WORDS ||
		is_closed(array, entries->word);
	int			key = is_exact ? 1 : 0;

	if (key < array->order->n_keys)
		sort_by_key(array, entries, n, key);
}

/* --- words for values ----------------------------------------------------- */

/* Finds an encoder that makes words of the first key.  False: there is none. */
static bool
make_encoder(GpuSortRowArray *array)
{
	const GpuSortOrder *order = array->order;
	Form_pg_attribute attr = TupleDescAttr(array->desc, order->columns[0] - 1);
	GpuSortKeyEncoding encoding = {0};
	int			most;

	if (array->encoder.n_keys == 0 && array->has_cheap_words)
	{
		array->has_cheap_words = gpusort_sortkey_has_words(attr->atttypid, attr->atttypmod,
														   order->operators[0],
														   order->collations[0],
														   &encoding.n_words, &most);
		if (array->has_cheap_words)
			gpusort_keys_make(order, 1, &encoding, array->desc, &array->encoder);
	}
	return array->has_cheap_words;
}

/* Makes words of values, if they tell the first values apart. */
static void
encode_values(GpuSortRowArray *array)
{
	uint64		words[GPUSORT_WORDS_MAX];
	uint64		first = 0;
	uint64		differing = 0;	/* bits */
	uint64		tried = 0;

	for (uint64 i = 0; i < array->n; i++)
	{
		GpuSortEntry *entry = &array->entries[i];

		if (entry->nulls != 0)
			continue;
		gpusort_sortkey_encode(array->encoder.keys, (Datum) entry->word, words);
		entry->word = words[0];
		if (tried++ == 0)
			first = words[0];
		differing |= words[0] ^ first;
		if (unlikely(tried == VALUES_TO_TRY) && differing == 0 && !is_closed(array, first))
		{
			take_values(array, array->entries, i + 1, 0);
			return;
		}
	}
	array->words = WORDS;
}

/* Is there an abbreviation, which has not been given up? */
static bool
is_to_abbreviate(GpuSortRowArray *array)
{
	SortSupport support = &array->abbreviated;
	const GpuSortOrder *order = array->order;

	if (array->may_abbreviate && support->ssup_cxt == NULL)
	{
		support->ssup_cxt = array->context;
		support->ssup_collation = order->collations[0];
		support->ssup_nulls_first = order->nulls_first[0];
		support->ssup_attno = order->columns[0];
		support->abbreviate = true;
		PrepareSortSupportFromOrderingOp(order->operators[0], support);
		array->may_abbreviate = support->abbrev_converter != NULL &&
			support->comparator == ssup_datum_unsigned_cmp;
	}
	return array->may_abbreviate;
}

/* Abbreviates values, and stops where tuplesort would, if abbreviation does not
 * pay. */
static void
abbreviate_values(GpuSortRowArray *array)
{
	SortSupport support = &array->abbreviated;
	uint64		flip = support->ssup_reverse ? PG_UINT64_MAX : 0;
	uint64		next_look = 10;

	for (uint64 i = 0; i < array->n; i++)
	{
		GpuSortEntry *entry = &array->entries[i];

		if (unlikely(i == next_look))
		{
			next_look *= 2;
			if (support->abbrev_abort((int) i, support))
			{
				take_values(array, array->entries, i, 0);
				array->may_abbreviate = false;
				return;
			}
		}
		if (entry->nulls == 0)
			entry->word = support->abbrev_converter((Datum) entry->word, support) ^ flip;
	}
	array->words = WORDS;
}

/* --- sorting -------------------------------------------------------------- */

static void
sort_words(GpuSortRowArray *array)
{
	bool		words_decide = array->words == EXACT_WORDS && !array->more_keys;
	GpuSortEntry *entries = array->entries;
	GpuSortEntry *other = NULL;

	if (array->n >= GPUSORT_ENTRIES_FOR_RADIX)
		other = MemoryContextAllocHuge(array->context, array->room * sizeof(GpuSortEntry));
	array->entries = gpusort_sort_entries(entries, other, array->n, array->order->nulls_first[0],
										  words_decide ? NULL : sort_ties, array);
	if (other != NULL)
		pfree(array->entries == other ? entries : other);
}

/* Rows that came in order need no sort. */
void
gpusort_row_array_sort(GpuSortRowArray *array)
{
	MemoryContext old_context = MemoryContextSwitchTo(array->context);

	if (gpusort_row_array_is_in_order(array, array->n))
	{
		ExecClearTuple(array->result);
		MemoryContextSwitchTo(old_context);
		return;
	}
	if (array->words == VALUES && array->n >= ROWS_TO_ENCODE && make_encoder(array))
		encode_values(array);
	else if (array->words == VALUES && array->n >= ROWS_TO_ABBREVIATE && is_to_abbreviate(array))
		abbreviate_values(array);
	if (array->words != VALUES)
		sort_words(array);
	else if (array->n > 1)
		sort_values(array, array->entries, array->n, 0);
	ExecClearTuple(array->result);
	MemoryContextSwitchTo(old_context);
}
