/*
 * group_paths.c
 *	  Ways to groups and distinct rows over rows that the device has sorted.
 *
 * In:  the rel of the groups, with PostgreSQL's own paths, and the rel of its rows.
 * Out: Group, sorted Agg and Unique over GpuSort, for add_path to judge; in the order of the
 *	    groups' columns, or in none.
 *
 * Grouping sets have no paths here: their first sort becomes a GpuSort in the finished plan.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"

#include "compat.h"
#include "planner/eligibility.h"
#include "planner/grouping.h"
#include "planner/upper_paths.h"

/* GROUP BY's node. */
typedef struct GroupBy
{
	GpuSortGrouping base;
	const GroupPathExtraData *extra;
	AggClauseCosts costs;
} GroupBy;

static Path *
make_distinct_path(PlannerInfo *root, RelOptInfo *rel, const GpuSortGrouping *grouping, Path *sorted)
{
	return gpusort_make_unique_path(root, rel, sorted, list_length(root->distinct_pathkeys),
									compat_distinct_clause(root), grouping->groups);
}

static Path *
make_group_path(PlannerInfo *root, RelOptInfo *rel, const GpuSortGrouping *grouping, Path *sorted)
{
	const GroupBy *group_by = (const GroupBy *) grouping;
	List	   *having = (List *) group_by->extra->havingQual;

	if (!root->parse->hasAggs)
		return (Path *) create_group_path(root, rel, sorted, compat_group_clause(root), having,
										  grouping->groups);
	return (Path *) create_agg_path(root, rel, sorted, rel->reltarget,
									root->parse->groupClause != NIL ? AGG_SORTED : AGG_PLAIN,
									AGGSPLIT_SIMPLE, compat_group_clause(root), having,
									&group_by->costs, grouping->groups);
}

/* --- DISTINCT ----------------------------------------------------------------------- */

void
gpusort_add_distinct_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *distinct_rel)
{
	GpuSortGrouping grouping = {.make_path = make_distinct_path};
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
	grouping.rivals = gpusort_rivals_without_sort(distinct_rel, input.child->rows);
	if (gpusort_leaves_groups_to_hashing(root, compat_distinct_clause(root), input.child->rows, &grouping))
		return;
	gpusort_offer_groups(root, distinct_rel, &grouping, input);
	if (!root->parse->hasDistinctOn)
		gpusort_offer_groups_in_no_order(root, distinct_rel, &grouping, input);
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
	GroupBy		group_by = {.base.make_path = make_group_path,.extra = extra};

	group_by.base.groups = groups_of_paths(grouped_rel);

	/* a partition's groups, or parts of groups, are others' to make */
	if (root->parse->groupingSets != NIL || IS_OTHER_REL(grouped_rel) ||
		(extra->flags & GROUPING_CAN_USE_SORT) == 0 || group_by.base.groups == 0 ||
		!gpusort_worth_sorting(input.child, input.pathkeys))
		return;
	if (root->parse->hasAggs)
		get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &group_by.costs);
	group_by.base.rivals = gpusort_rivals_without_sort(grouped_rel, input.child->rows);
	if (gpusort_leaves_groups_to_hashing(root, compat_group_clause(root), input.child->rows, &group_by.base))
		return;
	gpusort_offer_groups(root, grouped_rel, &group_by.base, input);
	/* an aggregate's own order may be among the pathkeys */
	if (compat_sorts_for_groups_only(root))
		gpusort_offer_groups_in_no_order(root, grouped_rel, &group_by.base, input);
}
