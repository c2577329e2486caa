/*
 * column_origins.c
 *	  Traces columns of a finished plan to columns of tables, and finds their
 *	  statistics.
 *
 * In:  a plan node; the statement's tables.
 * Out: its columns as those of the tables; how many values a sort's key has,
 *	    and the row of pg_statistic that says so.  The sort itself reads values
 *	    from that row (column_statistics.c).
 *
 * Runs in the backend that plans.  The plan carries no value, since the
 * session's user can print it.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/syscache.h"

#include "plan/plan_info.h"
#include "planner/finished_plan.h"

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

/* Returns a plan's column as an expression over tables, as far as it can be
 * traced.  The first partition stands for all of them. */
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
		return list_nth_node(TargetEntry, ((const IndexOnlyScan *) plan)->indextlist,
							 var->varattno - 1)->expr;
	below = plan_of_var(plan, var->varno);
	return below != NULL ? column_over_tables(below, var->varattno) : expr;
}

/* The list keeps the types of the plan's columns: a relabeling restores those
 * that differ in the tables. */
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

/* Nothing is known of keys other than plain columns of tables. */
void
gpusort_find_statistics(const List *rtable, const Node *expr, double rows,
						GpuSortKeyFigures *figures)
{
	const Var  *var;
	HeapTuple	row;

	*figures = (GpuSortKeyFigures) {0};
	while (IsA(expr, RelabelType))
		expr = (const Node *) ((const RelabelType *) expr)->arg;
	var = (const Var *) expr;
	if (!IsA(var, Var) || IS_SPECIAL_VARNO(var->varno) ||
		rt_fetch(var->varno, rtable)->rtekind != RTE_RELATION)
		return;
	row = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(rt_fetch(var->varno, rtable)->relid),
						  Int16GetDatum(var->varattno), BoolGetDatum(false));
	if (HeapTupleIsValid(row))
	{
		Form_pg_statistic statistics = (Form_pg_statistic) GETSTRUCT(row);

		/* a negative number is a share of the table's rows */
		figures->distinct = statistics->stadistinct < 0 ?
			-statistics->stadistinct * rows : Min(statistics->stadistinct, rows);
		figures->relation = statistics->starelid;
		figures->column = statistics->staattnum;
		ReleaseSysCache(row);
	}
}
