/*
 * convert_gather.c
 *	  Lets parallel workers feed a GpuSort of a finished plan.
 *
 * In:  a Gather Merge over a GpuSort, which each worker executes for its own
 *	    rows; or a GpuSort over a Gather, whose rows all go through the leader.
 * Out: GpuSort over Gather over GpuSortFeed over the same partial plan.
 *
 * No costs are compared.  The device sorts the same rows either way, and the
 * workers pack them in any case, or could.  No row goes through a queue of
 * tuples to the leader, nor through the merge there.
 *
 * Statistics of the scanned tables help to encode keys, so the keys' columns
 * are traced down to these tables.
 *
 * The Gather inherits from the Gather Merge all it needs to restart workers and
 * to pass parameters to them.  The feed is parallel-aware, so it depends on the
 * parameter that announces a rescan.
 *
 * Runs in the backend that plans.  New nodes are in the old nodes' context.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/memutils.h"

#include "job/job.h"
#include "plan/plan_info.h"
#include "planner/costs.h"
#include "planner/finished_plan.h"

/* --- may workers feed it? ------------------------------------------------- */

/* Does each entry of a Gather return the partial plan's column of the same
 * number?  setrefs.c leaves constants as they are, and
 * resolves a duplicate column to its first occurrence. */
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

/* Can the workers of the Gather feed its rows to the sort above it?  If so,
 * sets *info. */
static bool
can_be_fed(const CustomScan *sort, const Gather *gather, const GpuSortWalk *walk,
		   GpuSortPlanInfo *info)
{
	const Plan *partial = outerPlan(gather);

	if (gather->single_copy || gpusort_plan_is_ours(partial) || gpusort_is_below_foreign(walk) ||
		gather->plan.qual != NIL || !passes_columns_on(&gather->plan, partial) ||
		!gpusort_takes_feeders(GPUSORT_PARALLEL_FEEDERS(gather->num_workers)))
		return false;
	gpusort_plan_info_read(sort, info);
	info->parallel = true;
	info->rows = gather->plan.plan_rows;
	/* a Gather hides which columns are copies of others */
	for (int i = 0; i < info->order.n_keys; i++)
		info->order.columns[i] = gpusort_plain_column(get_tlist_exprs(partial->targetlist, true),
													  info->order.columns[i]);
	return gpusort_describe_order(partial, walk->statement->rtable, info);
}

/* --- the nodes ------------------------------------------------------------ */

/* Sets the costs of a node that returns all of its rows at once. */
static void
set_cost(Plan *plan, Cost cost, double rows)
{
	plan->startup_cost = plan->total_cost = cost;
	plan->plan_rows = rows;
}

/* A plan's nodes are numbered from 0 on, and workers identify them by number.
 * A feed's number is its Gather's plus this. */
#define FEED_NODE_IDS	(INT_MAX / 2)

/* Makes the feed.  Its columns are the Gather's: the partial plan's columns,
 * with the types that the sort takes them for. */
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

/* The Gather costs its start only, since rows pass through it only if the job
 * does not take them.  The sort keeps the costs that the nodes above it were
 * planned with. */
bool
gpusort_feed_through_gather(CustomScan *sort, const GpuSortWalk *walk)
{
	Plan	   *plan = &sort->scan.plan;
	Gather	   *gather = (Gather *) outerPlan(plan);
	GpuSortPlanInfo info = {0};
	MemoryContext old_context;

	if (!IsA(gather, Gather) || !can_be_fed(sort, gather, walk, &info))
		return false;
	old_context = MemoryContextSwitchTo(GetMemoryChunkContext(sort));
	/* another hook may hold the former Sort and its Gather */
	gather = memcpy(makeNode(Gather), gather, sizeof(Gather));
	gather->plan.parallel_safe = false;	/* our path has set it as a mark */
	set_cost(&gather->plan, outerPlan(gather)->total_cost + parallel_setup_cost, info.rows);
	gather->plan.lefttree = make_feed(outerPlan(gather), gather, &info);
	plan->lefttree = &gather->plan;
	plan->targetlist = gpusort_tlist_of(plan->targetlist, INDEX_VAR);
	plan->plan_rows = info.rows;
	sort->custom_scan_tlist = gpusort_tlist_of(gather->plan.targetlist, OUTER_VAR);
	sort->custom_private = gpusort_plan_info_write(&info);
	MemoryContextSwitchTo(old_context);
	return true;
}

/* Returns a copy of the sort above a Gather, which is to the nodes around it
 * all that the Gather Merge is.  Another hook may hold the old nodes. */
static CustomScan *
swap_nodes(const GatherMerge *merge, const CustomScan *old_sort)
{
	CustomScan *sort = memcpy(makeNode(CustomScan), old_sort, sizeof(CustomScan));
	Gather	   *gather = makeNode(Gather);
	NodeTag		tag = gather->plan.type;

	gather->plan = merge->plan;
	gather->plan.type = tag;
	gather->plan.initPlan = NIL;
	gather->plan.lefttree = outerPlan(old_sort);
	gather->num_workers = merge->num_workers;
	gather->rescan_param = merge->rescan_param;
	gather->initParam = merge->initParam;
	tag = sort->scan.plan.type;
	sort->scan.plan = merge->plan;
	sort->scan.plan.type = tag;
	sort->scan.plan.plan_node_id = old_sort->scan.plan.plan_node_id;
	sort->scan.plan.lefttree = &gather->plan;
	return sort;
}

Plan *
gpusort_convert_gather_merge(GatherMerge *merge, const GpuSortWalk *walk)
{
	const CustomScan *below = (const CustomScan *) outerPlan(merge);
	MemoryContext old_context;
	CustomScan *sort;

	if (!IsA(below, CustomScan) || below->methods != &gpusort_scan_methods ||
		below->scan.plan.initPlan != NIL || gpusort_bound_of(walk) != GPUSORT_NO_BOUND)
		return &merge->plan;
	old_context = MemoryContextSwitchTo(GetMemoryChunkContext(merge));
	sort = swap_nodes(merge, below);
	MemoryContextSwitchTo(old_context);
	return gpusort_feed_through_gather(sort, walk) ? &sort->scan.plan : &merge->plan;
}
