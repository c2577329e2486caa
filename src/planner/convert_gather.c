/*
 * convert_gather.c
 *	  A GpuSort of a finished plan is fed by parallel workers.
 *
 * In:  a Gather Merge over a GpuSort, which each worker executes for its own rows; or a GpuSort over a
 *	    Gather, whose rows all go through the leader.
 * Out: GpuSort over Gather over GpuSortFeed over the same partial plan.
 *
 * No costs are compared.  The device sorts the same rows either way; the workers pack them in any case, or could; and
 * no row goes through a queue of tuples to the leader, nor through the merge there.
 *
 * Workers that feed one sort keep to the words that the plan has.  They are laid out by statistics of the tables
 * that the partial plan scans, so the keys' columns are followed down to these.
 *
 * The Gather takes over from the Gather Merge what lets it start workers again and pass parameters to them; the
 * feed is parallel-aware, so it counts as dependent on the parameter by which a rescan is told.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"

#include "compat.h"
#include "plan/plan_info.h"
#include "planner/convert_gather.h"
#include "planner/costs.h"
#include "planner/eligibility.h"
#include "planner/key_layout.h"
#include "planner/plan_columns.h"
#include "settings.h"
#include "shared/job.h"

/* What the sort would cost from the partial plan's last row on. */
typedef struct FedCosts
{
	Cost		feed;			/* of one feeder */
	Cost		gather;
	Path		sort;
} FedCosts;

/* --- its keys and costs -------------------------------------------------------------------- */

/* Lays the sort's keys out for feeders, by statistics. */
static bool
describe_fed(const CustomScan *sort, const Plan *partial, double rows, const GpuSortWalk *walk,
			 GpuSortPlanInfo *info)
{
	PathTarget	target = {.type = T_PathTarget,.width = partial->plan_width};
	GpuSortColumns columns = {.rtable = walk->statement->rtable};

	target.exprs = gpusort_columns_over_tables(partial);
	gpusort_plan_info_read(sort, info);
	info->parallel = true;
	info->rows = rows;
	gpusort_lay_out_keys(&columns, &target, info);
	if (info->n_keys == 0 || !gpusort_keys_can_be_fed(info))
		return false;
	gpusort_estimate(NULL, &target, info);
	return gpusort_fits_device(info);
}

static FedCosts
cost_fed(const GpuSortPlanInfo *info, const Plan *partial)
{
	FedCosts	costs;

	costs.feed = gpusort_cost_of_packing(info, partial->plan_rows);
	costs.gather = costs.feed + parallel_setup_cost;
	gpusort_cost_path(&costs.sort, info, costs.gather);
	return costs;
}

/* --- the plan ---------------------------------------------------------------------------- */

/* Columns and costs of a node of ours; rows is what goes through it. */
static void
set_plan(Plan *plan, const List *columns, int varno, Cost startup, Cost total, double rows)
{
	plan->targetlist = gpusort_tlist_of(columns, varno);
	plan->startup_cost = startup;
	plan->total_cost = total;
	plan->plan_rows = rows;
}

static CustomScan *
make_node_of_ours(const Plan *model, Plan *child, const CustomScanMethods *methods, const GpuSortPlanInfo *info)
{
	CustomScan *scan = makeNode(CustomScan);
	NodeTag		tag = scan->scan.plan.type;

	scan->scan.plan = *model;
	scan->scan.plan.type = tag;
	scan->scan.plan.lefttree = child;
	scan->scan.plan.righttree = NULL;
	scan->scan.plan.initPlan = NIL;
	scan->scan.plan.qual = NIL;
	scan->custom_scan_tlist = gpusort_tlist_of(child->targetlist, OUTER_VAR);
	scan->custom_private = gpusort_plan_info_write(info);
	scan->methods = methods;
	return scan;
}

/* columns: the Gather's, which are the partial plan's with the types that the sort takes them for. */
static Plan *
make_feed(Plan *partial, const List *columns, int rescan_param, int node_id, const GpuSortPlanInfo *info,
		  const FedCosts *costs)
{
	CustomScan *feed = make_node_of_ours(partial, partial, &gpusort_feed_scan_methods, info);
	Plan	   *plan = &feed->scan.plan;
	Cost		total = partial->total_cost + costs->feed;

	set_plan(plan, columns, INDEX_VAR, total, total, partial->plan_rows);
	plan->parallel_aware = true;
	plan->plan_node_id = node_id;
	plan->extParam = bms_add_member(bms_copy(partial->extParam), rescan_param);
	plan->allParam = bms_add_member(bms_copy(partial->allParam), rescan_param);
	return plan;
}

/* Rows go through it only when the job does not take them. */
static void
set_gather(Plan *gather, const Plan *partial, const GpuSortPlanInfo *info, const FedCosts *costs)
{
	gather->startup_cost = gather->total_cost = partial->total_cost + costs->gather;
	gather->plan_rows = info->rows;
}

