/*
 * group_paths.c
 *	  Ways to DISTINCT and GROUP BY over rows that the device has sorted, or brought together.
 *
 * In:  the upper rel of such a step, with PostgreSQL's own paths, and the rel that gives its rows.
 * Out: PostgreSQL's nodes over GpuSort among them.
 *
 * Grouping sets have no paths here: their first sort becomes a GpuSort in the finished plan.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "planner/paths.h"
#include "settings.h"

/* --- the nodes that group ---------------------------------------------------------------- */

/* The node that groups sorted rows. */
typedef struct GroupNode
{
	const GroupPathExtraData *extra;	/* GROUP BY's; NULL: it is DISTINCT's */
	AggClauseCosts costs;
	List	   *clause;			/* the columns, as SortGroupClauses */
	double		groups;			/* the estimate */
} GroupNode;

/* Unique finds its columns by the order of its rows; if they are in none, an Agg does it. */
static Path *
make_distinct_path(PlannerInfo *root, RelOptInfo *rel, const GroupNode *node, Path *sorted)
{
	if (sorted->pathkeys != NIL)
		return (Path *) create_upper_unique_path(root, rel, sorted, list_length(root->distinct_pathkeys), node->groups);
	return (Path *) create_agg_path(root, rel, sorted, sorted->pathtarget, AGG_SORTED, AGGSPLIT_SIMPLE, node->clause, NIL,
									&node->costs, node->groups);
}

static Path *
make_group_path(PlannerInfo *root, RelOptInfo *rel, const GroupNode *node, Path *sorted)
{
	List	   *having = (List *) node->extra->havingQual;

	if (!root->parse->hasAggs)
		return (Path *) create_group_path(root, rel, sorted, node->clause, having, node->groups);
	return (Path *) create_agg_path(root, rel, sorted, rel->reltarget,
									root->parse->groupClause != NIL ? AGG_SORTED : AGG_PLAIN,
									AGGSPLIT_SIMPLE, node->clause, having, &node->costs, node->groups);
}

/* Offers groups of rows in the input's order, and in no order where that is enough. */
static void
offer_groups(PlannerInfo *root, const RelOptInfo *input_rel, RelOptInfo *rel, const GroupNode *node, GpuSortInput *input, bool order_is_needless)
{
	List	   *paths = gpusort_make_sort_paths(root, rel, input);
	ListCell   *lc;

	if (order_is_needless)
	{
		input->groups = node->groups;
		paths = list_concat(paths, gpusort_make_sort_paths(root, rel, input));
	}
	foreach(lc, paths)
	{
		lfirst(lc) = node->extra != NULL ? make_group_path(root, rel, node, lfirst(lc)) :
			make_distinct_path(root, rel, node, lfirst(lc));
	}
	gpusort_offer_paths(input_rel, rel, paths, input->native_factor);
}

/* --- are there so many groups? -------------------------------------------------------- */

/* So large a part of the groups must be those of columns, of expressions with statistics and of fixed-width values. */
#define KNOWN_SHARE		0.5

/* Are there statistics of a column, of an index on such an expression, or CREATE STATISTICS'? */
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

/* Does a path of the rel hash its groups? */
static bool
has_hashed_path(const RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		if (IsA(lfirst(lc), AggPath) && ((AggPath *) lfirst(lc))->aggstrategy == AGG_HASHED)
			return true;
	}
	return false;
}

/*
 * PostgreSQL expects as many groups by an expression without statistics, such as left(s, 1) or j->>'k', as its columns
 * have values.  Mostly there are far fewer, in a hash table that stays in the caches: a sort by such texts took 1.2 to 1.5 times as long as
 * that, so hashing is left alone there.  By fixed-width values, date_trunc('day', t) and i % 1000, it took no longer.
 */
static bool
leaves_groups_to_hashing(PlannerInfo *root, const RelOptInfo *rel, const GroupNode *node, double rows)
{
	List	   *known = NIL;
	ListCell   *lc;

	if (gpusort_debug_force || !has_hashed_path(rel))
		return false;
	foreach(lc, get_sortgrouplist_exprs(node->clause, root->parse->targetList))
	{
		if (get_typlen(exprType(lfirst(lc))) > 0 || IsA(strip_implicit_coercions(lfirst(lc)), Var) || has_statistics(root, lfirst(lc)))
			known = lappend(known, lfirst(lc));
	}
	return (known == NIL ? 1 : estimate_num_groups(root, known, rows, NULL, NULL)) < node->groups * KNOWN_SHARE;
}

/* --- DISTINCT ------------------------------------------------------------------------- */

void
gpusort_add_distinct_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *distinct_rel)
{
	GroupNode	node = {.clause = compat_distinct_clause(root)};
	Path	   *child = input_rel->cheapest_total_path;
	GpuSortInput input;
	List	   *pathkeys = root->distinct_pathkeys;

	/* DISTINCT ON takes the first row in ORDER BY's order, and others may as well be in it */
	if (list_length(pathkeys) < list_length(root->sort_pathkeys))
		pathkeys = root->sort_pathkeys;
	input = gpusort_input(input_rel, child, child->rows, pathkeys);
	if (!gpusort_worth_sorting(&input) || distinct_rel->pathlist == NIL ||
		!grouping_is_sortable(root->parse->distinctClause))
		return;
	node.groups = ((Path *) linitial(distinct_rel->pathlist))->rows;
	if (!leaves_groups_to_hashing(root, distinct_rel, &node, input.rows))
		offer_groups(root, input_rel, distinct_rel, &node, &input, !root->parse->hasDistinctOn);
}

/* --- GROUP BY ------------------------------------------------------------------------- */

/* PostgreSQL's estimate of the groups; 0: none of its paths tells. */
static double
groups_of_paths(const RelOptInfo *grouped_rel)
{
	ListCell   *lc;

	foreach(lc, grouped_rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		if (IsA(path, AggPath))
			return ((AggPath *) path)->numGroups;
		if (IsA(path, GroupPath))
			return path->rows;
	}
	return 0;
}

void
gpusort_add_group_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *grouped_rel,
						const GroupPathExtraData *extra)
{
	Path	   *child = input_rel->cheapest_total_path;
	GpuSortInput input = gpusort_input(input_rel, child, child->rows, root->group_pathkeys);
	GroupNode	node = {.extra = extra,.clause = compat_group_clause(root),.groups = groups_of_paths(grouped_rel)};

	/* a partition's groups, or parts of groups, are others' to make */
	if (root->parse->groupingSets != NIL || IS_OTHER_REL(grouped_rel) ||
		(extra->flags & GROUPING_CAN_USE_SORT) == 0 || node.groups == 0 ||
		!gpusort_worth_sorting(&input))
		return;
	if (root->parse->hasAggs)
		get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &node.costs);
	/* an aggregate's own order may be among the pathkeys */
	if (!leaves_groups_to_hashing(root, grouped_rel, &node, input.rows))
		offer_groups(root, input_rel, grouped_rel, &node, &input, compat_sorts_for_groups_only(root));
}
