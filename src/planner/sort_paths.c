/*
 * sort_paths.c
 *	  Paths that sort the rows of another path on the device.
 *
 * In:  paths that return the rows, all of them or in parallel, and the order.
 * Out: PostgreSQL's own Sort at the device's cost, over the child, or over a
 *	    Gather over the partial path.  In the finished plan the Sort becomes a
 *	    GpuSort that the Gather's workers feed (convert.c).
 *
 * If equal rows need only come together, the Sort stands below a Limit without
 * a count, which promises no order.
 *
 * Runs in the backend that plans, in the planner's memory context.
 */
#include "postgres.h"

#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "job/job.h"
#include "job/server_state.h"
#include "planner/planner.h"
#include "settings.h"

/* --- the order ------------------------------------------------------------ */

/* Returns the column that rows with these columns will be sorted by for a
 * pathkey.  NULL: an expression that is no column yet. */
static Expr *
sorted_column(PathKey *pathkey, const PathTarget *target, EquivalenceMember **member)
{
	ListCell   *lc;

	foreach(lc, target->exprs)
	{
		*member = find_ec_member_matching_expr(pathkey->pk_eclass, lfirst(lc), NULL);
		if (*member != NULL)
			return lfirst(lc);
	}
	*member = find_computable_ec_member(NULL, pathkey->pk_eclass, target->exprs, NULL, false);
	return NULL;
}

/*
 * Returns the types of the keys.  The finished plan's Sort is judged by the
 * types of its columns, although an operator may treat one type as another,
 * such as a regclass as an oid.  NIL: rows with these columns cannot be sorted
 * so.  A subquery's order may include a column that the subquery does not
 * return.
 */
static List *
types_of_pathkeys(const List *pathkeys, const PathTarget *target)
{
	List	   *types = NIL;
	ListCell   *lc;

	foreach(lc, pathkeys)
	{
		PathKey    *pathkey = lfirst(lc);
		EquivalenceMember *member;
		Expr	   *column = sorted_column(pathkey, target, &member);

		if (member == NULL)
			return NIL;
		types = lappend(types,
						gpusort_type_of_key((Node *) (column != NULL ? column : member->em_expr),
											get_opfamily_member(pathkey->pk_opfamily,
																member->em_datatype,
																member->em_datatype,
																compat_pathkey_strategy(pathkey)),
											pathkey->pk_eclass->ec_collation));
	}
	return types;
}

/* Sets how rows of child are sorted, and the cost.  False: the device cannot
 * sort them. */
static bool
describe_sort(GpuSortInput *input, const Path *child, GpuSortPlanInfo *info)
{
	List	   *types = types_of_pathkeys(input->pathkeys, child->pathtarget);

	info->rows = input->rows;
	info->groups = input->groups;
	if (types == NIL || !gpusort_set_keys(child->pathtarget, types, info))
		return false;
	if (!info->grouping)
		input->sort = *info;
	return true;
}

/* --- the paths ------------------------------------------------------------ */

/* Makes a GpuSort over child, whose rows are all packed at cost before.
 * enable_sort counts as it does for a Sort. */
static Path *
make_sort_path(PlannerInfo *root, RelOptInfo *rel, Path *child, const GpuSortInput *input,
			   const GpuSortPlanInfo *info, Cost before)
{
	Path	   *sort = (Path *) create_sort_path(root, rel, child, input->pathkeys, -1);
	Path	   *grouping;

	gpusort_cost_path(sort, info, before);
	compat_copy_disabled_nodes(sort, child);
	if (!enable_sort && !gpusort_debug_force)
		compat_disable_node(sort);
	if (!info->grouping)
		return sort;
	/* marks a grouping (convert.c), since PostgreSQL makes no such node */
	grouping = (Path *) create_limit_path(root, rel, sort, NULL, NULL, LIMIT_OPTION_COUNT, 0, 0);
	grouping->pathkeys = NIL;
	return grouping;
}

/*
 * Adds missing keys to a partial path's columns.  A Gather that computes keys
 * itself cannot be fed through, so the workers compute them, such as those of
 * an aggregate's own ORDER BY.  NULL: they cannot.
 */
