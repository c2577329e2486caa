/*
 * tied_rows.c
 *	  Sorts a tie run of rows that words have left undecided.
 *
 * In:  the tie run's rows in memory.  Their words agree up to an inexact value,
 *	    and later words have ordered them.  If the inexact key is equal in all
 *	    rows, as it often is, they are in order already.
 * Out: the same rows in the order of the sort's keys.
 *
 * If few rows are out of place, they are put in place.  If many are, and
 * work_mem has room, several keys are packed into one word.  A key of a fixed
 * width becomes its distance from the tie run's least value, and a text its
 * rank among the tie run's values.  Many rows usually tie because a few long
 * values share the beginning of their sort keys, so the ranks are few, while a
 * comparison would take some microseconds for each row.  All other rows are
 * compared.
 *
 * Runs in the backend that leads the sort.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "keys/dictionary.h"
#include "keys/key_types.h"
#include "sort/entry_sort.h"
#include "sort/tied_rows.h"

/* Comparisons are faster than a search for keys to pack, for fewer rows. */
#define ROWS_TO_PACK_KEYS	256

/* More keys hardly ever have room. */
#define KEYS_MAX	8

#define WORD_BITS	64

/* Each row of a tie run may be moved by this many places on average.  Beyond
 * that, the tie run is sorted as if it were in no order at all.  That is
 * cheaper for many rows, whose keys may be packed. */
#define MOVES_FOR_A_ROW		16
#define MOVES_FOR_ONE_OF_MANY	1

typedef struct PackedKey
{
	GpuSortDictionary *dictionary;	/* of a text; else NULL */
	GpuSortKey	key;			/* makes one word, which is exact for these rows */
	uint64	   *words;			/* [n] words of the rows */
	uint64		least;			/* least of the words */
	uint64		greatest;
	bool		any_null;
} PackedKey;

/* Rows whose keys are packed.  first_key is the first key that does not decide
 * them yet. */
typedef struct Packing
{
	const GpuSortOrdering *ordering;
	int			first_key;
	GpuSortTiedRow *rows;
	uint64		n;
	int			n_keys;			/* keys from first_key on */
	PackedKey	keys[KEYS_MAX];
	uint8	   *nulls;			/* [n] a bit for each of these keys */
} Packing;

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
	uint64		moves_max = n * (n < ROWS_TO_PACK_KEYS ? MOVES_FOR_A_ROW : MOVES_FOR_ONE_OF_MANY);

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

/* --- by packed keys ------------------------------------------------------- */

static inline Datum
value_of_key(const Packing *packing, TupleTableSlot *slot, int i, bool *is_null)
{
	return slot_getattr(slot, packing->ordering->order->columns[packing->first_key + i], is_null);
}

static inline TupleTableSlot *
store_row(const Packing *packing, uint64 row)
{
	const GpuSortComparer *ties = packing->ordering->ties;

	return gpusort_row_store(ties->format, packing->rows[row].comparand.row, ties->a);
}

/* Begins a key of a fixed width, or a dictionary that is to be filled.  False:
 * the key has too many values, or may have. */
static bool
begin_key(const Packing *packing, int i, PackedKey *packed)
{
	const GpuSortOrder *order = packing->ordering->order;
	int			k = packing->first_key + i;
	Form_pg_attribute attr = TupleDescAttr(packing->ordering->desc, order->columns[k] - 1);
	Oid			type = getBaseType(attr->atttypid);
	int			least;
	int			most;

	packed->dictionary = NULL;
	if (gpusort_sortkey_make_by_value(order, k, packing->ordering->desc, &packed->key))
		return true;
	/* texts have no words under some operators and collations */
	if (!gpusort_dictionary_may_be_of(type, order->collations[k]) ||
		!gpusort_sortkey_has_words(attr->atttypid, attr->atttypmod, order->operators[k],
								   order->collations[k], &least, &most))
		return false;
	packed->dictionary = gpusort_dictionary_begin(type, order->collations[k], order->operators[k]);
	return true;
}

/* Counts the values of all texts.  The packed keys end before one that has too
 * many. */
