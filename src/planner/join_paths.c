/*
 * join_paths.c
 *	  Merge joins of rows that the device has sorted.
 *
 * In:  two rels, and the clauses that they can be merged by.
 * Out: a merge join with a GpuSort on one side or both, for add_path to judge beside hash
 *	    joins, nested loops and PostgreSQL's own merge joins.
 *
 * A side that is in order by itself, or that has few rows, may be better left as it is.
 * Costs are what a sort really takes, whatever cost_sort says of the keys' types: what a merge
 * join is chosen over is a hash join, mostly.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "planner/costs.h"
#include "planner/eligibility.h"
#include "planner/hash_costs.h"
#include "planner/join_paths.h"
#include "planner/sort_paths.h"
#include "settings.h"

/* One side of a merge join. */
typedef struct JoinSide
{
	Path	   *path;
	List	   *sortkeys;		/* that a Sort has to sort the path's rows by; NIL: they are in order */
	bool		is_gpusort;
} JoinSide;

static Path *
cheapest_gpusort(PlannerInfo *root, RelOptInfo *rel, List *pathkeys)
{
	GpuSortInput input = gpusort_input_of_rel(rel, pathkeys);
	Path	   *cheapest = NULL;
	ListCell   *lc;

	if (!gpusort_worth_sorting(input.child, pathkeys))
		return NULL;
	input.beside_sorts = false;
	foreach(lc, gpusort_make_sort_paths(root, rel, &input))
	{
		Path	   *path = lfirst(lc);

		if (cheapest == NULL || path->total_cost < cheapest->total_cost)
			cheapest = path;
	}
	return cheapest;
}

/* The cheapest way to a side's rows in order; a GpuSort costs no less than least, HUGE_VAL if there is to
 * be none. */
static JoinSide
choose_side(PlannerInfo *root, RelOptInfo *rel, List *pathkeys, Cost least)
{
	Path	   *child = rel->cheapest_total_path;
	Path	   *in_order = get_cheapest_path_for_pathkeys(rel->pathlist, pathkeys, NULL, TOTAL_COST, false);
	Path	   *gpusort = NULL;
	JoinSide	side = {.path = child,.sortkeys = pathkeys};
	Cost		cost = child->total_cost +
		compat_cost_of_sort(root, pathkeys, child->rows, child->pathtarget->width, work_mem);

	if (in_order != NULL && in_order->total_cost < cost &&
		compat_disabled_nodes(in_order) <= compat_disabled_nodes(child))
	{
		side.path = in_order;
		side.sortkeys = NIL;
		cost = in_order->total_cost;
	}
	if (least < cost || (gpusort_debug_force && !isinf(least)))
		gpusort = cheapest_gpusort(root, rel, pathkeys);
	if (gpusort != NULL && (gpusort_debug_force || gpusort->total_cost < cost))
	{
		side.path = gpusort;
		side.sortkeys = NIL;
		side.is_gpusort = true;
	}
	return side;
}

/*
 * A merge join that returns rows of its inner side without a match has to decide by merge clauses
 * alone what matches.  As PostgreSQL judges that, which does not tell.
 */
static bool
merge_clauses_decide(const RelOptInfo *joinrel, JoinPathExtraData *extra)
{
	ListCell   *lc;

	foreach(lc, extra->restrictlist)
	{
		RestrictInfo *clause = lfirst(lc);

		if (!RINFO_IS_PUSHED_DOWN(clause, joinrel->relids) &&
			!IsA(clause->clause, Const) &&
			!list_member_ptr(extra->mergeclause_list, clause))
			return false;
	}
	return true;
}

static bool
join_can_be_merged(PlannerInfo *root, const RelOptInfo *joinrel, const RelOptInfo *outerrel,
				   const RelOptInfo *innerrel, JoinType jointype, JoinPathExtraData *extra)
{
	if (!gpusort_enabled || extra->mergeclause_list == NIL || IS_OTHER_REL(joinrel) ||
		!bms_is_empty(joinrel->lateral_relids) ||
		outerrel->cheapest_total_path->param_info != NULL ||
		innerrel->cheapest_total_path->param_info != NULL)
		return false;
	/* a plan is given a Result for these above each of its nodes, ours too */
	if (root->hasPseudoConstantQuals)
		return false;
	switch (jointype)
	{
		case JOIN_INNER:
		case JOIN_LEFT:
		case JOIN_SEMI:
		case JOIN_ANTI:
			return true;
		case JOIN_RIGHT:
		case JOIN_FULL:
			return merge_clauses_decide(joinrel, extra);
		default:
			return false;
	}
}

static bool
is_gpusort_join(const Path *path)
{
	const JoinPath *join = (const JoinPath *) path;

	return IsA(path, MergePath) && (gpusort_is_sort_path(join->outerjoinpath) ||
									gpusort_is_sort_path(join->innerjoinpath));
}

