/*
 * planner.h
 *	  What the planner leaves in a GpuSort plan node.
 */
#ifndef GPUSORT_PLANNER_H
#define GPUSORT_PLANNER_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/extensible.h"

#include "gpusort.h"

/* How to sort: as tuplesort_begin_heap takes it. */
typedef struct GpuSortPlanInfo
{
	bool		parallel;		/* over a Gather over a GpuSortFeed */
	bool		child_repeats;	/* it may be scanned again, should the device fail */
	int			n_keys;
	AttrNumber	columns[GPUSORT_MAX_KEYS];
	Oid			operators[GPUSORT_MAX_KEYS];
	Oid			collations[GPUSORT_MAX_KEYS];
	bool		nulls_first[GPUSORT_MAX_KEYS];
} GpuSortPlanInfo;

extern void gpusort_planner_install_hooks(void);

/* Reads a plan node's custom_private. */
extern void gpusort_plan_info_read(const CustomScan *scan, GpuSortPlanInfo *info);

/* The keys of rows of type desc. */
extern void gpusort_plan_info_make_keys(const GpuSortPlanInfo *info, TupleDesc desc,
										GpuSortKey *keys);

#endif							/* GPUSORT_PLANNER_H */
