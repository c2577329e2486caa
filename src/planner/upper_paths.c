/*
 * upper_paths.c
 *	  Ways to ORDER BY and to window functions over rows that the device has sorted.
 *
 * In:  the upper rel of such a step, with PostgreSQL's own paths, and the rel that gives its rows.
 * Out: a sort through the device beside PostgreSQL's, for add_path to judge.
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

/*
 * The rows that a Merge Append gives, in no order.  Tables that are no partitions have columns, of which a projection above
 * them makes the rel's.
 */
static Path *
append_cheapest(PlannerInfo *root, RelOptInfo *rel, const MergeAppendPath *ordered)
{
	List	   *subpaths = NIL;
	ListCell   *lc;
	Path	   *append;

	foreach(lc, ordered->subpaths)
		subpaths = lappend(subpaths, ((Path *) lfirst(lc))->parent->cheapest_total_path);
	append = compat_append_path(root, rel, subpaths);
	append->pathtarget = ordered->path.pathtarget;
	if (equal(append->pathtarget->exprs, rel->reltarget->exprs))
		return append;
	return (Path *) create_projection_path(root, rel, append, rel->reltarget);
}

/*
 * What gives the rows in no order; NULL: nothing that is known.  create_ordered_paths has moved input paths that were in
 * order into the ordered rel, where add_path may have freed them, the input's cheapest one too.  What a Sort is over lives.
 * If an index on a table is cheaper than PostgreSQL's Sort, or a Merge Append is, or an Incremental Sort over them, that has
 * been freed, and the tables can be scanned, unless the cheaper path is so even without a sort.
 */
static Path *
find_unordered_child(PlannerInfo *root, RelOptInfo *input_rel, const RelOptInfo *ordered_rel)
{
	Path	   *cheapest = without_projection(linitial(ordered_rel->pathlist));
	Path	   *ordered = IsA(cheapest, IncrementalSortPath) ? without_projection(gpusort_path_below(cheapest)) : cheapest;
	Path	   *scan;
	ListCell   *lc;

	foreach(lc, ordered_rel->pathlist)
	{
		Path	   *path = without_projection(lfirst(lc));

		if (IsA(path, SortPath))
			return gpusort_path_below(path);
	}
	if (ordered->parent != input_rel || root->parse->hasTargetSRFs)
		return NULL;
	if (IsA(ordered, IndexPath))
		scan = create_seqscan_path(root, input_rel, NULL, 0);
	else if (IsA(ordered, MergeAppendPath))
		scan = append_cheapest(root, input_rel, (const MergeAppendPath *) ordered);
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

static bool
is_sort(const Path *path)
{
	return IsA(path, SortPath) || IsA(path, IncrementalSortPath);
}

/* The groups that a stack is for, if it is one window of whole partitions, in which no order is asked for, over a sort for it; else 0. */
static double
groups_of_stack(PlannerInfo *root, const List *stack, const Path *bottom, double rows)
{
	const WindowClause *clause = ((const WindowAggPath *) linitial(stack))->winclause;

	if (list_length(stack) != 1 || clause->orderClause != NIL || clause->partitionClause == NIL || !is_sort(bottom))
		return 0;
	return estimate_num_groups(root, get_sortgrouplist_exprs(clause->partitionClause, root->processed_tlist), rows, NULL, NULL);
}

/* The same nodes over another path in the place of the bottom. */
static Path *
copy_stack(const List *stack, const Path *bottom, Path *better)
{
	Cost		startup = better->startup_cost - bottom->startup_cost;
	Cost		total = better->total_cost - bottom->total_cost;
	Path	   *below = better;

	for (int i = list_length(stack) - 1; i >= 0; i--)
	{
		const Path *node = list_nth(stack, i);
		bool		is_window = IsA(node, WindowAggPath);
		size_t		size = is_window ? sizeof(WindowAggPath) : IsA(node, SortPath) ? sizeof(SortPath) : sizeof(IncrementalSortPath);
		Path	   *copy = memcpy(palloc(size), node, size);

		/* a Sort has read all of its input before its first row, and so have those above it */
		if (IsA(node, SortPath))
			startup = total;
		copy->total_cost += total;
		copy->startup_cost = Min(copy->startup_cost + startup, copy->total_cost);
		copy->parallel_safe = copy->parallel_safe && better->parallel_safe;
		compat_add_disabled_nodes(copy, compat_disabled_nodes(better) - compat_disabled_nodes(bottom));
		if (is_window)
		{
			copy->pathkeys = below->pathkeys;
			((WindowAggPath *) copy)->subpath = below;
		}
		else
			((SortPath *) copy)->subpath = below;
		below = copy;
	}
	return below;
}

/*
 * Which windows there are, in what order, and which columns each passes on is nowhere to be read but in PostgreSQL's
 * own paths: a stack of WindowAggs, with a Sort below each one that needs another order than the one below it gives.  At its
 * bottom are rows in the order of the first: by a Sort, an Incremental Sort, an index.  Copies of the stack are offered over a sort
 * of the device in the bottom's place; Sorts above become GpuSorts in the finished plan.
 */
static List *
make_window_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *window_rel, Path *path, double *native_factor)
{
	Path	   *child = input_rel->cheapest_total_path;
	List	   *stack = NIL;
	List	   *paths;
	GpuSortInput input;
	ListCell   *lc;

	while (path->parent == window_rel &&
		   (IsA(path, WindowAggPath) || (is_sort(path) && gpusort_path_below(path)->parent == window_rel)))
	{
		stack = lappend(stack, path);
		path = gpusort_path_below(path);
	}
	input = gpusort_input(input_rel, child, child->rows, path->pathkeys);
	/* what another extension has made for windows stays */
	if (stack == NIL || (path->parent == window_rel && !is_sort(path)) || !gpusort_worth_sorting(&input))
		return NIL;
	paths = gpusort_make_sort_paths(root, window_rel, &input);
	input.groups = groups_of_stack(root, stack, path, input.rows);
	if (input.groups > 0)
		paths = list_concat(paths, gpusort_make_sort_paths(root, window_rel, &input));
	foreach(lc, paths)
	{
		lfirst(lc) = copy_stack(stack, path, lfirst(lc));
	}
	*native_factor = Max(*native_factor, input.native_factor);
	return paths;
}

void
gpusort_add_window_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *window_rel)
{
	double		native_factor = 1;
	List	   *paths = NIL;
	ListCell   *lc;

	foreach(lc, window_rel->pathlist)
	{
		paths = list_concat(paths, make_window_paths(root, input_rel, window_rel, lfirst(lc), &native_factor));
	}
	gpusort_offer_paths(input_rel, window_rel, paths, native_factor);
}