static void
fill_dictionaries(Packing *packing)
{
	for (uint64 row = 0; row < packing->n && packing->n_keys > 0; row++)
	{
		TupleTableSlot *slot = store_row(packing, row);

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < packing->n_keys; i++)
		{
			bool		is_null;
			Datum		value;

			if (packing->keys[i].dictionary == NULL)
				continue;
			value = value_of_key(packing, slot, i, &is_null);
			if (!is_null && !gpusort_dictionary_count(packing->keys[i].dictionary, value))
				packing->n_keys = i;
		}
	}
}

/* Makes a key by its dictionary.  False: it cannot be made. */
static bool
finish_key(const Packing *packing, int i, PackedKey *packed)
{
	GpuSortOrder order = *packing->ordering->order;
	int			k = packing->first_key + i;
	GpuSortKeyEncoding encoding = {.n_words = 1,.dictionary = packed->dictionary};
	GpuSortKeys keys;

	if (packed->dictionary == NULL)
		return true;
	if (!gpusort_dictionary_rank(packed->dictionary))
		return false;
	order.n_keys = 1;
	order.columns += k;
	order.operators += k;
	order.collations += k;
	order.nulls_first += k;
	gpusort_keys_make(&order, 1, &encoding, packing->ordering->desc, &keys);
	packed->key = keys.keys[0];
	return true;
}

/* Finds the keys that may be packed, and makes what turns them into words. */
static void
make_keys(Packing *packing)
{
	int			most = Min(packing->ordering->order->n_keys - packing->first_key, KEYS_MAX);
	bool		any_dictionary = false;

	while (packing->n_keys < most &&
		   begin_key(packing, packing->n_keys, &packing->keys[packing->n_keys]))
		any_dictionary |= packing->keys[packing->n_keys++].dictionary != NULL;
	if (any_dictionary)
		fill_dictionaries(packing);
	for (int i = 0; i < packing->n_keys; i++)
		if (!finish_key(packing, i, &packing->keys[i]))
			packing->n_keys = i;
}

static inline void
take_word(PackedKey *packed, uint64 row, Datum value)
{
	uint64		word;

	gpusort_sortkey_encode(&packed->key, value, &word);
	packed->words[row] = word;
	packed->least = Min(packed->least, word);
	packed->greatest = Max(packed->greatest, word);
}

/* Takes the words of all keys of all rows, and the range of each key's
 * words. */
static void
take_words(Packing *packing)
{
	packing->nulls = palloc_extended(packing->n, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (int i = 0; i < packing->n_keys; i++)
	{
		packing->keys[i].words = palloc_extended(packing->n * sizeof(uint64), MCXT_ALLOC_HUGE);
		packing->keys[i].least = PG_UINT64_MAX;
		packing->keys[i].greatest = 0;
		packing->keys[i].any_null = false;
	}
	for (uint64 row = 0; row < packing->n; row++)
	{
		TupleTableSlot *slot = store_row(packing, row);

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < packing->n_keys; i++)
		{
			bool		is_null;
			Datum		value = value_of_key(packing, slot, i, &is_null);

			if (!is_null)
				take_word(&packing->keys[i], row, value);
			else
			{
				packing->nulls[row] |= 1 << i;
				packing->keys[i].any_null = true;
			}
		}
	}
}

/* Returns the steps between a key's least and greatest value.  NULL lies beside
 * them. */
static uint64
steps_of_key(const PackedKey *packed)
{
	if (packed->least > packed->greatest)
		return 0;				/* NULLs only */
	return packed->greatest - packed->least + packed->any_null;
}

/* Returns the bits of a word that hold a key.  If it does not fit, these are
 * more than a word has. */
static int
bits_of_key(const PackedKey *packed)
{
	uint64		steps = steps_of_key(packed);

	if (packed->any_null && steps == 0 && packed->least <= packed->greatest)
		return WORD_BITS + 1;	/* all values of a word, and NULL */
	return steps == 0 ? 0 : pg_leftmost_one_pos64(steps) + 1;
}

/* Appends a key to the entries' words. */
static void
append_key(const Packing *packing, int i, int bits, GpuSortEntry *entries)
{
	const PackedKey *packed = &packing->keys[i];
	bool		nulls_first = packing->ordering->order->nulls_first[packing->first_key + i];
	uint64		first = packed->any_null && nulls_first ? 1 : 0;
	uint64		null = nulls_first ? 0 : steps_of_key(packed);

	for (uint64 row = 0; row < packing->n; row++)
	{
		bool		is_null = (packing->nulls[row] >> i & 1) != 0;
		uint64		place = is_null ? null : packed->words[row] - packed->least + first;

		entries[row].word = (bits < WORD_BITS ? entries[row].word << bits : 0) | place;
	}
}

