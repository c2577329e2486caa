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
 * Keys are laid out by statistics too, of the tables that the partial plan scans, so the keys' columns are followed down
 * to these.
 *
 * The Gather takes over from the Gather Merge what lets it start workers again and pass parameters to them; the
 * feed is parallel-aware, so it counts as dependent on the parameter by which a rescan is told.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/memutils.h"

#include "plan/plan_info.h"
#include "planner/costs.h"
#include "planner/finished_plan.h"
#include "shared/job.h"

/* --- may workers feed it? ----------------------------------------------------------------- */

/* Does each entry of a Gather, or Gather Merge, give the partial plan's column of its number?  setrefs.c leaves a constant as it is, and
 * finds a column that is there twice in the first one. */
static bool
passes_columns_on(const Plan *plan, const Plan *partial)
{
	List	   *below = partial->targetlist;
	ListCell   *lc;

	if (list_length(plan->targetlist) != list_length(below))
		return false;
	foreach(lc, plan->targetlist)
	{
		const TargetEntry *entry = lfirst(lc);
		const TargetEntry *same = list_nth_node(TargetEntry, below, entry->resno - 1);
		Expr	   *expr = entry->expr;

		if (IsA(expr, Var) && ((Var *) expr)->varno == OUTER_VAR)
		{
			if (((Var *) expr)->varattno == entry->resno)
				continue;
			expr = list_nth_node(TargetEntry, below, ((Var *) expr)->varattno - 1)->expr;
		}
		else if (!IsA(expr, Const))
			return false;
		if (!equal(expr, same->expr) || contain_volatile_functions((Node *) expr))
			return false;
	}
	return true;
}

/* Can the workers of a Gather, or Gather Merge, feed the sort the partial plan's rows, and how? */
static bool
can_be_fed(const Plan *sort, const Plan *gather, const Plan *partial, int workers, const GpuSortWalk *walk,
		   GpuSortPlanInfo *info)
{
	if (!IsA(sort, CustomScan) || ((const CustomScan *) sort)->methods != &gpusort_scan_methods ||
		gpusort_plan_is_ours(partial) || walk->below_foreign || gather->qual != NIL || !passes_columns_on(gather, partial) ||
		!gpusort_takes_feeders(GPUSORT_PARALLEL_FEEDERS(workers)))
		return false;
	gpusort_plan_info_read((const CustomScan *) sort, info);
	info->parallel = true;
	info->rows = gather->plan_rows;
	/* a Gather hides which columns are copies of others */
	for (int i = 0; i < info->order.n_keys; i++)
		info->order.columns[i] = gpusort_plain_column(get_tlist_exprs(partial->targetlist, true), info->order.columns[i]);
	return gpusort_describe_order(partial, walk->statement->rtable, info);
}

/* --- the nodes ---------------------------------------------------------------------------- */

/* Costs of a node that gives all of its rows at once. */
static void
set_cost(Plan *plan, Cost cost, double rows)
{
	plan->startup_cost = plan->total_cost = cost;
	plan->plan_rows = rows;
}

/* Nodes of a plan are numbered from 0 on, and workers know them by their numbers: a feed has its Gather's, and this. */
#define FEED_NODE_IDS	(INT_MAX / 2)

/* Its columns are the Gather's, which are the partial plan's with the types that the sort takes them for. */
static Plan *
make_feed(Plan *partial, const Gather *gather, const GpuSortPlanInfo *info)
{
	CustomScan *feed = makeNode(CustomScan);
	Plan	   *plan = &feed->scan.plan;
	NodeTag		tag = plan->type;

	*plan = *partial;
	plan->type = tag;
	plan->lefttree = partial;
	plan->righttree = NULL;
	plan->initPlan = NIL;
	plan->qual = NIL;
	plan->targetlist = gpusort_tlist_of(gather->plan.targetlist, INDEX_VAR);
	plan->parallel_aware = true;
	plan->plan_node_id = FEED_NODE_IDS + gather->plan.plan_node_id;
	plan->extParam = bms_add_member(bms_copy(partial->extParam), gather->rescan_param);
	plan->allParam = bms_add_member(bms_copy(partial->allParam), gather->rescan_param);
	set_cost(plan, partial->total_cost, partial->plan_rows);
	feed->custom_scan_tlist = gpusort_tlist_of(partial->targetlist, OUTER_VAR);
	feed->custom_private = gpusort_plan_info_write(info);
	feed->methods = &gpusort_feed_scan_methods;
	return plan;
}

