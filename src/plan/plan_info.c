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
#include "utils/datum.h"

#include "keys/key_types.h"
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
 * The lists: the estimate of rows; integers; each key's skipped bytes, or nothing, if no key skips any.
 * The integers are first these, then KEY_INTEGERS of each key of the order, then
 * LAYOUT_INTEGERS of each key that has words.
 */
enum
{
	WIDTH,
	NATIVE_MS,
	PARALLEL,
	FINISHED,
	GROUPING,
	FROM_STATISTICS,
	FEW_TEXTS,
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
	N_WORDS,
	N_NEEDED,
	LAYOUT_INTEGERS
};

/* To the last bit, and as text too, which a Float node is not: it may come back as an Integer. */
static Const *
write_double(double value)
{
	return makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8), Float8GetDatum(value), false,
					 FLOAT8PASSBYVAL);
}

/* A key's skipped bytes, copied: the list may live longer; a NULL for none. */
static Const *
write_skipped(const bytea *skipped)
{
	Datum		copy = skipped == NULL ? (Datum) 0 : datumCopy(PointerGetDatum(skipped), false, -1);

	return makeConst(BYTEAOID, -1, InvalidOid, -1, copy, skipped == NULL, false);
}

static List *
write_all_skipped(const GpuSortPlanInfo *info)
{
	List	   *skipped = NIL;
	bool		any = false;

	for (int i = 0; i < info->n_keys; i++)
		any |= info->layouts[i].skipped != NULL;
	for (int i = 0; any && i < info->n_keys; i++)
		skipped = lappend(skipped, write_skipped(info->layouts[i].skipped));
	return skipped;
}

List *
gpusort_plan_info_write(const GpuSortPlanInfo *info)
{
	const GpuSortOrder *order = &info->order;
	List	   *integers = list_make5_int(info->width, info->native_ms, info->parallel,
										  info->finished, info->grouping);

	integers = lappend_int(integers, info->from_statistics);
	integers = lappend_int(integers, info->few_texts);
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
		integers = lappend_int(integers, info->layouts[i].n_words);
		integers = lappend_int(integers, info->layouts[i].n_needed);
	}
	return list_make3(write_double(info->rows), integers, write_all_skipped(info));
}

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
read_layouts(const List *integers, List *skipped, GpuSortPlanInfo *info)
{
	int			at = FIRST_KEY + KEY_INTEGERS * info->order.n_keys;

	info->n_keys = list_nth_int(integers, KEYS_WITH_WORDS);
	info->n_words = 0;
	for (int i = 0; i < info->n_keys; i++, at += LAYOUT_INTEGERS)
	{
		const Const *bytes = skipped != NIL ? list_nth_node(Const, skipped, i) : NULL;

		info->layouts[i].n_words = list_nth_int(integers, at + N_WORDS);
		info->layouts[i].n_needed = list_nth_int(integers, at + N_NEEDED);
		info->layouts[i].skipped = bytes == NULL || bytes->constisnull ? NULL :
			DatumGetByteaPP(bytes->constvalue);
		info->layouts[i].dictionary = NULL;
		info->n_words += info->layouts[i].n_words;
	}
}

void
gpusort_plan_info_read(const CustomScan *scan, GpuSortPlanInfo *info)
{
	const List *integers = lsecond(scan->custom_private);

	read_order(integers, &info->order);
	read_layouts(integers, lthird(scan->custom_private), info);
	info->width = list_nth_int(integers, WIDTH);
	info->native_ms = list_nth_int(integers, NATIVE_MS);
	info->parallel = list_nth_int(integers, PARALLEL) != 0;
	info->finished = gpusort_plan_is_finished(scan);
	info->grouping = list_nth_int(integers, GROUPING) != 0;
	info->from_statistics = list_nth_int(integers, FROM_STATISTICS) != 0;
	info->few_texts = list_nth_int(integers, FEW_TEXTS) != 0;
	if (info->grouping)
		info->n_words = 1;
	info->rows = DatumGetFloat8(linitial_node(Const, scan->custom_private)->constvalue);
}

bool
gpusort_plan_is_finished(const CustomScan *scan)
{
	return list_nth_int(lsecond(scan->custom_private), FINISHED) != 0;
}

void
gpusort_plan_set_finished(CustomScan *scan)
{
	/* paths of other plans may have the same list */
	scan->custom_private = copyObject(scan->custom_private);
	lfirst_int(list_nth_cell(lsecond(scan->custom_private), FINISHED)) = true;
}

void
gpusort_plan_info_make_keys(const GpuSortPlanInfo *info, TupleDesc desc, GpuSortKeys *keys)
{
	if (info->grouping)
		gpusort_keys_make_for_grouping(&info->order, desc, keys);
	else
		gpusort_keys_make(&info->order, info->n_keys, info->layouts, desc, keys);
}
