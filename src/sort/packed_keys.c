/*
 * packed_keys.c
 *	  Sorts rows by several keys at once, whose values are few or near each other.
 *
 * In:  rows of one group, which words have left undecided.
 * Out: their numbers in order, as far as the keys that one word holds tell it.
 *
 * A key of a fixed width is its distance from the group's least value, a text its rank among the
 * group's values.  A group of many rows has few of both: what keeps its keys' words from
 * telling it apart is that sort keys of a collation are long.  To compare its rows would take some
 * microseconds each.
 *
 * Runs in the backend that leads the sort.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/lsyscache.h"

#include "keys/dictionary.h"
#include "keys/key_types.h"
#include "sort/packed_keys.h"

/* More keys hardly ever have room. */
#define KEYS_MAX	8

#define WORD_BITS	64

typedef struct PackedKey
{
	GpuSortDictionary *dictionary;	/* of a text; else NULL */
	GpuSortKey	key;			/* of one word, which is exact of these rows */
	uint64	   *words;			/* [n] of the rows */
	uint64		least;			/* of those words */
	uint64		greatest;
	bool		any_null;
} PackedKey;

typedef struct Packing
{
	const GpuSortOrder *order;
	TupleDesc	desc;
	const GpuSortComparer *comparer;
	const char *const *rows;
	uint64		n;
	int			n_keys;			/* from the comparer's first one on */
	PackedKey	keys[KEYS_MAX];
	uint8	   *nulls;			/* [n] a bit for each of these keys */
} Packing;

static inline Datum
value_of_key(const Packing *packing, TupleTableSlot *slot, int i, bool *is_null)
{
	return slot_getattr(slot, packing->order->columns[packing->comparer->first_key + i], is_null);
}

static inline TupleTableSlot *
store_row(const Packing *packing, uint64 row)
{
	return gpusort_row_store(packing->comparer->format, packing->rows[row], packing->comparer->a);
}

/* --- what makes words of keys ------------------------------------------------------ */

/* A key of a fixed width, or a dictionary that is to be filled.  False: the key has too many values, or
 * may have. */
static bool
begin_key(const Packing *packing, int i, PackedKey *packed)
{
	const GpuSortOrder *order = packing->order;
	int			k = packing->comparer->first_key + i;
	Form_pg_attribute attr = TupleDescAttr(packing->desc, order->columns[k] - 1);
	Oid			type = getBaseType(attr->atttypid);
	int			least;
	int			most;

	packed->dictionary = NULL;
	if (gpusort_sortkey_make_fixed(order, k, packing->desc, &packed->key))
		return true;
	/* under some operators and collations texts have no words */
	if (!gpusort_dictionary_may_be_of(type, order->collations[k]) ||
		!gpusort_sortkey_has_words(attr->atttypid, attr->atttypmod, order->operators[k],
								   order->collations[k], &least, &most))
		return false;
	packed->dictionary = gpusort_dictionary_begin(type, order->collations[k], order->operators[k]);
	return true;
}

/* Counts the values of all texts.  Keys end before one that has too many. */
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

/* A key by its dictionary.  False: it cannot be had. */
static bool
finish_key(const Packing *packing, int i, PackedKey *packed)
{
	GpuSortOrder order = *packing->order;
	int			k = packing->comparer->first_key + i;
	GpuSortKeyLayout layout = {.n_words = 1,.dictionary = packed->dictionary};
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
	gpusort_keys_make(&order, 1, &layout, packing->desc, &keys);
	packed->key = keys.keys[0];
	return true;
}

static void
make_keys(Packing *packing)
{
	int			most = Min(packing->order->n_keys - packing->comparer->first_key, KEYS_MAX);
	bool		any_dictionary = false;

	while (packing->n_keys < most && begin_key(packing, packing->n_keys, &packing->keys[packing->n_keys]))
		any_dictionary |= packing->keys[packing->n_keys++].dictionary != NULL;
	if (any_dictionary)
		fill_dictionaries(packing);
	for (int i = 0; i < packing->n_keys; i++)
		if (!finish_key(packing, i, &packing->keys[i]))
			packing->n_keys = i;
}

/* --- words ---------------------------------------------------------------------------- */

static inline void
take_word(PackedKey *packed, uint64 row, Datum value)
{
	uint64		word;

	gpusort_sortkey_encode(&packed->key, value, &word);
	packed->words[row] = word;
	packed->least = Min(packed->least, word);
	packed->greatest = Max(packed->greatest, word);
}

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

/* Steps between a key's least and greatest value, NULL being beside them. */
static uint64
steps_of_key(const PackedKey *packed)
{
	if (packed->least > packed->greatest)
		return 0;				/* NULLs only */
	return packed->greatest - packed->least + packed->any_null;
}

/* What a word needs to hold a key; more than a word has, if it does not. */
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
	bool		nulls_first = packing->order->nulls_first[packing->comparer->first_key + i];
	uint64		first = packed->any_null && nulls_first ? 1 : 0;
	uint64		null = nulls_first ? 0 : steps_of_key(packed);

	for (uint64 row = 0; row < packing->n; row++)
	{
		bool		is_null = (packing->nulls[row] >> i & 1) != 0;
		uint64		place = is_null ? null : packed->words[row] - packed->least + first;

		entries[row].word = (bits < WORD_BITS ? entries[row].word << bits : 0) | place;
	}
}

/* Fills the entries' words with as many keys as have room; returns how many. */
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

Size
gpusort_bytes_to_pack_keys(const GpuSortOrder *order, const GpuSortComparer *comparer)
{
	int			keys = Min(order->n_keys - comparer->first_key, KEYS_MAX);

	return keys * sizeof(uint64) + sizeof(uint8) + 2 * sizeof(GpuSortEntry);
}

int
gpusort_sort_by_packed_keys(const GpuSortOrder *order, TupleDesc desc,
							const GpuSortComparer *comparer, const char *const *rows, uint64 n,
							GpuSortEntry **entries)
{
	Packing		packing = {.order = order,.desc = desc,.comparer = comparer,.rows = rows,.n = n};
	GpuSortEntry *unsorted;
	GpuSortEntry *other;
	int			packed = 0;

	make_keys(&packing);
	if (packing.n_keys == 0)
		return comparer->first_key;
	take_words(&packing);
	unsorted = palloc_extended(n * sizeof(GpuSortEntry), MCXT_ALLOC_HUGE);
	packed = pack_keys(&packing, unsorted);
	if (packed == 0)
		return comparer->first_key;
	other = palloc_extended(n * sizeof(GpuSortEntry), MCXT_ALLOC_HUGE);
	*entries = gpusort_sort_entries(unsorted, other, n, false, NULL, NULL);
	return comparer->first_key + packed;
}
