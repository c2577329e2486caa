/*
 * sort_paths.c
 *	  Ways to sort the rows of a path through the device.
 *
 * In:  paths that give the rows, all of them or in parallel, and the order.
 * Out: CustomPaths with their costs, for whoever offers them to the planner; of those that win,
 *	    CustomScan nodes over the child's plan.
 *
 * Runs in the backend that plans.  Two shapes: GpuSort over any child, and GpuSort over
 * Gather over GpuSortFeed over a partial path.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "keys/key_types.h"
#include "plan/plan_info.h"
#include "planner/costs.h"
#include "planner/eligibility.h"
#include "planner/key_layout.h"
#include "planner/paths.h"
#include "settings.h"
#include "shared/job.h"
#include "shared/server_state.h"

/* --- the plan -------------------------------------------------------------- */

static Plan *plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
					   List *custom_plans);

static const CustomPathMethods gpusort_path_methods = {
	.CustomName = "GpuSort",
	.PlanCustomPath = plan_path,
};

static const CustomPathMethods gpusort_feed_path_methods = {
	.CustomName = "GpuSortFeed",
	.PlanCustomPath = plan_path,
};

static Plan *
plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	Plan	   *child = linitial(custom_plans);

	Assert(list_length(tlist) == list_length(child->targetlist));
	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.lefttree = child;
	scan->custom_scan_tlist = copyObject(child->targetlist);
	scan->flags = best_path->flags;
	scan->custom_private = best_path->custom_private;
	scan->methods = best_path->methods == &gpusort_path_methods ? &gpusort_scan_methods : &gpusort_feed_scan_methods;
	return &scan->scan.plan;
}

/* --- the order -------------------------------------------------------------- */

/* The column of target that carries the pathkey's values, and their type there. */
static AttrNumber
find_pathkey_column(PathKey *pathkey, PathTarget *target, Oid *type_oid)
{
	EquivalenceClass *ec = pathkey->pk_eclass;
	AttrNumber	column = 0;
	ListCell   *lc;

	foreach(lc, target->exprs)
	{
		Expr	   *expr = lfirst(lc);
		EquivalenceMember *member;

		column++;
		if (ec->ec_has_volatile)
		{
			if (ec->ec_sortref == 0 || get_pathtarget_sortgroupref(target, column - 1) != ec->ec_sortref)
				continue;
			member = linitial(ec->ec_members);
		}
		else
			member = find_ec_member_matching_expr(ec, expr, NULL);
		if (member == NULL)
			continue;
		*type_oid = member->em_datatype;
		return column;
	}
	return 0;
}

static void
make_room(GpuSortOrder *order, int n_keys)
{
	order->n_keys = n_keys;
	order->columns = palloc(n_keys * sizeof(AttrNumber));
	order->operators = palloc(n_keys * sizeof(Oid));
	order->collations = palloc(n_keys * sizeof(Oid));
	order->nulls_first = palloc(n_keys * sizeof(bool));
}

/* Finds what is sorted by.  False: a pathkey is no column of target. */
static bool
read_order(List *pathkeys, PathTarget *target, GpuSortOrder *order)
{
	ListCell   *lc;
	int			i = 0;

	make_room(order, list_length(pathkeys));
	foreach(lc, pathkeys)
	{
		PathKey    *pathkey = lfirst(lc);
		Oid			type_oid = InvalidOid;

		order->columns[i] = find_pathkey_column(pathkey, target, &type_oid);
		if (order->columns[i] == 0)
			return false;
		order->operators[i] = get_opfamily_member(pathkey->pk_opfamily, type_oid, type_oid,
												  compat_pathkey_strategy(pathkey));
		if (!OidIsValid(order->operators[i]))
			return false;
		order->columns[i] = gpusort_plain_column(target->exprs, order->columns[i]);
		order->collations[i] = pathkey->pk_eclass->ec_collation;
		order->nulls_first[i] = pathkey->pk_nulls_first;
		i++;
	}
	return true;
}

/* Lays the keys out as for a grouping, if all of them can be hashed. */
static bool
lay_out_grouping(const PathTarget *target, GpuSortPlanInfo *info)
{
	const GpuSortOrder *order = &info->order;

	for (int i = 0; i < order->n_keys; i++)
	{
		Node	   *expr = list_nth(target->exprs, order->columns[i] - 1);

		if (!gpusort_sortkey_has_hash(exprType(expr), order->operators[i]))
			return false;
	}
	info->grouping = true;
	info->n_keys = 0;
	info->n_words = 1;
	return true;
}

/* Fills the order of *info in from the pathkeys, of rows with these columns, for equal rows to come together, in no
 * order.  False: they cannot be hashed. */
static bool
read_grouping(List *pathkeys, PathTarget *target, GpuSortPlanInfo *info)
{
	return read_order(pathkeys, target, &info->order) && lay_out_grouping(target, info);
}

/* The same, of info->rows rows to be sorted, and the words of its keys.  False: they cannot be sorted by. */
static bool
read_pathkeys(PlannerInfo *root, List *pathkeys, PathTarget *target, GpuSortPlanInfo *info)
{
	GpuSortColumns columns = {.root = root};

	if (!read_order(pathkeys, target, &info->order))
		return false;
	gpusort_lay_out_keys(&columns, target, info);
	return info->n_keys > 0 || gpusort_refuse_key(target, &info->order, 0);
}

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

