/*
 * planner.c
 *	  The planner's hooks.  Paths are offered while it runs, and plans are
 *	  converted when it returns.
 *
 * In:  a query.
 * Out: its plan, with GpuSort nodes where they were the cheapest, and in place
 *	    of the remaining Sorts that convert.c converts.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "optimizer/planner.h"

#include "compat.h"
#include "planner/planner.h"
#include "settings.h"

static create_upper_paths_hook_type prev_create_upper_paths_hook = NULL;
static planner_hook_type prev_planner_hook = NULL;

/* Calls of gpusort_planner in progress.  A caller of standard_planner outside
 * of them is offered no path, since nobody would finish the plan.  Neither is a
 * query that is planned while another one is (convert.c). */
static int	planner_depth = 0;

/* --- paths ---------------------------------------------------------------- */

/* The stages that sort. */
static const struct
{
	GpuSortAddPaths *add;
	GpuSortProvider provider;
}			sorting_stages[UPPERREL_FINAL + 1] = {
	[UPPERREL_GROUP_AGG] = {gpusort_add_group_paths, GPUSORT_PROVIDER_GROUP},
	[UPPERREL_WINDOW] = {gpusort_add_window_paths, GPUSORT_PROVIDER_WINDOW},
	[UPPERREL_DISTINCT] = {gpusort_add_distinct_paths, GPUSORT_PROVIDER_GROUP},
	[UPPERREL_ORDERED] = {gpusort_add_ordered_paths, GPUSORT_PROVIDER_ORDER},
};

/* Adds our paths after other extensions' hooks. */
static void
gpusort_create_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
						   RelOptInfo *output_rel, void *extra)
{
	GpuSortAddPaths *add = sorting_stages[stage].add;

	if (prev_create_upper_paths_hook)
		prev_create_upper_paths_hook(root, stage, input_rel, output_rel, extra);
	if (planner_depth == 1 && add != NULL &&
		!gpusort_debug_providers_off[sorting_stages[stage].provider])
		add(root, input_rel, output_rel, extra);
}

/* --- hooks ---------------------------------------------------------------- */

/* The depth is restored after an error too, so that later queries are planned
 * as usual. */
static PlannedStmt *
gpusort_planner(COMPAT_PLANNER_PARAMS)
{
	PlannedStmt *result;

	planner_depth++;
	PG_TRY();
	{
		result = prev_planner_hook ? prev_planner_hook(COMPAT_PLANNER_ARGS) :
			standard_planner(COMPAT_PLANNER_ARGS);
	}
	PG_FINALLY();
	{
		planner_depth--;
	}
	PG_END_TRY();
	gpusort_convert_plans(result, planner_depth > 0);
	return result;
}

void
gpusort_planner_install_hooks(void)
{
	prev_create_upper_paths_hook = create_upper_paths_hook;
	create_upper_paths_hook = gpusort_create_upper_paths;
	prev_planner_hook = planner_hook;
	planner_hook = gpusort_planner;
}
