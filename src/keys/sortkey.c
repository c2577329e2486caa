/*
 * sortkey.c
 *	  Eligibility of key types.
 *
 * In:  a column's type and its sort operator, at plan time and again when the
 *	    executor node begins.
 * Out: a GpuSortKey: how to widen the Datum to 64 bits and what to flip so that
 *	    unsigned order is the operator's order.
 *
 * Only the default btree order of each type is known here; an operator of
 * another family, whatever it means, is left to PostgreSQL.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "keys/sortkey.h"

static bool
key_kind_of(Oid base_type, GpuSortKeyKind *kind)
{
	switch (base_type)
	{
		case INT2OID:
			*kind = GPUSORT_KEY_INT16;
			return true;
		case INT4OID:
		case DATEOID:
			*kind = GPUSORT_KEY_INT32;
			return true;
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			*kind = GPUSORT_KEY_INT64;
			return true;
		case OIDOID:
			*kind = GPUSORT_KEY_UINT32;
			return true;
		default:
			return false;
	}
}

bool
gpusort_sortkey_make(Oid type_oid, Oid sort_operator, bool nulls_first,
					 AttrNumber attno, GpuSortKey *key)
{
	Oid			base_type = getBaseType(type_oid);
	TypeCacheEntry *type;

	if (!key_kind_of(base_type, &key->kind))
		return false;
	type = lookup_type_cache(base_type, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
	if (sort_operator != type->lt_opr && sort_operator != type->gt_opr)
		return false;
	key->flip = gpusort_sortkey_flip(key->kind, sort_operator == type->gt_opr);
	key->attno = attno;
	key->nulls_first = nulls_first;
	return true;
}
