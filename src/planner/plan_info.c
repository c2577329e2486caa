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

#include "keys/key_types.h"
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

/* A key's skipped bytes; a NULL for none. */
static Const *
write_skipped(const bytea *skipped)
{
	return makeConst(BYTEAOID, -1, InvalidOid, -1, PointerGetDatum(skipped), skipped == NULL, false);
}

List *
gpusort_plan_info_write(const GpuSortPlanInfo *info)
{
	const GpuSortOrder *order = &info->order;
	List	   *columns = NIL;
	List	   *operators = NIL;
	List	   *collations = NIL;
	List	   *nulls_first = NIL;
	List	   *words = NIL;
	List	   *skipped = NIL;

	for (int i = 0; i < order->n_keys; i++)
	{
		columns = lappend_int(columns, order->columns[i]);
		operators = lappend_oid(operators, order->operators[i]);
		collations = lappend_oid(collations, order->collations[i]);
		nulls_first = lappend_int(nulls_first, order->nulls_first[i]);
	}
	for (int i = 0; i < info->n_keys; i++)
	{
		words = lappend_int(words, info->layouts[i].n_words);
		skipped = lappend(skipped, write_skipped(info->layouts[i].skipped));
	}
	return list_make5(list_make4(columns, operators, collations, nulls_first), words, skipped,
					  list_make5_int(info->parallel, info->child_repeats, info->finished,
									 info->grouping, info->from_statistics),
					  list_make2(write_double(info->rows),
								 list_make2_int(info->width, info->native_ms)));
}

static void
read_order(const List *lists, GpuSortOrder *order)
{
	order->n_keys = list_length(linitial(lists));
	order->columns = palloc(order->n_keys * sizeof(AttrNumber));
	order->operators = palloc(order->n_keys * sizeof(Oid));
	order->collations = palloc(order->n_keys * sizeof(Oid));
	order->nulls_first = palloc(order->n_keys * sizeof(bool));
	for (int i = 0; i < order->n_keys; i++)
	{
		order->columns[i] = list_nth_int(linitial(lists), i);
		order->operators[i] = list_nth_oid(lsecond(lists), i);
		order->collations[i] = list_nth_oid(lthird(lists), i);
		order->nulls_first[i] = list_nth_int(lfourth(lists), i) != 0;
	}
}

static void
read_layouts(List *words, List *skipped, GpuSortPlanInfo *info)
{
	info->n_keys = list_length(words);
	info->n_words = 0;
	for (int i = 0; i < info->n_keys; i++)
	{
		Const	   *bytes = list_nth_node(Const, skipped, i);

		info->layouts[i].n_words = list_nth_int(words, i);
		info->layouts[i].skipped = bytes->constisnull ? NULL : DatumGetByteaPP(bytes->constvalue);
		info->n_words += info->layouts[i].n_words;
	}
}

void
gpusort_plan_info_read(const CustomScan *scan, GpuSortPlanInfo *info)
{
	List	   *flags = list_nth(scan->custom_private, 3);
	List	   *estimates = list_nth(scan->custom_private, 4);

	read_order(linitial(scan->custom_private), &info->order);
	read_layouts(lsecond(scan->custom_private), lthird(scan->custom_private), info);
	info->parallel = linitial_int(flags) != 0;
	info->child_repeats = lsecond_int(flags) != 0;
	info->finished = lthird_int(flags) != 0;
	info->grouping = lfourth_int(flags) != 0;
	info->from_statistics = llast_int(flags) != 0;
	if (info->grouping)
		info->n_words = 1;
	info->rows = DatumGetFloat8(linitial_node(Const, estimates)->constvalue);
	info->width = linitial_int(lsecond(estimates));
	info->native_ms = lsecond_int(lsecond(estimates));
}

void
gpusort_plan_info_make_keys(const GpuSortPlanInfo *info, TupleDesc desc, GpuSortKeys *keys)
{
	if (info->grouping)
		gpusort_keys_make_for_grouping(&info->order, desc, keys);
	else
		gpusort_keys_make(&info->order, info->n_keys, info->layouts, desc, keys);
}
