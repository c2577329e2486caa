/*
 * convert_sort.c
 *	  A Sort node of a finished plan becomes a GpuSort.
 *
 * In:  a Sort or an Incremental Sort, wherever it stands in the plan.
 * Out: a GpuSort over the Sort's child with the Sort's columns, order, estimates and number; or
 *	    the Sort as it was.
 *
 * Whether there are rows enough for the device is seen when they come, not here: estimates of what
 * stands below joins and groups are often wrong by a thousand times, and a GpuSort of few rows
 * costs what a Sort does.  So all Sorts are converted but those whose keys the device cannot sort
 * by, those that it would take longer for even if many rows came, those of which a LIMIT keeps the
 * top rows for less, and those of so few rows that a hundred times as many would still be few.
 *
 * An Incremental Sort gives its first rows soon, and takes less than a Sort does.  So it is converted only if all
 * its rows are going to be read, and the device is expected to take less than it does for those that are expected.
 *
 * A Sort below another extension's custom scan stays.  Such a node may look at its children when it is
 * executed: TimescaleDB's ChunkAppend unwraps Sorts to find the scans of chunks that it can exclude, and gives
 * them the LIMIT's bound.  In a query that is planned while another one is, a Sort above such a scan stays too: Citus
 * plans its subqueries so, and its EXPLAIN ANALYZE takes each custom scan there for its own, and crashes.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "optimizer/tlist.h"
#include "utils/memutils.h"

#include "plan/plan_info.h"
#include "planner/costs.h"
#include "planner/eligibility.h"
#include "planner/finished_plan.h"
#include "planner/key_layout.h"
#include "planner/refusals.h"
#include "settings.h"
#include "shared/server_state.h"

/* Rows that a sort may turn out to have, whatever is expected. */
#define MANY_ROWS	100000.0

/* And it may turn out to have so many times the rows that are expected. */
#define MOST_TIMES_EXPECTED	100.0

static void
read_sort_order(const Sort *sort, const PathTarget *target, GpuSortOrder *order)
{
	order->n_keys = sort->numCols;
	order->columns = palloc(sort->numCols * sizeof(AttrNumber));
	for (int i = 0; i < sort->numCols; i++)
		order->columns[i] = gpusort_plain_column(target->exprs, sort->sortColIdx[i]);
	order->operators = sort->sortOperators;
	order->collations = sort->collations;
	order->nulls_first = sort->nullsFirst;
}

/*
 * A first key that lacks room only is no reason: the keys before it leave few rows undecided then.  A key that
 * has no words may follow one of two values, and one process would sort all the rows that tie: 500,000 rows by a bool and
 * a text under a distrusted collation took as long as PostgreSQL's own serial sort does, and 1.5 times as long as that
 * of two workers.
 */
static bool
keys_leave_few_ties(const PathTarget *target, const GpuSortPlanInfo *info)
{
	int			least;
	int			most;

	return info->n_keys == info->order.n_keys ||
		gpusort_key_has_words(target, &info->order, info->n_keys, &least, &most);
}

/* Would the device be worth it, if many rows came? */
static bool
suits_device(const Sort *sort, double bound, GpuSortPlanInfo *info)
{
	double		rows = info->rows;
	const char *unless_expected = rows < MANY_ROWS ? " that may come" : "";
	bool		suits;

	info->rows = Max(rows, MANY_ROWS);
	if (gpusort_top_rows_are_cheaper(info, bound, sort->plan.plan_width))
		suits = bound < 0 ? gpusort_refuse(GPUSORT_REFUSED_LIMIT, NULL) :
			gpusort_refuse(GPUSORT_REFUSED_LIMIT, "cost %.2f for the first %.0f of %.0f rows%s, %.2f on the device",
						   gpusort_cost_of_top_rows(info->rows, bound), bound, info->rows, unless_expected,
						   gpusort_cost_on_device(info));
	else
		suits = gpusort_device_is_cheaper(info, sort->plan.plan_width) ||
			gpusort_refuse(GPUSORT_REFUSED_COST, "cost %.2f for %.0f rows%s, natively %.2f", gpusort_cost_on_device(info),
						   info->rows, unless_expected, gpusort_cost_natively(info, sort->plan.plan_width));
	info->rows = rows;
	return suits;
}

