/*
 * plan_info.h
 *	  The contents of a GpuSort or GpuSortFeed plan node: its methods and
 *	  custom_private.
 *
 * The planner writes it, the executor reads it.
 */
#ifndef GPUSORT_PLAN_INFO_H
#define GPUSORT_PLAN_INFO_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/extensible.h"

#include "keys/key_samples.h"
#include "keys/sortkey.h"

/* The extra costs of the keys' types, in units of cpu_operator_cost a row. */
typedef struct GpuSortKeyCosts
{
	double		words;			/* of taking a row's words */
	double		returned;		/* of checking and deciding the order of returned rows */
	/* PostgreSQL's own comparisons exceed cost_sort's estimate by this
	 * factor */
	double		native_factor;
} GpuSortKeyCosts;

/* How to sort, and the expected input. */
typedef struct GpuSortPlanInfo
{
	bool		parallel;		/* the sort is over a Gather over a GpuSortFeed */
	bool		grouping;		/* equal rows need only come together, by one word of all keys */
	GpuSortOrder order;
	int			n_keys;			/* keys that have words of their own: the first ones of the order */
	GpuSortKeyOrigin key_origins[GPUSORT_WORDS_MAX];	/* of these keys */
	int			n_visible;		/* columns of the result: the child's first ones.  Only the sort
								 * reads the others */

	/* the planner's estimates */
	double		rows;			/* of the whole sort, all workers together */
	int			width;			/* bytes of a row in a chunk, in its format and aligned */
	/* milliseconds that PostgreSQL's own sort of these rows takes, in one
	 * process with this session's work_mem; at least 1 */
	int			native_ms;

	/* while paths are made, not in a plan */
	double		groups;			/* of a grouping; 0: not known */
	int			n_words;		/* words of all keys, or of the grouping, at most */
	GpuSortKeyCosts key_costs;
} GpuSortPlanInfo;

/* Identify our nodes in a plan.  The executor defines them. */
extern const CustomScanMethods gpusort_scan_methods;
extern const CustomScanMethods gpusort_feed_scan_methods;

/* Is the plan node a GpuSort or a GpuSortFeed? */
extern bool gpusort_plan_is_ours(const Plan *plan);

/* Returns a list for custom_private. */
extern List *gpusort_plan_info_write(const GpuSortPlanInfo *info);

/* Reads a plan node's custom_private.  Memory: the current context, and the
 * plan's own. */
extern void gpusort_plan_info_read(const CustomScan *scan, GpuSortPlanInfo *info);

#endif							/* GPUSORT_PLAN_INFO_H */
