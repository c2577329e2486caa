/*
 * plan_finish.c
 *	  Finishes GpuSort's nodes once their plan is finished.
 *
 * In:  what the planner and all hooks on it have returned.
 * Out: its GpuSort and GpuSortFeed nodes have the target lists of a sort, column i being the
 *	    child's column i, and know whether their child may be scanned again.
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
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"

#include "planner/plan_finish.h"
#include "planner/plan_info.h"
#include "planner/plan_repeat.h"

/* Makes the i-th entry of tlist refer to the i-th column of varno. */
static void
point_tlist_at(List *tlist, int varno)
{
	ListCell   *lc;

	foreach(lc, tlist)
	{
		TargetEntry *entry = lfirst(lc);
		Node	   *expr = (Node *) entry->expr;

		entry->expr = (Expr *) makeVar(varno, entry->resno, exprType(expr), exprTypmod(expr),
									   exprCollation(expr), 0);
	}
}

static void
finish_scan(CustomScan *scan, List *subplans)
{
	GpuSortPlanInfo info;
	MemoryContext old_context;

	gpusort_plan_info_read(scan, &info);
	if (info.finished)
		return;
	old_context = MemoryContextSwitchTo(GetMemoryChunkContext(scan));
	point_tlist_at(scan->scan.plan.targetlist, INDEX_VAR);
	point_tlist_at(scan->custom_scan_tlist, OUTER_VAR);
	info.child_repeats = gpusort_plan_repeats(outerPlan(scan), subplans);
	info.finished = true;
	scan->custom_private = gpusort_plan_info_write(&info);
	MemoryContextSwitchTo(old_context);
}

static Plan *finish_plan(Plan *plan, List *subplans);

static void
finish_plans(List *plans, List *subplans)
{
	ListCell   *lc;

	foreach(lc, plans)
	{
		Plan	   *plan = lfirst(lc);

		lfirst(lc) = finish_plan(plan, subplans);
	}
}

/* Finishes a plan from its leaves on.  Returns what is to stand in the plan's place. */
static Plan *
finish_plan(Plan *plan, List *subplans)
{
	check_stack_depth();
	if (plan == NULL)
		return NULL;
	plan->lefttree = finish_plan(plan->lefttree, subplans);
	plan->righttree = finish_plan(plan->righttree, subplans);
	switch (nodeTag(plan))
	{
		case T_Append:
			finish_plans(((Append *) plan)->appendplans, subplans);
			break;
		case T_MergeAppend:
			finish_plans(((MergeAppend *) plan)->mergeplans, subplans);
			break;
		case T_BitmapAnd:
			finish_plans(((BitmapAnd *) plan)->bitmapplans, subplans);
			break;
		case T_BitmapOr:
			finish_plans(((BitmapOr *) plan)->bitmapplans, subplans);
			break;
		case T_SubqueryScan:
			((SubqueryScan *) plan)->subplan =
				finish_plan(((SubqueryScan *) plan)->subplan, subplans);
			break;
		case T_CustomScan:
			finish_plans(((CustomScan *) plan)->custom_plans, subplans);
			if (gpusort_plan_is_ours(plan))
				finish_scan((CustomScan *) plan, subplans);
			break;
		default:
			/* others have no more children than the left and the right one */
			break;
	}
	return plan;
}

void
gpusort_plan_finish(PlannedStmt *statement)
{
	finish_plans(statement->subplans, statement->subplans);
	statement->planTree = finish_plan(statement->planTree, statement->subplans);
}
