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

#include "gpusort.h"

/* How to sort, as tuplesort_begin_heap takes it, and what is expected of the input. */
typedef struct GpuSortPlanInfo
{
	bool		parallel;		/* over a Gather over a GpuSortFeed */
	bool		child_repeats;	/* it may be scanned again, should the device fail */
	bool		finished;		/* by plan_finish.c.  If not, rows come right all the same, but the
								 * child is not scanned again */
	int			n_keys;
	AttrNumber	columns[GPUSORT_MAX_KEYS];
	Oid			operators[GPUSORT_MAX_KEYS];
	Oid			collations[GPUSORT_MAX_KEYS];
	bool		nulls_first[GPUSORT_MAX_KEYS];

	/* the planner's estimates */
	double		rows;			/* of the whole sort: all workers' together */
	int			width;			/* bytes of a row in a chunk, of its form and aligned */
	int			native_ms;		/* milliseconds that PostgreSQL's own sort of these rows takes, in one
								 * process and with this session's work_mem; at least 1 */
} GpuSortPlanInfo;

/* By these a plan's nodes of ours are known.  The executor defines them. */
extern const CustomScanMethods gpusort_scan_methods;
extern const CustomScanMethods gpusort_feed_scan_methods;

/* Is the plan node a GpuSort or a GpuSortFeed? */
extern bool gpusort_plan_is_ours(const Plan *plan);

/* A list for custom_private. */
extern List *gpusort_plan_info_write(const GpuSortPlanInfo *info);

/* Reads a plan node's custom_private. */
extern void gpusort_plan_info_read(const CustomScan *scan, GpuSortPlanInfo *info);

/* The keys of rows of type desc. */
extern void gpusort_plan_info_make_keys(const GpuSortPlanInfo *info, TupleDesc desc,
										GpuSortKey *keys);

#endif							/* GPUSORT_PLAN_INFO_H */
