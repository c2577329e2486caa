/*
 * aggregate_order.c
 *	  The order of rows that spares an Agg's own sorts most.
 *
 * In:  a query with aggregates, and the number of its rows.
 * Out: the pathkeys of one of the aggregates, and what the Agg's sorts cost
 *	    more if the rows arrive in another order.
 *
 * PostgreSQL sorts inside the Agg for ordered-set aggregates, such as
 * percentile_cont and mode, and on 15 for aggregates with ORDER BY or DISTINCT.
 * Its tuplesort looks for rows in order first, which takes one comparison a
 * row.  So the rows are sorted by the aggregate's keys too, behind the group's.
 * The Agg still sorts, so its result is PostgreSQL's.
 *
 * Aggregates that depend on the order of the rows, such as array_agg(x), forbid
 * another one, although PostgreSQL does not define it.
 *
 * A hypothetical-set aggregate, such as rank(5), adds a row after all others.
 * tuplesort finds no order then.
 *
 * Runs in the backend that plans, in the planner's memory context.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"

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

/* Returns the aggregate's sort.  NULL: it has none that can be spared. */
static InnerSort *
inner_sort(PlannerInfo *root, const Aggref *aggregate, double rows, double groups)
{
	List	   *clauses = gpusort_order_of_aggregate(aggregate);
	const SortGroupClause *first;
	Node	   *expr;
	InnerSort  *result;

	if (clauses == NIL || aggregate->aggkind == AGGKIND_HYPOTHETICAL ||
		!has_safe_keys(aggregate, clauses))
		return NULL;
	first = linitial(clauses);
	expr = get_sortgroupclause_expr((SortGroupClause *) first, aggregate->args);
	if (aggregate->aggfilter != NULL)
		rows *= clause_selectivity(root, (Node *) aggregate->aggfilter, 0, JOIN_INNER, NULL);
	result = palloc(sizeof(InnerSort));
	result->pathkeys = make_pathkeys_for_sortclauses(root, clauses, aggregate->args);
	result->cost = gpusort_cost_of_inner_sort(gpusort_type_of_key(expr, first->sortop,
																  exprCollation(expr)),
											  rows, groups);
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

/* Returns what all sorts cost that these keys spare. */
static Cost
spared_cost(const List *sorts, const List *pathkeys)
{
	Cost		cost = 0;
	ListCell   *lc;

	foreach(lc, sorts)
	{
		const InnerSort *sort = lfirst(lc);

		if (pathkeys_contained_in(sort->pathkeys, (List *) pathkeys))
			cost += sort->cost;
	}
	return cost;
}

List *
gpusort_keys_for_aggregates(PlannerInfo *root, double rows, double groups, Cost *spared)
{
	List	   *sorts;
	List	   *best = NIL;
	ListCell   *lc;

	*spared = 0;
	if (rows < MIN_ROWS_TIMES * (double) gpusort_min_rows_of(gpusort_server_state()->kind))
		return NIL;
	sorts = inner_sorts(root, rows, groups);
	foreach(lc, sorts)
	{
		List	   *pathkeys = ((const InnerSort *) lfirst(lc))->pathkeys;
		Cost		cost = spared_cost(sorts, pathkeys);

		if (cost > *spared)
		{
			*spared = cost;
			best = list_concat_unique_ptr(list_copy(root->group_pathkeys), pathkeys);
		}
	}
	return list_length(best) > list_length(root->group_pathkeys) ? best : NIL;
}
