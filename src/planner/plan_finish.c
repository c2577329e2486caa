/*
 * plan_finish.c
 *	  Finishes GpuSort's nodes once their plan is finished.
 *
 * In:  a finished plan.
 * Out: its GpuSort and GpuSortFeed nodes have the target lists of a sort, column i being the
 *	    child's column i, and know whether their child may be scanned again.
 *
 * Runs in the backend that plans.
 *
 * set_plan_references matches a custom scan's target list with custom_scan_tlist by
 * equal expressions, which is wrong for a sort: two columns that are both random() are
 * equal and differ.  And the columns of a set operation are Vars of no relation, which
 * EXPLAIN can resolve through the child only.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "planner/plan_finish.h"
#include "planner/plan_info.h"
#include "planner/plan_repeat.h"

/* Plan nodes of ours made by the planner run under way. */
static List *scans_being_planned = NIL;

void
gpusort_plan_finish_later(CustomScan *scan)
{
	scans_being_planned = lappend(scans_being_planned, scan);
}

List *
gpusort_plan_finish_begin(void)
{
	List	   *outer_scans = scans_being_planned;

	scans_being_planned = NIL;
	return outer_scans;
}

void
gpusort_plan_finish_end(List *outer_scans)
{
	scans_being_planned = outer_scans;
}

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

/* Notes whether the child of a finished node may be scanned again. */
static void
note_whether_child_repeats(CustomScan *scan, List *subplans)
{
	GpuSortPlanInfo info;

	gpusort_plan_info_read(scan, &info);
	info.child_repeats = gpusort_plan_repeats(outerPlan(scan), subplans);
	scan->custom_private = gpusort_plan_info_write(&info);
}

void
gpusort_plan_finish(PlannedStmt *statement)
{
	ListCell   *lc;

	foreach(lc, scans_being_planned)
	{
		CustomScan *scan = lfirst(lc);

		point_tlist_at(scan->scan.plan.targetlist, INDEX_VAR);
		point_tlist_at(scan->custom_scan_tlist, OUTER_VAR);
		note_whether_child_repeats(scan, statement->subplans);
	}
}
