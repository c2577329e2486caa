/*
 * page_drain.h
 *	  Takes the rest of a heap page at once.
 */
#ifndef GPUSORT_PAGE_DRAIN_H
#define GPUSORT_PAGE_DRAIN_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "sort/feed.h"

typedef struct GpuSortPageDrain
{
	SeqScanState *scan;			/* NULL: the child cannot be drained */
	const GpuSortRowFormat *format;
	int			natts_needed;	/* columns that a tuple must have, none of them NULL */
	bool		whole_tuples;	/* no projection: a narrow row is the tuple's data as it is */
	uint32		column_offset[GPUSORT_NARROW_COLUMNS_MAX];	/* in a tuple's data, if projected */
	AttrNumber	key_column[GPUSORT_WORDS_MAX];	/* column of each key, in the table */
	bool		key_is_fixed[GPUSORT_WORDS_MAX];
	uint32		key_offset[GPUSORT_WORDS_MAX];	/* in a tuple's data, for keys at a fixed offset */
} GpuSortPageDrain;

/* Could rows of child be taken so?  A quick check, for callers that have no
 * format and keys yet. */
extern bool gpusort_page_drain_may_begin(const PlanState *child);

/* Checks whether child is a plain heap scan that returns whole tuples, or
 * columns of them that make narrow rows. */
extern void gpusort_page_drain_begin(GpuSortPageDrain *drain, PlanState *child,
									 const GpuSortRowFormat *format,
									 const GpuSortKeys *keys);

/* Called after the child has returned a slot that was packed: packs the rest of
 * its page, as far as the chunk has room and the rows are plain. */
extern void gpusort_page_drain(GpuSortPageDrain *drain, GpuSortFeed *feed);

#endif							/* GPUSORT_PAGE_DRAIN_H */
