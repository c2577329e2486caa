/*
 * upper_paths.c
 *	  Ways to ORDER BY, DISTINCT and GROUP BY over rows that the device has sorted.
 *
 * In:  the upper rel of such a step, with PostgreSQL's own paths, and the rel that gives its rows.
 * Out: PostgreSQL's node over GpuSort, for add_path to judge.  Groups may also be made of rows that are in
 *	    no order, of which equal ones are together.
 *
 * Grouping sets have no paths here: their first sort becomes a GpuSort in the finished plan.  Neither have
 * sorts below a LIMIT that a native Sort would keep the top rows for: the finished plan tells that better.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "planner/costs.h"
#include "planner/key_statistics.h"
#include "planner/paths.h"
#include "settings.h"

/* --- ORDER BY ------------------------------------------------------------------------ */

/*
 * create_ordered_paths has put the input's paths that are in order into the ordered rel as they
 * are, and add_path frees what loses there: the input's cheapest path may be one of them.  Then
 * its memory is another path's, of another rel, or nothing's.  Such a path needed no sort.
 * A set operation's path may be another rel's from the start.
 */
static bool
was_freed(PlannerInfo *root, const Path *child, const RelOptInfo *input_rel)
{
	return root->parse->setOperations == NULL && child->parent != input_rel;
}

/* Does a LIMIT, of this query or of one around it, perhaps let a Sort keep the top rows only? */
static bool
may_keep_top_rows(const PlannerInfo *root, const Path *child)
{
	if (root->parent_root != NULL && gpusort_has_limit(root->parent_root))
		return true;
	return root->parse->limitCount != NULL &&
		(root->limit_tuples <= 0 || gpusort_keeps_top_rows(child->rows, root->limit_tuples, child->pathtarget->width));
}

/*
 * For a test, equal rows come together instead, if all keys can be hashed.  Here alone: such paths promise
 * no order, and so nothing above an ORDER BY relies on it, but windows, groups and merge joins take
 * their own sorts to be in order.
 */
static List *
make_ordered_paths(PlannerInfo *root, RelOptInfo *ordered_rel, GpuSortInput *input)
{
	List	   *paths = NIL;

	if (gpusort_debug_grouping)
	{
		GpuSortInput grouping = *input;

		grouping.groups = input->child->rows;
		paths = gpusort_make_sort_paths(root, ordered_rel, &grouping);
	}
	return paths != NIL ? paths : gpusort_make_sort_paths(root, ordered_rel, input);
}

void
gpusort_add_ordered_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *ordered_rel)
{
	PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
	GpuSortInput input = gpusort_input_of_rel(input_rel, root->sort_pathkeys);
	List	   *paths;
	ListCell   *lc;

	if (was_freed(root, input.child, input_rel) || !gpusort_worth_sorting(input.child, input.pathkeys) ||
		(!gpusort_debug_force && may_keep_top_rows(root, input.child)))
		return;
	paths = make_ordered_paths(root, ordered_rel, &input);
	/* a set operation's rows are final: it has no target of its own here */
	foreach(lc, paths)
	{
		if (target != NULL && ((Path *) lfirst(lc))->pathtarget != target)
			lfirst(lc) = apply_projection_to_path(root, ordered_rel, lfirst(lc), target);
	}
	gpusort_offer_paths(ordered_rel, paths, input.native_factor);
}

/* --- groups --------------------------------------------------------------------------- */

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
offer_groups(PlannerInfo *root, RelOptInfo *rel, const GroupNode *node, GpuSortInput *input, bool order_is_needless)
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
	gpusort_offer_paths(rel, paths, input->native_factor);
}

/* --- are there so many groups? -------------------------------------------------------- */

/* So large a part of the groups must be those of columns with statistics. */
#define KNOWN_SHARE		0.5

/* A column; what statistics are of, those of an index on it or CREATE STATISTICS'; or a value that it does no harm to
 * sort by. */
static bool
is_known(PlannerInfo *root, Node *expr)
{
	return get_typlen(exprType(expr)) > 0 || IsA(strip_implicit_coercions(expr), Var) ||
		gpusort_has_statistics(root, expr);
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
 * Of groups by an expression without statistics, such as left(s, 1) or j->>'k', PostgreSQL expects as many as its
 * columns have values.  Mostly there are far fewer, in a hash table that stays in the caches: a sort by such texts took
 * 1.2 to 1.5 times as long as that, so hashing is left alone there.  By fixed-width values, date_trunc('day', t) and i % 1000,
 * it took no longer.
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
		if (is_known(root, lfirst(lc)))
			known = lappend(known, lfirst(lc));
	}
	return (known == NIL ? 1 : estimate_num_groups(root, known, rows, NULL, NULL)) < node->groups * KNOWN_SHARE;
}

/* --- DISTINCT ------------------------------------------------------------------------- */

void
gpusort_add_distinct_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *distinct_rel)
{
	GroupNode	node = {.clause = compat_distinct_clause(root)};
	GpuSortInput input;
	List	   *pathkeys = root->distinct_pathkeys;

	/* DISTINCT ON takes the first row in ORDER BY's order, and others may as well be in it */
	if (list_length(pathkeys) < list_length(root->sort_pathkeys))
		pathkeys = root->sort_pathkeys;
	input = gpusort_input_of_rel(input_rel, pathkeys);
	if (!gpusort_worth_sorting(input.child, pathkeys) || distinct_rel->pathlist == NIL ||
		!grouping_is_sortable(root->parse->distinctClause))
		return;
	node.groups = ((Path *) linitial(distinct_rel->pathlist))->rows;
	if (!leaves_groups_to_hashing(root, distinct_rel, &node, input.child->rows))
		offer_groups(root, distinct_rel, &node, &input, !root->parse->hasDistinctOn);
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
	GpuSortInput input = gpusort_input_of_rel(input_rel, root->group_pathkeys);
	GroupNode	node = {.extra = extra,.clause = compat_group_clause(root),.groups = groups_of_paths(grouped_rel)};

	/* a partition's groups, or parts of groups, are others' to make */
	if (root->parse->groupingSets != NIL || IS_OTHER_REL(grouped_rel) ||
		(extra->flags & GROUPING_CAN_USE_SORT) == 0 || node.groups == 0 ||
		!gpusort_worth_sorting(input.child, input.pathkeys))
		return;
	if (root->parse->hasAggs)
		get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &node.costs);
	/* an aggregate's own order may be among the pathkeys */
	if (!leaves_groups_to_hashing(root, grouped_rel, &node, input.child->rows))
		offer_groups(root, grouped_rel, &node, &input, compat_sorts_for_groups_only(root));
}