static Gather *
make_gather(const GatherMerge *merge)
{
	Gather	   *gather = makeNode(Gather);
	NodeTag		tag = gather->plan.type;

	gather->plan = merge->plan;
	gather->plan.type = tag;
	gather->plan.initPlan = NIL;
	gather->num_workers = merge->num_workers;
	gather->rescan_param = merge->rescan_param;
	gather->initParam = merge->initParam;
	return gather;
}

/* Puts the Gather below the sort, which gives these columns, and a feed below that.  Rows go through the Gather only when
 * the job does not take them, so it costs its start only.  The sort costs what the nodes above it were planned with. */
static void
feed_through(CustomScan *sort, const List *columns, Gather *gather, Plan *partial, const GpuSortPlanInfo *info)
{
	Plan	   *plan = &sort->scan.plan;

	gather->plan.lefttree = make_feed(partial, gather, info);
	gather->plan.parallel_safe = false;	/* it was our path's mark */
	set_cost(&gather->plan, partial->total_cost + parallel_setup_cost, info->rows);
	plan->lefttree = &gather->plan;
	plan->targetlist = gpusort_tlist_of(columns, INDEX_VAR);
	plan->plan_rows = info->rows;
	sort->custom_scan_tlist = gpusort_tlist_of(gather->plan.targetlist, OUTER_VAR);
	sort->custom_private = gpusort_plan_info_write(info);
}

Plan *
gpusort_convert_gather_merge(GatherMerge *merge, double bound, const GpuSortWalk *walk)
{
	CustomScan *sort = (CustomScan *) outerPlan(merge);
	GpuSortPlanInfo info = {0};
	MemoryContext old_context;

	/* what is no GpuSort may have no plan below it: an index scan */
	if (bound != GPUSORT_NO_BOUND || sort->scan.plan.initPlan != NIL || outerPlan(sort) == NULL ||
		!can_be_fed(&sort->scan.plan, &merge->plan, outerPlan(sort), merge->num_workers, walk, &info))
		return &merge->plan;
	old_context = MemoryContextSwitchTo(GetMemoryChunkContext(merge));
	/* another hook may have kept the Gather Merge, which stays as it is */
	sort = memcpy(makeNode(CustomScan), sort, sizeof(CustomScan));
	sort->scan.plan.startup_cost = merge->plan.startup_cost;
	sort->scan.plan.total_cost = merge->plan.total_cost;
	sort->scan.plan.initPlan = merge->plan.initPlan;
	sort->scan.plan.extParam = merge->plan.extParam;
	sort->scan.plan.allParam = merge->plan.allParam;
	sort->scan.plan.parallel_safe = merge->plan.parallel_safe;
	feed_through(sort, merge->plan.targetlist, make_gather(merge), outerPlan(sort), &info);
	MemoryContextSwitchTo(old_context);
	return &sort->scan.plan;
}

void
gpusort_feed_through_gather(CustomScan *sort, const GpuSortWalk *walk)
{
	Gather	   *gather = (Gather *) outerPlan(sort);
	GpuSortPlanInfo info = {0};
	MemoryContext old_context;

	if (!IsA(gather, Gather) || gather->single_copy ||
		!can_be_fed(&sort->scan.plan, &gather->plan, outerPlan(gather), gather->num_workers, walk, &info))
		return;
	old_context = MemoryContextSwitchTo(GetMemoryChunkContext(sort));
	/* another hook may have kept the Sort that this one was, and its Gather */
	gather = memcpy(makeNode(Gather), gather, sizeof(Gather));
	feed_through(sort, sort->scan.plan.targetlist, gather, outerPlan(gather), &info);
	MemoryContextSwitchTo(old_context);
}
