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
 * GpuSort sorts by s instead.  If it stayed, each row would have its longest
 * column twice, and the leader would have to remove it again, row by row.
 *
 * Runs in the backend that plans.  New target lists are in the plan's context.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planmain.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/memutils.h"

#include "planner/planner.h"

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

		entry->expr = (Expr *) makeVar(varno, entry->resno, exprType(expr), exprTypmod(expr),
									   exprCollation(expr), 0);
		lfirst(lc) = entry;
	}
	return result;
}

/* The planner makes a RelabelType of the parser's CollateExpr. */
AttrNumber
gpusort_plain_column(const List *exprs, AttrNumber column)
{
	const RelabelType *copy = list_nth(exprs, column - 1);
	ListCell   *lc;

	if (!IsA(copy, RelabelType) || !IsA(copy->arg, Var) ||
		exprType((Node *) copy->arg) != copy->resulttype)
		return column;
	foreach(lc, exprs)
	{
		if (equal(lfirst(lc), copy->arg))
			return foreach_current_index(lc) + 1;
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

/* Traces the column down to a table's.  The first partition stands for all of
 * them. */
GpuSortKeyOrigin
gpusort_origin_of(const Plan *plan, AttrNumber column, const List *rtable)
{
	const Var  *var;

	do
	{
		const Expr *expr = list_nth_node(TargetEntry, plan->targetlist, column - 1)->expr;

		while (IsA(expr, RelabelType))
			expr = ((const RelabelType *) expr)->arg;
		var = (const Var *) expr;
		if (IsA(plan, IndexOnlyScan) && IsA(var, Var) && var->varno == INDEX_VAR)
			var = (const Var *) list_nth_node(TargetEntry,
											  ((const IndexOnlyScan *) plan)->indextlist,
											  var->varattno - 1)->expr;
		if (!IsA(var, Var) || var->varattno <= 0)
			return (GpuSortKeyOrigin) {0};
		column = var->varattno;
		plan = plan_of_var(plan, var->varno);
	} while (plan != NULL);
	if (IS_SPECIAL_VARNO(var->varno) || rt_fetch(var->varno, rtable)->rtekind != RTE_RELATION)
		return (GpuSortKeyOrigin) {0};
	return (GpuSortKeyOrigin) {rt_fetch(var->varno, rtable)->relid, column};
}

/* --- copies --------------------------------------------------------------- */

/* Makes new lists, since other plans may share the old ones.  Estimates stay
 * as they are. */
static void
keep_columns(Plan *plan, int n)
{
	MemoryContext old_context = MemoryContextSwitchTo(GetMemoryChunkContext(plan));

	plan->targetlist = list_truncate(list_copy(plan->targetlist), n);
	if (gpusort_plan_is_ours(plan))
	{
		CustomScan *scan = (CustomScan *) plan;

		scan->custom_scan_tlist = list_truncate(list_copy(scan->custom_scan_tlist), n);
	}
	MemoryContextSwitchTo(old_context);
}

/* Does the plan return its child's columns, and look at none but a sort's keys?
 * WITH TIES looks at the columns of ORDER BY, of which a copy may be one. */
static bool
passes_columns_on(const Plan *plan)
{
	if (IsA(plan, Limit))
		return ((const Limit *) plan)->limitOption != LIMIT_OPTION_WITH_TIES;
	return plan->qual == NIL && (IsA(plan, Gather) || gpusort_plan_is_ours(plan));
}

/*
 * Drops the copies at the end of the plan's columns that neither a sort nor the
 * query's result reads.  last_key: the last column that sorts above read; 0:
 * there is no sort.  Returns how many columns stay.
 */
static int
drop_copies(Plan *plan, const List *result, AttrNumber last_key)
{
	int			n = list_length(result);

	if (passes_columns_on(plan))
	{
		GpuSortPlanInfo info = {0};

		if (gpusort_plan_is_ours(plan))
			gpusort_plan_info_read((CustomScan *) plan, &info);
		for (int i = 0; i < info.order.n_keys; i++)
			last_key = Max(last_key, info.order.columns[i]);
		n = drop_copies(outerPlan(plan), result, last_key);
	}
	else if (last_key > 0 && is_projection_capable_plan(plan) && list_length(plan->targetlist) == n)
	{
		List	   *columns = get_tlist_exprs(plan->targetlist, true);

		while (n > last_key && list_nth_node(TargetEntry, result, n - 1)->resjunk &&
			   gpusort_plain_column(columns, n) != n)
			n--;
	}
	if (n < list_length(result))
		keep_columns(plan, n);
	return n;
}

void
gpusort_drop_copies(Plan *plan)
{
	(void) drop_copies(plan, plan->targetlist, 0);
}
