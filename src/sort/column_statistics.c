/*
 * column_statistics.c
 *	  What ANALYZE has left of a key's values, for a sort that lays out its keys.
 *
 * In:  the row of pg_statistic that the plan names.
 * Out: some of the values, as byte strings; how many there are, and how wide.
 *
 * A sort's first rows may be alike where all rows are not, as those of a table in order are: bounds of the histogram lie
 * evenly among all values.
 *
 * Runs in the backend that leads a sort, after its first rows have come.  No lock is held on the row: what ANALYZE or
 * DROP TABLE does meanwhile makes words worse, and the order stays right.
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

/* Values that are looked at of each slot of the statistics, which may have 10,000: each may cost a sort key. */
#define SAMPLES_OF_SLOT_MAX	100

/* Adds the values of one slot, if they are of the source's form: an index's column may be of another type than what is
 * sorted. */
static void
add_values(HeapTuple statistics, int kind, const GpuSortTextBytes *source, GpuSortKeySamples *samples)
{
	AttStatsSlot slot;
	int			n;

	if (!get_attstatsslot(&slot, statistics, kind, InvalidOid, ATTSTATSSLOT_VALUES))
		return;
	n = gpusort_type_has_text_bytes(getBaseType(slot.valuetype)) &&
		gpusort_text_form(getBaseType(slot.valuetype)) == source->form ? Min(slot.nvalues, SAMPLES_OF_SLOT_MAX) : 0;
	for (int i = 0; i < n; i++)
	{
		/* the first and the last one, and what lies evenly between them */
		int			value = n == 1 ? 0 : (int) ((int64) i * (slot.nvalues - 1) / (n - 1));

		CHECK_FOR_INTERRUPTS();
		gpusort_key_samples_add(samples, source, slot.values[value]);
	}
	free_attstatsslot(&slot);
}

/* How many words there are shows in EXPLAIN, and depends on the values of rows that the query may not return. */
static bool
may_see(const GpuSortStatisticsKey *key)
{
	Oid			user = GetUserId();

	return (pg_class_aclcheck(key->relation, user, ACL_SELECT) == ACLCHECK_OK ||
			pg_attribute_aclcheck(key->relation, key->column, user, ACL_SELECT) == ACLCHECK_OK) &&
		check_enable_rls(key->relation, InvalidOid, true) != RLS_ENABLED;
}

static void
add_figures(HeapTuple statistics, double rows, GpuSortKeySamples *samples)
{
	Form_pg_statistic of = (Form_pg_statistic) GETSTRUCT(statistics);

	samples->distinct = Min(rows, of->stadistinct < 0 ? -of->stadistinct * rows : of->stadistinct);
	if (samples->width == 0)
		samples->width = of->stawidth;
}

void
gpusort_add_statistics(const GpuSortStatisticsKey *key, const GpuSortTextBytes *source, double rows,
					   GpuSortKeySamples *samples)
{
	HeapTuple	statistics;

	if (!OidIsValid(key->relation))
		return;
	statistics = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(key->relation), Int16GetDatum(key->column),
								 BoolGetDatum(key->inherited));
	if (!HeapTupleIsValid(statistics))
		return;
	/* the relation is locked by the query that has it */
	if (may_see(key))
	{
		add_figures(statistics, rows, samples);
		if (source != NULL)
		{
			add_values(statistics, STATISTIC_KIND_HISTOGRAM, source, samples);
			add_values(statistics, STATISTIC_KIND_MCV, source, samples);
		}
	}
	ReleaseSysCache(statistics);
}
