/*
 * comparer.c
 *	  The order of rows by the operators themselves.
 *
 * In:  rows, or slots, whose words are equal or undecided.
 * Out: their order by the sort's keys, as in tuplesort: by the same comparators
 *	    of the same operators.  Abbreviation is not requested, since words are
 *	    one.
 *
 * Runs in the backend that leads the sort.  The first key's value is taken once
 * for a row, and values of further keys in each comparison that gets so far.
 */
#include "postgres.h"

#include "utils/datum.h"

#include "keys/comparer.h"

GpuSortComparer *
gpusort_comparer_make(const GpuSortOrder *order, int first_key, int n_keys,
					  const GpuSortRowFormat *format, TupleTableSlot *a, TupleTableSlot *b)
{
	GpuSortComparer *comparer = palloc0(sizeof(GpuSortComparer));
	Form_pg_attribute attr;

	Assert(first_key < n_keys && n_keys <= order->n_keys);
	comparer->n_keys = n_keys;
	comparer->first_key = first_key;
	comparer->format = format;
	comparer->a = a;
	comparer->b = b;
	comparer->keys = palloc0(n_keys * sizeof(SortSupportData));
	for (int i = 0; i < n_keys; i++)
	{
		SortSupport key = &comparer->keys[i];

		key->ssup_cxt = CurrentMemoryContext;
		key->ssup_collation = order->collations[i];
		key->ssup_nulls_first = order->nulls_first[i];
		key->ssup_attno = order->columns[i];
		PrepareSortSupportFromOrderingOp(order->operators[i], key);
	}
	attr = TupleDescAttr(a->tts_tupleDescriptor, order->columns[first_key] - 1);
	comparer->by_value = attr->attbyval;
	comparer->length = attr->attlen;
	return comparer;
}

void
gpusort_comparer_take(GpuSortComparer *comparer, const char *row, GpuSortComparand *comparand)
{
	comparand->row = row;
	comparand->value = gpusort_row_attribute(comparer->format, row, comparer->a,
											 comparer->keys[comparer->first_key].ssup_attno,
											 &comparand->is_null);
}

/* Compares by the keys from number *key on, and sets it to the deciding key. */
static int
compare_from(GpuSortComparer *comparer, int *key, TupleTableSlot *a, TupleTableSlot *b)
{
	for (; *key < comparer->n_keys; (*key)++)
	{
		SortSupport support = &comparer->keys[*key];
		bool		a_null;
		bool		b_null;
		Datum		a_value = slot_getattr(a, support->ssup_attno, &a_null);
		Datum		b_value = slot_getattr(b, support->ssup_attno, &b_null);
		int			result = ApplySortComparator(a_value, a_null, b_value, b_null, support);

		if (result != 0)
			return result;
	}
	return 0;
}

int
gpusort_comparer_compare(GpuSortComparer *comparer, const GpuSortComparand *a,
						 const GpuSortComparand *b)
{
	int			result = ApplySortComparator(a->value, a->is_null, b->value, b->is_null,
											 &comparer->keys[comparer->first_key]);
	int			key = comparer->first_key + 1;

	if (result != 0 || key == comparer->n_keys)
		return result;
	return compare_from(comparer, &key,
						gpusort_row_store(comparer->format, a->row, comparer->a),
						gpusort_row_store(comparer->format, b->row, comparer->b));
}

int
gpusort_comparer_deciding_key(GpuSortComparer *comparer, const GpuSortComparand *a,
							  const GpuSortComparand *b)
{
	int			key = comparer->first_key;

	(void) compare_from(comparer, &key,
						gpusort_row_store(comparer->format, a->row, comparer->a),
						gpusort_row_store(comparer->format, b->row, comparer->b));
	return key;
}

uint32
gpusort_comparer_hash(const GpuSortComparer *comparer, const GpuSortComparand *row)
{
	return row->is_null ? 0 : datum_image_hash(row->value, comparer->by_value, comparer->length);
}

bool
gpusort_comparer_same_bytes(const GpuSortComparer *comparer, const GpuSortComparand *a,
							const GpuSortComparand *b)
{
	if (a->is_null || b->is_null)
		return a->is_null && b->is_null;
	return datum_image_eq(a->value, b->value, comparer->by_value, comparer->length);
}

int
gpusort_comparer_compare_slots(GpuSortComparer *comparer, TupleTableSlot *a, TupleTableSlot *b)
{
	int			key = comparer->first_key;

	return compare_from(comparer, &key, a, b);
}
