/*
 * finished_plan.h
 *	  What is done to a finished plan: a walk over it, Sorts that become GpuSorts, and columns.
 */
#ifndef GPUSORT_FINISHED_PLAN_H
#define GPUSORT_FINISHED_PLAN_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "plan/plan_info.h"

/* --- plan_walk.c --- */

/*
 * A walk and what it has come across.  visit gets each plan after its children, with the rows that a
 * LIMIT above lets be read of it (or what costs.h has in their place), and returns what is to stand
 * in its place, the plan itself for none.  The Sorts of an Agg's chain, for further grouping sets, have no child;
 * they are visited before the Agg, and what is returned for them does not count.
 */
typedef struct GpuSortWalk
{
	PlannedStmt *statement;
	bool		nested;			/* it was planned while another one was */
	bool		foreign_below;	/* the plan that is visited is above a custom scan of another extension */
	bool		below_foreign;	/* the plan that is visited is below one */
	bool		keep_ancestors;
	List	   *ancestors;		/* if so, of the plan that is visited, its parent first; up to its
								 * subplan's top */
	Plan	   *(*visit) (Plan *plan, double bound, struct GpuSortWalk *walk);
	void	   *arg;			/* the visitor's own */
} GpuSortWalk;

/* Walks through the statement: its subplans first, and of each plan the leaves first. */
extern void gpusort_walk_plans(GpuSortWalk *walk);

/* --- convert_sort.c --- */

/*
 * Sets how to sort as the Sort does, or info->rows rows of the child's by info->order, and the estimates.
 * info->grouping is set already.  False, a refusal: the device cannot.
 */
extern bool gpusort_describe_sort(const Sort *sort, const List *rtable, GpuSortPlanInfo *info);
extern bool gpusort_describe_order(const Plan *child, const List *rtable, GpuSortPlanInfo *info);

/* A GpuSort in place of a Sort in a finished plan. */
extern CustomScan *gpusort_make_node(const Sort *sort, const GpuSortPlanInfo *info);

/*
 * Sorts are Incremental Sorts too, which begin with one.
 *
 * What is to stand in the Sort's place: a GpuSort, of the Sort's memory context; or the Sort itself,
 * if it cannot be one, which is counted.  bound: the rows that a LIMIT above lets be read, or as
 * costs.h has it.
 */
extern Plan *gpusort_convert_sort(Sort *sort, double bound, const GpuSortWalk *walk);

/* Can the Sort be a GpuSort, and how?  False: gpusort_last_refusal says why not. */
extern bool gpusort_examine_sort(const Sort *sort, double bound, const GpuSortWalk *walk, GpuSortPlanInfo *info);

/* Is every sort to be native now?  gpusort_last_refusal says why. */
extern bool gpusort_refuses_all(void);

/* --- convert_gather.c --- */

/* A Gather Merge over a GpuSort becomes a GpuSort that its workers feed, unless a LIMIT bounds its rows; then it
 * stays. */
extern Plan *gpusort_convert_gather_merge(GatherMerge *gather, double bound, const GpuSortWalk *walk);

/* The workers of a Gather below the GpuSort feed it, if they can. */
extern void gpusort_feed_through_gather(CustomScan *sort, const GpuSortWalk *walk);

/* --- column_origins.c --- */

/* The plan's columns, as expressions over the tables that it scans where they are columns of these; of others the
 * types alone are to be read. */
extern List *gpusort_columns_over_tables(const Plan *plan);

/* What statistics tell of a sort's key, in so many rows, if it is a column of a table: all is 0 if it is not. */
extern void gpusort_find_statistics(const List *rtable, const Node *expr, double rows, GpuSortKeyFigures *figures);

/* --- plan_columns.c --- */

/* The column of exprs that has the same values as this one, if that only gives them another
 * collation: such a column is a copy, which the parser makes for ORDER BY s COLLATE "C". */
extern AttrNumber gpusort_plain_column(const List *exprs, AttrNumber column);

/* A list with entries like those of tlist, of which the i-th is the i-th column of varno. */
extern List *gpusort_tlist_of(const List *tlist, int varno);

/* Drops the copies of other columns that a query's GpuSort does not sort by, if it is on top of the query's plan, so
 * that nothing reads what is not its result. */
extern void gpusort_drop_copies(Plan *plan);

#endif							/* GPUSORT_FINISHED_PLAN_H */
