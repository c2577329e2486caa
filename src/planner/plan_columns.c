/*
 * plan_columns.c
 *	  The columns of a finished plan node.
 *
 * In:  target lists, whose Vars refer to the plans below by number.
 * Out: target lists of such Vars; and the tables' columns that they stand for.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "plan/plan_info.h"
#include "planner/plan_columns.h"

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

bool
gpusort_passes_columns_on(const Plan *plan)
{
	ListCell   *lc;

	if (list_length(plan->targetlist) != list_length(outerPlan(plan)->targetlist))
		return false;
	foreach(lc, plan->targetlist)
	{
		const TargetEntry *entry = lfirst(lc);
		const Var  *var = (const Var *) entry->expr;

		if (!IsA(var, Var) || var->varno != OUTER_VAR || var->varattno != entry->resno)
			return false;
	}
	return true;
}

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
