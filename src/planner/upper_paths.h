/*
 * upper_paths.h
 *	  Ways to ORDER BY, windows, distinct rows and groups over rows that the device has sorted.
 */
#ifndef GPUSORT_UPPER_PATHS_H
#define GPUSORT_UPPER_PATHS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* Each adds paths with GpuSort to the upper rel of its stage, in which PostgreSQL's own are, if they
 * can be had and are worth it. */
extern void gpusort_add_ordered_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *ordered_rel);
extern void gpusort_add_window_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *window_rel);
extern void gpusort_add_distinct_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *distinct_rel);
extern void gpusort_add_group_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *grouped_rel,
									const GroupPathExtraData *extra);

#endif							/* GPUSORT_UPPER_PATHS_H */
