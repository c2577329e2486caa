/*
 * row_array.c
 *	  The rows of a small input: as they have come, then sorted where they are.
 *
 * In:  slots.
 * Out: the result slot, which points to rows of the array.  Of a single value there are no rows, it
 *	    stands for itself.
 *
 * A first key of a fixed width is a word (sortkey.h) from the start.  When there are some rows others
 * become words too: those whose words cost no sort key of a collation's, and those whose type
 * abbreviates to words.  All else is compared by the operators' comparators, which are looked
 * for when two rows need them.
 *
 * Runs in the backend that leads the sort.  Memory is in the context in which the array was begun, and
 * stays for the next rows, but for blocks after the first one.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "keys/collation_keys.h"
#include "keys/comparer.h"
#include "keys/key_types.h"
#include "sort/entry_sort.h"
#include "sort/row_array.h"

#define FIRST_ROOM			64	/* rows */
#define FIRST_BLOCK_BYTES	2048
#define BLOCK_BYTES_MAX		((Size) 64 * 1024)

/* When so many values have the same word, the others are expected to have it too. */
#define VALUES_TO_TRY		8

/* Fewer rows are compared sooner than they get words, of an encoder's or abbreviations. */
#define ROWS_TO_ENCODE		3
#define ROWS_TO_ABBREVIATE	64

/* Of each, beside the row itself: radix needs its entry twice. */
#define BYTES_BESIDE_ROW	(2 * sizeof(GpuSortEntry) + sizeof(char *))

/* What entries have of the first key. */
typedef enum EntryWords
{
	VALUES,						/* its Datum */
	WORDS,						/* a word, which may stand for several values */
	EXACT_WORDS
} EntryWords;

/* What rows lie in. */
typedef struct RowBlock
{
	struct RowBlock *previous;
	Size		bytes;
} RowBlock;

struct GpuSortRowArray
{
	const GpuSortOrder *order;
	TupleDesc	desc;
	const GpuSortRowFormat *format;
	TupleTableSlot *result;
	MemoryContext context;
	Size		limit_bytes;
	Size		bytes;			/* of all that follows */

	/* the rows */
	uint64		n;
	uint64		room;
	GpuSortEntry *entries;		/* in the order in which they came, or sorted */
	const char **rows;			/* as they came: of the format; or each one's value, a Datum */
	bool		by_value;		/* the latter */
	RowBlock   *block;			/* that is being filled, and the ones before it */
	char	   *place;			/* in it */
	char	   *end;

	/* the order */
	EntryWords	words;			/* that entries have now */
	bool		fixed;			/* and that they get when rows are put: exact ones, else values */
	GpuSortKey	key;			/* of a fixed one */
	bool		by_reference;	/* the first key's values lie in the rows */
	bool		more_keys;
	GpuSortComparer *comparer;	/* NULL: not needed yet */
	SortSupport support;		/* of the key that entries are compared by */
	bool		tied;			/* some were equal in it */

	/* what makes words of values when there are some rows: an encoder, or the type's abbreviation */
	bool		has_cheap_words;
	GpuSortKeys encoder;
	bool		may_abbreviate;
	SortSupportData abbreviated;
};

/* How the first key may get words when there are some rows: by an encoder, if that needs no sort key of
 * a collation's, else by an abbreviation, which there is none of under the C library's. */
static void
choose_words(GpuSortRowArray *array)
{
	Oid			collation = array->order->collations[0];
	GpuSortCollationKind kind = OidIsValid(collation) ? gpusort_collation_kind(collation) :
		GPUSORT_COLLATION_BYTES;

	array->has_cheap_words = kind == GPUSORT_COLLATION_BYTES;
	array->may_abbreviate = kind != GPUSORT_COLLATION_LIBC;
}

