/*
 * index_order.c
 *	  The order of an index's tuples, for the sort and for the check of what it
 *	  returns.
 *
 * In:  an index's operator classes, collations and options; sorted index
 *	    tuples.
 * Out: the order of a sort, its keys that have words, and the columns they come
 *	    from; errors for tuples that are duplicates, or out of order.
 *
 * The check is by the comparison functions of the operator classes.  An index
 * out of order gives wrong answers as long as it lives, so no tuple gets into
 * an index unchecked.
 *
 * Runs in the backend that builds the index.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/sortsupport.h"

#include "compat.h"
#include "index/index_order.h"
#include "index/index_row.h"
#include "keys/collation_keys.h"
#include "keys/key_types.h"
#include "settings.h"
#include "job/server_state.h"

/* The arguments of "(%u,%u)" for a tuple's row in the table. */
#define TID_NUMBERS(tuple) \
	ItemPointerGetBlockNumberNoCheck(&(tuple)->t_tid), \
	ItemPointerGetOffsetNumberNoCheck(&(tuple)->t_tid)

struct GpuSortIndexCheck
{
	Relation	heap;
	Relation	index;
	const IndexInfo *info;
	int			n_keys;
	int			n_words;		/* keys that have words */
	SortSupport keys;
	int			decided_by;		/* the key that the last comparison ended with */
	Page		leaf;			/* an empty page, for the limit of a tuple's size */
	IndexTuple	last;			/* the tuple before; NULL: there is none */
	bool		last_alive;		/* one of the tuples that equal the last one is alive */
};

/* --- the order ------------------------------------------------------------ */

/* Are words of this collation's sort keys not to be used? */
static bool
collation_is_out(Oid collation)
{
	return OidIsValid(collation) &&
		gpusort_collation_kind(collation) == GPUSORT_COLLATION_LIBC &&
		(gpusort_libc_collations == GPUSORT_LIBC_COLLATIONS_OFF ||
		 gpusort_collation_is_distrusted(collation));
}

/* Does a sort find the operator in the key's family?  PostgreSQL builds an
 * index by the family's functions.  A sort looks the operator up, and may find
 * it in another family with other functions, or as the opposite strategy. */
static bool
sort_finds_family(Oid operator, Oid family)
{
	Oid			found;
	Oid			type;
	compat_ordering_strategy strategy;

	return get_ordering_op_properties(operator, &found, &type, &strategy) && found == family;
}

/* Sets key i of the order.  False: no operator has the order of the key's
 * operator class. */
static bool
set_key(const GpuSortIndexKey *key, int i, GpuSortOrder *order)
{
	bool		descending = (key->options & INDOPTION_DESC) != 0;
	Oid			operator = get_opfamily_member(key->family, key->type, key->type, descending ?
											   BTGreaterStrategyNumber : BTLessStrategyNumber);

	order->columns[i] = GPUSORT_INDEX_ROW_COLUMN(i + 1);
	order->nulls_first[i] = (key->options & INDOPTION_NULLS_FIRST) != 0;
	order->operators[i] = operator;
	order->collations[i] = gpusort_is_pattern_operator(operator, &descending) ?
		C_COLLATION_OID : key->collation;
	return OidIsValid(operator) && sort_finds_family(operator, key->family);
}

/* Returns the number of leading keys with words, if all keys share these. */
static int
keys_with_words(const GpuSortOrder *order, TupleDesc row_desc)
{
	int			least = 0;
	int			i;

	for (i = 0; i < order->n_keys; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(row_desc, order->columns[i] - 1);
		int			least_of_key;
		int			most;

		if (collation_is_out(order->collations[i]) ||
			!gpusort_sortkey_has_words(attr->atttypid, attr->atttypmod, order->operators[i],
									   order->collations[i], &least_of_key, &most))
			break;
		least += least_of_key;
		if (least > GPUSORT_WORDS_MAX)
			break;
	}
	return i;
}

