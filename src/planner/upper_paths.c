/*
 * upper_paths.c
 *	  Paths for ORDER BY and for window functions over rows that the device has
 *	  sorted.
 *
 * In:  the upper rel of such a step, with PostgreSQL's own paths, and the rel
 *	    that gives its rows.
 * Out: a sort by the device beside PostgreSQL's, for add_path to judge.
 *
 * A sort has no paths here if a LIMIT may let a native Sort keep the top rows
 * only.  The finished plan shows that more reliably.
 *
 * Runs in the backend that plans, in the planner's memory context.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "planner/planner.h"
#include "settings.h"

/* --- ORDER BY ------------------------------------------------------------- */

/*
 * Returns a path with the rows of a Merge Append, in no order.  Tables that are
 * no partitions have columns of their own, and a projection above them makes
 * the rel's.
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
	return (Path *) create_projection_path(root, rel, append, rel->reltarget);
}

/* Makes a path with the rows of an ordered one in no order.  NULL: it makes
 * none.  Another extension's hook may have refused such a path, as pg_hint_plan
 * does. */
static Path *
scan_without_order(PlannerInfo *root, RelOptInfo *rel, const Path *ordered)
{
	if (set_rel_pathlist_hook != NULL)
		return NULL;
	if (IsA(ordered, IndexPath))
		return create_seqscan_path(root, rel, NULL, 0);
	if (IsA(ordered, MergeAppendPath))
		return append_cheapest(root, rel, (const MergeAppendPath *) ordered);
	return NULL;
}

/*
 * Returns a path with the rows in no order.  NULL: none is known.
 *
 * create_ordered_paths has moved ordered input paths into the ordered rel,
 * where add_path may have freed them, even the input's cheapest one.  The input
 * of a Sort is still there.  The Sort itself has been freed if an index on a
 * table, a Merge Append, or an Incremental Sort over them is cheaper than
 * PostgreSQL's Sort.  Then the tables can be scanned, unless the cheaper path
 * is cheaper even without a sort.
 */
static Path *
find_unordered_child(PlannerInfo *root, RelOptInfo *input_rel, const RelOptInfo *ordered_rel)
{
	const Path *cheapest = linitial(ordered_rel->pathlist);
	const Path *ordered = cheapest;
	Path	   *scan;
	ListCell   *lc;

	foreach(lc, ordered_rel->pathlist)
	{
		const Path *path = lfirst(lc);

		if (IsA(path, ProjectionPath))
			path = gpusort_path_below(path);
		if (IsA(path, SortPath))
			return gpusort_path_below(path);
	}
	while (IsA(ordered, ProjectionPath) || IsA(ordered, IncrementalSortPath))
		ordered = gpusort_path_below(ordered);
	if (ordered->parent != input_rel || root->parse->hasTargetSRFs)
		return NULL;
	scan = scan_without_order(root, input_rel, ordered);
	return scan != NULL && scan->total_cost < cheapest->total_cost ? scan : NULL;
}

/* Might a query around this one read its first rows only, for a LIMIT or for a
 * window's condition?  The planner does not know how many. */
static bool
may_be_cut_short(const PlannerInfo *root)
{
	while ((root = root->parent_root) != NULL)
	{
		if (root->parse->limitCount != NULL || compat_has_run_condition(root->parse))
			return true;
	}
	return false;
}

/* Might a LIMIT let a Sort keep the top rows only?  LIMIT $1 is not known. */
static bool
may_keep_top_rows(const PlannerInfo *root, double rows, int width)
{
	if (root->limit_tuples > 0)
		return gpusort_keeps_top_rows(rows, root->limit_tuples, width);
	return root->parse->limitCount != NULL || may_be_cut_short(root);
}

/* The paths are offered over the rows in no order, as PostgreSQL's Sort is. */
void
gpusort_add_ordered_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *ordered_rel,
						  void *extra)
{
	PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
	const Path *any = linitial(ordered_rel->pathlist);
	/* PostgreSQL's estimate for a Gather Merge leaves out the leader's rows */
	double		rows = Max(any->rows, input_rel->rows);
	GpuSortInput input;
	List	   *paths;
	ListCell   *lc;

	if (!gpusort_begin_paths(&input, input_rel, NULL, rows, root->sort_pathkeys) ||
		(!gpusort_debug_force && may_keep_top_rows(root, rows, any->pathtarget->width)))
		return;
	input.child = find_unordered_child(root, input_rel, ordered_rel);

	/*
	 * For a test, equal rows come together instead, if all keys can be hashed.
	 * Only this place may do so.  Such paths promise no order, so nothing above
	 * an ORDER BY relies on it, but windows, groups and merge joins rely on the
	 * order of their own sorts.
	 */
	input.only_groups = gpusort_debug_grouping;
	input.groups = input.only_groups ? input.rows : 0;
	paths = gpusort_make_sort_paths(root, ordered_rel, &input);
	/* the rows of a set operation are final, and it has no target of its own
	 * here */
	foreach(lc, paths)
	{
		if (target != NULL && ((Path *) lfirst(lc))->pathtarget != target)
			lfirst(lc) = apply_projection_to_path(root, ordered_rel, lfirst(lc), target);
	}
	gpusort_offer_paths(root, ordered_rel, paths, &input);
}