/* Would it be worth it for the rows that are expected? */
static bool
beats_incremental_sort(const Sort *sort, double bound, const GpuSortWalk *walk, const GpuSortPlanInfo *info)
{
	Cost		native_cost = info->key_costs.native_factor * (sort->plan.total_cost - outerPlan(sort)->total_cost);

	if (bound != GPUSORT_NO_BOUND || !walk->all_read)
		return gpusort_refuse(GPUSORT_REFUSED_INCREMENTAL, "not all rows may be read");
	return gpusort_cost_on_device(info) <= native_cost ||
		gpusort_refuse(GPUSORT_REFUSED_INCREMENTAL, "cost %.2f on the device, natively %.2f", gpusort_cost_on_device(info),
					   native_cost);
}

/* How to sort as the Sort does.  False: the device cannot. */
static bool
describe_sort(const Sort *sort, const GpuSortWalk *walk, GpuSortPlanInfo *info)
{
	const Plan *child = outerPlan(sort);
	PathTarget	target = {.type = T_PathTarget,.width = child->plan_width};
	GpuSortColumns columns = {.rtable = walk->statement->rtable};

	target.exprs = gpusort_columns_over_tables(child);
	read_sort_order(sort, &target, &info->order);
	info->finished = true;
	info->rows = child->plan_rows;
	gpusort_lay_out_keys(&columns, &target, info);
	if (info->n_keys == 0 || (!gpusort_debug_force && !keys_leave_few_ties(&target, info)))
		return gpusort_refuse_key(&target, &info->order, info->n_keys);
	gpusort_estimate(NULL, &target, info);
	return true;
}

static Plan *
make_gpusort(const Sort *sort, const GpuSortPlanInfo *info)
{
	CustomScan *scan = makeNode(CustomScan);
	NodeTag		tag = scan->scan.plan.type;

	scan->scan.plan = sort->plan;
	scan->scan.plan.type = tag;
	/* an Incremental Sort gives its first row before it has read them all */
	scan->scan.plan.startup_cost = Max(sort->plan.startup_cost, outerPlan(sort)->total_cost);
	/* a Sort's own columns are the child's, by number */
	scan->custom_scan_tlist = sort->plan.targetlist;
	scan->scan.plan.targetlist = gpusort_tlist_of(sort->plan.targetlist, INDEX_VAR);
	scan->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN | CUSTOMPATH_SUPPORT_MARK_RESTORE;
	scan->custom_private = gpusort_plan_info_write(info);
	scan->methods = &gpusort_scan_methods;
	return &scan->scan.plan;
}

bool
gpusort_refuses_all(void)
{
	if (!gpusort_enabled)
		return !gpusort_refuse(GPUSORT_REFUSED_DISABLED, NULL);
	if (!gpusort_server_state()->serves)
		return !gpusort_refuse(GPUSORT_REFUSED_NO_DEVICE, NULL);
	return false;
}

bool
gpusort_examine_sort(const Sort *sort, double bound, const GpuSortWalk *walk, GpuSortPlanInfo *info)
{
	if (gpusort_refuses_all())
		return false;
	if (outerPlan(sort) == NULL)
		return gpusort_refuse(GPUSORT_REFUSED_GROUPING_SETS, NULL);
	if (walk->below_foreign || (walk->nested && walk->foreign_below))
		return gpusort_refuse(GPUSORT_REFUSED_CUSTOM_SCAN, NULL);
	if (!gpusort_debug_force && outerPlan(sort)->plan_rows * MOST_TIMES_EXPECTED < gpusort_min_rows_of_plans())
		return gpusort_refuse(GPUSORT_REFUSED_FEW_ROWS, "%.0f, and it is %d%s", outerPlan(sort)->plan_rows, gpusort_min_rows_of_plans(),
							  gpusort_min_rows_depend_on_device() ? " or more" : "");
	if (!describe_sort(sort, walk, info))
		return false;
	if (gpusort_debug_force)
		return true;
	return (IsA(sort, IncrementalSort) ? beats_incremental_sort(sort, bound, walk, info) : suits_device(sort, bound, info)) &&
		gpusort_fits_device(info);
}

Plan *
gpusort_convert_sort(Sort *sort, double bound, const GpuSortWalk *walk)
{
	GpuSortPlanInfo info = {0};
	MemoryContext old_context;
	Plan	   *result;

	if (!gpusort_examine_sort(sort, bound, walk, &info))
	{
		gpusort_refusal_count();
		return &sort->plan;
	}
	/* another hook may have kept the plan, and what is added to it lives as long */
	old_context = MemoryContextSwitchTo(GetMemoryChunkContext(sort));
	result = make_gpusort(sort, &info);
	MemoryContextSwitchTo(old_context);
	return result;
}
