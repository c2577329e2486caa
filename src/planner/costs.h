/*
 * costs.h
 *	  Which sorts may ride the device, and what they cost and need.
 */
#ifndef GPUSORT_COSTS_H
#define GPUSORT_COSTS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "keys/sortkey.h"
#include "plan/plan_info.h"

/* --- eligibility.c --- */

/* The types of a sort's keys. */
typedef struct GpuSortKeyTypes
{
	int			n;
	GpuSortKeyType *of;
} GpuSortKeyTypes;

/* Fills in the type of a key, which has the values of expr. */
extern void gpusort_set_key_type(GpuSortKeyType *type, const Node *expr, Oid sort_operator, Oid collation);

/*
 * Sets info->n_keys, the number of the first keys that have words, and info->n_words, how many words are expected; of
 * a grouping, one word of all keys.  False, a refusal: the device cannot sort by them.
 */
extern bool gpusort_set_keys(const GpuSortKeyTypes *types, GpuSortPlanInfo *info);

/* Can a job ever have so many feeders? */
extern bool gpusort_takes_feeders(int feeders);

/* --- costs.c, key_costs.c --- */

/* Sets the estimates in *info for a sort of info->rows rows of target, when gpusort_set_keys has been called. */
extern void gpusort_estimate(const PathTarget *target, const GpuSortKeyTypes *types, GpuSortPlanInfo *info);

/* Its part for what the keys' types make dearer (key_costs.c): sets info->key_costs. */
extern void gpusort_cost_keys(const GpuSortKeyTypes *types, GpuSortPlanInfo *info);

/* The rows that a LIMIT lets be read, if it is not a number. */
#define GPUSORT_NO_BOUND		(-1.0)	/* all: there is no LIMIT */
#define GPUSORT_UNKNOWN_BOUND	(-2.0)	/* it is known in the execution only */

/* Does PostgreSQL's own sort keep no more than the first bound of so many rows of width bytes, in
 * work_mem?  bound is a number. */
extern bool gpusort_keeps_top_rows(double rows, double bound, int width);

/* What that costs; if bound is so many that it does not, what the sort of all rows does. */
extern Cost gpusort_cost_of_top_rows(double rows, double bound);

/* Does such a sort of info->rows rows cost less than one through the device, from the packing on?
 * Of a bound that is not known yet it is believed. */
extern bool gpusort_top_rows_are_cheaper(const GpuSortPlanInfo *info, double bound, int width);

/* What packing costs a feeder that packs so many of the rows. */
extern Cost gpusort_cost_of_packing(const GpuSortPlanInfo *info, double rows);

/* Does a sort through the device of so many rows of this width, from their packing to their
 * output, cost no more than a native one?  What a job costs whatever its size does not count. */
extern bool gpusort_device_is_cheaper(const GpuSortPlanInfo *info, int width);

/* Both costs, from the packing to the output. */
extern Cost gpusort_cost_on_device(const GpuSortPlanInfo *info);
extern Cost gpusort_cost_natively(const GpuSortPlanInfo *info, int width);

/* Sets a GpuSort path's rows and costs, whatever enable_sort says.  before: what it cost until all
 * rows were packed. */
extern void gpusort_cost_path(Path *path, const GpuSortPlanInfo *info, Cost before);

#endif							/* GPUSORT_COSTS_H */
