/*
 * group_paths.c
 *	  Paths for DISTINCT, GROUP BY and aggregates over rows that the device has
 *	  sorted, or grouped.
 *
 * In:  the upper rel of such a step, with PostgreSQL's own paths, and the rel
 *	    that gives its rows.
 * Out: PostgreSQL's nodes over GpuSort among them.
 *
 * Grouping sets have no paths here.  Their first sort becomes a GpuSort in the
 * finished plan.
 *
 * PostgreSQL sorts inside the Agg for ordered-set aggregates, such as
 * percentile_cont and mode, and on 15 for aggregates with ORDER BY or DISTINCT.
 * Its tuplesort looks for rows in order first, which takes one comparison a
 * row.  So the rows are sorted by the aggregate's keys too, behind the group's,
 * if that spares more than it takes (inner_sorts.c).  The Agg still sorts, so
 * its result is PostgreSQL's.
 *
 * Aggregates that depend on the order of the rows, such as array_agg(x), forbid
 * such keys, although PostgreSQL does not define that order.  They also forbid
 * groups of rows that a subquery has ordered: a hash table keeps that order,
 * and a sort that the device refuses does not.  A hypothetical-set aggregate,
 * such as rank(5), adds a row after all others, and tuplesort finds no order
 * then.
 *
 * Runs in the backend that plans, in the planner's memory context.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "plan/aggregates.h"
#include "planner/planner.h"
#include "settings.h"

/* --- the nodes that group ------------------------------------------------- */

/* The node that groups sorted rows. */
typedef struct GroupNode
{
	const GroupPathExtraData *extra;	/* GROUP BY's; NULL: the node is DISTINCT's */
	AggClauseCosts costs;
	List	   *clause;			/* the columns, as SortGroupClauses */
	double		groups;			/* the estimate, once a sort is known to be worth it */
} GroupNode;

/* Unique finds its columns by the order of its rows.  An Agg groups rows that
 * are in no order. */
static Path *
make_distinct_path(PlannerInfo *root, RelOptInfo *rel, const GroupNode *node, Path *sorted)
{
	if (sorted->pathkeys != NIL)
		return (Path *) create_upper_unique_path(root, rel, sorted,
												 list_length(root->distinct_pathkeys),
												 node->groups);
	return (Path *) create_agg_path(root, rel, sorted, sorted->pathtarget, AGG_SORTED,
									AGGSPLIT_SIMPLE, node->clause, NIL, &node->costs, node->groups);
}

static Path *
make_group_path(PlannerInfo *root, RelOptInfo *rel, const GroupNode *node, Path *sorted)
{
	List	   *having = (List *) node->extra->havingQual;

	if (!root->parse->hasAggs)
		return (Path *) create_group_path(root, rel, sorted, node->clause, having, node->groups);
	return (Path *) create_agg_path(root, rel, sorted, rel->reltarget,
									root->parse->groupClause != NIL ? AGG_SORTED : AGG_PLAIN,
									AGGSPLIT_SIMPLE, node->clause, having, &node->costs,
									node->groups);
}

/* --- are there so many groups? -------------------------------------------- */

/* This share of the groups must come from columns, from expressions with
 * statistics and from fixed-width values. */
#define KNOWN_SHARE		0.5

/* Does an index on the expression, or CREATE STATISTICS, have statistics of
 * it? */
static bool
has_statistics(PlannerInfo *root, Node *expr)
{
	VariableStatData found;
	bool		has;

	examine_variable(root, expr, 0, &found);
	has = HeapTupleIsValid(found.statsTuple);
	ReleaseVariableStats(found);
	return has;
}

/*
 * PostgreSQL expects an expression without statistics, such as left(s, 1) or
 * j->>'k', to have as many values as its columns.  Usually it has far fewer,
 * and their hash table stays in the caches.  A sort by such texts took 1.2 to
 * 1.5 times as long, so hashing is left alone there.  A sort by fixed-width
 * values, date_trunc('day', t) and i % 1000, took no longer.
 */
