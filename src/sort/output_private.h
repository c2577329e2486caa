/*
 * output_private.h
 *	  The rows of a small input, which has never left the backend.
 */
#ifndef GPUSORT_OUTPUT_PRIVATE_H
#define GPUSORT_OUTPUT_PRIVATE_H

#include "postgres.h"

#include "sort/feed.h"
#include "sort/ordering.h"
#include "sort/output.h"

/* Sorts the feed's private rows, which must stay.  Memory: the current context. */
extern GpuSortOutput *gpusort_output_private_begin(GpuSortSlots *slots,
												   const GpuSortFeed *feed,
												   GpuSortOrdering *ordering);

#endif							/* GPUSORT_OUTPUT_PRIVATE_H */
