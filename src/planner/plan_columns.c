/*
 * plan_columns.c
 *	  The columns of a finished plan's nodes.
 *
 * In:  target lists whose Vars refer to the plans below by number; the
 *	    statement's tables; a query's or subquery's plan with a GpuSort on top,
 *	    or below a LIMIT.
 * Out: target lists of such Vars; the table's column that a sort's key comes
 *	    from, whose statistics the sort reads (column_statistics.c); the same
 *	    plan without the trailing columns that ORDER BY s COLLATE "C" has added.
 *
 * The plan carries no value of a column, since the session's user can print it.
 *
 * A column that ORDER BY s COLLATE "C" has added has the bytes of s, and the
 * GpuSort sorts by s instead.  If it stayed, each row would be formed again,
 * its longest column twice, and no page could be taken at once (page_drain.c).
 * The leader would also have to remove the column again, row by row.
 *
 * Runs in the backend that plans.  New target lists are in the plan's context.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planmain.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "plan/plan_info.h"
#include "planner/finished_plan.h"

/* Entries keep all but their expressions. */
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

		/* nearly all are: tested once here, not in each function */
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

/* Returns the column that the expression gives another collation to.  NULL: the
 * expression does anything else.  The planner makes such a RelabelType of the
 * parser's CollateExpr. */
static Var *
recollated_column(Node *expr)
{
	RelabelType *relabel = (RelabelType *) expr;

	if (!IsA(expr, RelabelType) || !IsA(relabel->arg, Var) ||
		exprType((Node *) relabel->arg) != relabel->resulttype)
		return NULL;
	return (Var *) relabel->arg;
}

AttrNumber
gpusort_plain_column(const List *exprs, AttrNumber column)
{
	Var		   *plain = recollated_column(list_nth(exprs, column - 1));
	AttrNumber	other = 0;
	ListCell   *lc;

	if (plain == NULL)
		return column;
	foreach(lc, exprs)
	{
		other++;
		if (equal(lfirst(lc), plain))
			return other;
	}
	return column;
}

/* --- origins -------------------------------------------------------------- */

/* Returns the plan whose column a Var of this plan names, by its varno.  NULL:
 * none is known. */
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

/* Traces a plan's column down to a table's.  NULL: it is none.  The first
 * partition stands for all of them. */
static const Var *
column_of_table(const Plan *plan, AttrNumber column)
{
	const Expr *expr = list_nth_node(TargetEntry, plan->targetlist, column - 1)->expr;
	const Var  *var;
	const Plan *below;

	check_stack_depth();
	while (IsA(expr, RelabelType))
		expr = ((const RelabelType *) expr)->arg;
	var = (const Var *) expr;
	if (IsA(plan, IndexOnlyScan) && IsA(var, Var) && var->varno == INDEX_VAR)
		var = (const Var *) list_nth_node(TargetEntry, ((const IndexOnlyScan *) plan)->indextlist,
										  var->varattno - 1)->expr;
	if (!IsA(var, Var) || var->varattno <= 0)
		return NULL;
	below = plan_of_var(plan, var->varno);
	if (below != NULL)
		return column_of_table(below, var->varattno);
	return IS_SPECIAL_VARNO(var->varno) ? NULL : var;
}

GpuSortKeyOrigin
gpusort_origin_of(const Plan *plan, AttrNumber column, const List *rtable)
{
	const Var  *var = column_of_table(plan, column);

	if (var == NULL || rt_fetch(var->varno, rtable)->rtekind != RTE_RELATION)
		return (GpuSortKeyOrigin) {0};
	return (GpuSortKeyOrigin) {rt_fetch(var->varno, rtable)->relid, var->varattno};
}

/* --- copies --------------------------------------------------------------- */

/* Returns the plans from the top to the one that makes the columns, if nothing
 * between them looks at these.  NIL: there is no GpuSort among them. */
static List *
plans_that_pass_columns_on(Plan *plan)
{
	List	   *plans = NIL;
	bool		sorted = false;

	while (plan != NULL && (IsA(plan, Limit) || IsA(plan, Gather) || gpusort_plan_is_ours(plan)))
	{
		/* the columns of ORDER BY tell which rows tie, and a copy may be one */
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

/* Is this column a key of the sort? */
static bool
sorts_by(const Plan *plan, AttrNumber column)
{
	GpuSortPlanInfo info;

	if (!gpusort_plan_is_ours(plan))
		return false;
	gpusort_plan_info_read((const CustomScan *) plan, &info);
	for (int i = 0; i < info.order.n_keys; i++)
		if (info.order.columns[i] == column)
			return true;
	return false;
}

/* Is the last column a copy that nothing reads? */
static bool
last_is_unread_copy(const List *plans)
{
	const List *columns = ((const Plan *) llast(plans))->targetlist;
	const List *result = ((const Plan *) linitial(plans))->targetlist;
	AttrNumber	last = list_length(columns);
	ListCell   *lc;

	if (last != list_length(result) || !llast_node(TargetEntry, result)->resjunk ||
		gpusort_plain_column(get_tlist_exprs(unconstify(List *, columns), true), last) == last)
		return false;
	foreach(lc, plans)
	{
		if (sorts_by(lfirst(lc), last))
			return false;
	}
	return true;
}

/* Makes new lists, since other plans may share the old ones.  The planner
 * assumes the usual width of its type for a copy. */
static void
drop_last(Plan *plan, int width)
{
	MemoryContext old_context = MemoryContextSwitchTo(GetMemoryChunkContext(plan));
	int			n = list_length(plan->targetlist) - 1;

	plan->targetlist = list_truncate(list_copy(plan->targetlist), n);
	plan->plan_width = Max(0, plan->plan_width - width);
	if (gpusort_plan_is_ours(plan))
	{
		CustomScan *scan = (CustomScan *) plan;
		GpuSortPlanInfo info;

		scan->custom_scan_tlist = list_truncate(list_copy(scan->custom_scan_tlist), n);
		gpusort_plan_info_read(scan, &info);
		info.width = MAXALIGN(plan->plan_width + SizeofMinimalTupleHeader);
		scan->custom_private = gpusort_plan_info_write(&info);
	}
	MemoryContextSwitchTo(old_context);
}

/* Copies are dropped one by one, from the end of the target lists on. */
void
gpusort_drop_copies(Plan *plan)
{
	List	   *plans = plans_that_pass_columns_on(plan);
	ListCell   *lc;

	while (plans != NIL && last_is_unread_copy(plans))
	{
		Node	   *copy = (Node *) llast_node(TargetEntry,
											   ((Plan *) llast(plans))->targetlist)->expr;
		int			width = get_typavgwidth(exprType(copy), exprTypmod(copy));

		foreach(lc, plans)
		{
			drop_last(lfirst(lc), width);
		}
	}
}
