/*
 * upper_paths.c
 *	  Ways to ORDER BY and to window functions over rows that the device has sorted.
 *
 * In:  the upper rel of such a step, with PostgreSQL's own paths, and the rel that gives its rows.
 * Out: a sort through the device beside PostgreSQL's, for add_path to judge; or in its place, below windows.
 *
 * Sorts below a LIMIT that a native Sort would keep the top rows for have no paths here: the finished plan tells that
 * better.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "planner/costs.h"
#include "planner/paths.h"
#include "settings.h"

/* --- ORDER BY ------------------------------------------------------------------------ */

static Path *
without_projection(Path *path)
{
	return IsA(path, ProjectionPath) ? ((ProjectionPath *) path)->subpath : path;
}

/* The rows of the tables that these paths are of, in no order. */
static Path *
append_cheapest(PlannerInfo *root, RelOptInfo *rel, const List *paths)
{
	List	   *subpaths = NIL;
	ListCell   *lc;

	foreach(lc, paths)
		subpaths = lappend(subpaths, ((Path *) lfirst(lc))->parent->cheapest_total_path);
	return compat_append_path(root, rel, subpaths);
}

/*
 * What gives the rows in no order; NULL: nothing that is known.  create_ordered_paths has moved input paths that were in
 * order into the ordered rel, where add_path may have freed them, the input's cheapest one too.  What a Sort is over lives.
 * If an index on a table is cheaper than PostgreSQL's Sort, or a Merge Append is, that has been freed, and the tables can be scanned,
 * unless the cheaper path is so even without a sort.
 */
static Path *
find_unordered_child(PlannerInfo *root, RelOptInfo *input_rel, const RelOptInfo *ordered_rel)
{
	Path	   *cheapest = without_projection(linitial(ordered_rel->pathlist));
	Path	   *scan;
	ListCell   *lc;

	foreach(lc, ordered_rel->pathlist)
	{
		Path	   *path = without_projection(lfirst(lc));

		if (IsA(path, SortPath))
			return ((SortPath *) path)->subpath;
	}
	if (cheapest->parent != input_rel || root->parse->hasTargetSRFs)
		return NULL;
	if (IsA(cheapest, IndexPath))
		scan = create_seqscan_path(root, input_rel, NULL, 0);
	else if (IsA(cheapest, MergeAppendPath))
		scan = append_cheapest(root, input_rel, ((MergeAppendPath *) cheapest)->subpaths);
	else
		return NULL;
	return scan->total_cost < cheapest->total_cost ? scan : NULL;
}

/* Does a LIMIT, of this query or of one around it, perhaps let a Sort keep the top rows only? */
static bool
may_keep_top_rows(const PlannerInfo *root, double rows, int width)
{
	for (const PlannerInfo *parent = root->parent_root; parent != NULL; parent = parent->parent_root)
	{
		if (parent->parse->limitCount != NULL)
			return true;
	}
	/* of a bound that only the execution knows the finished plan's Sort is believed */
	if (root->parse->limitOffset != NULL && !IsA(root->parse->limitOffset, Const))
		return true;
	return root->parse->limitCount != NULL &&
		(root->limit_tuples <= 0 || !IsA(root->parse->limitCount, Const) || gpusort_keeps_top_rows(rows, root->limit_tuples, width));
}

void
gpusort_add_ordered_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *ordered_rel)
{
	PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
	const Path *any = linitial(ordered_rel->pathlist);
	/* a Gather Merge is taken to give no rows of the leader's */
	double		rows = Max(any->rows, input_rel->rows);
	GpuSortInput input = gpusort_input(input_rel, find_unordered_child(root, input_rel, ordered_rel), rows, root->sort_pathkeys);
	List	   *paths;
	ListCell   *lc;

	if (!gpusort_worth_sorting(&input) || (!gpusort_debug_force && may_keep_top_rows(root, rows, any->pathtarget->width)))
		return;

	/*
	 * For a test, equal rows come together instead, if all keys can be hashed.  Here alone: such paths promise no order, and
	 * so nothing above an ORDER BY relies on it, but windows, groups and merge joins take their own sorts to be in order.
	 */
	input.groups = gpusort_debug_grouping ? input.rows : 0;
	paths = gpusort_make_sort_paths(root, ordered_rel, &input);
	input.groups = 0;
	if (paths == NIL)
		paths = gpusort_make_sort_paths(root, ordered_rel, &input);
	/* a set operation's rows are final: it has no target of its own here */
	foreach(lc, paths)
	{
		if (target != NULL && ((Path *) lfirst(lc))->pathtarget != target)
			lfirst(lc) = apply_projection_to_path(root, ordered_rel, lfirst(lc), target);
	}
	gpusort_offer_paths(input_rel, ordered_rel, paths, input.native_factor);
}