/* A GpuSort over child, whose rows are all packed at cost before.  enable_sort counts as it does for
 * a Sort. */
static Path *
make_sort_path(RelOptInfo *rel, Path *child, const GpuSortInput *input,
			   const GpuSortPlanInfo *info, Cost before)
{
	CustomPath *custom = make_custom_path(rel, child, &gpusort_path_methods, info);

	custom->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN | CUSTOMPATH_SUPPORT_MARK_RESTORE;
	custom->path.pathkeys = info->grouping ? NIL : input->pathkeys;
	gpusort_cost_path(&custom->path, info, before);
	if (!enable_sort && !gpusort_debug_force)
		compat_disable_node(&custom->path);
	return &custom->path;
}

/* Sets how rows of child are sorted, and what that costs.  False: they are not. */
static bool
describe_sort(PlannerInfo *root, GpuSortInput *input, Path *child, int feeders,
			  GpuSortPlanInfo *info)
{
	info->rows = input->child->rows;
	info->groups = input->groups;
	if (!gpusort_takes_feeders(feeders))
		return false;
	if (input->groups > 0 ? !read_grouping(input->pathkeys, child->pathtarget, info) :
		!read_pathkeys(root, input->pathkeys, child->pathtarget, info))
		return false;
	gpusort_estimate(root, child->pathtarget, info);
	input->native_factor = Max(input->native_factor, info->key_costs.native_factor);
	return gpusort_fits_device(info);
}

static Path *
make_serial_path(PlannerInfo *root, RelOptInfo *rel, GpuSortInput *input)
{
	GpuSortPlanInfo info = {0};
	Path	   *child = input->child;

	if (!describe_sort(root, input, child, 1, &info))
		return NULL;
	return make_sort_path(rel, child, input, &info,
						  child->total_cost + gpusort_cost_of_packing(&info, child->rows));
}

/*
 * GpuSort over Gather over GpuSortFeed over the partial path.  Hardly any row goes through the Gather's queues of tuples,
 * so it costs its start only.
 */
static Path *
make_parallel_path(PlannerInfo *root, RelOptInfo *rel, GpuSortInput *input)
{
	GpuSortPlanInfo info = {.parallel = true};
	Path	   *partial = input->partial;
	CustomPath *feed;
	Path	   *gather;
	double		rows_through_gather = 0;

	if (!describe_sort(root, input, partial, GPUSORT_PARALLEL_FEEDERS(partial->parallel_workers),
					   &info))
		return NULL;
	feed = make_custom_path(rel, partial, &gpusort_feed_path_methods, &info);
	feed->path.parallel_aware = true;
	feed->path.parallel_safe = true;
	feed->path.parallel_workers = partial->parallel_workers;
	feed->path.rows = partial->rows;
	feed->path.total_cost = partial->total_cost +
		gpusort_cost_of_packing(&info, partial->rows);
	feed->path.startup_cost = feed->path.total_cost;
	gather = (Path *) create_gather_path(root, rel, &feed->path, partial->pathtarget,
										 NULL, &rows_through_gather);
	gather->rows = info.rows;
	return make_sort_path(rel, gather, input, &info, gather->total_cost);
}

bool
gpusort_is_our_path(const Path *path)
{
	return IsA(path, CustomPath) && ((const CustomPath *) path)->methods->PlanCustomPath == plan_path;
}

GpuSortInput
gpusort_input_of_rel(RelOptInfo *rel, List *pathkeys)
{
	GpuSortInput input = {
		.child = rel->cheapest_total_path,
		.pathkeys = pathkeys,
		.native_factor = 1,
	};

	if (rel->consider_parallel && rel->partial_pathlist != NIL)
		input.partial = linitial(rel->partial_pathlist);
	return input;
}

bool
gpusort_has_limit(const PlannerInfo *root)
{
	for (; root != NULL; root = root->parent_root)
		if (root->parse->limitCount != NULL)
			return true;
	return false;
}

bool
gpusort_worth_sorting(const Path *child, List *pathkeys)
{
	return gpusort_enabled && pathkeys != NIL && !pathkeys_contained_in(pathkeys, child->pathkeys) &&
		child->rows >= gpusort_min_rows_of_plans() && gpusort_server_state()->serves;
}

/*
 * Are there columns that identify rows of one of an inherited target's tables?  Such a Var may not
 * stand in a custom scan's list of columns until the plan is finished.
 */
static bool
has_row_identities(const PathTarget *target)
{
	ListCell   *lc;

	foreach(lc, target->exprs)
	{
		const Var  *var = lfirst(lc);

		if (IsA(var, Var) && var->varno == ROWID_VAR)
			return true;
	}
	return false;
}

List *
gpusort_make_sort_paths(PlannerInfo *root, RelOptInfo *rel, GpuSortInput *input)
{
	List	   *paths = NIL;
	Path	   *path;

	if (has_row_identities(input->child->pathtarget))
		return NIL;
	path = make_serial_path(root, rel, input);
	if (path != NULL)
		paths = lappend(paths, path);
	path = input->partial == NULL ? NULL : make_parallel_path(root, rel, input);
	if (path != NULL)
		paths = lappend(paths, path);
	return paths;
}
