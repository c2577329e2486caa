/*
 * row_array.c
 *	  The rows of a small input: first as they have come, then sorted in place.
 *
 * In:  slots.
 * Out: a slot, which points to rows of the array.  If a row is a
 *	    single pass-by-value key, the array has the value itself.
 *
 * Each row has an entry: a word or value of its first key.  A first key of a
 * pass-by-value type with an exact word (sortkey.h) is encoded as rows come.
 * When there are some rows, other values become words too, if these cost no
 * sort key of a collation's, or if their type abbreviates to words.  The
 * operators' comparators compare all other values.  They are looked up when two
 * rows need them.
 *
 * Runs in the backend that leads the sort.  All memory is in the context in
 * which the array was begun, and all but that of the rows stays for others.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "keys/collation_keys.h"
#include "keys/comparer.h"
#include "keys/key_types.h"
#include "keys/sortkey.h"
#include "sort/entry_sort.h"
#include "sort/row_array.h"

#define FIRST_ROOM			64	/* rows */
#define ROOM_FOR_FEW		1024
#define ROOM_FOR_MANY		(32 * 1024)
#define FIRST_BLOCK_BYTES	2048
#define BLOCK_BYTES_MAX		((Size) 64 * 1024)

/* Bytes of each row beside the row itself.  Radix needs its entry twice. */
#define BYTES_BESIDE_ROW	(2 * sizeof(GpuSortEntry) + sizeof(char *))

/* If this many values have the same word, all others are expected to, too. */
#define VALUES_TO_TRY		8

/* For fewer rows, comparisons are faster than an encoder or abbreviations. */
#define ROWS_TO_ENCODE		3
#define ROWS_TO_ABBREVIATE	64

/* The form of the first key in entries. */
typedef enum EntryWords
{
	VALUES,						/* its Datum */
	WORDS,						/* a word, which may stand for several values */
	EXACT_WORDS
} EntryWords;

struct GpuSortRowArray
{
	const GpuSortOrder *order;
	TupleDesc	desc;
	const GpuSortRowFormat *format;
	TupleTableSlot *slot;		/* a row, while values are taken from it */
	MemoryContext context;
	Size		limit_bytes;
	Size		bytes;			/* of all but this struct */

	/* the rows */
	uint64		n;
	uint64		room;
	GpuSortEntry *entries;		/* in the order in which they came, or sorted */
	const char **rows;			/* as they came: rows of the format; or each one's value, a Datum */
	bool		by_value;		/* rows has values */
	MemoryContext row_context;	/* blocks of rows; NULL: none was needed yet */
	Size		block_bytes;	/* of the block being filled */
	char	   *place;			/* of the next row, in the block */
	char	   *end;
	const char *null_row;		/* all rows of a single NULL; NULL: none has come */

	/* the order */
	EntryWords	words;			/* the present form in entries */
	/* the key is passed by value, and gets exact words when rows are put */
	bool		by_value_key;
	GpuSortKey	key;			/* if by_value_key */
	bool		by_reference;	/* the first key's values lie in the rows */
	GpuSortComparer *comparer;	/* NULL: not needed yet */
	SortSupport support;		/* comparer's, for the key that entries are compared by */
	bool		tied;			/* some entries were equal in it */
	uint64		in_order;		/* this many first rows are in order, as they came */

	/* makes words of values: an encoder, or the type's abbreviation */
	bool		has_cheap_words;
	GpuSortKeys encoder;
	bool		may_abbreviate;
	SortSupportData abbreviated;
};

/* The words of a pass-by-value first key are made as rows come, others when
 * there are some rows: by an encoder, if that needs no sort key of a
 * collation's, else by an abbreviation, which the C library's have not. */
GpuSortRowArray *
gpusort_row_array_begin(const GpuSortOrder *order, TupleDesc desc, const GpuSortRowFormat *format,
						TupleTableSlot *slot, Size limit_bytes)
{
	GpuSortRowArray *array = palloc0(sizeof(GpuSortRowArray));

	array->order = order;
	array->desc = desc;
	array->format = format;
	array->slot = slot;
	array->context = CurrentMemoryContext;
	array->limit_bytes = limit_bytes;
	/* as in nodeSort.c: a single value is moved faster than a row */
	array->by_value = desc->natts == 1 && order->n_keys == 1 && TupleDescAttr(desc, 0)->attbyval;
	array->by_reference = !TupleDescAttr(desc, order->columns[0] - 1)->attbyval;
	array->by_value_key = gpusort_sortkey_make_by_value(order, 0, desc, &array->key);
	if (array->by_reference)
	{
		GpuSortCollationKind kind = gpusort_collation_kind(order->collations[0]);

		array->has_cheap_words = kind != GPUSORT_COLLATION_ICU && kind != GPUSORT_COLLATION_LIBC;
		array->may_abbreviate = kind != GPUSORT_COLLATION_LIBC;
	}
	array->words = array->by_value_key ? EXACT_WORDS : VALUES;
	array->room = FIRST_ROOM;
	array->entries = palloc(FIRST_ROOM * sizeof(GpuSortEntry));
	array->rows = palloc(FIRST_ROOM * sizeof(char *));
	array->bytes = FIRST_ROOM * BYTES_BESIDE_ROW;
	return array;
}