static bool
leaves_groups_to_hashing(PlannerInfo *root, List *exprs, const GroupNode *node, double rows)
{
	List	   *known = NIL;
	ListCell   *lc;

	foreach(lc, exprs)
	{
		Node	   *expr = lfirst(lc);

		if (get_typlen(exprType(expr)) > 0 || IsA(strip_implicit_coercions(expr), Var) ||
			has_statistics(root, expr))
			known = lappend(known, expr);
	}
	if (list_length(known) == list_length(exprs) || gpusort_debug_force)
		return false;
	return estimate_num_groups(root, known, rows, NULL, NULL) < node->groups * KNOWN_SHARE;
}

/* --- aggregates that sort ------------------------------------------------- */

/* Do the rows come from an index, and so perhaps in the order of aggregates? */
static bool
come_from_index(const Path *path)
{
	while (path != NULL && !IsA(path, SortPath) && !IsA(path, IndexPath))
		path = gpusort_path_below(path);
	return path != NULL && IsA(path, IndexPath);
}

/* Returns the least cost of a path that needs none of the sorts inside the Agg
 * to be spared. */
static Cost
least_cost_from_index(const RelOptInfo *rel)
{
	Cost		least = get_float8_infinity();
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		if (come_from_index(lfirst(lc)))
			least = Min(least, ((const Path *) lfirst(lc))->total_cost);
	}
	return least;
}

/* Returns what the rows cost that a Sort, or a Gather below it, reads. */
static Cost
cost_of_input(const Path *sort)
{
	const Path *below = gpusort_path_below(sort);

	return IsA(below, GatherPath) ?
		gpusort_path_below(below)->total_cost + parallel_setup_cost : below->total_cost;
}

/*
 * Returns a node over rows in the order of sorts inside the Agg.  PostgreSQL
 * leaves these out of its costs, so what is spared of them is taken off the
 * node's cost.  Nothing costs less than its input, however, because the steps
 * above choose a path by its costs.  NULL: the node is not worth it.
 */
static Path *
make_presorted_path(PlannerInfo *root, RelOptInfo *rel, const GroupNode *node, Path *sort,
					Cost spared)
{
	Cost		least = cost_of_input(sort);
	Path	   *path;

	/* without groups, the sort serves nothing else */
	if (root->group_pathkeys == NIL && !gpusort_debug_force &&
		spared <= sort->total_cost - least)
		return NULL;
	path = make_group_path(root, rel, node, sort);
	path->pathkeys = root->group_pathkeys;
	if (path->total_cost >= least_cost_from_index(rel) && !gpusort_debug_force)
		return NULL;
	path->total_cost = Max(path->total_cost - spared, least);
	path->startup_cost = Min(path->startup_cost, Max(path->startup_cost - spared, least));
	return path;
}

/*
 * Returns nodes over rows in the order of sorts inside the Agg.  Rows that tie
 * in the group's keys are sorted a second time, by the others.
 */
static List *
make_presorted_paths(PlannerInfo *root, RelOptInfo *rel, const GroupNode *node,
					 GpuSortInput *input)
{
	Cost		further = root->group_pathkeys == NIL ? 0 :
		gpusort_cost_of_further_keys(input->rows);
	Cost		spared;
	List	   *paths = NIL;
	ListCell   *lc;

	input->groups = 0;
	input->pathkeys = gpusort_keys_for_aggregates(root, input->rows, node->groups, &spared);
	if (input->pathkeys == NIL)
		return NIL;
	foreach(lc, gpusort_make_sort_paths(root, rel, input))
	{
		Path	   *path = make_presorted_path(root, rel, node, lfirst(lc), spared - further);

		if (path != NULL)
			paths = lappend(paths, path);
	}
	return paths;
}

/* Do the rows come in the order of a subquery or of a CTE?  CTE scans have no
 * pathkeys before 17. */
static bool
has_order(const Path *path)
{
	while (path->pathkeys == NIL && (IsA(path, SubqueryScanPath) || IsA(path, ProjectionPath)))
		path = IsA(path, ProjectionPath) ? ((const ProjectionPath *) path)->subpath :
			((const SubqueryScanPath *) path)->subpath;
	return path->pathkeys != NIL || path->pathtype == T_CteScan;
}

