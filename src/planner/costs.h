/*
 * costs.h
 *	  What a sort through the device costs and needs.
 */
#ifndef GPUSORT_COSTS_H
#define GPUSORT_COSTS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "planner/plan_info.h"

/* Sets the estimates in *info for a sort by root's pathkeys of so many rows, which child gives,
 * or child's workers together. */
extern void gpusort_estimate(PlannerInfo *root, const Path *child, double rows,
							 GpuSortPlanInfo *info);

/* The runs that the device's budget cuts the sort into: 1 if all of it fits; HUGE_VAL if not
 * even one row does. */
extern double gpusort_expected_runs(const GpuSortPlanInfo *info);

/* What packing costs a feeder that packs so many of the rows. */
extern Cost gpusort_cost_of_packing(const GpuSortPlanInfo *info, double rows);

/* Sets a GpuSort path's rows and costs; enable_sort counts as it does for a Sort.  before: what
 * it cost until all rows were packed. */
extern void gpusort_cost_path(Path *path, const GpuSortPlanInfo *info, Cost before);

/* For tests: makes the path cheaper than all that does not go through the device. */
extern void gpusort_cost_forced(Path *path);

#endif							/* GPUSORT_COSTS_H */