/* --- windows -------------------------------------------------------------- */

static bool
is_sort(const Path *path)
{
	return IsA(path, SortPath) || IsA(path, IncrementalSortPath);
}

/* Returns the number of groups whose rows need only come together, if top is
 * the one window, of whole partitions, over a sort for it.  Else returns 0. */
static double
groups_of_window(PlannerInfo *root, const Path *top, const Path *bottom, double rows)
{
	const WindowClause *clause = ((const WindowAggPath *) top)->winclause;

	if (gpusort_path_below(top) != bottom || clause->orderClause != NIL ||
		clause->partitionClause == NIL || !is_sort(bottom))
		return 0;
	return estimate_num_groups(root,
							   get_sortgrouplist_exprs(clause->partitionClause,
													   root->processed_tlist),
							   rows, NULL, NULL);
}

/* May the scan end before its last row, since no Sort in the stack reads all of
 * them first?  The top window ends it at the first row that fails a condition
 * such as rank() <= 10, which PostgreSQL does not cost. */
static bool
may_end_early(const PlannerInfo *root, const Path *top, const Path *bottom)
{
	const WindowAggPath *window = (const WindowAggPath *) top;

	if ((compat_run_condition(window) == NIL || window->winclause->partitionClause != NIL) &&
		!may_be_cut_short(root))
		return false;
	while (top != bottom && !IsA(top, SortPath))
		top = gpusort_path_below(top);
	return !IsA(top, SortPath);
}

/* Copies the nodes from this one down over another path, which replaces the
 * bottom. */
static Path *
copy_over(const Path *node, const Path *bottom, Path *better)
{
	bool		is_window = IsA(node, WindowAggPath);
	size_t		size = is_window ? sizeof(WindowAggPath) :
		IsA(node, SortPath) ? sizeof(SortPath) : sizeof(IncrementalSortPath);
	const Path *old = gpusort_path_below(node);
	Path	   *below;
	Path	   *copy;
	Cost		total;

	if (node == bottom)
		return better;
	below = copy_over(old, bottom, better);
	copy = memcpy(palloc(size), node, size);
	total = below->total_cost - old->total_cost;
	copy->total_cost += total;
	/* a Sort reads all of its input before its first row */
	copy->startup_cost += IsA(node, SortPath) ? total : below->startup_cost - old->startup_cost;
	copy->startup_cost = Min(copy->startup_cost, copy->total_cost);
	copy->parallel_safe = copy->parallel_safe && below->parallel_safe;
	compat_add_disabled_nodes(copy, compat_disabled_nodes(below) - compat_disabled_nodes(old));
	if (is_window)
		copy->pathkeys = below->pathkeys;
	/* where a WindowAggPath and a SortPath have it (gpusort_path_below) */
	((SortPath *) copy)->subpath = below;
	return copy;
}

/*
 * Only PostgreSQL's own paths tell the windows, their order, and the columns
 * that each passes on.  They are stacks of WindowAggs, with a Sort below each
 * one that needs another order than the node below it has.  At its bottom are
 * rows in the order of the first window, from a Sort, an Incremental Sort or an
 * index.  Copies of the cheapest stack are offered over a sort by the device
 * that replaces the bottom.  Sorts above become GpuSorts in the finished plan.
 */
void
gpusort_add_window_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *window_rel,
						 void *extra)
{
	Path	   *child = input_rel->cheapest_total_path;
	Path	   *top = linitial(window_rel->pathlist);
	Path	   *bottom = top;
	List	   *paths;
	GpuSortInput input;
	ListCell   *lc;

	while (bottom->parent == window_rel &&
		   (IsA(bottom, WindowAggPath) ||
			(is_sort(bottom) && gpusort_path_below(bottom)->parent == window_rel)))
		bottom = gpusort_path_below(bottom);
	/* paths that another extension has made for windows stay */
	if (top == bottom || !IsA(top, WindowAggPath) ||
		(bottom->parent == window_rel && !is_sort(bottom)) ||
		(!gpusort_debug_force && may_end_early(root, top, bottom)) ||
		!gpusort_begin_paths(&input, input_rel, child, child->rows, bottom->pathkeys))
		return;
	input.groups = groups_of_window(root, top, bottom, input.rows);
	paths = gpusort_make_sort_paths(root, window_rel, &input);
	foreach(lc, paths)
	{
		lfirst(lc) = copy_over(top, bottom, lfirst(lc));
	}
	gpusort_offer_paths(root, window_rel, paths, &input);
}