GpuSortRowArray *
gpusort_row_array_begin(const GpuSortOrder *order, TupleDesc desc, const GpuSortRowFormat *format,
						TupleTableSlot *result, Size limit_bytes)
{
	GpuSortRowArray *array = palloc0(sizeof(GpuSortRowArray));

	array->order = order;
	array->desc = desc;
	array->format = format;
	array->result = result;
	array->context = CurrentMemoryContext;
	array->limit_bytes = limit_bytes;
	/* as nodeSort.c does it: a value by itself is moved faster than a row */
	array->by_value = desc->natts == 1 && order->n_keys == 1 && format->narrow_bytes != 0;
	array->by_reference = !TupleDescAttr(desc, order->columns[0] - 1)->attbyval;
	array->fixed = gpusort_sortkey_make_fixed(order, 0, desc, &array->key);
	if (array->by_reference)
		choose_words(array);
	array->words = array->fixed ? EXACT_WORDS : VALUES;
	array->more_keys = order->n_keys > 1;
	array->room = FIRST_ROOM;
	array->entries = palloc(FIRST_ROOM * sizeof(GpuSortEntry));
	array->rows = palloc(FIRST_ROOM * sizeof(char *));
	array->bytes = FIRST_ROOM * BYTES_BESIDE_ROW;
	return array;
}

static void
start_block(GpuSortRowArray *array, RowBlock *block)
{
	array->block = block;
	array->place = (char *) block + MAXALIGN(sizeof(RowBlock));
	array->end = (char *) block + block->bytes;
}

void
gpusort_row_array_reset(GpuSortRowArray *array)
{
	RowBlock   *block = array->block;

	array->n = 0;
	array->words = array->fixed ? EXACT_WORDS : VALUES;
	if (block == NULL)
		return;
	while (block->previous != NULL)
	{
		RowBlock   *previous = block->previous;

		array->bytes -= block->bytes;
		pfree(block);
		block = previous;
	}
	if (block->bytes <= BLOCK_BYTES_MAX)
	{
		start_block(array, block);
		return;
	}
	/* it was made for one long row */
	array->bytes -= block->bytes;
	pfree(block);
	array->block = NULL;
	array->place = NULL;
	array->end = NULL;
}

void
gpusort_row_array_end(GpuSortRowArray *array)
{
	gpusort_row_array_reset(array);
	if (array->block != NULL)
		pfree(array->block);
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

/* --- rows in ------------------------------------------------------------------- */

/* May it take so much more?  Not for a first row only. */
static bool
may_take(const GpuSortRowArray *array, Size bytes)
{
	return array->n == 0 || array->bytes + bytes <= array->limit_bytes;
}

static bool
make_room_for_entries(GpuSortRowArray *array)
{
	Size		more = array->room * BYTES_BESIDE_ROW;

	if (!may_take(array, more) || array->room > PG_UINT32_MAX / 2)
		return false;
	array->bytes += more;
	array->room *= 2;
	array->entries = repalloc_huge(array->entries, array->room * sizeof(GpuSortEntry));
	array->rows = repalloc_huge(array->rows, array->room * sizeof(char *));
	return true;
}

static bool
make_room_for_row(GpuSortRowArray *array, Size row_bytes)
{
	Size		bytes = array->block == NULL ? FIRST_BLOCK_BYTES :
		Min(2 * array->block->bytes, BLOCK_BYTES_MAX);
	RowBlock   *block;

	bytes = Max(bytes, MAXALIGN(sizeof(RowBlock)) + row_bytes);
	if (!may_take(array, bytes))
		return false;
	block = MemoryContextAllocHuge(array->context, bytes);
	block->bytes = bytes;
	block->previous = array->block;
	array->bytes += bytes;
	start_block(array, block);
	return true;
}

/* A copy of the slot's row; NULL: there is no room. */
static const char *
copy_row(GpuSortRowArray *array, TupleTableSlot *slot)
{
	const GpuSortRowFormat *format = array->format;
	GpuSortRowSource source;
	char	   *row;

	gpusort_row_find(format, slot, &source);
	if (unlikely(MAXALIGN(source.length) > (Size) (array->end - array->place)) &&
		!make_room_for_row(array, MAXALIGN(source.length)))
		return NULL;
	row = array->place;
	gpusort_row_write(format, slot, &source, row);
	array->place += MAXALIGN(source.length);
	return row;
}

static TupleTableSlot *
store_row(const GpuSortRowArray *array, const char *row)
{
	return gpusort_row_store(array->format, row, array->result);
}

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
		value = slot_getattr(array->by_reference ? store_row(array, row) : slot, column, &is_null);
		array->rows[array->n] = row;
	}
	entry = &array->entries[array->n];
	entry->nulls = is_null;
	entry->row = array->n++;
	if (is_null)
		entry->word = 0;
	else if (array->fixed)
		gpusort_sortkey_encode(&array->key, value, &entry->word);
	else
		entry->word = value;
	return true;
}

