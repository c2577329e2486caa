/*
 * convert_sort.c
 *	  Turns a Sort node of a finished plan into a GpuSort.
 *
 * In:  a Sort, wherever it stands in the plan.
 * Out: a GpuSort over the Sort's child with the Sort's columns, order,
 *	    estimates and number; or the Sort as it was.
 *
 * The executor, not this file, decides whether there are enough rows for the
 * device.  Estimates above joins and groups are often wrong by a factor of a
 * thousand, and a GpuSort of few rows costs what a Sort does.  So nearly every
 * Sort is converted.  It stays if the device cannot sort by its keys, or would
 * be slower even with many rows.  It also stays if a LIMIT lets it keep the top
 * rows for less, or if even a hundred times the estimated rows would be few.
 *
 * Incremental Sorts stay: they return their first rows soon, and were chosen
 * although our paths competed.
 *
 * A Sort below another extension's custom scan stays, if no ModifyTable is
 * between them.  A custom scan may inspect its children when it is executed.
 * TimescaleDB's ChunkAppend unwraps Sorts to find the scans of chunks that it
 * can exclude, and passes the LIMIT's bound to them.  A Sort above such a scan
 * stays too if its query is planned while another one is.  Citus plans its
 * subqueries so, and its EXPLAIN ANALYZE crashes, since it takes each custom
 * scan there for its own.
 *
 * Runs in the backend that plans.  The GpuSort is in the Sort's memory context.
 */
#include "postgres.h"

#include "optimizer/tlist.h"
#include "utils/memutils.h"

#include "job/server_state.h"
#include "plan/plan_info.h"
#include "planner/costs.h"
#include "planner/finished_plan.h"
#include "planner/reasons.h"
#include "settings.h"

/* A sort may turn out to have this many rows, whatever is expected. */
#define MANY_ROWS	100000.0

/* It may also have this many times the expected rows. */
#define MOST_TIMES_EXPECTED	100.0

/* --- how to sort ---------------------------------------------------------- */

static void
read_sort_order(const Sort *sort, GpuSortOrder *order)
{
	List	   *columns = get_tlist_exprs(outerPlan(sort)->targetlist, true);

	order->n_keys = sort->numCols;
	order->columns = palloc(sort->numCols * sizeof(AttrNumber));
	for (int i = 0; i < sort->numCols; i++)
		order->columns[i] = gpusort_plain_column(columns, sort->sortColIdx[i]);
	order->operators = sort->sortOperators;
	order->collations = sort->collations;
	order->nulls_first = sort->nullsFirst;
}

bool
gpusort_describe_order(const Plan *child, const List *rtable, GpuSortPlanInfo *info)
{
	const GpuSortOrder *order = &info->order;
	List	   *columns = get_tlist_exprs(child->targetlist, true);
	PathTarget	target = {.type = T_PathTarget,.exprs = columns,.width = child->plan_width};
	List	   *types = NIL;

	for (int i = 0; i < order->n_keys; i++)
		types = lappend(types, gpusort_type_of_key(list_nth(columns, order->columns[i] - 1),
												   order->operators[i], order->collations[i]));
	if (!gpusort_set_keys(types, info))
		return false;
	for (int i = 0; i < info->n_keys; i++)
		info->key_origins[i] = gpusort_origin_of(child, order->columns[i], rtable);
	gpusort_estimate(&target, types, info);
	return true;
}

bool
gpusort_describe_sort(const Sort *sort, const List *rtable, GpuSortPlanInfo *info)
{
	read_sort_order(sort, &info->order);
	info->rows = outerPlan(sort)->plan_rows;
	return gpusort_describe_order(outerPlan(sort), rtable, info);
}

/* --- is it worth it? ------------------------------------------------------ */

/* Would the device be worth it if many rows came? */
static bool
suits_device(const Sort *sort, double bound, GpuSortPlanInfo *info)
{
	double		rows = info->rows;
	bool		suits = true;

	info->rows = Max(rows, MANY_ROWS);
	if (gpusort_top_rows_are_cheaper(info, bound, sort->plan.plan_width))
		suits = gpusort_reason_set(GPUSORT_PLANNED_LIMIT, NULL);
	else if (!gpusort_device_is_cheaper(info, sort->plan.plan_width))
		suits = gpusort_reason_set(GPUSORT_PLANNED_COST, NULL);
	info->rows = rows;
	return suits;
}

/* Was this Sort's path ours, with a Gather whose workers feed it?  Our path
 * marks its Gather (make_parallel_path in sort_paths.c): no other Gather is
 * parallel-safe. */
static bool
is_of_our_path(const Sort *sort)
{
	const Plan *child = outerPlan(sort);

	return IsA(child, Gather) && child->parallel_safe;
}

/* Copies the Sort's estimates, parameters and number, so that the nodes around
 * it need no change. */
CustomScan *
gpusort_make_node(const Sort *sort, const GpuSortPlanInfo *info)
{
	CustomScan *scan = makeNode(CustomScan);
	NodeTag		tag = scan->scan.plan.type;

	scan->scan.plan = sort->plan;
	scan->scan.plan.type = tag;
	/* the columns of a Sort are its child's, by number */
	scan->custom_scan_tlist = sort->plan.targetlist;
	scan->scan.plan.targetlist = gpusort_tlist_of(sort->plan.targetlist, INDEX_VAR);
	scan->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN | CUSTOMPATH_SUPPORT_MARK_RESTORE;
	scan->custom_private = gpusort_plan_info_write(info);
	scan->methods = &gpusort_scan_methods;
	return scan;
}

bool
gpusort_all_stay_native(void)
{
	if (!gpusort_enabled)
		return !gpusort_reason_set(GPUSORT_PLANNED_DISABLED, NULL);
	if (!gpusort_server_state()->serves)
		return !gpusort_reason_set(GPUSORT_PLANNED_NO_DEVICE, NULL);
	return false;
}

/* The cheap checks come first, since every Sort of every plan passes here. */
bool
gpusort_examine_sort(const Sort *sort, const GpuSortWalk *walk, GpuSortPlanInfo *info)
{
	double		bound;

	if (gpusort_all_stay_native())
		return false;
	if (IsA(sort, IncrementalSort))
		return gpusort_reason_set(GPUSORT_PLANNED_INCREMENTAL, NULL);
	if (gpusort_is_below_foreign(walk) || (walk->nested && walk->foreign_below))
		return gpusort_reason_set(GPUSORT_PLANNED_CUSTOM_SCAN, NULL);
	if (!gpusort_debug_force &&
		outerPlan(sort)->plan_rows * MOST_TIMES_EXPECTED < gpusort_min_rows_of_plans())
		return gpusort_reason_set(GPUSORT_PLANNED_FEW_ROWS, NULL);
	if (!gpusort_describe_sort(sort, walk->statement->rtable, info))
		return false;
	bound = gpusort_bound_of(walk);
	return gpusort_debug_force || (bound == GPUSORT_NO_BOUND && is_of_our_path(sort)) ||
		suits_device(sort, bound, info);
}

Plan *
gpusort_convert_sort(Sort *sort, const GpuSortWalk *walk)
{
	GpuSortPlanInfo info = {0};
	MemoryContext old_context;
	CustomScan *result;

	if (!gpusort_examine_sort(sort, walk, &info))
	{
		gpusort_reason_count();
		return &sort->plan;
	}
	/* another hook may hold the plan; additions to it live as long as it
	 * does */
	old_context = MemoryContextSwitchTo(GetMemoryChunkContext(sort));
	result = gpusort_make_node(sort, &info);
	MemoryContextSwitchTo(old_context);
	return &result->scan.plan;
}
