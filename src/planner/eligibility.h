/*
 * eligibility.h
 *	  Which sorts may ride the device.
 */
#ifndef GPUSORT_ELIGIBILITY_H
#define GPUSORT_ELIGIBILITY_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "plan/plan_info.h"

/* Is it worth a path to sort these rows so through the device?  child: the cheapest path to them,
 * by whose count they are judged. */
extern bool gpusort_worth_sorting(const Path *child, List *pathkeys);

/* The column of exprs that has the same values as this one, if that only gives them another
 * collation: such a column is a copy, which the parser makes for ORDER BY s COLLATE "C". */
extern AttrNumber gpusort_plain_column(const List *exprs, AttrNumber column);

/* The rows that a LIMIT and OFFSET let be read, or what costs.h has in their place. */
extern double gpusort_bound_of_limit(const Node *count, const Node *offset, LimitOption option);

/* Has the query, or one around it, a LIMIT? */
extern bool gpusort_has_limit(const PlannerInfo *root);

/* Fills the order of *info in from the pathkeys, of info->rows rows with these columns, and the
 * words of its keys.  False: they cannot be sorted by. */
extern bool gpusort_read_pathkeys(PlannerInfo *root, List *pathkeys, PathTarget *target,
								  GpuSortPlanInfo *info);

/* The same, for equal rows to come together, in no order. */
extern bool gpusort_read_grouping(List *pathkeys, PathTarget *target, GpuSortPlanInfo *info);

/* Can the i-th key of these columns have words, if there is room for them? */
extern bool gpusort_key_has_words(const PathTarget *target, const GpuSortOrder *order, int i);

/* Refuses a sort for its i-th key, which has none.  Returns false. */
extern bool gpusort_refuse_key(const PathTarget *target, const GpuSortOrder *order, int i);

/* Can a job ever have so many feeders? */
extern bool gpusort_takes_feeders(int feeders);

/* Do statistics tell enough of the keys for several processes to lay them out alike? */
extern bool gpusort_keys_can_be_fed(const GpuSortPlanInfo *info);

/* Would the device sort all of it, by what is expected of it, in runs if need be? */
extern bool gpusort_fits_device(const GpuSortPlanInfo *info);

#endif							/* GPUSORT_ELIGIBILITY_H */
