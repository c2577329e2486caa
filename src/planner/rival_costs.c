/*
 * rival_costs.c
 *	  The real cost of PostgreSQL's hash tables, beside a sort by the device.
 *
 * In:  an upper rel with PostgreSQL's own paths, and ours.
 * Out: ours among them; if one of ours takes less time than all of theirs,
 *	    theirs at their real costs.
 *
 * PostgreSQL charges one or two operators for a row that is hashed, however
 * large the table.  If the table exceeds a processor's caches, a row takes some
 * hundred nanoseconds.  1 M distinct rows took 830 ns each, while our sort
 * costs the backend 50 to 200 ns a row.
 *
 * The number of groups by several keys is estimated as a product, which keys
 * that depend on each other do not reach.  Where 2,000 groups by three keys
 * were expected to be 200,000, sorting took twice as long as hashing.  So a
 * table counts as if the key of the most values were alone.
 *
 * Their costs are raised, ours are never lowered, because the steps above
 * choose a path by its costs.  Joins that seemed to cost less than their inputs
 * made TPC-H's q07 take 3.1 s instead of 0.6 s.
 *
 * Runs in the backend that plans, in the planner's memory context.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "utils/float.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "planner/planner.h"
#include "settings.h"

/* Bytes of a hash table's entry beside its columns, and the bytes that caches
 * hold. */
#define HASH_ENTRY_BYTES	64
#define CACHE_BYTES			(16 * 1024 * 1024)

/* In cpu_operator_cost, for a row: half of the least that was measured. */
#define COST_BEYOND_CACHE	40.0

/* Each kind of path that an upper step makes is listed here.  All of them begin
 * with a Path and their input. */
Path *
gpusort_path_below(const Path *path)
{
	switch (nodeTag(path))
	{
		case T_ProjectionPath:
		case T_AggPath:
		case T_GroupPath:
		case T_UpperUniquePath:
		case T_WindowAggPath:
		case T_GatherPath:
		case T_GatherMergePath:
		case T_SortPath:
		case T_IncrementalSortPath:
			return ((const ProjectionPath *) path)->subpath;
		default:
			return NULL;
	}
}

/* Does a hash table of the Agg's groups exceed the caches, whatever keys depend
 * on each other? */
static bool
exceeds_caches(PlannerInfo *root, const AggPath *agg)
{
	double		entry = agg->subpath->pathtarget->width + HASH_ENTRY_BYTES;
	ListCell   *lc;

	foreach(lc, get_sortgrouplist_exprs(agg->groupClause, root->processed_tlist))
	{
		if (estimate_num_groups(root, list_make1(lfirst(lc)), agg->subpath->rows, NULL, NULL) *
			entry > CACHE_BYTES)
			return true;
	}
	return false;
}

/* Returns what the path takes beyond its costs, above the step's input. */
static Cost
uncharged_cost(PlannerInfo *root, const Path *path, const GpuSortInput *input)
{
	const Path *below = gpusort_path_below(path);
	Cost		uncharged;

	if (below == NULL || path->parent == input->rel)
		return 0;
	uncharged = uncharged_cost(root, below, input);
	if (IsA(path, AggPath) && ((const AggPath *) path)->aggstrategy == AGG_HASHED &&
		exceeds_caches(root, (const AggPath *) path))
		uncharged += cpu_operator_cost * COST_BEYOND_CACHE * below->rows;
	return uncharged;
}

/* Returns the time that a path takes, if it takes this much beyond its costs.
 * A disabled node counts as before 18. */
static Cost
time_of(const Path *path, Cost uncharged)
{
	return path->total_cost + compat_disabled_nodes(path) * disable_cost + uncharged;
}

/*
 * Rivals are charged before our paths are added, since add_path drops dominated
 * ones.  A hash table reads all of its input before its first row, so that row
 * costs more too.  For tests, ours have no rivals.
 */
void
gpusort_offer_paths(PlannerInfo *root, RelOptInfo *rel, List *paths, const GpuSortInput *input)
{
	List	   *rivals = gpusort_debug_force ? NIL : rel->pathlist;
	Cost		least = get_float8_infinity();
	bool		wins = false;
	ListCell   *lc;

	foreach(lc, rivals)
		least = Min(least, time_of(lfirst(lc), uncharged_cost(root, lfirst(lc), input)));
	foreach(lc, paths)
		wins |= time_of(lfirst(lc), 0) < least;
	if (wins)
		rel->pathlist = NIL;
	foreach(lc, wins ? rivals : NIL)
	{
		gpusort_charge(lfirst(lc), uncharged_cost(root, lfirst(lc), input));
		add_path(rel, lfirst(lc));
	}
	foreach(lc, paths)
	{
		add_path(rel, lfirst(lc));
	}
}
