/*
 * plan_finish.c
 *	  Puts GpuSort nodes into a plan that is finished, and finishes those that it has.
 *
 * In:  what the planner and all hooks on it have returned.
 * Out: its Sort nodes are GpuSort nodes, where convert_sort.c makes them so.  Its GpuSort and
 *	    GpuSortFeed nodes have the target lists of a sort, column i being the child's column i.
 *
 * Runs in the backend that plans.
 *
 * The nodes are looked for in the plan that is returned, not noted when they are made: other
 * extensions' hooks may plan a query several times, and return any of the plans, or one that
 * they have kept since an earlier query.  So a node may come here twice, which changes nothing
 * the second time, and what is added to a node lives as long as the node.
 *
 * set_plan_references matches a custom scan's target list with custom_scan_tlist by
 * equal expressions, which is wrong for a sort: two columns that are both random() are
 * equal and differ.  And the columns of a set operation are Vars of no relation, which
 * EXPLAIN can resolve through the child only.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "plan/plan_info.h"
#include "planner/convert_gather.h"
#include "planner/convert_sort.h"
#include "planner/drop_copies.h"
#include "planner/plan_columns.h"
#include "planner/plan_finish.h"
#include "planner/plan_walk.h"
#include "planner/refusals.h"
#include "settings.h"

/* The lists may be those of other plans too: they are made anew. */
static void
finish_scan(CustomScan *scan)
{
	MemoryContext old_context;

	if (gpusort_plan_is_finished(scan))
		return;
	old_context = MemoryContextSwitchTo(GetMemoryChunkContext(scan));
	scan->custom_scan_tlist = gpusort_tlist_of(scan->custom_scan_tlist, OUTER_VAR);
	scan->scan.plan.targetlist = gpusort_tlist_of(scan->scan.plan.targetlist, INDEX_VAR);
	gpusort_plan_set_finished(scan);
	MemoryContextSwitchTo(old_context);
}

/* The sorts of an Agg cannot but stay. */
static void
count_sorts_of_chain(const Agg *agg)
{
	ListCell   *lc;

	foreach(lc, agg->chain)
	{
		if (outerPlan(lfirst(lc)) == NULL)
			continue;
		if (!gpusort_refuses_all())
			gpusort_refuse(GPUSORT_REFUSED_GROUPING_SETS, NULL);
		gpusort_refusal_count();
	}
}

static Plan *
finish_plan(Plan *plan, double bound, GpuSortWalk *walk)
{
	switch (nodeTag(plan))
	{
		case T_SubqueryScan:
			gpusort_drop_copies(((SubqueryScan *) plan)->subplan, walk->statement->rtable);
			break;
		case T_Sort:
		case T_IncrementalSort:
			if (gpusort_debug_providers_off[GPUSORT_PROVIDER_CONVERT])
				break;
			plan = gpusort_convert_sort((Sort *) plan, bound, walk);
			if (gpusort_plan_is_ours(plan))
				gpusort_feed_through_gather((CustomScan *) plan, walk);
			break;
		case T_GatherMerge:
			plan = gpusort_convert_gather_merge((GatherMerge *) plan, bound, walk);
			break;
		case T_Agg:
			count_sorts_of_chain((const Agg *) plan);
			break;
		default:
			break;
	}
	if (gpusort_plan_is_ours(plan))
		finish_scan((CustomScan *) plan);
	return plan;
}

void
gpusort_plan_finish(PlannedStmt *statement, bool nested, bool all_read)
{
	GpuSortWalk walk = {.statement = statement,.nested = nested,.all_read = all_read,.visit = finish_plan};

	gpusort_refusals_want_details(message_level_is_interesting(DEBUG1));
	gpusort_walk_plans(&walk);
	/* others than a SELECT read their plan's columns by number */
	if (statement->commandType == CMD_SELECT)
		gpusort_drop_copies(statement->planTree, statement->rtable);
}
