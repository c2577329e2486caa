/*
 * join_paths.h
 *	  Merge joins of rows that the device has sorted.
 */
#ifndef GPUSORT_JOIN_PATHS_H
#define GPUSORT_JOIN_PATHS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* Adds a merge join to joinrel of which one side or both are sorted by GpuSort, if there can be
 * one and it is worth it. */
extern void gpusort_add_join_paths(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
								   RelOptInfo *innerrel, JoinType jointype,
								   JoinPathExtraData *extra);

#endif							/* GPUSORT_JOIN_PATHS_H */
