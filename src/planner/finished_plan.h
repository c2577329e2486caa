/*
 * finished_plan.h
 *	  Changes of a finished plan: a walk over it, Sorts that become GpuSorts,
 *	  and columns.
 */
#ifndef GPUSORT_FINISHED_PLAN_H
#define GPUSORT_FINISHED_PLAN_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "plan/plan_info.h"

/* --- plan_walk.c --- */

/* A walk and its state.  visit gets each plan after its children, and returns
 * the plan that is to stand there, or the plan itself. */
typedef struct GpuSortWalk
{
	PlannedStmt *statement;
	bool		nested;			/* the statement was planned while another one was */
	bool		foreign_below;	/* the visited plan is above a custom scan of another extension */
	List	   *ancestors;		/* of the visited plan, its parent first, up to its subplan's top */
	Plan	   *(*visit) (Plan *plan, struct GpuSortWalk *walk);
} GpuSortWalk;

/* Walks through the statement: its subplans first, and each plan from its
 * leaves on. */
extern void gpusort_walk_plans(GpuSortWalk *walk);

/* Returns the number of rows that a LIMIT lets be read of the visited plan, or
 * a value of costs.h. */
extern double gpusort_bound_of(const GpuSortWalk *walk);

/* Is the visited plan below another extension's custom scan that may look at
 * it? */
extern bool gpusort_is_below_foreign(const GpuSortWalk *walk);

/* --- convert_sort.c --- */

/*
 * Set how to sort, and the estimates: as the Sort does, or info->rows rows of
 * the child by info->order.  info->grouping is set already.  False, with a
 * reason set: the device cannot sort so.
 */
extern bool gpusort_describe_sort(const Sort *sort, const List *rtable, GpuSortPlanInfo *info);
extern bool gpusort_describe_order(const Plan *child, const List *rtable, GpuSortPlanInfo *info);

/* Makes a GpuSort that replaces a Sort in a finished plan. */
extern CustomScan *gpusort_make_node(const Sort *sort, const GpuSortPlanInfo *info);

/*
 * An Incremental Sort is a Sort too, since it begins with one.
 *
 * Returns the node that is to replace the Sort: a GpuSort in the Sort's memory
 * context, or the Sort itself, which is counted as native.
 */
extern Plan *gpusort_convert_sort(Sort *sort, const GpuSortWalk *walk);

/* Can the Sort be a GpuSort, and how?  False: gpusort_reason_last tells why. */
extern bool gpusort_examine_sort(const Sort *sort, const GpuSortWalk *walk, GpuSortPlanInfo *info);

/* Must every sort be native now?  If so, gpusort_reason_last tells why. */
extern bool gpusort_all_stay_native(void);

/* --- convert_gather.c --- */

/* Turns a Gather Merge over a GpuSort into a GpuSort that its workers feed.  It
 * stays if a LIMIT bounds its rows. */
extern Plan *gpusort_convert_gather_merge(GatherMerge *gather, const GpuSortWalk *walk);

/* Lets the workers of a Gather below the GpuSort feed it.  False: there is none,
 * or they cannot. */
extern bool gpusort_feed_through_gather(CustomScan *sort, const GpuSortWalk *walk);

/* --- plan_columns.c --- */

/* Returns the table's column that a plan's column has the values of, if it has
 * those of one. */
extern GpuSortKeyOrigin gpusort_origin_of(const Plan *plan, AttrNumber column, const List *rtable);

/* Returns the column of exprs that has the same values as this one, if this one
 * only gives them another collation.  The parser makes such a copy for ORDER BY
 * s COLLATE "C". */
extern AttrNumber gpusort_plain_column(const List *exprs, AttrNumber column);

/* Returns a list with entries like those of tlist.  Its i-th entry is the i-th
 * column of varno. */
extern List *gpusort_tlist_of(const List *tlist, int varno);

/* Drops the copies of columns that nothing reads, if a GpuSort is on top of a
 * query's plan. */
extern void gpusort_drop_copies(Plan *plan);

#endif							/* GPUSORT_FINISHED_PLAN_H */