GpuSortNativeReason
gpusort_index_order_of_keys(const GpuSortIndexKey *keys, int n, TupleDesc row_desc,
							GpuSortOrder *order, int *n_keys)
{
	order->n_keys = n + 1;
	order->columns = palloc((n + 1) * sizeof(AttrNumber));
	order->operators = palloc((n + 1) * sizeof(Oid));
	order->collations = palloc0((n + 1) * sizeof(Oid));
	order->nulls_first = palloc0((n + 1) * sizeof(bool));
	for (int i = 0; i < n; i++)
		if (!set_key(&keys[i], i, order))
			return GPUSORT_NATIVE_INDEX_KEY;
	order->columns[n] = GPUSORT_INDEX_ROW_TID;
	order->operators[n] = Int8LessOperator;
	*n_keys = keys_with_words(order, row_desc);
	if (*n_keys > 0)
		return GPUSORT_NATIVE_NONE;
	return collation_is_out(order->collations[0]) ? GPUSORT_NATIVE_COLLATION :
		GPUSORT_NATIVE_INDEX_KEY;
}

GpuSortNativeReason
gpusort_index_order(Relation index, TupleDesc row_desc, GpuSortOrder *order, int *n_keys)
{
	int			n = IndexRelationGetNumberOfKeyAttributes(index);
	GpuSortIndexKey keys[INDEX_MAX_KEYS];

	for (int i = 0; i < n; i++)
		keys[i] = (GpuSortIndexKey) {
			.family = index->rd_opfamily[i],
			.type = index->rd_opcintype[i],
			.collation = index->rd_indcollation[i],
			.options = index->rd_indoption[i],
		};
	return gpusort_index_order_of_keys(keys, n, row_desc, order, n_keys);
}

/* Expressions and the TID have none. */
GpuSortKeyOrigin *
gpusort_index_key_origins(Relation heap, const IndexInfo *info, int n_keys)
{
	GpuSortKeyOrigin *origins = palloc0(n_keys * sizeof(GpuSortKeyOrigin));

	for (int i = 0; i < Min(n_keys, info->ii_NumIndexKeyAttrs); i++)
		if (info->ii_IndexAttrNumbers[i] > 0)
			origins[i] = (GpuSortKeyOrigin) {
				RelationGetRelid(heap), info->ii_IndexAttrNumbers[i]
			};
	return origins;
}

/* --- the check ------------------------------------------------------------ */

GpuSortIndexCheck *
gpusort_index_check_begin(Relation heap, Relation index, const IndexInfo *info, int n_words)
{
	GpuSortIndexCheck *check = palloc0(sizeof(GpuSortIndexCheck));
	BTScanInsert insert = _bt_mkscankey(index, NULL);

	check->heap = heap;
	check->index = index;
	check->info = info;
	check->n_keys = IndexRelationGetNumberOfKeyAttributes(index);
	check->n_words = n_words;
	check->leaf = palloc(BLCKSZ);
	_bt_pageinit(check->leaf, BLCKSZ);
	BTPageGetOpaque(check->leaf)->btpo_flags = BTP_LEAF;
	check->keys = palloc0(check->n_keys * sizeof(SortSupportData));
	for (int i = 0; i < check->n_keys; i++)
	{
		SortSupport key = &check->keys[i];
		ScanKey		scan_key = &insert->scankeys[i];

		key->ssup_cxt = CurrentMemoryContext;
		key->ssup_collation = scan_key->sk_collation;
		key->ssup_nulls_first = (scan_key->sk_flags & SK_BT_NULLS_FIRST) != 0;
		key->ssup_attno = scan_key->sk_attno;
		compat_sort_support_of_index(index, (scan_key->sk_flags & SK_BT_DESC) != 0, key);
	}
	pfree(insert);
	return check;
}

/* Compares two tuples by their keys.  *has_null: a key of theirs is NULL, if
 * they are equal. */