static Path *
with_key_columns(PlannerInfo *root, Path *partial, const List *pathkeys)
{
	PathTarget *target = copy_pathtarget(partial->pathtarget);
	ListCell   *lc;

	foreach(lc, pathkeys)
	{
		EquivalenceMember *member;

		if (sorted_column(lfirst(lc), target, &member) != NULL)
			continue;
		if (member == NULL || !is_parallel_safe(root, (Node *) member->em_expr))
			return NULL;
		add_column_to_pathtarget(target, member->em_expr, 0);
	}
	if (list_length(target->exprs) == list_length(partial->pathtarget->exprs))
		return partial;
	return (Path *) create_projection_path(root, partial->parent, partial,
										   set_pathtarget_cost_width(root, target));
}

/* Workers pack their rows, and hardly any row goes through the Gather's queues
 * of tuples, so the Gather costs its start only. */
static Path *
make_parallel_path(PlannerInfo *root, RelOptInfo *rel, GpuSortInput *input, bool grouping)
{
	GpuSortPlanInfo info = {.parallel = true,.grouping = grouping};
	Path	   *partial = input->partial;
	Path	   *gather;
	Path	   *sort;

	if (partial != NULL)
		partial = with_key_columns(root, partial, input->pathkeys);
	if (partial == NULL ||
		!gpusort_takes_feeders(GPUSORT_PARALLEL_FEEDERS(partial->parallel_workers)) ||
		!describe_sort(input, partial, &info))
		return NULL;
	gather = (Path *) create_gather_path(root, rel, partial, partial->pathtarget, NULL, &info.rows);
	gather->total_cost = partial->total_cost + gpusort_cost_of_packing(&info, partial->rows) +
		parallel_setup_cost;
	gather->startup_cost = gather->total_cost;
	sort = make_sort_path(root, rel, gather, input, &info, gather->total_cost);
	/* marks our path (convert.c), since no other Gather is parallel-safe;
	 * set after the Sort has been made, which is not safe below it */
	gather->parallel_safe = true;
	return sort;
}

GpuSortInput
gpusort_input(RelOptInfo *rel, Path *child, double rows, List *pathkeys)
{
	GpuSortInput input = {
		.child = child,.rows = rows,.pathkeys = pathkeys,.sort.key_costs.native_factor = 1
	};

	if (rel->consider_parallel && rel->partial_pathlist != NIL)
		input.partial = linitial(rel->partial_pathlist);
	return input;
}

bool
gpusort_rows_suffice(double rows)
{
	return gpusort_enabled && rows >= gpusort_min_rows_of_plans() &&
		gpusort_server_state()->serves;
}

bool
gpusort_worth_sorting(const GpuSortInput *input)
{
	return input->pathkeys != NIL &&
		(input->child == NULL || !pathkeys_contained_in(input->pathkeys, input->child->pathkeys)) &&
		gpusort_rows_suffice(input->rows);
}

/* Makes a serial path and a parallel one, as far as they are possible. */
static List *
make_paths(PlannerInfo *root, RelOptInfo *rel, GpuSortInput *input, bool grouping)
{
	GpuSortPlanInfo info = {.grouping = grouping};
	Path	   *child = input->child;
	List	   *paths = NIL;
	Path	   *parallel;

	if (child != NULL && describe_sort(input, child, &info))
		paths = list_make1(make_sort_path(root, rel, child, input, &info, child->total_cost +
										  gpusort_cost_of_packing(&info, child->rows)));
	parallel = make_parallel_path(root, rel, input, grouping);
	return parallel != NULL ? lappend(paths, parallel) : paths;
}

List *
gpusort_make_sort_paths(PlannerInfo *root, RelOptInfo *rel, GpuSortInput *input)
{
	List	   *grouping = input->groups > 0 ? make_paths(root, rel, input, true) : NIL;

	if (grouping != NIL && input->only_groups)
		return grouping;
	return list_concat(make_paths(root, rel, input, false), grouping);
}
