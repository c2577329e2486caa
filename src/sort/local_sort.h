/*
 * local_sort.h
 *	  Sorts a small input in the backend.
 */
#ifndef GPUSORT_LOCAL_SORT_H
#define GPUSORT_LOCAL_SORT_H

#include "postgres.h"

#include "sort/feed.h"
#include "sort/ordering.h"

/*
 * The feed's private rows in their full order, stable: an array of feed->rows pointers into
 * its chunks, which must stay.  Allocated in the current context.
 */
extern const char **gpusort_local_sort(const GpuSortFeed *feed, GpuSortOrdering *ordering);

#endif							/* GPUSORT_LOCAL_SORT_H */
