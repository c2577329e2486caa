/*
 * hash_costs.c
 *	  What hashing costs, to judge a sort beside it.
 *
 * In:  PostgreSQL's own paths, and one of ours.
 * Out: our path, with costs that compare with theirs.
 *
 * PostgreSQL charges one or two operators for a row that is hashed, however large the table.  In a
 * table that has no room in a processor's caches a row takes some hundred nanoseconds: 1 M distinct
 * rows 830 ns each, where a row through a sort of ours costs
 * the backend 50 to 200.  Their costs are not ours to change, so where a sort is really cheaper its
 * costs are lowered to just below theirs.  No further: what is planned above takes a path by its
 * costs, and with joins that seem to cost less than their inputs it would choose other joins, and
 * other plans than parallel ones.  TPC-H's q07 took 3.1 s for 0.6 s when costs were lowered in
 * proportion.
 *
 * A path that gains less than add_path sees counts as no cheaper.  Where a condition makes what stands below cost thousands
 * of times as much as it takes, costs that are lowered by two hundredths would outweigh all else: TPC-DS's q10 at
 * scale 10, whose hashed subplans are charged for each row, got a nested loop of a hundred times as many rows.
 *
 * The difference is taken from the GpuSorts below, so that EXPLAIN shows no node that costs less than
 * the one below it.  There is one case in which they have not as much: what they sort costs more by itself
 * than all that the rivals do, as rows that only one process can read beside groups that workers
 * make.  Then the path still costs what lets it win, less than its input.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/optimizer.h"

#include "compat.h"
#include "planner/costs.h"
#include "planner/hash_costs.h"
#include "planner/sort_paths.h"

/* Of a cost; add_path takes two that differ by a hundredth for the same. */
#define SHARE_THAT_WINS		0.98

/* What an entry has beside its columns. */
#define HASH_ENTRY_BYTES	64

/* A table has room in the caches up to here. */
#define CACHE_BYTES			(16 * 1024 * 1024)

/* In cpu_operator_cost, for a row: half of the least that was measured. */
#define COST_BEYOND_CACHE	40.0

static bool
exceeds_cache(double entries, int width)
{
	return entries * (width + HASH_ENTRY_BYTES) > CACHE_BYTES;
}

/* The rows that go through a table beyond the caches, in one process. */
static double
rows_beyond_cache(const Path *path)
{
	if (IsA(path, ProjectionPath))
		path = ((const ProjectionPath *) path)->subpath;
	if (IsA(path, AggPath))
	{
		const AggPath *agg = (const AggPath *) path;

		if (agg->aggstrategy == AGG_HASHED &&
			exceeds_cache(agg->numGroups, agg->subpath->pathtarget->width))
			return agg->subpath->rows;
	}
	return 0;
}

void
gpusort_add_rival(GpuSortRivals *rivals, const Path *path)
{
	Cost		beyond = cpu_operator_cost * COST_BEYOND_CACHE * rows_beyond_cache(path);
	int			disabled_nodes = compat_disabled_nodes(path);

	if (disabled_nodes > rivals->disabled_nodes)
		return;
	if (disabled_nodes < rivals->disabled_nodes)
		*rivals = (GpuSortRivals) {.disabled_nodes = disabled_nodes,.said = HUGE_VAL,.real = HUGE_VAL};
	rivals->said = Min(rivals->said, path->total_cost);
	rivals->real = Min(rivals->real, path->total_cost + beyond);
}

/* Takes so much from the GpuSorts' own costs, if they have as much.  Returns the greatest cost of a start
 * among them then. */
static Cost
lower_sorts(List *sorts, Cost by)
{
	Cost		own = 0;
	Cost		startup = 0;
	ListCell   *lc;

	foreach(lc, sorts)
	{
		if (gpusort_is_sort_path(lfirst(lc)))
			own += gpusort_own_cost(lfirst(lc));
	}
	foreach(lc, sorts)
	{
		Path	   *sort = lfirst(lc);

		if (!gpusort_is_sort_path(sort))
			continue;
		gpusort_scale_own_cost(sort, Max(0, 1 - by / own));
		startup = Max(startup, sort->startup_cost);
	}
	return startup;
}

bool
gpusort_beats_rivals(Cost cost, const GpuSortRivals *rivals)
{
	return cost < SHARE_THAT_WINS * rivals->real;
}

void
gpusort_cost_beside_rivals(Path *path, List *sorts, const GpuSortRivals *rivals)
{
	Cost		just_below = SHARE_THAT_WINS * rivals->said;
	Cost		excess = path->total_cost - just_below;
	Cost		startup;

	if (isinf(rivals->real) || !gpusort_beats_rivals(path->total_cost, rivals) || excess <= 0)
		return;
	gpusort_cost_scaled(path, just_below / path->total_cost);
	startup = lower_sorts(sorts, excess);
	path->startup_cost = Max(path->startup_cost, Min(path->total_cost, startup));
}
