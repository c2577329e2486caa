/*
 * paths.h
 *	  Ways to sort through the device, offered to the planner.
 */
#ifndef GPUSORT_PATHS_H
#define GPUSORT_PATHS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* Adds GpuSort paths to the rel of the query's ordered rows, if they can be had and are
 * worth it. */
extern void gpusort_add_ordered_paths(PlannerInfo *root, RelOptInfo *input_rel,
									  RelOptInfo *ordered_rel);

#endif							/* GPUSORT_PATHS_H */
