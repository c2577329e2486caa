/*
 * sort_paths.c
 *	  Paths that sort the rows of another path on the device.
 *
 * In:  paths that return the rows, all of them or in parallel, and the order.
 * Out: PostgreSQL's own Sort at the device's cost, over the child, or over a
 *	    Gather over the partial path.  In the finished plan the Sort becomes a
 *	    GpuSort that the Gather's workers feed (convert.c).
 *
 * If equal rows need only come together, the Sort stands below a Limit with a
 * mark, which promises no order.
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

/* --- the paths ------------------------------------------------------------ */

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

/* Returns the partial path whose rows workers can feed to the sort.  NULL:
 * there is none. */
static Path *
fed_path(PlannerInfo *root, const GpuSortInput *input)
{
	Path	   *partial = input->partial;

	if (partial == NULL ||
		!gpusort_takes_feeders(GPUSORT_PARALLEL_FEEDERS(partial->parallel_workers)))
		return NULL;
	return with_key_columns(root, partial, input->pathkeys);
}

/*
 * Makes a sort of the rows of child, which is a partial path if workers feed
 * the sort.  They pack their rows, and hardly any row goes through the Gather's
 * queues of tuples, so the Gather costs its start only.  enable_sort counts as
 * it does for a Sort.  NULL: there is no child, or the device cannot sort its
 * rows.
 */
static Path *
make_path(PlannerInfo *root, RelOptInfo *rel, Path *child, bool parallel,
		  const GpuSortInput *input, bool grouping)
{
	List	   *types = child != NULL ? types_of_pathkeys(input->pathkeys, child->pathtarget) : NIL;
	GpuSortPlanInfo info = {.grouping = grouping,.rows = input->rows,.groups = input->groups};
	Cost		packed;
	Path	   *path;

	if (types == NIL || !gpusort_set_keys(child->pathtarget, types, &info))
		return NULL;
	packed = child->total_cost + gpusort_cost_of_packing(&info, child->rows);
	if (parallel)
	{
		child = (Path *) create_gather_path(root, rel, child, child->pathtarget, NULL, &info.rows);
		packed += parallel_setup_cost;
		child->startup_cost = child->total_cost = packed;
	}
	path = (Path *) create_sort_path(root, rel, child, input->pathkeys, -1);
	gpusort_cost_path(path, &info, packed);
	compat_copy_disabled_nodes(path, child);
	if (!enable_sort && !gpusort_debug_force)
		compat_disable_node(path);
	/* marks our path (convert.c), since no other Gather is parallel-safe;
	 * set after the Sort has been made, which is not safe below it */
	child->parallel_safe |= parallel;
	if (!grouping)
		return path;
	path = (Path *) create_limit_path(root, rel, path, NULL, gpusort_make_grouping_mark(),
									  LIMIT_OPTION_COUNT, 0, 0);
	path->pathkeys = NIL;
	return path;
}

bool
gpusort_begin_paths(GpuSortInput *input, RelOptInfo *rel, Path *child, double rows,
					List *pathkeys)
{
	*input = (GpuSortInput) {
		.rel = rel,.child = child,.rows = rows,.pathkeys = pathkeys
	};
	if (rel->consider_parallel && rel->partial_pathlist != NIL)
		input->partial = linitial(rel->partial_pathlist);
	return rows >= gpusort_min_rows_of_any() &&
		(child == NULL || pathkeys == NIL || !pathkeys_contained_in(pathkeys, child->pathkeys)) &&
		!gpusort_all_stay_native() &&
		rows >= gpusort_min_rows_of(gpusort_server_state()->kind);
}

/* Makes a serial path and a parallel one, as far as they are possible. */
static List *
make_paths(PlannerInfo *root, RelOptInfo *rel, const GpuSortInput *input, bool grouping)
{
	Path	   *serial = make_path(root, rel, input->child, false, input, grouping);
	Path	   *parallel = make_path(root, rel, fed_path(root, input), true, input, grouping);
	List	   *paths = serial != NULL ? list_make1(serial) : NIL;

	return parallel != NULL ? lappend(paths, parallel) : paths;
}

List *
gpusort_make_sort_paths(PlannerInfo *root, RelOptInfo *rel, const GpuSortInput *input)
{
	List	   *grouping = input->groups > 0 ? make_paths(root, rel, input, true) : NIL;

	if (grouping != NIL && input->only_groups)
		return grouping;
	return list_concat(make_paths(root, rel, input, false), grouping);
}
