/*
 * grouping.c
 *	  Offers ways to groups over rows that the device has sorted, beside PostgreSQL's own.
 *
 * In:  the rel of the groups, with PostgreSQL's own paths, its rows and the order that brings equal
 *	    ones together; and who makes the node that groups sorted rows.
 * Out: paths with that node over GpuSort, for add_path to judge; in the order of the groups'
 *	    columns, or in none.
 *
 * They compete with two kinds of paths.  Hashing, and groups that parallel workers make, are
 * compared with what ours really cost.  A Sort is charged too little for some types of keys: what
 * has won against the first kind is offered once more, with costs that are as much too low.
 *
 * Of groups by an expression without statistics, such as left(s, 1) or j->>'k', PostgreSQL expects as many as its
 * columns have values.  Mostly there are far fewer, in a hash table that stays in the caches: a sort by such texts took
 * 1.2 to 1.5 times as long as that, so hashing is left alone there.  By fixed-width values, date_trunc('day', t) and i % 1000,
 * it took no longer.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include <math.h>

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "planner/grouping.h"
#include "planner/key_statistics.h"
#include "settings.h"

/* So large a part of the groups must be those of columns with statistics. */
#define KNOWN_SHARE		0.5

const Path *
gpusort_path_below_groups(const Path *path)
{
	if (IsA(path, ProjectionPath))
		path = ((const ProjectionPath *) path)->subpath;
	switch (nodeTag(path))
	{
		case T_AggPath:
			return ((const AggPath *) path)->subpath;
		case T_GroupPath:
			return ((const GroupPath *) path)->subpath;
		case T_UpperUniquePath:
			return ((const UpperUniquePath *) path)->subpath;
		default:
			return NULL;
	}
}

Path *
gpusort_make_unique_path(PlannerInfo *root, RelOptInfo *rel, Path *sorted, int n, List *columns,
						 double groups)
{
	AggClauseCosts no_aggregates = {0};

	if (sorted->pathkeys != NIL)
		return (Path *) create_upper_unique_path(root, rel, sorted, n, groups);
	return (Path *) create_agg_path(root, rel, sorted, sorted->pathtarget, AGG_SORTED,
									AGGSPLIT_SIMPLE, columns, NIL, &no_aggregates, groups);
}

/* Does the path group all rows after a Sort of its own? */
static bool
sorts_all_rows(const Path *path, double rows)
{
	const Path *below = gpusort_path_below_groups(path);

	return below != NULL && below->rows >= rows &&
		(IsA(below, SortPath) || IsA(below, IncrementalSortPath));
}

GpuSortRivals
gpusort_rivals_without_sort(const RelOptInfo *rel, double rows)
{
	GpuSortRivals rivals = GPUSORT_NO_RIVALS;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		if (!sorts_all_rows(path, rows))
			gpusort_add_rival(&rivals, path);
	}
	return rivals;
}

/* --- are there so many groups? -------------------------------------------------------- */

/* A column; what statistics are of, those of an index on it or CREATE STATISTICS'; or a value that it does no harm to
 * sort by. */
static bool
is_known(PlannerInfo *root, Node *expr)
{
	return get_typlen(exprType(expr)) > 0 || IsA(strip_implicit_coercions(expr), Var) ||
		gpusort_has_statistics(root, expr);
}

/* The groups that known columns make. */
static double
known_groups(PlannerInfo *root, List *exprs, double rows)
{
	List	   *known = NIL;
	ListCell   *lc;

	foreach(lc, exprs)
	{
		if (is_known(root, lfirst(lc)))
			known = lappend(known, lfirst(lc));
	}
	return known == NIL ? 1 : estimate_num_groups(root, known, rows, NULL, NULL);
}

bool
gpusort_leaves_groups_to_hashing(PlannerInfo *root, List *clause, double rows,
								 const GpuSortGrouping *grouping)
{
	List	   *exprs;

	if (gpusort_debug_force || isinf(grouping->rivals.real))
		return false;
	exprs = get_sortgrouplist_exprs(clause, root->parse->targetList);
	return known_groups(root, exprs, rows) < grouping->groups * KNOWN_SHARE;
}

/* --- paths -------------------------------------------------------------------------- */

/* Offers groups of rows that are sorted so.  Is one of them really cheaper than without a sort? */
static bool
offer_paths(PlannerInfo *root, RelOptInfo *rel, const GpuSortGrouping *grouping,
			const GpuSortInput *input)
{
	bool		is_cheaper = false;
	ListCell   *lc;

	foreach(lc, gpusort_make_sort_paths(root, rel, input))
	{
		Path	   *path = grouping->make_path(root, rel, grouping, lfirst(lc));

		is_cheaper |= gpusort_beats_rivals(path->total_cost, &grouping->rivals);
		gpusort_cost_beside_rivals(path, list_make1(lfirst(lc)), &grouping->rivals);
		gpusort_offer_path(rel, path);
	}
	return is_cheaper;
}

void
gpusort_offer_groups(PlannerInfo *root, RelOptInfo *rel, const GpuSortGrouping *grouping,
					 GpuSortInput input)
{
	input.beside_sorts = false;
	if (!offer_paths(root, rel, grouping, &input))
		return;
	input.beside_sorts = true;
	(void) offer_paths(root, rel, grouping, &input);
}

void
gpusort_offer_groups_in_no_order(PlannerInfo *root, RelOptInfo *rel,
								 const GpuSortGrouping *grouping, GpuSortInput input)
{
	input.groups = grouping->groups;
	gpusort_offer_groups(root, rel, grouping, input);
}
