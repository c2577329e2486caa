/*
 * inner_sorts.c
 *	  The sorts that PostgreSQL makes inside an Agg, and what they cost.
 *
 * In:  the aggregates of a query, and the rows and groups that are expected.
 * Out: the order of rows that spares most of their cost, and this cost.
 *
 * tuplesort compares each row with the one before it first, so rows in order
 * take one comparison each.  Equal rows and rows nearly in order take few
 * further ones, and the Agg drops NULLs of most aggregates before its sort.
 * The statistics of ANALYZE tell all three.  Nothing else is known of the rows,
 * so keys without statistics count as distinct values in no order.
 *
 * Runs in the backend that plans, in the planner's memory context.  Reads the
 * numbers of pg_statistic, and none of the values, as the planner's own
 * estimates do.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "job/server_state.h"
#include "plan/aggregates.h"
#include "planner/planner.h"
#include "settings.h"

/*
 * Rows in order are worth it from this many times gpusort.min_rows on, because
 * the Agg sorts again (bench/NOTES.md).
 */
#define MIN_ROWS_TIMES	5

/* A sort inside the Agg that rows in order would spare. */
typedef struct InnerSort
{
	List	   *pathkeys;
	Cost		cost;			/* of the sort, beyond its cost with rows in order */
} InnerSort;

/* --- the rows and their values -------------------------------------------- */

/* Finds the statistics of an expression, or those of the only column in it.
 * Casts and most other functions of one column keep its order, have no more
 * values and return NULL for NULL.  False: it has no columns. */
static bool
find_statistics(PlannerInfo *root, Node *expr, VariableStatData *found)
{
	List	   *vars = pull_var_clause(expr, PVC_RECURSE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
									   PVC_RECURSE_PLACEHOLDERS);
	ListCell   *lc;

	if (vars == NIL)
		return false;
	examine_variable(root, expr, 0, found);
	if (HeapTupleIsValid(found->statsTuple))
		return true;
	foreach(lc, vars)
	{
		if (!equal(lfirst(lc), linitial(vars)))
			return true;
	}
	examine_variable(root, linitial(vars), 0, found);
	return true;
}

/* Returns the share of the rows in which the column is NULL.  WHERE may exclude
 * NULLs, so that none is among the rows. */
static double
null_share(PlannerInfo *root, const VariableStatData *column)
{
	const Node *var = strip_implicit_coercions(column->var);

	if (!HeapTupleIsValid(column->statsTuple) ||
		(IsA(var, Var) &&
		 compat_is_nonnullable((const Var *) var,
							   find_nonnullable_vars(root->parse->jointree->quals))))
		return 0;
	return ((Form_pg_statistic) GETSTRUCT(column->statsTuple))->stanullfrac;
}

/*
 * Returns the number of rows among which a row's place must be found, if the
 * rows are nearly in order.  If rows lie up to d places from where they belong,
 * in either direction, the correlation c is 1 / sqrt(1 + (2 d / rows)^2).
 */
static double
rows_out_of_order(const VariableStatData *column, double rows)
{
	AttStatsSlot slot;
	double		correlation = 0;

	if (!HeapTupleIsValid(column->statsTuple) ||
		!get_attstatsslot(&slot, column->statsTuple, STATISTIC_KIND_CORRELATION, InvalidOid,
						  ATTSTATSSLOT_NUMBERS))
		return rows;
	correlation = fabs(slot.numbers[0]);
	free_attstatsslot(&slot);
	return correlation > 0 ? Min(rows, rows * sqrt(1 / (correlation * correlation) - 1) / 2) : rows;
}

/* Returns how often a sort halves the rows, to find the place of a value that
 * this share of the rows has; times this share. */
static double
halvings_of(double value, double share, double rows)
{
	return share * log2(Max(1, Min(1 / value, rows)));
}

/*
 * Returns how often a sort by a key halves the rows.  Equal values are found
 * early, and NULL is one of them.  rows: in a group.
 */
static double
halvings_by(PlannerInfo *root, VariableStatData *column, double rows, double groups)
{
	double		none = null_share(root, column);
	double		place = rows_out_of_order(column, rows) / groups;
	bool		unknown;
	double		distinct = get_variable_numdistinct(column, &unknown);
	double		rest = 1 - none;
	double		halvings = none > 0 ? halvings_of(none, none, place) : 0;
	AttStatsSlot slot;

	if (unknown)
		distinct = rows;
	if (HeapTupleIsValid(column->statsTuple) &&
		get_attstatsslot(&slot, column->statsTuple, STATISTIC_KIND_MCV, InvalidOid,
						 ATTSTATSSLOT_NUMBERS))
	{
		for (int i = 0; i < slot.nnumbers; i++)
		{
			halvings += halvings_of(slot.numbers[i], slot.numbers[i], place);
			rest -= slot.numbers[i];
		}
		distinct -= slot.nnumbers;
		free_attstatsslot(&slot);
	}
	if (rest > 0)
		halvings += halvings_of(rest / Max(1, distinct), rest, place);
	return halvings;
}

/* --- the sorts ------------------------------------------------------------ */

/* Can the aggregate's keys be computed for every row below the Agg?  FILTER may
 * keep an expression from an error. */
