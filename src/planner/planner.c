/*
 * planner.c
 *	  The planner's hooks.  Paths are offered while it runs, and plans are
 *	  finished when it returns.
 *
 * In:  a query.
 * Out: its plan, with GpuSort nodes where they were the cheapest, and in place
 *	    of the remaining Sorts that convert_sort.c converts.  GpuSort and
 *	    GpuSortFeed nodes have the target lists of a sort: column i is the
 *	    child's column i.
 *
 * Runs in the backend that plans.
 *
 * The nodes are looked for in the returned plan, not noted when they are made.
 * Other extensions' hooks may plan a query several times and return any of the
 * plans, or one that they have kept since an earlier query.  So a node may come
 * here twice, and the second visit changes nothing.  Additions to a node live
 * as long as the node.
 *
 * set_plan_references matches a custom scan's target list with
 * custom_scan_tlist by equal expressions.  That is wrong for a sort: two
 * columns that are both random() are equal and differ.  Also, the columns of a
 * set operation are Vars of no relation, and EXPLAIN can resolve them only
 * through the child.
 */
#include "postgres.h"

#include "nodes/parsenodes.h"
#include "optimizer/planner.h"
#include "utils/memutils.h"

#include "compat.h"
#include "plan/plan_info.h"
#include "planner/finished_plan.h"
#include "planner/paths.h"
#include "planner/planner.h"
#include "planner/reasons.h"
#include "settings.h"

static create_upper_paths_hook_type prev_create_upper_paths_hook = NULL;
static planner_hook_type prev_planner_hook = NULL;

/* Calls of gpusort_planner in progress.  A caller of standard_planner outside
 * of them is offered no path, since nobody would finish the plan. */
static int	planner_depth = 0;

/* --- paths ---------------------------------------------------------------- */

/* Does a query read from another extension's custom scan?  convert_sort.c says
 * why that matters. */
static bool
reads_foreign_scan(const PlannerInfo *root)
{
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		const RelOptInfo *rel = root->simple_rel_array[i];

		if (rel != NULL && rel->cheapest_total_path != NULL &&
			IsA(rel->cheapest_total_path, CustomPath))
			return true;
	}
	return false;
}

/* Adds our paths at the stages that sort, after other extensions' hooks. */
static void
gpusort_create_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
						   RelOptInfo *output_rel, void *extra)
{
	if (prev_create_upper_paths_hook)
		prev_create_upper_paths_hook(root, stage, input_rel, output_rel, extra);
	if (planner_depth == 0 || gpusort_all_stay_native() ||
		(planner_depth > 1 && reads_foreign_scan(root)))
		return;
	/* some other stages have no input_rel */
	switch (stage)
	{
		case UPPERREL_GROUP_AGG:
			if (!gpusort_debug_providers_off[GPUSORT_PROVIDER_GROUP])
				gpusort_add_group_paths(root, input_rel, output_rel, extra);
			break;
		case UPPERREL_WINDOW:
			if (!gpusort_debug_providers_off[GPUSORT_PROVIDER_WINDOW])
				gpusort_add_window_paths(root, input_rel, output_rel);
			break;
		case UPPERREL_DISTINCT:
			if (!gpusort_debug_providers_off[GPUSORT_PROVIDER_GROUP])
				gpusort_add_distinct_paths(root, input_rel, output_rel);
			break;
		case UPPERREL_ORDERED:
			if (!gpusort_debug_providers_off[GPUSORT_PROVIDER_ORDER])
				gpusort_add_ordered_paths(root, input_rel, output_rel);
			break;
		default:
			break;
	}
}

/* --- the finished plan ---------------------------------------------------- */

/* A GpuSort of a path still has the planner's own target lists.  Other plans
 * may share these, so new ones are made. */
static void
finish_grouping(CustomScan *scan, GpuSortWalk *walk)
{
	const Var  *first = (const Var *) linitial_node(TargetEntry, scan->custom_scan_tlist)->expr;
	MemoryContext old_context;

	if (IsA(first, Var) && first->varno == OUTER_VAR)
		return;
	old_context = MemoryContextSwitchTo(GetMemoryChunkContext(scan));
	scan->custom_scan_tlist = gpusort_tlist_of(scan->custom_scan_tlist, OUTER_VAR);
	scan->scan.plan.targetlist = gpusort_tlist_of(scan->scan.plan.targetlist, INDEX_VAR);
	MemoryContextSwitchTo(old_context);
	(void) gpusort_feed_through_gather(scan, walk);
}

/* The visitor of a finished plan: converts a node, and drops unread copies of
 * columns below it. */
static Plan *
finish_plan(Plan *plan, GpuSortWalk *walk)
{
	switch (nodeTag(plan))
	{
		case T_SubqueryScan:
			gpusort_drop_copies(((SubqueryScan *) plan)->subplan);
			break;
		case T_Sort:
		case T_IncrementalSort:
			plan = gpusort_convert_sort((Sort *) plan, walk);
			if (gpusort_plan_is_ours(plan))
				(void) gpusort_feed_through_gather((CustomScan *) plan, walk);
			break;
		case T_GatherMerge:
			plan = gpusort_convert_gather_merge((GatherMerge *) plan, walk);
			break;
		case T_CustomScan:
			if (((CustomScan *) plan)->methods == &gpusort_scan_methods)
				finish_grouping((CustomScan *) plan, walk);
			break;
		default:
			break;
	}
	return plan;
}

/* Finishes our nodes in the statement, wherever they are.  Finished nodes stay
 * as they are.  nested: the statement was planned while another one was. */
static void
finish_statement(PlannedStmt *statement, bool nested)
{
	GpuSortWalk walk = {.statement = statement,.nested = nested,.visit = finish_plan};

	gpusort_walk_plans(&walk);
	/* statements other than SELECT read their plan's columns by number */
	if (statement->commandType == CMD_SELECT)
		gpusort_drop_copies(statement->planTree);
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
	finish_statement(result, planner_depth > 0);
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
