/*
 * group_paths.c
 *	  Ways to groups and distinct rows over rows that the device has sorted.
 *
 * In:  the rel of the groups, with PostgreSQL's own paths, and the rel of its rows.
 * Out: Group, sorted Agg and Unique over GpuSort, for add_path to judge; in the order of the
 *	    groups' columns, or in none.
 *
 * They compete with two kinds of paths.  Hashing, and groups that parallel workers make, are
 * compared with what ours really cost.  A Sort is charged too little for some types of keys: what
 * has won against the first kind is offered once more, with costs that are as much too low.
 *
 * Grouping sets have no paths here: their first sort becomes a GpuSort in the finished plan.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"

#include "compat.h"
#include "planner/eligibility.h"
#include "planner/hash_costs.h"
#include "planner/sort_paths.h"
#include "planner/upper_paths.h"

/* The node that makes groups of sorted rows. */
typedef struct Grouping
{
	double		groups;
	const GroupPathExtraData *extra;	/* NULL for DISTINCT */
	AggClauseCosts costs;		/* none of DISTINCT */
	GpuSortRivals rivals;		/* that do not sort all rows */
} Grouping;

static Path *
make_distinct_path(PlannerInfo *root, RelOptInfo *rel, const Grouping *grouping, Path *sorted)
{
	/* Unique finds its columns by the order of its rows, if they have one */
	if (sorted->pathkeys != NIL)
		return (Path *) create_upper_unique_path(root, rel, sorted, list_length(root->distinct_pathkeys),
												 grouping->groups);
	return (Path *) create_agg_path(root, rel, sorted, sorted->pathtarget, AGG_SORTED,
									AGGSPLIT_SIMPLE, compat_distinct_clause(root), NIL,
									&grouping->costs, grouping->groups);
}

static Path *
make_group_path(PlannerInfo *root, RelOptInfo *rel, const Grouping *grouping, Path *sorted)
{
	List	   *having;

	if (grouping->extra == NULL)
		return make_distinct_path(root, rel, grouping, sorted);
	having = (List *) grouping->extra->havingQual;
	if (!root->parse->hasAggs)
		return (Path *) create_group_path(root, rel, sorted, compat_group_clause(root), having,
										  grouping->groups);
	return (Path *) create_agg_path(root, rel, sorted, rel->reltarget,
									root->parse->groupClause != NIL ? AGG_SORTED : AGG_PLAIN,
									AGGSPLIT_SIMPLE, compat_group_clause(root), having,
									&grouping->costs, grouping->groups);
}

/* --- beside PostgreSQL's own ------------------------------------------------------- */

static const Path *
path_below(const Path *path)
{
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

/* Does the path group all rows after a Sort of its own? */
static bool
sorts_all_rows(const Path *path, double rows)
{
	const Path *below = path_below(path);

	return below != NULL && below->rows >= rows &&
		(IsA(below, SortPath) || IsA(below, IncrementalSortPath));
}

/* Those paths that do not sort all rows. */
static GpuSortRivals
rivals_without_sort(const RelOptInfo *rel, double rows)
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

/* Offers groups of rows that are sorted so.  Is one of them really cheaper than without a sort? */
static bool
offer_paths(PlannerInfo *root, RelOptInfo *rel, const Grouping *grouping,
			const GpuSortInput *input)
{
	bool		is_cheaper = false;
	ListCell   *lc;

	foreach(lc, gpusort_make_sort_paths(root, rel, input))
	{
		Path	   *path = make_group_path(root, rel, grouping, lfirst(lc));

		is_cheaper |= path->total_cost < grouping->rivals.real;
		gpusort_cost_beside_rivals(path, &grouping->rivals);
		gpusort_offer_path(rel, path);
	}
	return is_cheaper;
}

static void
add_paths(PlannerInfo *root, RelOptInfo *rel, const Grouping *grouping, GpuSortInput input)
{
	input.beside_sorts = false;
	if (!offer_paths(root, rel, grouping, &input))
		return;
	input.beside_sorts = true;
	(void) offer_paths(root, rel, grouping, &input);
}

/* The same with rows that come in no order, but equal ones together. */
static void
add_unordered_paths(PlannerInfo *root, RelOptInfo *rel, const Grouping *grouping,
					GpuSortInput input)
{
	input.groups = grouping->groups;
	add_paths(root, rel, grouping, input);
}

/* --- DISTINCT ----------------------------------------------------------------------- */

void
gpusort_add_distinct_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *distinct_rel)
{
	Grouping	grouping = {0};
	GpuSortInput input;
	List	   *pathkeys = root->distinct_pathkeys;

	/* DISTINCT ON takes the first row in ORDER BY's order, and others may as well be in it */
	if (list_length(pathkeys) < list_length(root->sort_pathkeys))
		pathkeys = root->sort_pathkeys;
	input = gpusort_input_of_rel(input_rel, pathkeys);
	if (!gpusort_worth_sorting(input.child, pathkeys) || distinct_rel->pathlist == NIL ||
		!grouping_is_sortable(root->parse->distinctClause))
		return;
	grouping.groups = ((Path *) linitial(distinct_rel->pathlist))->rows;
	grouping.rivals = rivals_without_sort(distinct_rel, input.child->rows);
	add_paths(root, distinct_rel, &grouping, input);
	if (!root->parse->hasDistinctOn)
		add_unordered_paths(root, distinct_rel, &grouping, input);
}

/* --- GROUP BY ----------------------------------------------------------------------- */

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
	Grouping	grouping = {.groups = groups_of_paths(grouped_rel),.extra = extra};

	/* a partition's groups, or parts of groups, are others' to make */
	if (root->parse->groupingSets != NIL || IS_OTHER_REL(grouped_rel) ||
		(extra->flags & GROUPING_CAN_USE_SORT) == 0 || grouping.groups == 0 ||
		!gpusort_worth_sorting(input.child, input.pathkeys))
		return;
	if (root->parse->hasAggs)
		get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &grouping.costs);
	grouping.rivals = rivals_without_sort(grouped_rel, input.child->rows);
	add_paths(root, grouped_rel, &grouping, input);
	/* an aggregate's own order may be among the pathkeys */
	if (compat_sorts_for_groups_only(root))
		add_unordered_paths(root, grouped_rel, &grouping, input);
}
