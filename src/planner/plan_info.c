/*
 * plan_info.c
 *	  What a plan node carries, as lists that PostgreSQL can copy and print.
 *
 * In:  how to sort, as the planner knows it.
 * Out: the same, in the backend that executes the plan and in its parallel workers, which
 *	    get the plan as text.
 */
#include "postgres.h"

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
	return list_make5(columns, operators, collations, nulls_first,
					  list_make3_int(info->parallel, info->child_repeats, info->finished));
}

void
gpusort_plan_info_read(const CustomScan *scan, GpuSortPlanInfo *info)
{
	List	   *columns = linitial(scan->custom_private);
	List	   *flags = llast(scan->custom_private);

	info->n_keys = list_length(columns);
	info->parallel = linitial_int(flags) != 0;
	info->child_repeats = lsecond_int(flags) != 0;
	info->finished = lthird_int(flags) != 0;
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
