/*
 * aggregates.c
 *	  Which aggregates of an Agg sort, and whether their rows arrive in order.
 *
 * In:  aggregates of a query, or an Agg of a finished plan over a GpuSort.
 * Out: their orders.
 *
 * The Agg sorts with PostgreSQL's tuplesort, which looks for rows in order
 * first.  So keys of a GpuSort below never change what an aggregate returns, if
 * the aggregate sorts or ignores the order.
 *
 * Runs in the backend that plans, or explains.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/nbtree.h"
#include "catalog/pg_aggregate.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "compat.h"
#include "plan/aggregates.h"
#include "plan/plan_info.h"

/* Returns the transition function.  *sort_operator: valid if it is min or max,
 * or works like them. */
static Oid
transition_of(const Aggref *aggregate, Oid *sort_operator)
{
	HeapTuple	row = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate->aggfnoid));
	Oid			result = InvalidOid;

	*sort_operator = InvalidOid;
	if (HeapTupleIsValid(row))
	{
		result = ((Form_pg_aggregate) GETSTRUCT(row))->aggtransfn;
		*sort_operator = ((Form_pg_aggregate) GETSTRUCT(row))->aggsortop;
		ReleaseSysCache(row);
	}
	return result;
}

/* Are values that are equal by this operator the same byte for byte?  1.0 and
 * 1.00 are not: min and max return the one that came last.  A btree asks the
 * same before it merges equal keys. */
static bool
equal_values_are_same(const Aggref *aggregate, Oid sort_operator)
{
	Oid			type = exprType((Node *) linitial_node(TargetEntry, aggregate->args)->expr);
	TypeCacheEntry *cache = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY);
	Oid			proc;

	/* PostgreSQL raises an error when it compares texts of no collation */
	if (get_op_opfamily_strategy(sort_operator, cache->btree_opf) == 0 ||
		(type_is_collatable(type) && !OidIsValid(aggregate->inputcollid)))
		return false;
	proc = get_opfamily_proc(cache->btree_opf, cache->btree_opintype, cache->btree_opintype,
							 BTEQUALIMAGE_PROC);
	return OidIsValid(proc) &&
		DatumGetBool(OidFunctionCall1Coll(proc, aggregate->inputcollid,
										  ObjectIdGetDatum(cache->btree_opintype)));
}

/* From 16 on, an Agg may rely on the order of its rows.  Only PostgreSQL's own
 * ordered-set aggregates are known to sort. */
List *
gpusort_order_of_aggregate(const Aggref *aggregate)
{
	Oid			unused;

	if (compat_relies_on_order(aggregate))
		return NIL;
	if (AGGKIND_IS_ORDERED_SET(aggregate->aggkind))
	{
		Oid			transition = transition_of(aggregate, &unused);

		return transition == F_ORDERED_SET_TRANSITION ||
			transition == F_ORDERED_SET_TRANSITION_MULTI ? aggregate->aggorder : NIL;
	}
	return aggregate->aggdistinct != NIL ? aggregate->aggdistinct : aggregate->aggorder;
}

/* Sums of floating-point numbers are rounded, so their last bits depend on the
 * order.  A sort by the group's keys leaves a group's order undefined. */
bool
gpusort_aggregate_ignores_order(const Aggref *aggregate, bool grouped)
{
	Oid			sort_operator;

	switch (transition_of(aggregate, &sort_operator))
	{
		case F_INT8INC:
		case F_INT8INC_ANY:
		case F_INT2_SUM:
		case F_INT4_SUM:
		case F_INT2_AVG_ACCUM:
		case F_INT4_AVG_ACCUM:
		case F_INT8_AVG_ACCUM:
		case F_NUMERIC_AVG_ACCUM:
		case F_BOOLAND_STATEFUNC:
		case F_BOOLOR_STATEFUNC:
			return true;
		case F_FLOAT4PL:
		case F_FLOAT8PL:
		case F_FLOAT4_ACCUM:
		case F_FLOAT8_ACCUM:
			return grouped;
		default:
			return OidIsValid(sort_operator) &&
				(grouped || equal_values_are_same(aggregate, sort_operator));
	}
}

