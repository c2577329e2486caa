/*
 * feed_node.h
 *	  The GpuSortFeed node: a parallel plan's part of a GpuSort.
 */
#ifndef GPUSORT_FEED_NODE_H
#define GPUSORT_FEED_NODE_H

#include "postgres.h"

#include "nodes/extensible.h"

#include "job/job.h"
#include "keys/sortkey.h"

typedef struct GpuSortFeedState GpuSortFeedState;

/* The GpuSort above calls this in the leader, before it reads the Gather
 * between them: there is no job yet. */
extern void gpusort_feed_node_forget_job(GpuSortFeedState *state);

/* Announces a job to the feed nodes of all processes, while the Gather runs,
 * with the encodings of its first n_keys keys.  encodings must live as long as
 * the sort. */
extern void gpusort_feed_node_publish(GpuSortFeedState *state, const GpuSortJobId *job,
									  const GpuSortKeyEncoding *encodings, int n_keys);

#endif							/* GPUSORT_FEED_NODE_H */
