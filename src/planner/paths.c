/*
 * paths.c
 *	  Ways to sort through the device, offered to the planner.
 *
 * In:  the upper rel that is to be ordered, and the cheapest way to its rows.
 * Out: CustomPaths with their costs, for add_path to judge against PostgreSQL's own sorts;
 *	    of those that win, CustomScan nodes over the child's plan.
 *
 * Runs in the backend that plans.  Two shapes: GpuSort over any child, and GpuSort over
 * Gather over GpuSortFeed over a partial path.
 */
#include "postgres.h"

#include "optimizer/pathnode.h"

#include "compat.h"
#include "planner/costs.h"
#include "planner/eligibility.h"
#include "planner/paths.h"
#include "planner/plan_info.h"
#include "settings.h"
#include "shared/job.h"

/* --- the plan -------------------------------------------------------------- */

static Plan *
make_custom_scan(CustomPath *best_path, List *tlist, List *custom_plans,
				 const CustomScanMethods *methods)
{
	CustomScan *scan = makeNode(CustomScan);
	Plan	   *child = linitial(custom_plans);

	Assert(list_length(tlist) == list_length(child->targetlist));
	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.lefttree = child;
	scan->custom_scan_tlist = copyObject(child->targetlist);
	scan->flags = best_path->flags;
	scan->custom_private = best_path->custom_private;
	scan->methods = methods;
	return &scan->scan.plan;
}

static Plan *
plan_gpusort_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist,
				  List *clauses, List *custom_plans)
{
	return make_custom_scan(best_path, tlist, custom_plans, &gpusort_scan_methods);
}

static Plan *
plan_gpusort_feed_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist,
					   List *clauses, List *custom_plans)
{
	return make_custom_scan(best_path, tlist, custom_plans, &gpusort_feed_scan_methods);
}

static const CustomPathMethods gpusort_path_methods = {
	.CustomName = "GpuSort",
	.PlanCustomPath = plan_gpusort_path,
};

static const CustomPathMethods gpusort_feed_path_methods = {
	.CustomName = "GpuSortFeed",
	.PlanCustomPath = plan_gpusort_feed_path,
};

/* --- the path -------------------------------------------------------------- */

static CustomPath *
make_custom_path(RelOptInfo *rel, Path *child, const CustomPathMethods *methods,
				 const GpuSortPlanInfo *info)
{
	CustomPath *custom = makeNode(CustomPath);

	custom->path.pathtype = T_CustomScan;
	custom->path.parent = rel;
	custom->path.pathtarget = child->pathtarget;
	custom->custom_paths = list_make1(child);
	custom->custom_private = gpusort_plan_info_write(info);
	custom->methods = methods;
	compat_copy_disabled_nodes(&custom->path, child);
	return custom;
}

/* Adds a GpuSort over child, whose rows are all packed at cost before. */
static void
add_gpusort_path(PlannerInfo *root, RelOptInfo *ordered_rel, Path *child,
				 const GpuSortPlanInfo *info, Cost before)
{
	PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
	CustomPath *custom = make_custom_path(ordered_rel, child, &gpusort_path_methods, info);
	Path	   *path = &custom->path;

	custom->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
	path->pathkeys = root->sort_pathkeys;
	gpusort_cost_path(path, info, before);
	/* a set operation's rows are final: it has no target of its own here */
	if (target != NULL && path->pathtarget != target)
		path = apply_projection_to_path(root, ordered_rel, path, target);
	if (gpusort_debug_force)
		gpusort_cost_forced(path);
	add_path(ordered_rel, path);
}

static void
add_serial_path(PlannerInfo *root, RelOptInfo *ordered_rel, Path *child)
{
	GpuSortPlanInfo info = {.rows = child->rows};

	if (!gpusort_takes_feeders(1) ||
		!gpusort_read_pathkeys(root, child->pathtarget, &info))
		return;
	gpusort_estimate(root, child, child->rows, &info);
	if (gpusort_fits_device(&info))
		add_gpusort_path(root, ordered_rel, child, &info,
						 child->total_cost + gpusort_cost_of_packing(&info, child->rows));
}

/*
 * GpuSort over Gather over GpuSortFeed over the partial path.  The Gather passes no row
 * on, so it costs its start only.
 */
static void
add_parallel_path(PlannerInfo *root, RelOptInfo *ordered_rel, Path *partial, double rows)
{
	GpuSortPlanInfo info = {.rows = rows};
	CustomPath *feed;
	Path	   *gather;
	double		rows_through_gather = 0;

	if (!gpusort_takes_feeders(GPUSORT_PARALLEL_FEEDERS(partial->parallel_workers)) ||
		!gpusort_read_pathkeys(root, partial->pathtarget, &info))
		return;
	info.parallel = true;
	gpusort_estimate(root, partial, rows, &info);
	if (!gpusort_fits_device(&info))
		return;
	feed = make_custom_path(ordered_rel, partial, &gpusort_feed_path_methods, &info);
	feed->path.parallel_aware = true;
	feed->path.parallel_safe = true;
	feed->path.parallel_workers = partial->parallel_workers;
	feed->path.rows = 0;
	feed->path.total_cost = partial->total_cost +
		gpusort_cost_of_packing(&info, partial->rows);
	feed->path.startup_cost = feed->path.total_cost;
	gather = (Path *) create_gather_path(root, ordered_rel, &feed->path, partial->pathtarget,
										 NULL, &rows_through_gather);
	add_gpusort_path(root, ordered_rel, gather, &info, gather->total_cost);
}

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
gpusort_add_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *ordered_rel)
{
	Path	   *child = input_rel->cheapest_total_path;

	if (was_freed(root, child, input_rel) || !gpusort_worth_a_path(root, child))
		return;
	add_serial_path(root, ordered_rel, child);
	if (input_rel->consider_parallel && input_rel->partial_pathlist != NIL)
		add_parallel_path(root, ordered_rel, linitial(input_rel->partial_pathlist), child->rows);
}
