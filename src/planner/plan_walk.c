/*
 * plan_walk.c
 *	  Visits every node of a finished plan.
 *
 * In:  a PlannedStmt.
 * Out: calls of the visitor, children before their parents.
 *
 * Runs in the backend that plans, or explains.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "plan/plan_info.h"
#include "planner/costs.h"
#include "planner/finished_plan.h"

static Plan *walk_plan(Plan *plan, double bound, GpuSortWalk *walk);

static void
walk_list(List *plans, double bound, GpuSortWalk *walk)
{
	ListCell   *lc;

	foreach(lc, plans)
	{
		Plan	   *plan = lfirst(lc);

		lfirst(lc) = walk_plan(plan, bound, walk);
	}
}

static bool
is_constant(const Node *node)
{
	return node == NULL || IsA(node, Const);
}

/* Returns the value of a constant LIMIT or OFFSET; 0 for none or NULL. */
static double
constant_count(const Node *node)
{
	return node == NULL || ((const Const *) node)->constisnull ?
		0 : DatumGetInt64(((const Const *) node)->constvalue);
}

/* Returns the number of rows that a LIMIT and OFFSET let be read. */
static double
bound_of_limit(const Limit *limit)
{
	const Node *count = limit->limitCount;

	if (count == NULL || (IsA(count, Const) && ((const Const *) count)->constisnull) ||
		limit->limitOption == LIMIT_OPTION_WITH_TIES)
		return GPUSORT_NO_BOUND;
	if (!is_constant(count) || !is_constant(limit->limitOffset))
		return GPUSORT_UNKNOWN_BOUND;
	return constant_count(count) + constant_count(limit->limitOffset);
}

/* Returns the bound of the plan's children if no more than bound of the plan's
 * rows are read.  The rules are those of ExecSetTupleBound, which tells a
 * native Sort its bound. */
static double
bound_of_children(const Plan *plan, double bound)
{
	switch (nodeTag(plan))
	{
		case T_Limit:
			return bound_of_limit((const Limit *) plan);
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

/* Is it another extension's custom scan? */
static bool
is_foreign(const Plan *plan)
{
	return IsA(plan, CustomScan) && !gpusort_plan_is_ours(plan);
}

/* Each kind of node that has children beyond the left and the right one is
 * listed here. */
static Plan *
walk_plan(Plan *plan, double bound, GpuSortWalk *walk)
{
	bool		below_foreign = walk->below_foreign;
	bool		foreign_before = walk->foreign_below;
	double		child_bound;

	check_stack_depth();
	if (plan == NULL)
		return NULL;
	child_bound = bound_of_children(plan, bound);
	/* no custom scan looks for its own nodes below a ModifyTable, which reads
	 * its rows itself */
	walk->below_foreign = is_foreign(plan) || (walk->below_foreign && !IsA(plan, ModifyTable));
	walk->foreign_below = is_foreign(plan);
	if (walk->track_ancestors)
		walk->ancestors = lcons(plan, walk->ancestors);
	plan->lefttree = walk_plan(plan->lefttree, child_bound, walk);
	plan->righttree = walk_plan(plan->righttree, child_bound, walk);
	switch (nodeTag(plan))
	{
		case T_Append:
			walk_list(((Append *) plan)->appendplans, child_bound, walk);
			break;
		case T_MergeAppend:
			walk_list(((MergeAppend *) plan)->mergeplans, child_bound, walk);
			break;
		case T_SubqueryScan:
			((SubqueryScan *) plan)->subplan =
				walk_plan(((SubqueryScan *) plan)->subplan, child_bound, walk);
			break;
		case T_CustomScan:
			walk_list(((CustomScan *) plan)->custom_plans, child_bound, walk);
			break;
		default:
			/* all others have only a left and a right child, except bitmaps of
			 * indexes */
			break;
	}
	if (walk->track_ancestors)
		walk->ancestors = list_delete_first(walk->ancestors);
	walk->below_foreign = below_foreign;
	plan = walk->visit(plan, bound, walk);
	walk->foreign_below |= foreign_before;
	return plan;
}

void
gpusort_walk_plans(GpuSortWalk *walk)
{
	PlannedStmt *statement = walk->statement;

	walk_list(statement->subplans, GPUSORT_NO_BOUND, walk);
	statement->planTree = walk_plan(statement->planTree, GPUSORT_NO_BOUND, walk);
}
