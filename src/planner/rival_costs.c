/*
 * rival_costs.c
 *	  What PostgreSQL's own ways really cost, where its costs say too little beside a sort through the device.
 *
 * In:  an upper rel with PostgreSQL's own paths, and ours.
 * Out: ours among them; and if one of ours takes less than all of theirs do, theirs at what they take.
 *
 * PostgreSQL charges one or two operators for a row that is hashed, however large the table.  In a table that has no
 * room in a processor's caches a row takes some hundred nanoseconds: 1 M distinct rows 830 ns each, where a row through
 * a sort of ours costs the backend 50 to 200.  And it charges any comparison of a Sort the same, which a comparison
 * under the C library's collations exceeds several times.
 *
 * Theirs are raised, ours are never lowered: what is planned above takes a path by its costs.  Joins that seemed to
 * cost less than their inputs made TPC-H's q07 take 3.1 s for 0.6 s.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"

#include "compat.h"
#include "planner/paths.h"
#include "settings.h"

/* What an entry of a hash table has beside its columns, and what the caches have room for. */
#define HASH_ENTRY_BYTES	64
#define CACHE_BYTES			(16 * 1024 * 1024)

/* In cpu_operator_cost, for a row: half of the least that was measured. */
#define COST_BEYOND_CACHE	40.0

/* Of a forced path's costs, what is left: paths that are all forced still compare as they
 * would, serial ones with parallel ones. */
#define FORCED_SHARE		1e-9

Path *
gpusort_path_below(const Path *path)
{
	switch (nodeTag(path))
	{
		case T_ProjectionPath:
			return ((const ProjectionPath *) path)->subpath;
		case T_AggPath:
			return ((const AggPath *) path)->subpath;
		case T_GroupPath:
			return ((const GroupPath *) path)->subpath;
		case T_UpperUniquePath:
			return ((const UpperUniquePath *) path)->subpath;
		case T_WindowAggPath:
			return ((const WindowAggPath *) path)->subpath;
		case T_GatherPath:
			return ((const GatherPath *) path)->subpath;
		case T_GatherMergePath:
			return ((const GatherMergePath *) path)->subpath;
		case T_SortPath:
		case T_IncrementalSortPath:
			/* an IncrementalSortPath begins with a SortPath */
			return ((const SortPath *) path)->subpath;
		default:
			return NULL;
	}
}

/*
 * What the path takes beyond its costs, above the step's input; comparisons of its Sorts cost native_factor times what it says.
 * Sorts between windows are in our paths too.
 */
static Cost
uncharged_cost(const RelOptInfo *input_rel, const Path *path, double native_factor)
{
	const Path *below = gpusort_path_below(path);
	Cost		uncharged;

	if (below == NULL || path->parent == input_rel)
		return 0;
	uncharged = uncharged_cost(input_rel, below, native_factor);
	if ((IsA(path, SortPath) || IsA(path, IncrementalSortPath)) && !(IsA(below, WindowAggPath) && below->parent == path->parent))
		uncharged += (native_factor - 1) * Max(0, path->total_cost - below->total_cost);
	if (IsA(path, AggPath) && ((const AggPath *) path)->aggstrategy == AGG_HASHED &&
		((const AggPath *) path)->numGroups * (below->pathtarget->width + HASH_ENTRY_BYTES) > CACHE_BYTES)
		uncharged += cpu_operator_cost * COST_BEYOND_CACHE * below->rows;
	return uncharged;
}

/* Does a path of ours take less than the rel's, and is it no more disabled than they are? */
static bool
beats_rivals(const RelOptInfo *input_rel, const RelOptInfo *rel, const Path *path, double native_factor)
{
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		const Path *rival = lfirst(lc);

		if (compat_disabled_nodes(rival) < compat_disabled_nodes(path) ||
			rival->total_cost + uncharged_cost(input_rel, rival, native_factor) <= path->total_cost)
			return false;
	}
	return true;
}

/* Adds the rel's paths anew at what they take.  A sort or a hash table gives its first row when it has read all of its
 * input, so that row costs more too. */
static void
charge_rivals(const RelOptInfo *input_rel, RelOptInfo *rel, double native_factor)
{
	List	   *rivals = rel->pathlist;
	ListCell   *lc;

	rel->pathlist = NIL;
	foreach(lc, rivals)
	{
		Path	   *rival = lfirst(lc);
		Cost		uncharged = uncharged_cost(input_rel, rival, native_factor);

		rival->startup_cost += uncharged;
		rival->total_cost += uncharged;
		add_path(rel, rival);
	}
}

/* For tests: makes the path cheaper than all that does not go through the device. */
static void
force_path(Path *path)
{
	path->startup_cost *= FORCED_SHARE;
	path->total_cost *= FORCED_SHARE;
	compat_forget_disabled_nodes(path);
}

void
gpusort_offer_paths(const RelOptInfo *input_rel, RelOptInfo *rel, List *paths, double native_factor)
{
	bool		wins = false;
	ListCell   *lc;

	foreach(lc, paths)
	{
		if (gpusort_debug_force)
			force_path(lfirst(lc));
		else
			wins = wins || beats_rivals(input_rel, rel, lfirst(lc), native_factor);
	}
	if (wins)
		charge_rivals(input_rel, rel, native_factor);
	foreach(lc, paths)
	{
		add_path(rel, lfirst(lc));
	}
}