/* --- windows -------------------------------------------------------------------------- */

/* Where a node of a stack has its input; NULL: it is none. */
static Path **
path_below(Path *path)
{
	if (IsA(path, WindowAggPath))
		return &((WindowAggPath *) path)->subpath;
	/* an IncrementalSortPath begins with a SortPath */
	if (IsA(path, SortPath) || IsA(path, IncrementalSortPath))
		return &((SortPath *) path)->subpath;
	return NULL;
}

/*
 * The groups that a stack is for, if it is one window of whole partitions, in which no order is asked for, nor above it; else 0.
 */
static double
groups_of_stack(PlannerInfo *root, const List *stack, double rows)
{
	const WindowClause *clause = ((const WindowAggPath *) linitial(stack))->winclause;
	const Path *sort = llast(stack);

	if (list_length(stack) != 2 || clause->orderClause != NIL || clause->partitionClause == NIL)
		return 0;
	if ((root->sort_pathkeys != NIL && pathkeys_contained_in(root->sort_pathkeys, sort->pathkeys)) ||
		(root->distinct_pathkeys != NIL && pathkeys_contained_in(root->distinct_pathkeys, sort->pathkeys)))
		return 0;
	return estimate_num_groups(root, get_sortgrouplist_exprs(clause->partitionClause, root->processed_tlist), rows, NULL, NULL);
}

/* The cheapest way to sort the stack's rows through the device; NULL: there is none, or the Sort takes less. */
static Path *
find_better_sort(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *window_rel, List *stack)
{
	const Path *sort = llast(stack);
	Path	   *child = ((const SortPath *) sort)->subpath;
	GpuSortInput input = gpusort_input(input_rel, child, child->rows, sort->pathkeys);
	Path	   *best = NULL;
	List	   *paths;
	ListCell   *lc;

	if (!gpusort_worth_sorting(&input))
		return NULL;
	paths = gpusort_make_sort_paths(root, window_rel, &input);
	input.groups = groups_of_stack(root, stack, input.rows);
	if (input.groups > 0)
		paths = list_concat(paths, gpusort_make_sort_paths(root, window_rel, &input));
	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);

		if (compat_disabled_nodes(path) <= compat_disabled_nodes(sort) &&
			(best == NULL || path->total_cost < best->total_cost))
			best = path;
	}
	if (best == NULL || gpusort_debug_force ||
		best->total_cost < child->total_cost + input.native_factor * (sort->total_cost - child->total_cost))
		return best;
	return NULL;
}

/* Puts the path in the place of the Sort at the stack's end. */
static void
replace_sort(List *stack, Path *better)
{
	const Path *sort = llast(stack);
	Cost		startup = better->startup_cost - sort->startup_cost;
	Cost		total = better->total_cost - sort->total_cost;
	ListCell   *lc;

	foreach(lc, stack)
	{
		Path	   *above = lfirst(lc);

		if (above == sort)
			break;
		above->startup_cost += startup;
		above->total_cost += total;
		above->parallel_safe = above->parallel_safe && better->parallel_safe;
		if (better->pathkeys == NIL)
			above->pathkeys = NIL;
		if (*path_below(above) == sort)
			*path_below(above) = better;
	}
}

/*
 * Which windows there are, in what order, and which columns each passes on is nowhere to be read but in PostgreSQL's
 * own paths: a stack of WindowAggs, with a Sort below each one that needs another order than the one below it gives.  So
 * the lowest Sort of a stack is replaced, which no other path is over; those above become GpuSorts in the finished plan.
 */
void
gpusort_add_window_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *window_rel)
{
	ListCell   *lc;

	foreach(lc, window_rel->pathlist)
	{
		List	   *stack = NIL;
		Path	   *better = NULL;

		for (Path *path = lfirst(lc); path->parent == window_rel && path_below(path) != NULL; path = *path_below(path))
			stack = lappend(stack, path);
		if (stack != NIL && IsA(llast(stack), SortPath))
			better = find_better_sort(root, input_rel, window_rel, stack);
		if (better == NULL)
			continue;
		replace_sort(stack, better);
		if (gpusort_debug_force)
			gpusort_force_path(lfirst(lc));
	}
}

