/*
 * plan_walk.c
 *	  Visits every node of a finished plan.
 *
 * In:  a PlannedStmt.
 * Out: calls of the visitor, children before their parents; what the ancestors
 *	    of the visited plan mean for it.
 *
 * Runs in the backend that plans, or explains.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/float.h"

#include "planner/planner.h"

/* --- a plan's ancestors --------------------------------------------------- */

/* Returns the value of a LIMIT or OFFSET.  One that only the execution knows
 * counts as 0. */
static double
value_of(const Node *count, double if_absent)
{
	if (count == NULL || (IsA(count, Const) && ((const Const *) count)->constisnull))
		return if_absent;
	return IsA(count, Const) ? DatumGetInt64(((const Const *) count)->constvalue) : 0;
}

/* Returns how many rows are read of the plan's children if this many are read
 * of the plan.  The rules are those of ExecSetTupleBound, which tells a native
 * Sort its bound. */
static double
bound_of_children(const Plan *plan, double bound)
{
	const Limit *limit = (const Limit *) plan;

	if (IsA(plan, Limit) && limit->limitOption != LIMIT_OPTION_WITH_TIES)
		return value_of(limit->limitCount, get_float8_infinity()) +
			Max(0, value_of(limit->limitOffset, 0));
	if (IsA(plan, SubqueryScan) ? plan->qual == NIL :
		IsA(plan, Append) || IsA(plan, MergeAppend) || IsA(plan, Result) || IsA(plan, Gather) ||
		IsA(plan, GatherMerge))
		return bound;
	return get_float8_infinity();
}

/* Is it another extension's custom scan? */
static bool
is_foreign(const Plan *plan)
{
	return IsA(plan, CustomScan) && !gpusort_plan_is_ours(plan);
}

/* Returns the place of the plan's children.  No custom scan looks for its own
 * nodes below a ModifyTable, which reads its rows itself. */
static GpuSortPlace
place_of_children(const Plan *plan, GpuSortPlace place)
{
	place.bound = bound_of_children(plan, place.bound);
	place.below_foreign = !IsA(plan, ModifyTable) && (place.below_foreign || is_foreign(plan));
	place.in_workers = place.in_workers || IsA(plan, Gather) || IsA(plan, GatherMerge);
	return place;
}

/* --- the walk ------------------------------------------------------------- */

static Plan *walk_plan(Plan *plan, GpuSortWalk *walk);

static void
walk_list(List *plans, GpuSortWalk *walk)
{
	ListCell   *lc;

	foreach(lc, plans)
	{
		Plan	   *plan = lfirst(lc);

		lfirst(lc) = walk_plan(plan, walk);
	}
}

/* Each kind of node that has children beyond the left and the right one is
 * listed here. */
static Plan *
walk_plan(Plan *plan, GpuSortWalk *walk)
{
	bool		foreign_before = walk->foreign_below;
	GpuSortPlace place = walk->place;

	check_stack_depth();
	if (plan == NULL)
		return NULL;
	walk->foreign_below = is_foreign(plan);
	walk->place = place_of_children(plan, place);
	walk->ancestors = lcons(plan, walk->ancestors);
	plan->lefttree = walk_plan(plan->lefttree, walk);
	plan->righttree = walk_plan(plan->righttree, walk);
	switch (nodeTag(plan))
	{
		case T_Append:
			walk_list(((Append *) plan)->appendplans, walk);
			break;
		case T_MergeAppend:
			walk_list(((MergeAppend *) plan)->mergeplans, walk);
			break;
		case T_SubqueryScan:
			((SubqueryScan *) plan)->subplan = walk_plan(((SubqueryScan *) plan)->subplan, walk);
			break;
		case T_CustomScan:
			walk_list(((CustomScan *) plan)->custom_plans, walk);
			break;
		default:
			/* all others have only a left and a right child, except bitmaps of
			 * indexes */
			break;
	}
	walk->ancestors = list_delete_first(walk->ancestors);
	walk->place = place;
	plan = walk->visit(plan, walk);
	walk->foreign_below |= foreign_before;
	return plan;
}

void
gpusort_walk_plans(GpuSortWalk *walk)
{
	PlannedStmt *statement = walk->statement;

	walk->place.bound = get_float8_infinity();
	walk_list(statement->subplans, walk);
	statement->planTree = walk_plan(statement->planTree, walk);
}