static void
set_sort(CustomScan *sort, const Plan *gather, const Plan *partial, const GpuSortPlanInfo *info,
		 const FedCosts *costs)
{
	set_plan(&sort->scan.plan, gather->targetlist, INDEX_VAR, partial->total_cost + costs->sort.startup_cost,
			 partial->total_cost + costs->sort.total_cost, info->rows);
	sort->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN | CUSTOMPATH_SUPPORT_MARK_RESTORE;
}

/* --- Gather Merge ------------------------------------------------------------------------ */

static Gather *
make_gather(const GatherMerge *merge, Plan *feed)
{
	Gather	   *gather = makeNode(Gather);
	NodeTag		tag = gather->plan.type;

	gather->plan = merge->plan;
	gather->plan.type = tag;
	gather->plan.initPlan = NIL;
	gather->plan.lefttree = feed;
	gather->num_workers = merge->num_workers;
	gather->rescan_param = merge->rescan_param;
	gather->initParam = merge->initParam;
	return gather;
}

static Plan *
lift_sort(const GatherMerge *merge, int node_id, const GpuSortPlanInfo *info, const FedCosts *costs)
{
	const Plan *worker_sort = outerPlan(merge);
	Plan	   *partial = outerPlan(worker_sort);
	Plan	   *feed = make_feed(partial, merge->plan.targetlist, merge->rescan_param, worker_sort->plan_node_id, info, costs);
	Gather	   *gather = make_gather(merge, feed);
	CustomScan *sort = make_node_of_ours(&merge->plan, &gather->plan, &gpusort_scan_methods, info);

	set_gather(&gather->plan, partial, info, costs);
	set_sort(sort, &gather->plan, partial, info, costs);
	sort->scan.plan.initPlan = merge->plan.initPlan;
	sort->scan.plan.plan_node_id = node_id;
	return &sort->scan.plan;
}

/* Is it a GpuSort that packs its rows itself? */
static bool
is_serial_sort(const Plan *plan)
{
	GpuSortPlanInfo info;

	if (!IsA(plan, CustomScan) || ((const CustomScan *) plan)->methods != &gpusort_scan_methods)
		return false;
	gpusort_plan_info_read((const CustomScan *) plan, &info);
	return !info.parallel && !info.grouping;
}

Plan *
gpusort_convert_gather_merge(GatherMerge *merge, double bound, const GpuSortWalk *walk)
{
	Plan	   *sort = outerPlan(merge);
	GpuSortPlanInfo info = {0};
	FedCosts	costs;
	MemoryContext old_context;
	Plan	   *result;

	if (bound != GPUSORT_NO_BOUND || walk->below_foreign || merge->plan.qual != NIL || sort->initPlan != NIL ||
		!is_serial_sort(sort) ||
		!gpusort_passes_columns_on(&merge->plan) ||
		!gpusort_takes_feeders(GPUSORT_PARALLEL_FEEDERS(merge->num_workers)) ||
		!describe_fed((CustomScan *) sort, outerPlan(sort), merge->plan.plan_rows, walk, &info))
		return &merge->plan;
	costs = cost_fed(&info, outerPlan(sort));
	old_context = MemoryContextSwitchTo(GetMemoryChunkContext(merge));
	result = lift_sort(merge, gpusort_new_node_id(walk->statement), &info, &costs);
	MemoryContextSwitchTo(old_context);
	return result;
}

/* --- a GpuSort over a Gather ----------------------------------------------------------------- */

void
gpusort_feed_through_gather(CustomScan *sort, const GpuSortWalk *walk)
{
	Gather	   *gather = (Gather *) outerPlan(sort);
	GpuSortPlanInfo info = {0};
	FedCosts	costs;
	Plan	   *partial;
	MemoryContext old_context;

	if (!IsA(gather, Gather) || walk->below_foreign || gather->single_copy || gather->plan.qual != NIL ||
		!is_serial_sort(&sort->scan.plan) || !gpusort_passes_columns_on(&gather->plan))
		return;
	partial = outerPlan(gather);
	if (!gpusort_takes_feeders(GPUSORT_PARALLEL_FEEDERS(gather->num_workers)) ||
		!describe_fed(sort, partial, gather->plan.plan_rows, walk, &info))
		return;
	costs = cost_fed(&info, partial);
	old_context = MemoryContextSwitchTo(GetMemoryChunkContext(sort));
	gather->plan.lefttree = make_feed(partial, gather->plan.targetlist, gather->rescan_param, gpusort_new_node_id(walk->statement), &info, &costs);
	set_gather(&gather->plan, partial, &info, &costs);
	set_sort(sort, &gather->plan, partial, &info, &costs);
	sort->custom_private = gpusort_plan_info_write(&info);
	MemoryContextSwitchTo(old_context);
}
