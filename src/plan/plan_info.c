/*
 * plan_info.c
 *	  The contents of a plan node, as lists that PostgreSQL can copy and print.
 *
 * In:  how to sort, from the planner.
 * Out: the same, in the backend that executes the plan and in its parallel
 *	    workers, which receive the plan as text.  All memory is the caller's.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"

#include "plan/plan_info.h"

bool
gpusort_plan_is_ours(const Plan *plan)
{
	const CustomScanMethods *methods;

	if (!IsA(plan, CustomScan))
		return false;
	methods = ((const CustomScan *) plan)->methods;
	return methods == &gpusort_scan_methods || methods == &gpusort_feed_scan_methods;
}

/*
 * The lists are the estimate of rows, and integers.  The integers are first
 * these, then KEY_INTEGERS of each key of the order, then ORIGIN_INTEGERS of
 * each key that has words.
 */
enum
{
	WIDTH,
	NATIVE_MS,
	PARALLEL,
	GROUPING,
	VISIBLE_COLUMNS,
	ORDER_KEYS,
	KEYS_WITH_WORDS,
	FIRST_KEY
};

enum
{
	COLUMN,
	OPERATOR,
	COLLATION,
	NULLS_FIRST,
	KEY_INTEGERS
};

enum
{
	RELATION,
	RELATION_COLUMN,
	ORIGIN_INTEGERS
};

/* Writes a number exactly, in text too.  A Float node does not: it may come
 * back as an Integer. */
static Const *
write_double(double value)
{
	return makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8), Float8GetDatum(value), false,
					 FLOAT8PASSBYVAL);
}

/* The order of the integers is that of the enum above. */
List *
gpusort_plan_info_write(const GpuSortPlanInfo *info)
{
	const GpuSortOrder *order = &info->order;
	List	   *integers = list_make5_int(info->width, info->native_ms, info->parallel,
										  info->grouping, info->n_visible);

	integers = lappend_int(integers, order->n_keys);
	integers = lappend_int(integers, info->n_keys);
	for (int i = 0; i < order->n_keys; i++)
	{
		integers = lappend_int(integers, order->columns[i]);
		integers = lappend_int(integers, (int) order->operators[i]);
		integers = lappend_int(integers, (int) order->collations[i]);
		integers = lappend_int(integers, order->nulls_first[i]);
	}
	for (int i = 0; i < info->n_keys; i++)
	{
		integers = lappend_int(integers, (int) info->key_origins[i].relation);
		integers = lappend_int(integers, info->key_origins[i].column);
	}
	return list_make2(write_double(info->rows), integers);
}

/* The arrays are allocated in the current context. */
static void
read_order(const List *integers, GpuSortOrder *order)
{
	int			n = list_nth_int(integers, ORDER_KEYS);
	int			at = FIRST_KEY;
	char	   *memory = palloc(n * (2 * sizeof(Oid) + sizeof(AttrNumber) + sizeof(bool)));

	order->n_keys = n;
	order->operators = (Oid *) memory;
	order->collations = order->operators + n;
	order->columns = (AttrNumber *) (order->collations + n);
	order->nulls_first = (bool *) (order->columns + n);
	for (int i = 0; i < n; i++, at += KEY_INTEGERS)
	{
		order->columns[i] = list_nth_int(integers, at + COLUMN);
		order->operators[i] = (Oid) list_nth_int(integers, at + OPERATOR);
		order->collations[i] = (Oid) list_nth_int(integers, at + COLLATION);
		order->nulls_first[i] = list_nth_int(integers, at + NULLS_FIRST) != 0;
	}
}

static void
read_origins(const List *integers, GpuSortPlanInfo *info)
{
	int			at = FIRST_KEY + KEY_INTEGERS * info->order.n_keys;

	info->n_keys = list_nth_int(integers, KEYS_WITH_WORDS);
	for (int i = 0; i < info->n_keys; i++, at += ORIGIN_INTEGERS)
	{
		info->key_origins[i].relation = (Oid) list_nth_int(integers, at + RELATION);
		info->key_origins[i].column = list_nth_int(integers, at + RELATION_COLUMN);
	}
}

void
gpusort_plan_info_read(const CustomScan *scan, GpuSortPlanInfo *info)
{
	const List *integers = lsecond(scan->custom_private);

	read_order(integers, &info->order);
	read_origins(integers, info);
	info->width = list_nth_int(integers, WIDTH);
	info->native_ms = list_nth_int(integers, NATIVE_MS);
	info->parallel = list_nth_int(integers, PARALLEL) != 0;
	info->grouping = list_nth_int(integers, GROUPING) != 0;
	info->n_visible = list_nth_int(integers, VISIBLE_COLUMNS);
	info->rows = DatumGetFloat8(linitial_node(Const, scan->custom_private)->constvalue);
}
