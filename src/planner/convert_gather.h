/*
 * convert_gather.h
 *	  A GpuSort of a finished plan is fed by parallel workers.
 */
#ifndef GPUSORT_CONVERT_GATHER_H
#define GPUSORT_CONVERT_GATHER_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "planner/plan_walk.h"

/* A Gather Merge over a GpuSort becomes a GpuSort that its workers feed, unless a LIMIT bounds its rows or the keys
 * cannot be fed; then it stays. */
extern Plan *gpusort_convert_gather_merge(GatherMerge *gather, double bound, const GpuSortWalk *walk);

/* The workers of a Gather below the GpuSort feed it, if the keys can be fed. */
extern void gpusort_feed_through_gather(CustomScan *sort, const GpuSortWalk *walk);

#endif							/* GPUSORT_CONVERT_GATHER_H */