static bool
has_safe_keys(const Aggref *aggregate, List *clauses)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		Node	   *expr = get_sortgroupclause_expr(lfirst(lc), aggregate->args);

		while (IsA(expr, RelabelType))
			expr = (Node *) ((RelabelType *) expr)->arg;
		if (!IsA(expr, Var) &&
			(aggregate->aggfilter != NULL || contain_subplans(expr) ||
			 contain_volatile_functions(expr)))
			return false;
	}
	return true;
}

/* Returns the share of the rows that the aggregate sorts.  FILTER drops rows,
 * and so does a strict transition function where an argument is NULL.  NULLs of
 * the key itself count as equal values. */
static double
sorted_share(PlannerInfo *root, const Aggref *aggregate, const Node *key)
{
	const AggTransInfo *transition = list_nth(root->aggtransinfos, aggregate->aggtransno);
	double		share = 1;
	ListCell   *lc;

	if (aggregate->aggfilter != NULL)
		share = clause_selectivity(root, (Node *) aggregate->aggfilter, 0, JOIN_INNER, NULL);
	foreach(lc, func_strict(transition->transfn_oid) ? aggregate->args : NIL)
	{
		const TargetEntry *argument = lfirst(lc);
		VariableStatData column;

		if (argument->resjunk || equal(argument->expr, key) ||
			!find_statistics(root, (Node *) argument->expr, &column))
			continue;
		share *= 1 - null_share(root, &column);
		ReleaseVariableStats(column);
	}
	return share;
}

/* Returns how often the sort halves a group's rows, by all keys. */
static double
halvings_of_sort(PlannerInfo *root, const Aggref *aggregate, List *clauses, double rows,
				 double groups)
{
	double		halvings = 0;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		Node	   *key = get_sortgroupclause_expr(lfirst(lc), aggregate->args);
		VariableStatData column;

		if (!find_statistics(root, key, &column))
			continue;
		halvings += halvings_by(root, &column, rows, groups);
		ReleaseVariableStats(column);
	}
	return Min(halvings, log2(Max(1, rows / groups)));
}

/* Returns the aggregate's sort.  NULL: it has none that can be spared. */
static InnerSort *
inner_sort(PlannerInfo *root, const Aggref *aggregate, double rows, double groups)
{
	List	   *clauses = gpusort_order_of_aggregate(aggregate);
	const SortGroupClause *first;
	Node	   *key;
	InnerSort  *result;

	if (clauses == NIL || aggregate->aggkind == AGGKIND_HYPOTHETICAL ||
		!has_safe_keys(aggregate, clauses))
		return NULL;
	first = linitial(clauses);
	key = get_sortgroupclause_expr((SortGroupClause *) first, aggregate->args);
	rows *= sorted_share(root, aggregate, key);
	result = palloc(sizeof(InnerSort));
	result->pathkeys = make_pathkeys_for_sortclauses(root, clauses, aggregate->args);
	result->cost = gpusort_cost_of_inner_sort(gpusort_type_of_key(key, first->sortop,
																  exprCollation(key)),
											  rows, halvings_of_sort(root, aggregate, clauses,
																	 rows, groups));
	return result;
}

/* Returns a list of InnerSort.  NIL: there is none, or an aggregate depends on
 * the order of its rows. */
static List *
inner_sorts(PlannerInfo *root, double rows, double groups)
{
	Bitmapset  *transitions = NULL;
	List	   *sorts = NIL;
	ListCell   *lc;

	foreach(lc, root->agginfos)
	{
		const Aggref *aggregate = compat_aggref_of((const AggInfo *) lfirst(lc));
		InnerSort  *sort;

		if (gpusort_order_of_aggregate(aggregate) == NIL &&
			!gpusort_aggregate_ignores_order(aggregate, root->group_pathkeys != NIL))
			return NIL;
		/* aggregates with the same transition share the sort */
		if (bms_is_member(aggregate->aggtransno, transitions))
			continue;
		transitions = bms_add_member(transitions, aggregate->aggtransno);
		sort = inner_sort(root, aggregate, rows, groups);
		if (sort != NULL)
			sorts = lappend(sorts, sort);
	}
	return sorts;
}

List *
gpusort_keys_for_aggregates(PlannerInfo *root, double rows, double groups, Cost *spared)
{
	List	   *sorts;
	List	   *best = NIL;
	ListCell   *lc;
	ListCell   *other;

	/* for tests, a sort that costs nothing is spared too */
	*spared = gpusort_debug_force ? -1 : 0;
	if (rows < MIN_ROWS_TIMES * (double) gpusort_min_rows_of(gpusort_server_state()->kind))
		return NIL;
	sorts = inner_sorts(root, rows, groups);
	foreach(lc, sorts)
	{
		List	   *pathkeys = ((const InnerSort *) lfirst(lc))->pathkeys;
		Cost		cost = 0;

		foreach(other, sorts)
		{
			const InnerSort *sort = lfirst(other);

			if (pathkeys_contained_in(sort->pathkeys, pathkeys))
				cost += sort->cost;
		}
		if (cost > *spared)
		{
			*spared = cost;
			best = list_concat_unique_ptr(list_copy(root->group_pathkeys), pathkeys);
		}
	}
	return list_length(best) > list_length(root->group_pathkeys) ? best : NIL;
}