/* Fills the entries' words with as many keys as have room, and returns their
 * number. */
static int
pack_keys(const Packing *packing, GpuSortEntry *entries)
{
	int			room = WORD_BITS;
	int			i;

	for (uint64 row = 0; row < packing->n; row++)
		entries[row] = (GpuSortEntry) {.row = (uint32) row};
	for (i = 0; i < packing->n_keys; i++)
	{
		int			bits = bits_of_key(&packing->keys[i]);

		if (bits > room)
			break;
		if (bits > 0)
			append_key(packing, i, bits, entries);
		room -= bits;
	}
	return i;
}

/* Orders the rows as the sorted entries do, by this many keys.  Comparisons
 * sort rows with equal words. */
static void
move_rows(const Packing *packing, const GpuSortEntry *entries, int packed)
{
	GpuSortComparer *ties = packing->ordering->ties;
	GpuSortTiedRow *rows = packing->rows;
	uint64		n = packing->n;
	bool		is_all = packing->first_key + packed == packing->ordering->order->n_keys;
	GpuSortTiedRow *unsorted = palloc_extended(n * sizeof(GpuSortTiedRow), MCXT_ALLOC_HUGE);
	uint64		begin = 0;

	memcpy(unsorted, rows, n * sizeof(GpuSortTiedRow));
	for (uint64 i = 0; i < n; i++)
		rows[i] = unsorted[entries[i].row];
	for (uint64 i = 1; !is_all && i <= n; i++)
	{
		if (i < n && entries[i].word == entries[begin].word)
			continue;
		if (i - begin > 1 && !put_rows_in_place(rows + begin, i - begin, ties))
			sort_rows_in_any_order(rows + begin, i - begin, ties);
		begin = i;
	}
}

/* False: no key can be packed, or none has room in a word, and nothing is
 * done. */
static bool
sort_by_packed_keys(Packing *packing)
{
	GpuSortEntry *entries;
	GpuSortEntry *other;
	int			packed;

	make_keys(packing);
	if (packing->n_keys == 0)
		return false;
	take_words(packing);
	entries = palloc_extended(packing->n * sizeof(GpuSortEntry), MCXT_ALLOC_HUGE);
	packed = pack_keys(packing, entries);
	if (packed == 0)
		return false;
	other = palloc_extended(packing->n * sizeof(GpuSortEntry), MCXT_ALLOC_HUGE);
	move_rows(packing, gpusort_sort_entries(entries, other, packing->n, false, NULL, NULL), packed);
	return true;
}

/* --- all tie runs --------------------------------------------------------- */

/* Are there enough rows to make packing pay, and has work_mem room for it
 * beside them? */
static bool
may_pack_keys(const GpuSortOrdering *ordering, uint64 n, Size taken_bytes)
{
	int			keys = Min(ordering->order->n_keys - ordering->ties->first_key, KEYS_MAX);
	Size		of_row = 2 * sizeof(GpuSortTiedRow) + keys * sizeof(uint64) + sizeof(uint8) +
		2 * sizeof(GpuSortEntry);

	return n >= ROWS_TO_PACK_KEYS &&
		taken_bytes + n * of_row <= (Size) ordering->work_mem * 1024;
}

/* Tries the cheapest way first. */
void
gpusort_sort_tied_rows(const GpuSortOrdering *ordering, GpuSortTiedRow *rows, uint64 n,
					   Size taken_bytes)
{
	Packing		packing = {
		.ordering = ordering,
		.first_key = ordering->ties->first_key,
		.rows = rows,
		.n = n,
	};
	MemoryContext context;
	MemoryContext old_context;

	if (put_rows_in_place(rows, n, ordering->ties))
		return;
	context = AllocSetContextCreate(CurrentMemoryContext, "gpusort tied rows",
									ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(context);
	if (!may_pack_keys(ordering, n, taken_bytes) || !sort_by_packed_keys(&packing))
		sort_rows_in_any_order(rows, n, ordering->ties);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
}
