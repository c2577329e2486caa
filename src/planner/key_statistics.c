/*
 * key_statistics.c
 *	  What statistics show of a key's values.
 *
 * In:  a sort key that is a column, of a table or of a subquery that passes it on, or an expression that statistics
 *	    are kept of, and what ANALYZE has left.
 * Out: how many values there are, and how wide; and which row of pg_statistic says so, where the sort itself looks for
 *	    values (column_statistics.c).
 *
 * Runs in the backend that plans.  No value goes into the plan, which the session's user can print.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "planner/key_statistics.h"

static bool
is_relation(const PlannerInfo *root, int varno)
{
	return varno > 0 && varno < root->simple_rel_array_size && root->simple_rel_array[varno] != NULL;
}

/* Does it refer to root's relations, and to nothing else?  A set operation's columns are of no relation. */
static bool
is_of_relations(PlannerInfo *root, Node *expr)
{
	Relids		varnos;
	int			varno = -1;

	if (IsA(expr, Var))
		return ((Var *) expr)->varlevelsup == 0 && is_relation(root, ((Var *) expr)->varno);
	varnos = pull_varnos(root, expr);
	while ((varno = bms_next_member(varnos, varno)) >= 0)
	{
		if (!is_relation(root, varno))
			return false;
	}
	return !bms_is_empty(varnos);
}

/* The statistics of a column of a table, when its plan is finished. */
static bool
find_column_statistics(List *rtable, Node *expr, VariableStatData *vardata)
{
	const Var  *var = (const Var *) expr;
	const RangeTblEntry *table;

	if (!IsA(expr, Var) || IS_SPECIAL_VARNO(var->varno))
		return false;
	table = rt_fetch(var->varno, rtable);
	if (table->rtekind != RTE_RELATION)
		return false;
	memset(vardata, 0, sizeof(*vardata));
	vardata->var = expr;
	vardata->vartype = var->vartype;
	vardata->statsTuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(table->relid), Int16GetDatum(var->varattno),
										  BoolGetDatum(false));
	vardata->freefunc = ReleaseSysCache;
	return true;
}

/* The statistics of a column, or of an expression, as an index on it or CREATE STATISTICS has them.
 * False: it is of no relation, or nobody knows of which. */
static bool
find_statistics(const GpuSortColumns *columns, Node *expr, VariableStatData *vardata)
{
	PlannerInfo *root = columns->root;

	while (IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	if (root == NULL)
		return columns->rtable != NIL && find_column_statistics(columns->rtable, expr, vardata);
	if (!is_of_relations(root, expr))
		return false;
	examine_variable(root, expr, 0, vardata);
	return true;
}

bool
gpusort_has_statistics(PlannerInfo *root, Node *expr)
{
	GpuSortColumns columns = {.root = root};
	VariableStatData vardata;
	bool		found;

	if (!find_statistics(&columns, expr, &vardata))
		return false;
	found = HeapTupleIsValid(vardata.statsTuple);
	ReleaseVariableStats(vardata);
	return found;
}

/* Is it the catalog's own row, and not another module's, nor that of extended statistics? */
static bool
is_of_catalog(const VariableStatData *vardata)
{
	return vardata->freefunc == ReleaseSysCache && vardata->statsTuple->t_tableOid == StatisticRelationId;
}

void
gpusort_key_statistics_take(const GpuSortColumns *columns, Node *expr, double rows,
							GpuSortKeyFigures *figures)
{
	VariableStatData vardata;

	*figures = (GpuSortKeyFigures) {0};
	if (!find_statistics(columns, expr, &vardata))
		return;
	if (HeapTupleIsValid(vardata.statsTuple))
	{
		Form_pg_statistic of = (Form_pg_statistic) GETSTRUCT(vardata.statsTuple);
		bool		is_default;
		double		distinct = get_variable_numdistinct(&vardata, &is_default);

		/* a finished plan does not tell how many rows the table has */
		if (vardata.rel == NULL && of->stadistinct < 0)
			figures->distinct = -of->stadistinct * rows;
		else if (!is_default)
			figures->distinct = Min(distinct, rows);
		figures->width = of->stawidth;
		if (is_of_catalog(&vardata))
		{
			figures->relation = of->starelid;
			figures->column = of->staattnum;
			figures->inherited = of->stainherit;
		}
	}
	ReleaseVariableStats(vardata);
}
