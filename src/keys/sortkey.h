/*
 * sortkey.h
 *	  Which types can be keys, and how a Datum becomes a key word.
 */
#ifndef GPUSORT_SORTKEY_H
#define GPUSORT_SORTKEY_H

#include "postgres.h"
#include "gpusort.h"

/*
 * Fills *key for a column of type_oid that is to be sorted by the operator
 * sort_operator.  False: the device cannot sort this type, or not in this order.
 */
extern bool gpusort_sortkey_make(Oid type_oid, Oid sort_operator, bool nulls_first,
								 AttrNumber attno, GpuSortKey *key);

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
	switch (key->kind)
	{
		case GPUSORT_KEY_INT64:
			return (uint64) DatumGetInt64(value) ^ key->flip;
		case GPUSORT_KEY_INT32:
			return (uint64) (int64) DatumGetInt32(value) ^ key->flip;
		case GPUSORT_KEY_INT16:
			return (uint64) (int64) DatumGetInt16(value) ^ key->flip;
		case GPUSORT_KEY_UINT32:
			return (uint64) DatumGetUInt32(value) ^ key->flip;
	}
	pg_unreachable();
}

#endif							/* GPUSORT_SORTKEY_H */
