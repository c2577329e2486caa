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

/* Does each entry of a Gather, or Gather Merge, return the partial plan's
 * column of the same number?  setrefs.c leaves constants as they are, and
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

/* Can the workers of a Gather, or Gather Merge, feed the partial plan's rows to
 * the sort?  If so, sets *info. */
static bool
can_be_fed(const Plan *sort, const Plan *gather, const Plan *partial, int workers,
		   const GpuSortWalk *walk, GpuSortPlanInfo *info)
{
	if (!IsA(sort, CustomScan) || ((const CustomScan *) sort)->methods != &gpusort_scan_methods ||
		gpusort_plan_is_ours(partial) || gpusort_is_below_foreign(walk) || gather->qual != NIL ||
		!passes_columns_on(gather, partial) ||
		!gpusort_takes_feeders(GPUSORT_PARALLEL_FEEDERS(workers)))
		return false;
	gpusort_plan_info_read((const CustomScan *) sort, info);
	info->parallel = true;
	info->rows = gather->plan_rows;
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

/*
 * Puts the Gather below the sort, which returns these columns, and a feed below
 * the Gather.  The Gather costs its start only, since rows pass through it only
 * if the job does not take them.  The sort keeps the costs that the nodes above
 * it were planned with.
 */
static void
feed_through(CustomScan *sort, const List *columns, Gather *gather, Plan *partial,
			 const GpuSortPlanInfo *info)
{
	Plan	   *plan = &sort->scan.plan;

	gather->plan.lefttree = make_feed(partial, gather, info);
	gather->plan.parallel_safe = false;	/* our path has set it as a mark */
	set_cost(&gather->plan, partial->total_cost + parallel_setup_cost, info->rows);
	plan->lefttree = &gather->plan;
	plan->targetlist = gpusort_tlist_of(columns, INDEX_VAR);
	plan->plan_rows = info->rows;
	sort->custom_scan_tlist = gpusort_tlist_of(gather->plan.targetlist, OUTER_VAR);
	sort->custom_private = gpusort_plan_info_write(info);
}

/* The new sort takes over the Gather Merge's costs, parameters and init
 * plans. */
Plan *
gpusort_convert_gather_merge(GatherMerge *merge, const GpuSortWalk *walk)
{
	CustomScan *sort = (CustomScan *) outerPlan(merge);
	GpuSortPlanInfo info = {0};
	MemoryContext old_context;

	/* a node that is no GpuSort may have no plan below it, such as an index
	 * scan */
	if (gpusort_bound_of(walk) != GPUSORT_NO_BOUND ||
		sort->scan.plan.initPlan != NIL || outerPlan(sort) == NULL ||
		!can_be_fed(&sort->scan.plan, &merge->plan, outerPlan(sort), merge->num_workers,
					walk, &info))
		return &merge->plan;
	old_context = MemoryContextSwitchTo(GetMemoryChunkContext(merge));
	/* another hook may hold the Gather Merge, so it stays as it is */
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
		!can_be_fed(&sort->scan.plan, &gather->plan, outerPlan(gather), gather->num_workers,
					walk, &info))
		return;
	old_context = MemoryContextSwitchTo(GetMemoryChunkContext(sort));
	/* another hook may hold the former Sort and its Gather */
	gather = memcpy(makeNode(Gather), gather, sizeof(Gather));
	feed_through(sort, sort->scan.plan.targetlist, gather, outerPlan(gather), &info);
	MemoryContextSwitchTo(old_context);
}
