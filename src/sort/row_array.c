/*
 * row_array.c
 *	  The rows of a small input: first as they have come, then sorted in place
 *	  (row_array_sort.c).
 *
 * In:  slots.
 * Out: the result slot, which points to rows of the array.  If a row is a
 *	    single value, the array has the value itself.
 *
 * A first key of a pass-by-value type with an exact word (sortkey.h) is encoded
 * as rows come.
 *
 * Runs in the backend that leads the sort.  Memory is in the context in which
 * the array was begun, and stays for the next rows, but for the rows
 * themselves.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "keys/collation_keys.h"
#include "keys/key_types.h"
#include "sort/row_array_internal.h"

#define FIRST_ROOM			64	/* rows */
#define FIRST_BLOCK_BYTES	2048
#define BLOCK_BYTES_MAX		((Size) 64 * 1024)

/* Fewer rows may be in order by chance, or because they are a table's first
 * ones. */
#define ROWS_TO_SEE_ORDER_IN	1000

/* Bytes of each row beside the row itself.  Radix needs its entry twice. */
#define BYTES_BESIDE_ROW	(2 * sizeof(GpuSortEntry) + sizeof(char *))

/* Decides how the first key may get words when there are some rows.  An encoder
 * makes them if that needs no sort key of a collation's, else an abbreviation,
 * which does not exist under the C library. */
static void
choose_words(GpuSortRowArray *array)
{
	Oid			collation = array->order->collations[0];
	GpuSortCollationKind kind = OidIsValid(collation) ? gpusort_collation_kind(collation) :
		GPUSORT_COLLATION_BYTES;

	array->has_cheap_words = kind == GPUSORT_COLLATION_BYTES;
	array->may_abbreviate = kind != GPUSORT_COLLATION_LIBC;
}

/* The words of a pass-by-value first key are made as rows come. */
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
	/* as in nodeSort.c: a single value is moved faster than a row */
	array->by_value = desc->natts == 1 && order->n_keys == 1 && format->narrow_bytes != 0;
	array->by_reference = !TupleDescAttr(desc, order->columns[0] - 1)->attbyval;
	array->by_value_key = gpusort_sortkey_make_by_value(order, 0, desc, &array->key);
	if (array->by_reference)
		choose_words(array);
	array->words = array->by_value_key ? EXACT_WORDS : VALUES;
	array->more_keys = order->n_keys > 1;
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
gpusort_row_array_may_stay(GpuSortRowArray *array, double rows)
{
	/* of rows, and of blocks' unused ends */
	double		bytes = array->bytes - array->room * BYTES_BESIDE_ROW;

	return array->n >= ROWS_TO_SEE_ORDER_IN &&
		(bytes / array->n + BYTES_BESIDE_ROW) * Max(rows, array->n) <= array->limit_bytes / 2 &&
		gpusort_row_array_is_in_order(array, array->n);
}

/* --- rows in -------------------------------------------------------------- */

/* May the array take this much more?  A first row is never refused. */
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
		value = slot_getattr(array->by_reference ? gpusort_row_array_store(array, row) : slot,
							 column, &is_null);
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
