/*
 * column_statistics.c
 *	  Statistics of a key's values from ANALYZE, for a sort that encodes its
 *	  keys.
 *
 * In:  the table's column that a key comes from.
 * Out: some of the values, as byte strings; how many values there are; how far
 *	    the table is in their order.
 *
 * A sort's first rows may be alike although all rows are not, such as those of
 * an ordered table.  The bounds of the histogram lie evenly among all values.
 *
 * Runs in the backend that leads a sort, and in none of its workers.  No
 * lock is held on the row: a concurrent ANALYZE or DROP TABLE makes words
 * worse, but the order stays right.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/syscache.h"

#include "sort/column_statistics.h"

/* The most values to use of each slot of the statistics, which may have 10,000.
 * Each may cost a sort key. */
#define SAMPLES_OF_SLOT_MAX	100

/* Opens one slot.  Returns the number of values to use: 0 if they are not of
 * this form, since an index's column may be of another type than the sorted
 * values. */
static int
open_values(HeapTuple statistics, int kind, GpuSortTextForm form, AttStatsSlot *slot)
{
	Oid			type;

	if (!get_attstatsslot(slot, statistics, kind, InvalidOid, ATTSTATSSLOT_VALUES))
		return 0;
	type = getBaseType(slot->valuetype);
	return gpusort_type_has_text_bytes(type) && gpusort_text_form(type) == form ?
		Min(slot->nvalues, SAMPLES_OF_SLOT_MAX) : 0;
}

static void
add_values(HeapTuple statistics, int kind, const GpuSortTextBytes *source,
		   GpuSortKeySamples *samples)
{
	AttStatsSlot slot;
	int			n = open_values(statistics, kind, source->form, &slot);

	for (int i = 0; i < n; i++)
	{
		/* the first and the last value, and values that lie evenly between
		 * them */
		int			value = n == 1 ? 0 : (int) ((int64) i * (slot.nvalues - 1) / (n - 1));

		CHECK_FOR_INTERRUPTS();
		gpusort_key_samples_add(samples, source, slot.values[value]);
	}
	free_attstatsslot(&slot);
}

/* EXPLAIN shows the number of words, which depends on values of rows that the
 * query may not return. */
static bool
may_see(const GpuSortKeyOrigin *origin)
{
	Oid			relation = origin->relation;
	Oid			user = GetUserId();

	if (get_rel_relkind(relation) == '\0' ||
		check_enable_rls(relation, InvalidOid, true) == RLS_ENABLED)
		return false;
	return pg_class_aclcheck(relation, user, ACL_SELECT) == ACLCHECK_OK ||
		pg_attribute_aclcheck(relation, origin->column, user, ACL_SELECT) == ACLCHECK_OK;
}

/* Returns the row of pg_statistic, or NULL if there is none.  for_values: the
 * caller reads values, so NULL if the user may not see them. */
static HeapTuple
find_statistics(const GpuSortKeyOrigin *origin, bool for_values)
{
	if (!OidIsValid(origin->relation) || (for_values && !may_see(origin)))
		return NULL;
	return SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(origin->relation),
						   Int16GetDatum(origin->column), BoolGetDatum(false));
}

/* Returns the rows that a table had when it was last analyzed; unknown: it is
 * not known. */
static double
analyzed_rows(Oid relation, double unknown)
{
	HeapTuple	row = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	double		rows;

	if (!HeapTupleIsValid(row))
		return unknown;
	rows = ((Form_pg_class) GETSTRUCT(row))->reltuples;
	ReleaseSysCache(row);
	return rows >= 1 ? rows : unknown;
}

/* The planner tells everybody as much, in its estimates of groups. */
double
gpusort_expected_distinct(const GpuSortKeyOrigin *origin, double rows)
{
	HeapTuple	row = find_statistics(origin, false);
	double		distinct;

	if (!HeapTupleIsValid(row))
		return 0;
	distinct = ((Form_pg_statistic) GETSTRUCT(row))->stadistinct;
	ReleaseSysCache(row);
	/* a negative number is a share of the table's rows, which a join repeats */
	if (distinct < 0)
		distinct *= -analyzed_rows(origin->relation, rows);
	return Min(distinct, rows);
}

void
gpusort_add_statistics(const GpuSortKeyOrigin *origin, const GpuSortTextBytes *source,
					   GpuSortKeySamples *samples)
{
	HeapTuple	statistics = find_statistics(origin, true);

	if (!HeapTupleIsValid(statistics))
		return;
	add_values(statistics, STATISTIC_KIND_HISTOGRAM, source, samples);
	add_values(statistics, STATISTIC_KIND_MCV, source, samples);
	ReleaseSysCache(statistics);
}

bool
gpusort_count_common_values(const GpuSortKeyOrigin *origin, Oid type,
							GpuSortDictionary *dictionary)
{
	HeapTuple	statistics = find_statistics(origin, true);
	AttStatsSlot slot;
	bool		may_be = true;
	int			n;

	if (!HeapTupleIsValid(statistics))
		return true;
	n = open_values(statistics, STATISTIC_KIND_MCV, gpusort_text_form(type), &slot);
	for (int i = 0; may_be && i < n; i++)
		may_be = gpusort_dictionary_count(dictionary, slot.values[i]);
	free_attstatsslot(&slot);
	ReleaseSysCache(statistics);
	return may_be;
}

/* Returns 0 if nothing is known. */
double
gpusort_correlation(const GpuSortKeyOrigin *origin)
{
	HeapTuple	statistics = find_statistics(origin, true);
	AttStatsSlot slot;
	double		correlation = 0;

	if (!HeapTupleIsValid(statistics))
		return 0;
	if (get_attstatsslot(&slot, statistics, STATISTIC_KIND_CORRELATION, InvalidOid,
						 ATTSTATSSLOT_NUMBERS))
	{
		correlation = slot.nnumbers == 1 ? slot.numbers[0] : 0;
		free_attstatsslot(&slot);
	}
	ReleaseSysCache(statistics);
	return correlation;
}
