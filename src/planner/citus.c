/*
 * citus.c
 *	  What of a plan is Citus's.
 *
 * In:  nodes of a finished plan; a query that is being planned.
 * Out: yes or no, by the names that Citus 13.2 to 15.0devel gives its nodes.
 *
 * Citus plans some subqueries by themselves while it plans a query.  Their EXPLAIN ANALYZE takes each
 * custom scan for Citus's own, and crashes: planner.c offers no path in them, and plan_finish.c leaves
 * their Sorts alone.  After a lost device its scan can be read again (plan_repeat.c).
 *
 * Runs in the backend that plans, or executes.
 */
#include "postgres.h"

#include "nodes/extensible.h"

#include "planner/citus.h"

static bool
is_custom_scan(const Plan *plan, const char *name)
{
	return IsA(plan, CustomScan) &&
		strcmp(((const CustomScan *) plan)->methods->CustomName, name) == 0;
}

bool
gpusort_plan_is_citus(const Plan *plan)
{
	return is_custom_scan(plan, "Citus Adaptive");
}

bool
gpusort_plan_is_columnar(const Plan *plan)
{
	return is_custom_scan(plan, "ColumnarScan");
}

bool
gpusort_query_reads_citus(const PlannerInfo *root)
{
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		const RelOptInfo *rel = root->simple_rel_array[i];
		const Path *path = rel == NULL ? NULL : rel->cheapest_total_path;

		if (path != NULL && IsA(path, CustomPath) &&
			strcmp(((const CustomPath *) path)->methods->CustomName, "CitusCustomScanPath") == 0)
			return true;
	}
	return false;
}
