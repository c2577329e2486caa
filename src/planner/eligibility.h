/*
 * eligibility.h
 *	  Which sorts may ride the device.
 */
#ifndef GPUSORT_ELIGIBILITY_H
#define GPUSORT_ELIGIBILITY_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "planner/plan_info.h"

/* Says at DEBUG1 why no path is offered.  Returns false. */
extern bool gpusort_refuse_path(const char *reason);

/* Is a GpuSort for the query's ORDER BY worth a path?  child: the cheapest path to the rows,
 * by whose count and target the sort is judged. */
extern bool gpusort_worth_a_path(PlannerInfo *root, const Path *child);

/* The column of exprs that has the same values as this one, if that only gives them another
 * collation: such a column is a copy, which the parser makes for ORDER BY s COLLATE "C". */
extern AttrNumber gpusort_plain_column(const List *exprs, AttrNumber column);

/* Fills the order of *info in from the query's pathkeys, of info->rows rows with these columns, and
 * the words of its keys.  False: they cannot be sorted by. */
extern bool gpusort_read_pathkeys(PlannerInfo *root, PathTarget *target, GpuSortPlanInfo *info);

/* Can a job ever have so many feeders? */
extern bool gpusort_takes_feeders(int feeders);

/* Would the device sort all of it, by what is expected of it, in runs if need be? */
extern bool gpusort_fits_device(const GpuSortPlanInfo *info);

#endif							/* GPUSORT_ELIGIBILITY_H */