/* May results depend on the order in which the rows come?  Aggregates without
 * GROUP BY may rely on it even where their own order leaves rows equal. */
static bool
needs_order_of_rows(PlannerInfo *root, const Path *child)
{
	ListCell   *lc;

	if (!root->parse->hasAggs || !has_order(child))
		return false;
	if (root->group_pathkeys == NIL)
		return true;
	foreach(lc, root->agginfos)
	{
		const Aggref *aggregate = compat_aggref_of((const AggInfo *) lfirst(lc));

		if (aggregate->aggorder == NIL && aggregate->aggdistinct == NIL &&
			!gpusort_aggregate_ignores_order(aggregate, true))
			return true;
	}
	return false;
}

/* --- DISTINCT and GROUP BY ------------------------------------------------ */

/* Offers groups of rows in the pathkeys' order, and in no order if that is
 * enough.  Aggregates without GROUP BY need no order but their own. */
static void
offer_groups(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *rel, GroupNode *node,
			 List *pathkeys, bool order_is_needless)
{
	Path	   *child = input_rel->cheapest_total_path;
	GpuSortInput input;
	List	   *exprs = get_sortgrouplist_exprs(node->clause, root->parse->targetList);
	bool		can_be_hashed = node->extra != NULL ?
		(node->extra->flags & GROUPING_CAN_USE_HASH) != 0 :
		order_is_needless && grouping_is_hashable(node->clause);
	List	   *presorted = NIL;
	List	   *paths;
	ListCell   *lc;

	if (!gpusort_begin_paths(&input, input_rel, child, child->rows, pathkeys) ||
		(node->extra != NULL && needs_order_of_rows(root, child)))
		return;
	node->groups = estimate_num_groups(root, exprs, input.rows, NULL, NULL);
	if (can_be_hashed && leaves_groups_to_hashing(root, exprs, node, input.rows))
		return;
	input.groups = order_is_needless ? node->groups : 0;
	paths = gpusort_make_sort_paths(root, rel, &input);
	foreach(lc, paths)
	{
		lfirst(lc) = node->extra != NULL ? make_group_path(root, rel, node, lfirst(lc)) :
			make_distinct_path(root, rel, node, lfirst(lc));
	}
	if (node->extra != NULL && root->parse->hasAggs && order_is_needless)
		presorted = make_presorted_paths(root, rel, node, &input);
	if (presorted != NIL && gpusort_debug_force)
		paths = NIL;
	gpusort_offer_paths(root, rel, list_concat(paths, presorted), &input);
}

void
gpusort_add_distinct_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *rel, void *extra)
{
	GroupNode	node = {.clause = compat_distinct_clause(root)};
	List	   *pathkeys = root->distinct_pathkeys;

	/* DISTINCT ON takes the first row by ORDER BY's order, and a plain DISTINCT
	 * may use that order too */
	if (list_length(pathkeys) < list_length(root->sort_pathkeys))
		pathkeys = root->sort_pathkeys;
	if (grouping_is_sortable(root->parse->distinctClause))
		offer_groups(root, input_rel, rel, &node, pathkeys, !root->parse->hasDistinctOn);
}

/* Paths without an order are offered if nothing but the groups needs the
 * sort. */
void
gpusort_add_group_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *rel, void *extra)
{
	GroupNode	node = {.extra = extra,.clause = compat_group_clause(root)};

	/* others make a partition's groups, or parts of groups */
	if (root->parse->groupingSets != NIL || IS_OTHER_REL(rel) ||
		(node.extra->flags & GROUPING_CAN_USE_SORT) == 0)
		return;
	if (root->parse->hasAggs)
		get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &node.costs);
	/* an aggregate's own order may be among the pathkeys */
	offer_groups(root, input_rel, rel, &node, root->group_pathkeys,
				 compat_sorts_for_groups_only(root));
}
