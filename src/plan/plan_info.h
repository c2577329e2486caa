/*
 * plan_info.h
 *	  What a GpuSort or GpuSortFeed plan node carries: its methods and custom_private.
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

/* What the keys' types make dearer, in units of cpu_operator_cost a row. */
typedef struct GpuSortKeyCosts
{
	double		words;			/* to take a row's words */
	double		returned;		/* to check and decide the order of those returned */
	double		native_factor;	/* PostgreSQL's own comparisons take so many times what cost_sort says */
} GpuSortKeyCosts;

/* How to sort, and what is expected of the input. */
typedef struct GpuSortPlanInfo
{
	bool		parallel;		/* over a Gather over a GpuSortFeed */
	bool		grouping;		/* equal rows together is all that is asked: by one word of all keys */
	GpuSortOrder order;
	int			n_keys;			/* that have words of their own: the first ones of the order */
	GpuSortKeyFigures key_figures[GPUSORT_WORDS_MAX];	/* of these */

	/* the planner's estimates */
	double		rows;			/* of the whole sort: all workers' together */
	int			width;			/* bytes of a row in a chunk, of its form and aligned */
	int			native_ms;		/* milliseconds that PostgreSQL's own sort of these rows takes, in one
								 * process and with this session's work_mem; at least 1 */

	/* while paths are made; not in a plan */
	double		groups;			/* of a grouping; 0: not known */
	int			n_words;		/* that all of the keys may have, or the grouping has */
	GpuSortKeyCosts key_costs;
} GpuSortPlanInfo;

/* By these a plan's nodes of ours are known.  The executor defines them. */
extern const CustomScanMethods gpusort_scan_methods;
extern const CustomScanMethods gpusort_feed_scan_methods;

/* Is the plan node a GpuSort or a GpuSortFeed? */
extern bool gpusort_plan_is_ours(const Plan *plan);

/* A list for custom_private. */
extern List *gpusort_plan_info_write(const GpuSortPlanInfo *info);

/* Reads a plan node's custom_private.  Memory: the current context; and the plan's own. */
extern void gpusort_plan_info_read(const CustomScan *scan, GpuSortPlanInfo *info);

#endif							/* GPUSORT_PLAN_INFO_H */
