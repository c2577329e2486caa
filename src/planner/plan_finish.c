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

#include "miscadmin.h"
#include "utils/memutils.h"

#include "planner/citus.h"
#include "planner/convert_sort.h"
#include "planner/costs.h"
#include "planner/drop_copies.h"
#include "planner/eligibility.h"
#include "planner/plan_finish.h"
#include "planner/plan_info.h"
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

/* A subquery that Citus plans by itself is left alone above Citus's scan (citus.c). */
typedef struct FinishWalk
{
	const PlannedStmt *statement;
	bool		nested;			/* it was planned while another one was */
	bool		citus_below;	/* a scan of Citus's has been met */
} FinishWalk;

static Plan *finish_plan(Plan *plan, double bound, FinishWalk *walk);

static void
finish_plans(List *plans, double bound, FinishWalk *walk)
{
	ListCell   *lc;

	foreach(lc, plans)
	{
		Plan	   *plan = lfirst(lc);

		lfirst(lc) = finish_plan(plan, bound, walk);
	}
}

/* --- how many rows are read ------------------------------------------------------ */

/* What holds for the plan's children, if of the plan's rows no more than bound are read.  As
 * ExecSetTupleBound has it, which tells a native Sort. */
static double
bound_of_children(const Plan *plan, double bound)
{
	switch (nodeTag(plan))
	{
		case T_Limit:
			return gpusort_bound_of_limit(((const Limit *) plan)->limitCount,
										  ((const Limit *) plan)->limitOffset,
										  ((const Limit *) plan)->limitOption);
		case T_SubqueryScan:
			return plan->qual == NIL ? bound : GPUSORT_NO_BOUND;
		case T_Append:
		case T_MergeAppend:
		case T_Result:
		case T_Gather:
		case T_GatherMerge:
			return bound;
		default:
			return GPUSORT_NO_BOUND;
	}
}

/* --- the walk --------------------------------------------------------------------- */

/*
 * Finishes a plan from its leaves on.  Returns what is to stand in the plan's place.  The Sorts
 * of an Agg's chain are no plans of their own: the Agg sorts with what they say.
 */
static Plan *
finish_plan(Plan *plan, double bound, FinishWalk *walk)
{
	double		child_bound;

	check_stack_depth();
	if (plan == NULL)
		return NULL;
	child_bound = bound_of_children(plan, bound);
	plan->lefttree = finish_plan(plan->lefttree, child_bound, walk);
	plan->righttree = finish_plan(plan->righttree, child_bound, walk);
	switch (nodeTag(plan))
	{
		case T_Append:
			finish_plans(((Append *) plan)->appendplans, child_bound, walk);
			break;
		case T_MergeAppend:
			finish_plans(((MergeAppend *) plan)->mergeplans, child_bound, walk);
			break;
		case T_BitmapAnd:
			finish_plans(((BitmapAnd *) plan)->bitmapplans, child_bound, walk);
			break;
		case T_BitmapOr:
			finish_plans(((BitmapOr *) plan)->bitmapplans, child_bound, walk);
			break;
		case T_SubqueryScan:
			((SubqueryScan *) plan)->subplan =
				finish_plan(((SubqueryScan *) plan)->subplan, child_bound, walk);
			gpusort_drop_copies(((SubqueryScan *) plan)->subplan, walk->statement->rtable);
			break;
		case T_CustomScan:
			walk->citus_below |= gpusort_plan_is_citus(plan);
			finish_plans(((CustomScan *) plan)->custom_plans, child_bound, walk);
			break;
		case T_Sort:
			if (gpusort_enabled && !(walk->nested && walk->citus_below))
				plan = gpusort_convert_sort((Sort *) plan, bound, walk->statement->rtable);
			break;
		default:
			/* others have no more children than the left and the right one */
			break;
	}
	if (gpusort_plan_is_ours(plan))
		finish_scan((CustomScan *) plan);
	return plan;
}

void
gpusort_plan_finish(PlannedStmt *statement, bool nested)
{
	FinishWalk	walk = {.statement = statement,.nested = nested};

	finish_plans(statement->subplans, GPUSORT_NO_BOUND, &walk);
	statement->planTree = finish_plan(statement->planTree, GPUSORT_NO_BOUND, &walk);
	/* others than a SELECT read their plan's columns by number */
	if (statement->commandType == CMD_SELECT)
		gpusort_drop_copies(statement->planTree, statement->rtable);
}
