/*
 * window_paths.c
 *	  Ways to window functions over rows that the device has sorted.
 *
 * In:  the rel of the window functions, with PostgreSQL's own paths, and the rel of its rows.
 * Out: the same WindowAggs over GpuSort, for add_path to judge.
 *
 * Which windows there are, in what order, and which columns each passes on is nowhere to be read
 * but in PostgreSQL's own paths: a stack of WindowAggs, with a Sort below each one that needs
 * another order than the one below it gives.  So a stack is copied, with a GpuSort in place of its
 * lowest Sort; those above become GpuSorts when the plan is finished.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "planner/paths.h"

static bool
is_sort(const Path *path)
{
	return IsA(path, SortPath) || IsA(path, IncrementalSortPath);
}

/* The WindowAggs and Sorts of a path, from below; NIL: there is something else among them. */
static List *
steps_of_path(const RelOptInfo *window_rel, Path *path)
{
	List	   *steps = NIL;

	while (path->parent == window_rel)
	{
		if (!IsA(path, WindowAggPath) && !is_sort(path))
			return NIL;
		steps = lcons(path, steps);
		path = gpusort_path_below(path);
	}
	return steps;
}

/*
 * A stack that can stand over any rows that are in the order of the first window.  Over a path
 * that is in order by itself the second window may lack its sort, as that path may be in its
 * order too.
 */
static List *
find_stack(const RelOptInfo *window_rel)
{
	ListCell   *lc;

	foreach(lc, window_rel->pathlist)
	{
		List	   *steps = steps_of_path(window_rel, lfirst(lc));

		if (steps != NIL && (is_sort(linitial(steps)) || list_length(steps) == 1))
			return steps;
	}
	return NIL;
}

/* The WindowAgg over another path of the same rows. */
static Path *
copy_window(const WindowAggPath *window, Path *below)
{
	WindowAggPath *copy = makeNode(WindowAggPath);
	const Path *old_below = window->subpath;

	*copy = *window;
	copy->subpath = below;
	copy->path.pathkeys = below->pathkeys;
	copy->path.parallel_safe = false;
	copy->path.startup_cost += below->startup_cost - old_below->startup_cost;
	copy->path.total_cost += below->total_cost - old_below->total_cost;
	compat_add_disabled_nodes(&copy->path, compat_disabled_nodes(below) - compat_disabled_nodes(old_below));
	return &copy->path;
}

static Path *
copy_sort(PlannerInfo *root, RelOptInfo *window_rel, const Path *sort, Path *below)
{
	if (IsA(sort, IncrementalSortPath))
		return (Path *) create_incremental_sort_path(root, window_rel, below, sort->pathkeys,
													 ((const IncrementalSortPath *) sort)->nPresortedCols, -1);
	return (Path *) create_sort_path(root, window_rel, below, sort->pathkeys, -1);
}

static Path *
copy_stack(PlannerInfo *root, RelOptInfo *window_rel, List *steps, Path *sorted)
{
	Path	   *path = sorted;
	ListCell   *lc;

	foreach(lc, steps)
	{
		Path	   *step = lfirst(lc);

		if (IsA(step, WindowAggPath))
			path = copy_window((const WindowAggPath *) step, path);
		else if (foreach_current_index(lc) > 0)
			path = copy_sort(root, window_rel, step, path);
	}
	return path;
}

/*
 * The groups that a stack is for, if it is a window of whole partitions, in which no order is asked
 * for; else 0.  Another window above it may need the order.
 */
static double
groups_of_stack(PlannerInfo *root, List *steps, double rows)
{
	const WindowAggPath *window = llast(steps);
	const WindowClause *clause = window->winclause;
	List	   *columns;

	if (list_length(steps) != (is_sort(linitial(steps)) ? 2 : 1) ||
		clause->orderClause != NIL || clause->partitionClause == NIL)
		return 0;
	columns = get_sortgrouplist_exprs(clause->partitionClause, root->processed_tlist);
	return estimate_num_groups(root, columns, rows, NULL, NULL);
}

void
gpusort_add_window_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *window_rel)
{
	GpuSortInput input = gpusort_input_of_rel(input_rel, root->window_pathkeys);
	List	   *steps;
	List	   *sorts;
	List	   *paths = NIL;
	ListCell   *lc;

	if (!gpusort_worth_sorting(input.child, input.pathkeys))
		return;
	steps = find_stack(window_rel);

	/*
	 * A LIMIT of a query around this one lets an Incremental Sort end after its first groups, if all nodes
	 * between give rows as they get them.  Costs do not know: a subquery is planned for all of its rows.
	 */
	if (steps == NIL || (IsA(linitial(steps), IncrementalSortPath) && gpusort_has_limit(root)))
		return;
	sorts = gpusort_make_sort_paths(root, window_rel, &input);
	input.groups = groups_of_stack(root, steps, input.child->rows);
	if (input.groups > 0)
		sorts = list_concat(sorts, gpusort_make_sort_paths(root, window_rel, &input));
	foreach(lc, sorts)
	{
		paths = lappend(paths, copy_stack(root, window_rel, steps, lfirst(lc)));
	}
	gpusort_offer_paths(window_rel, paths, input.native_factor);
}