List *
gpusort_aggregates_of(const Agg *agg)
{
	List	   *all = list_concat(pull_var_clause((Node *) agg->plan.targetlist,
												  PVC_INCLUDE_AGGREGATES),
								  pull_var_clause((Node *) agg->plan.qual,
												  PVC_INCLUDE_AGGREGATES));
	List	   *aggregates = NIL;
	ListCell   *lc;

	foreach(lc, all)
	{
		if (IsA(lfirst(lc), Aggref))
			aggregates = list_append_unique(aggregates, lfirst(lc));
	}
	return aggregates;
}

/* Is it a Gather whose workers feed the sort above?  If so, its columns are the
 * partial plan's. */
static bool
passes_feed_on(const Plan *plan)
{
	return IsA(plan, Gather) && IsA(outerPlan(plan), CustomScan) &&
		((const CustomScan *) outerPlan(plan))->methods == &gpusort_feed_scan_methods;
}

/* Returns the expression of a GpuSort's column, as the plan makes it whose rows
 * are sorted.  A change of the collation only is left out, since a GpuSort then
 * sorts by the column itself. */
static const Node *
sorted_expression(const Plan *sort, AttrNumber column)
{
	const Plan *child = outerPlan(sort);
	const Node *expr;

	if (passes_feed_on(child))
		child = outerPlan(outerPlan(child));
	expr = (const Node *) list_nth_node(TargetEntry, child->targetlist, column - 1)->expr;
	while (IsA(expr, RelabelType))
		expr = (const Node *) ((const RelabelType *) expr)->arg;
	return expr;
}

/* Is it a column that the Agg groups by? */
static bool
is_group_column(const Agg *agg, const Node *expr)
{
	for (int i = 0; i < agg->numCols; i++)
	{
		if (equal(sorted_expression(outerPlan(agg), agg->grpColIdx[i]), expr))
			return true;
	}
	return false;
}

/* Returns a key of the aggregate in the terms of the plan whose rows are
 * sorted.  NULL: the Agg computes it, and nobody sorts by it. */
static const Node *
sorted_key(const Agg *agg, const Aggref *aggregate, const SortGroupClause *clause)
{
	const Node *key = get_sortgroupclause_expr((SortGroupClause *) clause, aggregate->args);

	while (IsA(key, RelabelType))
		key = (const Node *) ((const RelabelType *) key)->arg;
	return IsA(key, Var) ? sorted_expression(outerPlan(agg), ((const Var *) key)->varattno) : NULL;
}

/* The aggregate's keys are behind the group's, which are the same in all rows
 * of a group. */
bool
gpusort_aggregate_is_presorted(const Agg *agg, const Aggref *aggregate)
{
	List	   *clauses = gpusort_order_of_aggregate(aggregate);
	GpuSortPlanInfo info;
	const GpuSortOrder *order = &info.order;
	int			i = 0;
	ListCell   *lc;

	if (!gpusort_plan_is_ours(outerPlan(agg)) || clauses == NIL ||
		aggregate->aggkind == AGGKIND_HYPOTHETICAL)
		return false;
	gpusort_plan_info_read((const CustomScan *) outerPlan(agg), &info);
	while (i < order->n_keys &&
		   is_group_column(agg, sorted_expression(outerPlan(agg), order->columns[i])))
		i++;
	foreach(lc, clauses)
	{
		const SortGroupClause *clause = lfirst(lc);
		const Node *key = sorted_key(agg, aggregate, clause);

		if (key == NULL)
			return false;
		if (is_group_column(agg, key))
			continue;
		if (i >= order->n_keys || clause->sortop != order->operators[i] ||
			clause->nulls_first != order->nulls_first[i] ||
			!equal(key, sorted_expression(outerPlan(agg), order->columns[i])))
			return false;
		i++;
	}
	return true;
}