void
gpusort_row_array_reset(GpuSortRowArray *array)
{
	array->n = 0;
	array->in_order = 0;
	array->words = array->by_value_key ? EXACT_WORDS : VALUES;
	array->bytes = array->room * BYTES_BESIDE_ROW;
	if (array->place == NULL)
		return;
	MemoryContextReset(array->row_context);
	array->block_bytes = 0;
	array->place = array->end = NULL;
	array->null_row = NULL;
}

void
gpusort_row_array_end(GpuSortRowArray *array)
{
	if (array->row_context != NULL)
		MemoryContextDelete(array->row_context);
	pfree(array->entries);
	pfree(array->rows);
	pfree(array);
}

uint64
gpusort_row_array_rows(const GpuSortRowArray *array)
{
	return array->n;
}

Size
gpusort_row_array_bytes(const GpuSortRowArray *array)
{
	return array->bytes;
}

bool
gpusort_row_array_fits(const GpuSortRowArray *array, double rows, double bytes)
{
	double		row_bytes = array->bytes - array->room * BYTES_BESIDE_ROW;	/* and of blocks' ends */
	double		room = array->room;

	while (room < rows)
		room *= 2;
	return row_bytes / array->n * Max(rows, array->n) + room * BYTES_BESIDE_ROW <= bytes;
}

/* --- rows in -------------------------------------------------------------- */

/* May the array take this much more?  A first row is never refused. */
static bool
may_take(const GpuSortRowArray *array, Size bytes)
{
	return array->n == 0 || array->bytes + bytes <= array->limit_bytes;
}

/* Each doubling copies all.  Empty room takes no time, but memory. */
static bool
make_room_for_entries(GpuSortRowArray *array)
{
	bool		fits = array->bytes + ROOM_FOR_MANY * BYTES_BESIDE_ROW <= array->limit_bytes / 4;
	uint64		room = array->room == ROOM_FOR_FEW && fits ? ROOM_FOR_MANY : 2 * array->room;
	Size		more = (room - array->room) * BYTES_BESIDE_ROW;

	if (!may_take(array, more) || array->room > PG_UINT32_MAX / 2)
		return false;
	array->bytes += more;
	array->room = room;
	array->entries = repalloc_huge(array->entries, array->room * sizeof(GpuSortEntry));
	array->rows = repalloc_huge(array->rows, array->room * sizeof(char *));
	return true;
}

/* Rows lie in blocks, which double in size up to a maximum. */
static bool
make_room_for_row(GpuSortRowArray *array, Size row_bytes)
{
	Size		bytes = Min(Max(2 * array->block_bytes, FIRST_BLOCK_BYTES), BLOCK_BYTES_MAX);

	bytes = Max(bytes, row_bytes);
	if (!may_take(array, bytes))
		return false;
	if (array->row_context == NULL)
		array->row_context = AllocSetContextCreate(array->context, "GpuSort rows",
												   ALLOCSET_DEFAULT_SIZES);
	array->place = MemoryContextAllocHuge(array->row_context, bytes);
	array->end = array->place + bytes;
	array->block_bytes = bytes;
	array->bytes += bytes;
	return true;
}

/* Returns a copy of the slot's row.  NULL: there is no room. */
static const char *
copy_row(GpuSortRowArray *array, TupleTableSlot *slot)
{
	const GpuSortRowFormat *format = array->format;
	bool		is_single_null = array->desc->natts == 1 && slot_attisnull(slot, 1);
	GpuSortRowSource source;
	char	   *row;

	if (is_single_null && array->null_row != NULL)
		return array->null_row;
	gpusort_row_find(format, slot, &source);
	if (unlikely(MAXALIGN(source.length) > (Size) (array->end - array->place)) &&
		!make_room_for_row(array, MAXALIGN(source.length)))
		return NULL;
	row = array->place;
	gpusort_row_write(format, slot, &source, row);
	array->place += MAXALIGN(source.length);
	if (is_single_null)
		array->null_row = row;
	return row;
}