/*
 * PostgreSQL's joins of the same rels; those of parallel workers too, though their rows are still to
 * be gathered.  Ours, of other sides of the same join, have costs that compare with these already.
 */
static GpuSortRivals
rivals_of_join(const RelOptInfo *joinrel)
{
	GpuSortRivals rivals = GPUSORT_NO_RIVALS;
	ListCell   *lc;

	foreach(lc, joinrel->pathlist)
	{
		if (!is_gpusort_join(lfirst(lc)))
			gpusort_add_rival(&rivals, lfirst(lc));
	}
	foreach(lc, joinrel->partial_pathlist)
	{
		gpusort_add_rival(&rivals, lfirst(lc));
	}
	return rivals;
}

/* --- what is not worth a look ----------------------------------------------------- */

/*
 * A side costs no less than this, however it is put in order, if all of it is read.  Where one that is in
 * order by itself is not, PostgreSQL's own merge join with a Sort on the other side is as good.
 */
static Cost
least_cost_of_side(const RelOptInfo *rel)
{
	Cost		least = rel->cheapest_total_path->total_cost;

	if (rel->partial_pathlist != NIL)
		least = Min(least, ((Path *) linitial(rel->partial_pathlist))->total_cost);
	return least;
}

/* And no less than this, if a GpuSort does it. */
static Cost
least_cost_of_gpusort(const RelOptInfo *rel)
{
	double		rows = rel->cheapest_total_path->rows;

	if (rows < gpusort_min_rows_of_plans())
		return HUGE_VAL;
	return least_cost_of_side(rel) + gpusort_least_cost(rows);
}

/*
 * The same; HUGE_VAL if the join cannot win with it.  A query of many tables has thousands of joins,
 * hardly any of which a merge join is for, and this is seen before anything of it is made.
 */
static Cost
least_cost_that_may_win(const RelOptInfo *sorted, const RelOptInfo *other,
						const GpuSortRivals *rivals)
{
	Cost		least = least_cost_of_gpusort(sorted);

	if (gpusort_debug_force || gpusort_beats_rivals(least + least_cost_of_side(other), rivals))
		return least;
	return HUGE_VAL;
}

/* PostgreSQL takes an operator's commutator where the clause has the join's sides the other way
 * round, and raises an error if there is none. */
static bool
clauses_can_be_switched(const List *clauses)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		const RestrictInfo *clause = lfirst(lc);

		if (!clause->outer_is_left &&
			!OidIsValid(get_commutator(((const OpExpr *) clause->clause)->opno)))
			return false;
	}
	return true;
}

void
gpusort_add_join_paths(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
					   RelOptInfo *innerrel, JoinType jointype, JoinPathExtraData *extra)
{
	JoinCostWorkspace workspace;
	GpuSortRivals rivals;
	Path	   *path;
	JoinSide	outer,
				inner;
	Cost		outer_least,
				inner_least;
	List	   *outer_pathkeys,
			   *inner_pathkeys,
			   *clauses;

	if (!join_can_be_merged(root, joinrel, outerrel, innerrel, jointype, extra))
		return;
	rivals = rivals_of_join(joinrel);
	outer_least = least_cost_that_may_win(outerrel, innerrel, &rivals);
	inner_least = least_cost_that_may_win(innerrel, outerrel, &rivals);
	if ((isinf(outer_least) && isinf(inner_least)) ||
		!clauses_can_be_switched(extra->mergeclause_list))
		return;
	outer_pathkeys = select_outer_pathkeys_for_merge(root, extra->mergeclause_list, joinrel);
	clauses = find_mergeclauses_for_outer_pathkeys(root, outer_pathkeys, extra->mergeclause_list);
	inner_pathkeys = make_inner_pathkeys_for_merge(root, clauses, outer_pathkeys);
	outer = choose_side(root, outerrel, outer_pathkeys, outer_least);
	inner = choose_side(root, innerrel, inner_pathkeys, inner_least);
	if (!outer.is_gpusort && !inner.is_gpusort)
		return;
	compat_initial_cost_mergejoin(root, &workspace, jointype, clauses, outer.path, inner.path,
								  outer.sortkeys, inner.sortkeys, extra);
	path = (Path *)
		compat_create_mergejoin_path(root, joinrel, jointype, &workspace, extra,
									 outer.path, inner.path, extra->restrictlist,
									 build_join_pathkeys(root, joinrel, jointype, outer_pathkeys),
									 NULL, clauses, outer.sortkeys, inner.sortkeys);
	if (!gpusort_debug_force && !gpusort_beats_rivals(path->total_cost, &rivals))
		return;
	gpusort_cost_beside_rivals(path, list_make2(outer.path, inner.path), &rivals);
	gpusort_offer_path(joinrel, path);
}
