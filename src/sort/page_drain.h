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
	SeqScanState *scan;			/* NULL: the child is nothing that could be drained */
	const GpuSortRowFormat *format;
	int			natts_needed;	/* a tuple must have, none of its columns NULL */
	bool		whole_tuples;	/* no projection: a narrow row is the tuple's data as it is */
	uint32		column_offset[GPUSORT_NARROW_COLUMNS_MAX];	/* in a tuple's data, if projected */
	AttrNumber	key_column[GPUSORT_WORDS_MAX];	/* of each key, in the table */
	bool		key_is_fixed[GPUSORT_WORDS_MAX];
	uint32		key_offset[GPUSORT_WORDS_MAX];	/* in a tuple's data, of one that is fixed */
} GpuSortPageDrain;

/* Could rows of child be taken so?  A quick look, for whoever has no format and keys yet. */
extern bool gpusort_page_drain_may_begin(const PlanState *child);

/* Looks whether child is a plain heap scan that hands out whole tuples, or columns of them
 * that make narrow rows. */
extern void gpusort_page_drain_begin(GpuSortPageDrain *drain, PlanState *child,
									 const GpuSortRowFormat *format,
									 const GpuSortKeys *keys);

/* After the child has returned a slot and it was packed: packs what follows on its page, as far
 * as the chunk has room and the rows are plain. */
extern void gpusort_page_drain(GpuSortPageDrain *drain, GpuSortFeed *feed);

#endif							/* GPUSORT_PAGE_DRAIN_H */