/* --- the order ------------------------------------------------------------------- */

static GpuSortComparer *
comparer_of(GpuSortRowArray *array)
{
	MemoryContext old_context;

	if (likely(array->comparer != NULL))
		return array->comparer;
	old_context = MemoryContextSwitchTo(array->context);
	/* its keys are all that is used */
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

/* Entries get the values of this key. */
static void
take_values(GpuSortRowArray *array, GpuSortEntry *entries, uint64 n, int key)
{
	for (uint64 i = 0; i < n; i++)
	{
		bool		is_null;

		entries[i].word = slot_getattr(store_row(array, array->rows[entries[i].row]),
									   array->order->columns[key], &is_null);
		entries[i].nulls = is_null;
	}
}

static void sort_by_key(GpuSortRowArray *array, GpuSortEntry *entries, uint64 n, int key);

/* Sorts the groups of entries that have the same value of a key, by the next one. */
static void
sort_groups(GpuSortRowArray *array, GpuSortEntry *entries, uint64 n, int key)
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
		sort_groups(array, entries, n, key);
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
		(keys->open_mask == 0 || (word & keys->open_bits[0]) != keys->open_code[0]);
}

/* Sorts entries that have the same word or none: by the first key, if the word may stand for several
 * values of it, else by the second. */
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

/* --- words for values ------------------------------------------------------------ */

/* What makes words of the first key.  False: nothing does. */
static bool
make_encoder(GpuSortRowArray *array)
{
	const GpuSortOrder *order = array->order;
	Form_pg_attribute attr = TupleDescAttr(array->desc, order->columns[0] - 1);
	GpuSortKeyLayout layout = {0};
	int			most;

	if (array->encoder.n_keys == 0 && array->has_cheap_words)
	{
		array->has_cheap_words = gpusort_sortkey_has_words(attr->atttypid, attr->atttypmod,
														   order->operators[0],
														   order->collations[0],
														   &layout.n_words, &most);
		if (array->has_cheap_words)
			gpusort_keys_make(order, 1, &layout, array->desc, &array->encoder);
	}
	return array->has_cheap_words;
}

/* Makes words of values, if they tell the first ones apart. */
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

/* Abbreviates values, and stops where tuplesort would, if that does not pay. */
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

/* --- sorting ------------------------------------------------------------------------- */

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

void
gpusort_row_array_sort(GpuSortRowArray *array)
{
	MemoryContext old_context = MemoryContextSwitchTo(array->context);

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

bool
gpusort_row_array_extremes(GpuSortRowArray *array, uint64 *least, uint64 *greatest)
{
	const GpuSortEntry *entries = array->entries;
	const GpuSortEntry *low = NULL;
	const GpuSortEntry *high = NULL;
	SortSupport support = &comparer_of(array)->keys[0];

	for (uint64 i = 0; i < array->n; i++)
	{
		const GpuSortEntry *entry = &entries[i];

		if (entry->nulls != 0)
			continue;
		if (low == NULL || support->comparator((Datum) entry->word, (Datum) low->word, support) < 0)
			low = entry;
		if (high == NULL || support->comparator((Datum) entry->word, (Datum) high->word, support) > 0)
			high = entry;
	}
	if (low == NULL)
		return false;
	*least = low->row;
	*greatest = high->row;
	return true;
}

/* --- rows out -------------------------------------------------------------------------- */

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
