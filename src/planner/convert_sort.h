/*
 * convert_sort.h
 *	  A Sort node of a finished plan becomes a GpuSort.
 */
#ifndef GPUSORT_CONVERT_SORT_H
#define GPUSORT_CONVERT_SORT_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "plan/plan_info.h"
#include "planner/plan_walk.h"

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

#endif							/* GPUSORT_CONVERT_SORT_H */