/* A value that is passed by reference is taken from the copy of its row. */
bool
gpusort_row_array_put(GpuSortRowArray *array, TupleTableSlot *slot)
{
	AttrNumber	column = array->order->columns[0];
	GpuSortEntry *entry;
	bool		is_null;
	Datum		value;

	if (unlikely(array->n == array->room) && !make_room_for_entries(array))
		return false;
	if (array->by_value)
	{
		value = slot_getattr(slot, column, &is_null);
		array->rows[array->n] = (const char *) value;
	}
	else
	{
		const char *row = copy_row(array, slot);

		if (row == NULL)
			return false;
		value = array->by_reference ?
			gpusort_row_attribute(array->format, row, array->slot, column, &is_null) :
			slot_getattr(slot, column, &is_null);
		array->rows[array->n] = row;
	}
	entry = &array->entries[array->n];
	entry->nulls = is_null;
	entry->row = array->n++;
	if (is_null)
		entry->word = 0;
	else if (array->by_value_key)
		gpusort_sortkey_encode(&array->key, value, &entry->word);
	else
		entry->word = value;
	return true;
}

/* --- rows out ------------------------------------------------------------- */

/* A single value has no row to point to. */
TupleTableSlot *
gpusort_row_array_get(const GpuSortRowArray *array, uint64 number, TupleTableSlot *slot)
{
	const GpuSortEntry *entry = &array->entries[number];

	if (!array->by_value)
		return gpusort_row_store(array->format, array->rows[entry->row], slot);
	if (unlikely(TTS_SHOULDFREE(slot)))
		ExecClearTuple(slot);	/* somebody has materialized it */
	slot->tts_values[0] = (Datum) array->rows[entry->row];
	slot->tts_isnull[0] = entry->nulls != 0;
	slot->tts_flags &= ~TTS_FLAG_EMPTY;
	slot->tts_nvalid = 1;
	return slot;
}

/* --- the order ------------------------------------------------------------ */

static GpuSortComparer *
comparer_of(GpuSortRowArray *array)
{
	MemoryContext old_context;

	if (likely(array->comparer != NULL))
		return array->comparer;
	old_context = MemoryContextSwitchTo(array->context);
	/* only its keys are used */
	array->comparer = gpusort_comparer_make(array->order, 0, array->order->n_keys, array->format,
											array->slot, array->slot);
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
	Datum		a_value = gpusort_row_attribute(array->format, array->rows[a->row], array->slot,
												column, &a_is_null);
	Datum		b_value = gpusort_row_attribute(array->format, array->rows[b->row], array->slot,
												column, &b_is_null);

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

		entries[i].word = gpusort_row_attribute(array->format, array->rows[entries[i].row],
												array->slot, array->order->columns[key], &is_null);
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

/* Sorts entries that are equal in the keys before this one.  They may have the
 * first key's values already. */
static void
sort_by_key(GpuSortRowArray *array, GpuSortEntry *entries, uint64 n, int key)
{
	if (key > 0 || array->words != VALUES)
		take_values(array, entries, n, key);
	array->support = &comparer_of(array)->keys[key];
	array->tied = false;
	sort_by_comparing(entries, n, array);
	if (array->tied && key + 1 < array->order->n_keys)
		sort_tie_runs(array, entries, n, key);
}

/* Does a word that was encoded stand for a single value? */
static bool
is_exact_word(const GpuSortRowArray *array, uint64 word)
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
		is_exact_word(array, entries->word);
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

		CHECK_FOR_INTERRUPTS();
		if (entry->nulls != 0)
			continue;
		gpusort_sortkey_encode(array->encoder.keys, (Datum) entry->word, words);
		entry->word = words[0];
		if (tried++ == 0)
			first = words[0];
		differing |= words[0] ^ first;
		if (unlikely(tried == VALUES_TO_TRY) && differing == 0 && !is_exact_word(array, first))
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

		CHECK_FOR_INTERRUPTS();
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
	bool		words_decide = array->words == EXACT_WORDS && array->order->n_keys == 1;
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

	if (!gpusort_row_array_is_in_order(array, array->n))
	{
		if (array->words == VALUES && array->n >= ROWS_TO_ENCODE && make_encoder(array))
			encode_values(array);
		else if (array->words == VALUES && array->n >= ROWS_TO_ABBREVIATE &&
				 is_to_abbreviate(array))
			abbreviate_values(array);
		if (array->words != VALUES)
			sort_words(array);
		else
			sort_by_key(array, array->entries, array->n, 0);
	}
	ExecClearTuple(array->slot);
	MemoryContextSwitchTo(old_context);
}
