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

#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"

#include "planner/costs.h"
#include "planner/eligibility.h"
#include "planner/paths.h"
#include "planner/refusals.h"
#include "planner/sort_paths.h"
#include "settings.h"

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

/*
 * Is a native sort that keeps only so many rows cheaper, in one process or in each worker?  Its
 * path cannot be asked: cost_sort charges as if each row moved through the heap, which hardly any
 * do.
 */
static bool
top_rows_are_cheaper(const Path *path, const GpuSortInput *input, double bound)
{
	const Path *child = input->child;
	const Path *partial = input->partial;
	Cost		native;

	if (bound == GPUSORT_NO_BOUND || gpusort_debug_force)
		return false;
	if (bound == GPUSORT_UNKNOWN_BOUND)
		return true;
	if (!gpusort_keeps_top_rows(child->rows, bound, child->pathtarget->width))
		return false;
	native = child->total_cost + gpusort_cost_of_top_rows(child->rows, bound);
	if (partial != NULL)
		native = Min(native, partial->total_cost + gpusort_cost_of_top_rows(partial->rows, bound) +
					 parallel_setup_cost + parallel_tuple_cost * bound);
	return native <= gpusort_cost_until(path, bound);
}

/*
 * For a test, equal rows come together instead, if all keys can be hashed.  Here alone: such paths promise
 * no order, and so nothing above an ORDER BY relies on it, but windows, groups and merge joins take
 * their own sorts to be in order.
 */
static List *
make_sort_paths(PlannerInfo *root, RelOptInfo *ordered_rel, const GpuSortInput *input)
{
	GpuSortInput grouping = *input;
	List	   *paths = NIL;

	grouping.groups = input->child->rows;
	if (gpusort_debug_grouping)
		paths = gpusort_make_sort_paths(root, ordered_rel, &grouping);
	return paths != NIL ? paths : gpusort_make_sort_paths(root, ordered_rel, input);
}

void
gpusort_add_ordered_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *ordered_rel)
{
	PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
	GpuSortInput input = gpusort_input_of_rel(input_rel, root->sort_pathkeys);
	double		bound = gpusort_bound_of_query(root);
	ListCell   *lc;

	if (was_freed(root, input.child, input_rel) ||
		!gpusort_worth_sorting(input.child, input.pathkeys))
		return;
	foreach(lc, make_sort_paths(root, ordered_rel, &input))
	{
		Path	   *path = lfirst(lc);

		if (top_rows_are_cheaper(path, &input, bound))
		{
			(void) gpusort_refuse(GPUSORT_REFUSED_LIMIT, NULL);
			continue;
		}
		/* a set operation's rows are final: it has no target of its own here */
		if (target != NULL && path->pathtarget != target)
			path = apply_projection_to_path(root, ordered_rel, path, target);
		gpusort_offer_path(ordered_rel, path);
	}
}
