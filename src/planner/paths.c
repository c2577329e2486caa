/*
 * paths.c
 *	  Ways to put a query's rows into its ORDER BY's order through the device.
 *
 * In:  the upper rel that is to be ordered, and the rel that gives its rows.
 * Out: GpuSort paths, for add_path to judge against PostgreSQL's own sorts.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "optimizer/pathnode.h"

#include "planner/eligibility.h"
#include "planner/paths.h"
#include "planner/sort_paths.h"

/*
 * create_ordered_paths has put the input's paths that are in order into the ordered rel as they
 * are, and add_path frees what loses there: the input's cheapest path may be one of them.  Then
 * its memory is another path's, of another rel, or nothing's.  Such a path needed no sort.
 * A set operation has one path, which nothing can beat, and which may be another rel's.
 */
static bool
was_freed(PlannerInfo *root, const Path *child, const RelOptInfo *input_rel)
{
	return root->parse->setOperations == NULL && child->parent != input_rel;
}

void
gpusort_add_ordered_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *ordered_rel)
{
	PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
	GpuSortInput input = gpusort_input_of_rel(input_rel, root->sort_pathkeys);
	ListCell   *lc;

	if (was_freed(root, input.child, input_rel) ||
		!gpusort_worth_sorting(input.child, input.pathkeys) ||
		gpusort_native_keeps_top_rows(root, input.child))
		return;
	foreach(lc, gpusort_make_sort_paths(root, ordered_rel, &input))
	{
		Path	   *path = lfirst(lc);

		/* a set operation's rows are final: it has no target of its own here */
		if (target != NULL && path->pathtarget != target)
			path = apply_projection_to_path(root, ordered_rel, path, target);
		gpusort_offer_path(ordered_rel, path);
	}
}
