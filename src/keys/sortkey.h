/*
 * sortkey.h
 *	  Which types can be keys, and how a Datum becomes a key word.
 */
#ifndef GPUSORT_SORTKEY_H
#define GPUSORT_SORTKEY_H

#include "postgres.h"

#include "executor/tuptable.h"

#include "gpusort.h"

/*
 * Fills *key for a column of type_oid that is to be sorted by the operator
 * sort_operator.  False: the device cannot sort this type, or not in this order.
 */
extern bool gpusort_sortkey_make(Oid type_oid, Oid sort_operator, bool nulls_first,
								 AttrNumber attno, GpuSortKey *key);

/*
 * The kinds of keys: kind, the C type in a tuple, how a Datum gives it.  A value is widened
 * to 64 bits with its sign and then flipped (GpuSortKey), which makes unsigned order the
 * operator's order.
 */
#define GPUSORT_KEY_KINDS(EACH) \
	EACH(GPUSORT_KEY_INT16, int16, DatumGetInt16) \
	EACH(GPUSORT_KEY_INT32, int32, DatumGetInt32) \
	EACH(GPUSORT_KEY_INT64, int64, DatumGetInt64) \
	EACH(GPUSORT_KEY_UINT32, uint32, DatumGetUInt32)

/* What turns a widened value of this kind into its key word. */
static inline uint64
gpusort_sortkey_flip(GpuSortKeyKind kind, bool descending)
{
	uint64		sign = kind == GPUSORT_KEY_UINT32 ? 0 : UINT64CONST(1) << 63;

	return descending ? ~sign : sign;
}

/* The key word of a value: unsigned order is the operator's order. */
static inline uint64
gpusort_sortkey_encode(const GpuSortKey *key, Datum value)
{
#define ENCODE_DATUM(kind, type, get) \
		case kind: return (uint64) (int64) get(value) ^ key->flip;
	switch (key->kind)
	{
		GPUSORT_KEY_KINDS(ENCODE_DATUM)
	}
#undef ENCODE_DATUM
	pg_unreachable();
}

/* The same of a value where it lies in a tuple. */
static inline uint64
gpusort_sortkey_encode_at(const GpuSortKey *key, const char *at)
{
#define ENCODE_PLACE(kind, type, get) \
		case kind: return (uint64) (int64) *(const type *) at ^ key->flip;
	switch (key->kind)
	{
		GPUSORT_KEY_KINDS(ENCODE_PLACE)
	}
#undef ENCODE_PLACE
	pg_unreachable();
}

/* Takes the key words of a slot's row; returns the bits of the columns that are NULL, whose
 * words are 0. */
static inline uint32
gpusort_sortkey_take(const GpuSortKey *keys, int n_keys, TupleTableSlot *slot, uint64 *words)
{
	uint32		nulls = 0;

	for (int c = 0; c < n_keys; c++)
	{
		bool		is_null;
		Datum		value = slot_getattr(slot, keys[c].attno, &is_null);

		words[c] = is_null ? 0 : gpusort_sortkey_encode(&keys[c], value);
		if (is_null)
			nulls |= 1u << c;
	}
	return nulls;
}

/* The order of two rows by their key words and NULL bits: negative, 0 or positive. */
static inline int
gpusort_sortkey_compare(const GpuSortKey *keys, int n_keys,
						const uint64 *a, uint32 a_nulls, const uint64 *b, uint32 b_nulls)
{
	for (int c = 0; c < n_keys; c++)
	{
		bool		a_null = (a_nulls >> c & 1) != 0;
		bool		b_null = (b_nulls >> c & 1) != 0;

		if (a_null != b_null)
			return a_null == keys[c].nulls_first ? -1 : 1;
		if (a[c] != b[c])
			return a[c] < b[c] ? -1 : 1;
	}
	return 0;
}

#endif							/* GPUSORT_SORTKEY_H */
