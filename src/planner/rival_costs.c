/*
 * rival_costs.c
 *	  What PostgreSQL's own ways really cost, where its costs say too little beside a sort through the device.
 *
 * In:  an upper rel with PostgreSQL's own paths, and ours.
 * Out: ours among them, as they are; and if one of ours takes less than all of them do, theirs with what they
 *	    take.
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

#include <math.h>

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"

#include "compat.h"
#include "planner/costs.h"
#include "planner/rival_costs.h"
#include "settings.h"

/* What an entry of a hash table has beside its columns, and what the caches have room for. */
#define HASH_ENTRY_BYTES	64
#define CACHE_BYTES			(16 * 1024 * 1024)

/* In cpu_operator_cost, for a row: half of the least that was measured. */
#define COST_BEYOND_CACHE	40.0

/* A node's input, if it has one. */
static const Path *
path_below(const Path *path)
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

/* What the path takes beyond its costs; comparisons of its Sorts cost native_factor times what it says. */
static Cost
uncharged_cost(const Path *path, double native_factor)
{
	const Path *below = path_below(path);
	Cost		uncharged;

	if (below == NULL)
		return 0;
	uncharged = uncharged_cost(below, native_factor);
	if (IsA(path, SortPath))
		uncharged += (native_factor - 1) * Max(0, path->startup_cost - below->total_cost);
	if (IsA(path, AggPath) && ((const AggPath *) path)->aggstrategy == AGG_HASHED &&
		((const AggPath *) path)->numGroups * (below->pathtarget->width + HASH_ENTRY_BYTES) > CACHE_BYTES)
		uncharged += cpu_operator_cost * COST_BEYOND_CACHE * below->rows;
	return uncharged;
}

/* Does one of the paths cost less than all that the rel has take? */
static bool
beats_rivals(const RelOptInfo *rel, const List *paths, double native_factor)
{
	Cost		ours = HUGE_VAL;
	ListCell   *lc;

	foreach(lc, paths)
	{
		ours = Min(ours, ((const Path *) lfirst(lc))->total_cost);
	}
	foreach(lc, rel->pathlist)
	{
		const Path *rival = lfirst(lc);

		if (rival->total_cost + uncharged_cost(rival, native_factor) <= ours)
			return false;
	}
	return true;
}

/* Of a node that gives its first row when it has read all of its input, that row costs more too. */
static void
charge_rivals(RelOptInfo *rel, double native_factor)
{
	List	   *rivals = rel->pathlist;
	ListCell   *lc;

	/* the list is in the order of costs */
	rel->pathlist = NIL;
	foreach(lc, rivals)
	{
		Path	   *rival = lfirst(lc);
		Cost		uncharged = uncharged_cost(rival, native_factor);

		rival->startup_cost += uncharged;
		rival->total_cost += uncharged;
		add_path(rel, rival);
	}
}

void
gpusort_offer_paths(RelOptInfo *rel, List *paths, double native_factor)
{
	ListCell   *lc;

	if (paths == NIL)
		return;
	if (!gpusort_debug_force && beats_rivals(rel, paths, native_factor))
		charge_rivals(rel, native_factor);
	foreach(lc, paths)
	{
		if (gpusort_debug_force)
			gpusort_cost_forced(lfirst(lc));
		add_path(rel, lfirst(lc));
	}
}
