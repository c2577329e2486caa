/*
 * sort_paths.c
 *	  Ways to sort the rows of a path through the device.
 *
 * In:  paths that give the rows, all of them or in parallel, and the order.
 * Out: PostgreSQL's own Sort at what the device takes for it, over the child, or over a Gather over the partial
 *	    path.  The Sort in the finished plan becomes a GpuSort, and the Gather's workers feed it (convert_sort.c,
 *	    convert_gather.c).
 *
 * Equal rows may come together in no order, which no Sort says: there a CustomPath stands over the Sort, and its plan
 * in the Sort's place.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "plan/plan_info.h"
#include "planner/costs.h"
#include "planner/finished_plan.h"
#include "planner/paths.h"
#include "settings.h"
#include "shared/job.h"
#include "shared/server_state.h"

/* --- groupings -------------------------------------------------------------- */

/* The planner still looks for expressions in the columns: they refer to the child's by number when the plan is
 * finished. */
static Plan *
plan_grouping(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses, List *custom_plans)
{
	const Sort *sort = linitial_node(Sort, custom_plans);
	GpuSortPlanInfo info = {.grouping = true};
	CustomScan *scan;

	gpusort_describe_sort(sort, NIL, &info);
	scan = gpusort_make_node(sort, &info);
	scan->scan.plan.targetlist = tlist;
	scan->custom_scan_tlist = copyObject(sort->plan.targetlist);
	return &scan->scan.plan;
}

static const CustomPathMethods grouping_methods = {
	.CustomName = "GpuSort",
	.PlanCustomPath = plan_grouping,
};

static Path *
make_grouping_path(SortPath *sort)
{
	CustomPath *grouping = makeNode(CustomPath);

	grouping->path = sort->path;
	grouping->path.type = T_CustomPath;
	grouping->path.pathtype = T_CustomScan;
	grouping->path.pathkeys = NIL;
	grouping->custom_paths = list_make1(sort);
	grouping->methods = &grouping_methods;
	return &grouping->path;
}

/* --- the order -------------------------------------------------------------- */

/* Of the expressions that are equal by a pathkey, the one that rows with these columns will be sorted by. */
static const EquivalenceMember *
sorted_member(EquivalenceClass *ec, const PathTarget *target)
{
	ListCell   *lc;

	foreach(lc, target->exprs)
	{
		const EquivalenceMember *member = find_ec_member_matching_expr(ec, lfirst(lc), NULL);

		if (member != NULL)
			return member;
	}
	return linitial(ec->ec_members);
}

static GpuSortKeyTypes
types_of_pathkeys(const List *pathkeys, const PathTarget *target)
{
	GpuSortKeyTypes types = {0, palloc(list_length(pathkeys) * sizeof(GpuSortKeyType))};
	ListCell   *lc;

	foreach(lc, pathkeys)
	{
		const PathKey *pathkey = lfirst(lc);
		const EquivalenceMember *member = sorted_member(pathkey->pk_eclass, target);

		gpusort_set_key_type(&types.of[types.n++], (Node *) member->em_expr,
							 get_opfamily_member(pathkey->pk_opfamily, member->em_datatype, member->em_datatype,
												 compat_pathkey_strategy(pathkey)),
							 pathkey->pk_eclass->ec_collation);
	}
	return types;
}

/* Sets how rows of child are sorted, and what that costs.  False: they are not. */
static bool
describe_sort(GpuSortInput *input, const Path *child, int feeders, GpuSortPlanInfo *info)
{
	GpuSortKeyTypes types = types_of_pathkeys(input->pathkeys, child->pathtarget);

	info->rows = input->rows;
	info->groups = input->groups;
	info->grouping = input->groups > 0;
	if (!gpusort_takes_feeders(feeders) || !gpusort_set_keys(&types, info))
		return false;
	gpusort_estimate(child->pathtarget, &types, info);
	input->native_factor = Max(input->native_factor, info->key_costs.native_factor);
	return true;
}

/* --- the paths -------------------------------------------------------------- */

/* A GpuSort over child, whose rows are all packed at cost before.  enable_sort counts as it does for
 * a Sort. */
static Path *
make_sort_path(PlannerInfo *root, RelOptInfo *rel, Path *child, const GpuSortInput *input, const GpuSortPlanInfo *info,
			   Cost before)
{
	SortPath   *sort = create_sort_path(root, rel, child, input->pathkeys, -1);

	gpusort_cost_path(&sort->path, info, before);
	compat_copy_disabled_nodes(&sort->path, child);
	if (!enable_sort && !gpusort_debug_force)
		compat_disable_node(&sort->path);
	return info->grouping ? make_grouping_path(sort) : &sort->path;
}

static Path *
make_serial_path(PlannerInfo *root, RelOptInfo *rel, GpuSortInput *input)
{
	GpuSortPlanInfo info = {0};
	Path	   *child = input->child;

	if (child == NULL || !describe_sort(input, child, 1, &info))
		return NULL;
	return make_sort_path(root, rel, child, input, &info, child->total_cost + gpusort_cost_of_packing(&info, child->rows));
}

/* Workers pack their rows, and hardly any row goes through the Gather's queues of tuples, so it costs its start only. */
static Path *
make_parallel_path(PlannerInfo *root, RelOptInfo *rel, GpuSortInput *input)
{
	GpuSortPlanInfo info = {.parallel = true};
	Path	   *partial = input->partial;
	Path	   *gather;

	if (partial == NULL || !describe_sort(input, partial, GPUSORT_PARALLEL_FEEDERS(partial->parallel_workers), &info))
		return NULL;
	gather = (Path *) create_gather_path(root, rel, partial, partial->pathtarget, NULL, &info.rows);
	gather->total_cost = partial->total_cost + gpusort_cost_of_packing(&info, partial->rows) + parallel_setup_cost;
	gather->startup_cost = gather->total_cost;
	return make_sort_path(root, rel, gather, input, &info, gather->total_cost);
}

GpuSortInput
gpusort_input(RelOptInfo *rel, Path *child, double rows, List *pathkeys)
{
	GpuSortInput input = {.child = child,.rows = rows,.pathkeys = pathkeys,.native_factor = 1};

	if (rel->consider_parallel && rel->partial_pathlist != NIL)
		input.partial = linitial(rel->partial_pathlist);
	return input;
}

bool
gpusort_worth_sorting(const GpuSortInput *input)
{
	return gpusort_enabled && input->pathkeys != NIL &&
		(input->child == NULL || !pathkeys_contained_in(input->pathkeys, input->child->pathkeys)) &&
		input->rows >= gpusort_min_rows_of_plans() && gpusort_server_state()->serves;
}

List *
gpusort_make_sort_paths(PlannerInfo *root, RelOptInfo *rel, GpuSortInput *input)
{
	Path	   *serial = make_serial_path(root, rel, input);
	Path	   *parallel = make_parallel_path(root, rel, input);
	List	   *paths = serial != NULL ? list_make1(serial) : NIL;

	return parallel != NULL ? lappend(paths, parallel) : paths;
}