static int
compare_keys(GpuSortIndexCheck *check, IndexTuple a, IndexTuple b, bool *has_null)
{
	TupleDesc	desc = RelationGetDescr(check->index);

	*has_null = false;
	for (int i = 0; i < check->n_keys; i++)
	{
		bool		a_is_null;
		bool		b_is_null;
		Datum		a_value = index_getattr(a, i + 1, desc, &a_is_null);
		Datum		b_value = index_getattr(b, i + 1, desc, &b_is_null);
		int			result = ApplySortComparator(a_value, a_is_null, b_value, b_is_null,
												 &check->keys[i]);

		check->decided_by = i;
		if (result != 0)
			return result;
		*has_null = *has_null || a_is_null;
	}
	return 0;
}

/* Raises PostgreSQL's own error.  Its sorts of few rows show the first row. */
static void
raise_duplicate(GpuSortIndexCheck *check, IndexTuple tuple)
{
	const char *name = RelationGetRelationName(check->index);
	Datum		values[INDEX_MAX_KEYS];
	bool		is_null[INDEX_MAX_KEYS];
	char	   *key;

	index_deform_tuple(tuple, RelationGetDescr(check->index), values, is_null);
	key = BuildIndexValueDescription(check->index, values, is_null);
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("could not create unique index \"%s\"", name),
			 key != NULL ? errdetail("Key %s is duplicated.", key) :
			 errdetail("Duplicate keys exist."),
			 errtableconstraint(check->heap, name)));
}

static const char *
name_of_class(Relation index, int key)
{
	return generate_opclass_name(get_index_column_opclass(RelationGetRelid(index), key + 1));
}

/* The device sorts by words only.  If a key without words decided, or if the
 * comparison function says otherwise when it is asked the other way round, the
 * function is to blame. */
static void
raise_disorder(GpuSortIndexCheck *check, IndexTuple tuple, int result)
{
	const char *name = RelationGetRelationName(check->index);
	int			key = check->decided_by;
	bool		has_null;
	int			reverse = compare_keys(check, tuple, check->last, &has_null);

	if ((result > 0) != (reverse < 0) || (result > 0 && key >= check->n_words))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("operator class %s gives the rows of index \"%s\" no order",
						name_of_class(check->index, Min(key, check->decided_by)), name),
				 errdetail("Its comparison function contradicts itself about the rows (%u,%u) and (%u,%u).",
						   TID_NUMBERS(check->last), TID_NUMBERS(tuple)),
				 errhint("Correct the function, or run \"SET gpusort.index_builds = off\" to let PostgreSQL build the index.")));
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("device returned rows for index \"%s\" out of order", name),
			 errdetail("Row (%u,%u) came after row (%u,%u).", TID_NUMBERS(tuple),
					   TID_NUMBERS(check->last)),
			 errhint("Run \"SET gpusort.index_builds = off\" to let PostgreSQL build the index.")));
}

/* Rows that are dead to all but old snapshots need not be unique. */
bool
gpusort_index_check_tuple(GpuSortIndexCheck *check, IndexTuple tuple, bool alive)
{
	bool		has_null = false;
	bool		must_differ = check->info->ii_Unique && alive;
	int			result = -1;

	_bt_check_third_page(check->index, check->heap, true, check->leaf, tuple);
	if (check->last != NULL)
	{
		result = compare_keys(check, check->last, tuple, &has_null);
		if (result > 0 ||
			(result == 0 && ItemPointerCompare(&check->last->t_tid, &tuple->t_tid) >= 0))
			raise_disorder(check, tuple, result);
		if (result != 0)
			check->last_alive = false;
	}
	if (must_differ && check->last_alive && (!has_null || check->info->ii_NullsNotDistinct))
		raise_duplicate(check, check->last);
	check->last_alive |= alive;
	check->last = tuple;
	return result == 0;
}
