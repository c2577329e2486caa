/*
 * costs.h
 *	  Which sorts can use the device, and what they cost and need.
 */
#ifndef GPUSORT_COSTS_H
#define GPUSORT_COSTS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "keys/sortkey.h"
#include "plan/plan_info.h"

/* --- eligibility.c --- */

/* Returns the type of a key that has the values of expr.  The types of a sort's
 * keys are a list of these. */
extern GpuSortKeyType *gpusort_type_of_key(const Node *expr, Oid sort_operator, Oid collation);

/*
 * Sets info->n_keys, the number of leading keys that have words, and
 * info->n_words, the number of expected words.  A grouping has one word for all
 * keys.  False: the device cannot sort by these keys.  The reason is set, but
 * not for a grouping.
 */
extern bool gpusort_set_keys(const List *types, GpuSortPlanInfo *info);

/* Can a job ever have this many feeders? */
extern bool gpusort_takes_feeders(int feeders);

/* --- costs.c --- */

/* Sets the estimates in *info for a sort of info->rows rows of target.  Call
 * gpusort_set_keys first. */
extern void gpusort_estimate(const PathTarget *target, const List *types, GpuSortPlanInfo *info);

/* Values that stand for the number of rows that a LIMIT lets be read. */
#define GPUSORT_NO_BOUND		(-1.0)	/* there is no LIMIT: all rows */
#define GPUSORT_UNKNOWN_BOUND	(-2.0)	/* only the execution knows it */

/* Does PostgreSQL's own sort keep only the first bound of these rows, each of
 * width bytes, in work_mem?  bound is a number. */
extern bool gpusort_is_top_n_sort(double rows, double bound, int width);

/* Does such a sort of info->rows rows cost less than one by the device, from
 * the packing on?  A bound that is not known yet counts as small. */
extern bool gpusort_top_rows_are_cheaper(const GpuSortPlanInfo *info, double bound, int width);

/* Returns the cost of a feeder that packs this many of the rows. */
extern Cost gpusort_cost_of_packing(const GpuSortPlanInfo *info, double rows);

/* Does the device, from the packing of the rows to their output, cost no more
 * than a native sort?  The fixed cost of a job does not count. */
extern bool gpusort_device_is_cheaper(const GpuSortPlanInfo *info, int width);

/* Returns the cost of sorting these rows on the device by further keys, if most
 * of them tie in the keys before. */
extern Cost gpusort_cost_of_further_keys(double rows);

/* Returns what the sorts inside an Agg, one for each group, cost more if their
 * rows arrive in no order. */
extern Cost gpusort_cost_of_inner_sort(const List *types, double rows, double groups);

/* Sets a GpuSort path's rows and costs, whatever enable_sort says.  before: the
 * cost until all rows were packed. */
extern void gpusort_cost_path(Path *path, const GpuSortPlanInfo *info, Cost before);

#endif							/* GPUSORT_COSTS_H */
