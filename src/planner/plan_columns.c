/*
 * plan_columns.c
 *	  The columns of a finished plan's nodes.
 *
 * In:  target lists, whose Vars refer to the plans below by number; a query's plan, or a subquery's, with a GpuSort on
 *	    top, or below a LIMIT.
 * Out: target lists of such Vars; the same plan without the columns, at its end, that ORDER BY s COLLATE "C" has added.
 *
 * Such a column has the bytes of s, which is what the GpuSort sorts by.  If it stayed, each row
 * would be made anew with its longest column twice, no page could be taken at once (page_drain.c),
 * and the executor would take the column out again, row by row, in the leader.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planmain.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "plan/plan_info.h"
#include "planner/eligibility.h"
#include "planner/finished_plan.h"

List *
gpusort_tlist_of(const List *tlist, int varno)
{
	List	   *result = list_copy(tlist);
	ListCell   *lc;

	foreach(lc, result)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst(lc));
		Node	   *expr = (Node *) entry->expr;
		Var		   *var = (Var *) expr;

		/* nearly all are: asked once, not by each function */
		if (IsA(expr, Var))
			var = makeVar(varno, entry->resno, var->vartype, var->vartypmod, var->varcollid, 0);
		else
			var = makeVar(varno, entry->resno, exprType(expr), exprTypmod(expr),
						  exprCollation(expr), 0);
		entry->expr = (Expr *) var;
		lfirst(lc) = entry;
	}
	return result;
}

/* --- copies ----------------------------------------------------------------------------- */

/* The plans from the top to the one that makes the columns, with nothing between that looks at
 * them.  NIL if there is no GpuSort among them. */
static List *
plans_that_pass_columns_on(Plan *plan)
{
	List	   *plans = NIL;
	bool		sorted = false;

	while (plan != NULL && (IsA(plan, Limit) || IsA(plan, Gather) || gpusort_plan_is_ours(plan)))
	{
		/* ties are found by the columns of ORDER BY, a copy too */
		if (plan->qual != NIL ||
			(IsA(plan, Limit) && ((Limit *) plan)->limitOption == LIMIT_OPTION_WITH_TIES))
			return NIL;
		sorted = sorted || gpusort_plan_is_ours(plan);
		plans = lappend(plans, plan);
		plan = outerPlan(plan);
	}
	if (!sorted || plan == NULL || !is_projection_capable_plan(plan))
		return NIL;
	return lappend(plans, plan);
}

/* Does no sort among the plans have this column as its key? */
static bool
nothing_sorts_by(List *plans, AttrNumber column)
{
	ListCell   *lc;

	foreach(lc, plans)
	{
		GpuSortPlanInfo info;

		if (!gpusort_plan_is_ours(lfirst(lc)))
			continue;
		gpusort_plan_info_read(lfirst(lc), &info);
		for (int i = 0; i < info.order.n_keys; i++)
			if (info.order.columns[i] == column)
				return false;
	}
	return true;
}

/* Is the last column a copy that nothing reads? */
static bool
last_is_unread_copy(List *plans, List *tlist)
{
	AttrNumber	last = list_length(tlist);
	const Plan *top = linitial(plans);

	return last > 1 && last == list_length(top->targetlist) &&
		((TargetEntry *) llast(top->targetlist))->resjunk &&
		gpusort_plain_column(get_tlist_exprs(tlist, true), last) != last &&
		nothing_sorts_by(plans, last);
}

/* Average bytes of the text that a copy copies. */
static int
width_of_copy(const Plan *scan, List *rtable)
{
	RelabelType *copy = (RelabelType *) ((TargetEntry *) llast(scan->targetlist))->expr;
	Var		   *var = (Var *) copy->arg;
	int			width = 0;

	if (!IS_SPECIAL_VARNO(var->varno) && rt_fetch(var->varno, rtable)->rtekind == RTE_RELATION)
		width = get_attavgwidth(rt_fetch(var->varno, rtable)->relid, var->varattno);
	return width > 0 ? width : get_typavgwidth(var->vartype, var->vartypmod);
}

/* Lists may be shared with other plans: a new one. */
static List *
without_last(List *tlist)
{
	return list_truncate(list_copy(tlist), list_length(tlist) - 1);
}

static void
drop_last(Plan *plan, int width)
{
	MemoryContext old_context = MemoryContextSwitchTo(GetMemoryChunkContext(plan));

	plan->targetlist = without_last(plan->targetlist);
	plan->plan_width = Max(0, plan->plan_width - width);
	if (gpusort_plan_is_ours(plan))
	{
		CustomScan *scan = (CustomScan *) plan;
		GpuSortPlanInfo info;

		scan->custom_scan_tlist = without_last(scan->custom_scan_tlist);
		gpusort_plan_info_read(scan, &info);
		info.width = MAXALIGN(plan->plan_width + SizeofMinimalTupleHeader);
		scan->custom_private = gpusort_plan_info_write(&info);
	}
	MemoryContextSwitchTo(old_context);
}

void
gpusort_drop_copies(Plan *plan, List *rtable)
{
	List	   *plans = plans_that_pass_columns_on(plan);
	Plan	   *scan;
	ListCell   *lc;

	if (plans == NIL)
		return;
	scan = llast(plans);
	while (last_is_unread_copy(plans, scan->targetlist))
	{
		int			width = width_of_copy(scan, rtable);

		foreach(lc, plans)
		{
			drop_last(lfirst(lc), width);
		}
	}
}

/* --- over tables -------------------------------------------------------------------------- */

/* The plan below whose column a column of this one is, by varno; NULL: none is known. */
static const Plan *
plan_of_var(const Plan *plan, int varno)
{
	if (varno == INNER_VAR)
		return innerPlan(plan);
	if (varno == OUTER_VAR && IsA(plan, Append))
		return linitial(((const Append *) plan)->appendplans);
	if (varno == OUTER_VAR || (varno == INDEX_VAR && gpusort_plan_is_ours(plan)))
		return outerPlan(plan);
	if (IsA(plan, SubqueryScan) && varno == ((const SubqueryScan *) plan)->scan.scanrelid)
		return ((const SubqueryScan *) plan)->subplan;
	return NULL;
}

/* A column of the first partition stands for those of all of them. */
static Expr *
column_over_tables(const Plan *plan, AttrNumber column)
{
	Expr	   *expr = list_nth_node(TargetEntry, plan->targetlist, column - 1)->expr;
	const Var  *var;
	const Plan *below;

	check_stack_depth();
	while (IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	var = (const Var *) expr;
	if (!IsA(var, Var) || var->varattno <= 0)
		return expr;
	if (IsA(plan, IndexOnlyScan) && var->varno == INDEX_VAR)
		return list_nth_node(TargetEntry, ((const IndexOnlyScan *) plan)->indextlist, var->varattno - 1)->expr;
	below = plan_of_var(plan, var->varno);
	return below != NULL ? column_over_tables(below, var->varattno) : expr;
}

List *
gpusort_columns_over_tables(const Plan *plan)
{
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, plan->targetlist)
	{
		const TargetEntry *entry = lfirst(lc);
		Node	   *expr = (Node *) entry->expr;
		Expr	   *over_tables = column_over_tables(plan, entry->resno);

		if (exprType((Node *) over_tables) != exprType(expr))
			over_tables = (Expr *) makeRelabelType(over_tables, exprType(expr), exprTypmod(expr),
												   exprCollation(expr), COERCE_IMPLICIT_CAST);
		columns = lappend(columns, over_tables);
	}
	return columns;
}
