/*
 * plan_info.c
 *	  What a plan node carries, as lists that PostgreSQL can copy and print.
 *
 * In:  how to sort, as the planner knows it.
 * Out: the same, in the backend that executes the plan and in its parallel workers, which
 *	    get the plan as text.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"

#include "keys/sortkey.h"
#include "planner/plan_info.h"

bool
gpusort_plan_is_ours(const Plan *plan)
{
	const CustomScanMethods *methods;

	if (!IsA(plan, CustomScan))
		return false;
	methods = ((const CustomScan *) plan)->methods;
	return methods == &gpusort_scan_methods || methods == &gpusort_feed_scan_methods;
}

/* To the last bit, and as text too, which a Float node is not: it may come back as an Integer. */
static Const *
write_double(double value)
{
	return makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8), Float8GetDatum(value), false,
					 FLOAT8PASSBYVAL);
}

List *
gpusort_plan_info_write(const GpuSortPlanInfo *info)
{
	List	   *columns = NIL;
	List	   *operators = NIL;
	List	   *collations = NIL;
	List	   *nulls_first = NIL;

	for (int i = 0; i < info->n_keys; i++)
	{
		columns = lappend_int(columns, info->columns[i]);
		operators = lappend_oid(operators, info->operators[i]);
		collations = lappend_oid(collations, info->collations[i]);
		nulls_first = lappend_int(nulls_first, info->nulls_first[i]);
	}
	return lappend(list_make5(columns, operators, collations, nulls_first,
							  list_make3_int(info->parallel, info->child_repeats, info->finished)),
				   list_make2(write_double(info->rows),
							  list_make2_int(info->width, info->native_ms)));
}

void
gpusort_plan_info_read(const CustomScan *scan, GpuSortPlanInfo *info)
{
	List	   *columns = linitial(scan->custom_private);
	List	   *flags = list_nth(scan->custom_private, 4);
	List	   *estimates = list_nth(scan->custom_private, 5);

	info->n_keys = list_length(columns);
	info->parallel = linitial_int(flags) != 0;
	info->child_repeats = lsecond_int(flags) != 0;
	info->finished = lthird_int(flags) != 0;
	info->rows = DatumGetFloat8(linitial_node(Const, estimates)->constvalue);
	info->width = linitial_int(lsecond(estimates));
	info->native_ms = lsecond_int(lsecond(estimates));
	for (int i = 0; i < info->n_keys; i++)
	{
		info->columns[i] = list_nth_int(columns, i);
		info->operators[i] = list_nth_oid(lsecond(scan->custom_private), i);
		info->collations[i] = list_nth_oid(lthird(scan->custom_private), i);
		info->nulls_first[i] = list_nth_int(lfourth(scan->custom_private), i) != 0;
	}
}

void
gpusort_plan_info_make_keys(const GpuSortPlanInfo *info, TupleDesc desc, GpuSortKey *keys)
{
	for (int i = 0; i < info->n_keys; i++)
	{
		AttrNumber	column = info->columns[i];

		if (!gpusort_sortkey_make(TupleDescAttr(desc, column - 1)->atttypid, info->operators[i],
								  info->nulls_first[i], column, &keys[i]))
			elog(ERROR, "gpusort cannot sort column %d of its child", column);
	}
}
