/*
 * feed_node.h
 *	  The GpuSortFeed node: a parallel plan's part of a GpuSort.
 */
#ifndef GPUSORT_FEED_NODE_H
#define GPUSORT_FEED_NODE_H

#include "postgres.h"

#include "nodes/extensible.h"

#include "shared/job.h"

typedef struct GpuSortFeedState GpuSortFeedState;

/* The job to feed from the next execution on, called by the GpuSort above, in the leader,
 * before the Gather between them runs. */
extern void gpusort_feed_node_set_job(GpuSortFeedState *state, const GpuSortJobId *id);

#endif							/* GPUSORT_FEED_NODE_H */
