/*
 * column_statistics.c
 *	  Statistics of a key's values from ANALYZE, for a sort that encodes its
 *	  keys.
 *
 * In:  the row of pg_statistic that the plan names.
 * Out: some of the values, as byte strings.
 *
 * A sort's first rows may be alike although all rows are not, such as those of
 * an ordered table.  The bounds of the histogram lie evenly among all values.
 *
 * Runs in the backend that leads a sort, after its first rows have come.  No
 * lock is held on the row: a concurrent ANALYZE or DROP TABLE makes words
 * worse, but the order stays right.
 */
#include "postgres.h"

#include "access/htup_details.h"
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

/* Adds values of one slot, if they are of the source's form.  An index's column
 * may be of another type than the sorted values. */
static void
add_values(HeapTuple statistics, int kind, const GpuSortTextBytes *source,
		   GpuSortKeySamples *samples)
{
	AttStatsSlot slot;
	int			n;

	if (!get_attstatsslot(&slot, statistics, kind, InvalidOid, ATTSTATSSLOT_VALUES))
		return;
	n = gpusort_type_has_text_bytes(getBaseType(slot.valuetype)) &&
		gpusort_text_form(getBaseType(slot.valuetype)) == source->form ?
		Min(slot.nvalues, SAMPLES_OF_SLOT_MAX) : 0;
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
may_see(const GpuSortKeyFigures *figures)
{
	Oid			relation = figures->relation;
	Oid			user = GetUserId();

	if (get_rel_relkind(relation) == '\0' ||
		check_enable_rls(relation, InvalidOid, true) == RLS_ENABLED)
		return false;
	return pg_class_aclcheck(relation, user, ACL_SELECT) == ACLCHECK_OK ||
		pg_attribute_aclcheck(relation, figures->column, user, ACL_SELECT) == ACLCHECK_OK;
}

/* Returns the row of pg_statistic.  NULL: the user may see none. */
static HeapTuple
find_statistics(const GpuSortKeyFigures *figures)
{
	if (!OidIsValid(figures->relation) || !may_see(figures))
		return NULL;
	return SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(figures->relation),
						   Int16GetDatum(figures->column), BoolGetDatum(false));
}

void
gpusort_add_statistics(const GpuSortKeyFigures *figures, const GpuSortTextBytes *source,
					   GpuSortKeySamples *samples)
{
	HeapTuple	statistics = find_statistics(figures);

	if (!HeapTupleIsValid(statistics))
		return;
	add_values(statistics, STATISTIC_KIND_HISTOGRAM, source, samples);
	add_values(statistics, STATISTIC_KIND_MCV, source, samples);
	ReleaseSysCache(statistics);
}

/* Returns 0 if nothing is known. */
double
gpusort_correlation(const GpuSortKeyFigures *figures)
{
	HeapTuple	statistics = find_statistics(figures);
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
