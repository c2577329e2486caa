/*
 * rival_costs.c
 *	  What PostgreSQL's own ways really cost, where its costs say too little beside a sort through the device.
 *
 * In:  an upper rel with PostgreSQL's own paths, and ours.
 * Out: ours among them; and if one of ours takes less than all of theirs do, each at what it takes.
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

#include "optimizer/cost.h"
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
		case T_CustomPath:
			return gpusort_is_our_path(path) ? linitial(((const CustomPath *) path)->custom_paths) : NULL;
		default:
			return NULL;
	}
}

/*
 * Does the path belong to the step that rel is of?  What its input takes has been charged at the input's own step; but a
 * Sort, a Gather and partial groups below them may be of a rel that had no such step.
 */
static bool
is_of_step(const Path *path, const RelOptInfo *rel)
{
	switch (nodeTag(path))
	{
		case T_SortPath:
		case T_IncrementalSortPath:
		case T_GatherPath:
		case T_GatherMergePath:
			return true;
		case T_AggPath:
			return path->parent == rel || ((const AggPath *) path)->aggsplit == AGGSPLIT_INITIAL_SERIAL;
		default:
			return path->parent == rel;
	}
}

/* What the path takes beyond its costs; comparisons of its Sorts cost native_factor times what it says. */
static Cost
uncharged_cost(const RelOptInfo *rel, const Path *path, double native_factor)
{
	const Path *below = gpusort_path_below(path);
	Cost		uncharged;

	if (below == NULL || !is_of_step(path, rel))
		return 0;
	uncharged = uncharged_cost(rel, below, native_factor);
	if (IsA(path, SortPath))
		uncharged += (native_factor - 1) * Max(0, path->startup_cost - below->total_cost);
	if (IsA(path, IncrementalSortPath))
		uncharged += (native_factor - 1) * Max(0, path->total_cost - below->total_cost);
	if (IsA(path, AggPath) && ((const AggPath *) path)->aggstrategy == AGG_HASHED &&
		((const AggPath *) path)->numGroups * (below->pathtarget->width + HASH_ENTRY_BYTES) > CACHE_BYTES)
		uncharged += cpu_operator_cost * COST_BEYOND_CACHE * below->rows;
	return uncharged;
}

/* Does the path take less than the rel's, and is it no more disabled than they are? */
static bool
beats_rivals(const RelOptInfo *rel, const Path *path, double native_factor)
{
	Cost		ours = path->total_cost + uncharged_cost(rel, path, native_factor);
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		const Path *rival = lfirst(lc);

		if (compat_disabled_nodes(rival) < compat_disabled_nodes(path) ||
			rival->total_cost + uncharged_cost(rel, rival, native_factor) <= ours)
			return false;
	}
	return true;
}

/* Adds the path at what it takes.  A sort or a hash table gives its first row when it has read all of its input, so
 * that row costs more too. */
static void
add_charged(RelOptInfo *rel, Path *path, double native_factor)
{
	Cost		uncharged = uncharged_cost(rel, path, native_factor);

	path->startup_cost += uncharged;
	path->total_cost += uncharged;
	add_path(rel, path);
}

/* Ours too, as PostgreSQL's own nodes may be below them. */
static void
add_all_charged(RelOptInfo *rel, List *paths, double native_factor)
{
	List	   *rivals = rel->pathlist;
	ListCell   *lc;

	rel->pathlist = NIL;
	foreach(lc, list_concat_copy(rivals, paths))
	{
		add_charged(rel, lfirst(lc), native_factor);
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
gpusort_offer_paths(RelOptInfo *rel, List *paths, double native_factor)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		if (!gpusort_debug_force && beats_rivals(rel, lfirst(lc), native_factor))
		{
			add_all_charged(rel, paths, native_factor);
			return;
		}
	}
	foreach(lc, paths)
	{
		if (gpusort_debug_force)
			force_path(lfirst(lc));
		add_path(rel, lfirst(lc));
	}
}
