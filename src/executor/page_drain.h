/*
 * page_drain.h
 *	  Takes the rest of a heap page at once.
 */
#ifndef GPUSORT_PAGE_DRAIN_H
#define GPUSORT_PAGE_DRAIN_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "sort/feed.h"

/* A column of the table's tuples. */
typedef struct GpuSortDrainColumn
{
	AttrNumber	attno;			/* 0: it is computed */
	bool		is_fixed;
	uint32		offset;			/* in the data of a tuple without NULLs, if it is fixed */
} GpuSortDrainColumn;

typedef struct GpuSortPageDrain
{
	PlanState  *child;
	const GpuSortRowFormat *format;
	SeqScanState *scan;			/* NULL: the child cannot be drained */
	TupleDesc	table;
	GpuSortFeed *feed;			/* NULL: rows are not packed yet */
	int			natts_needed;	/* columns that a tuple must have */
	bool		whole_tuples;	/* a row has the tuple's data as it is, and computed columns behind */
	GpuSortDrainColumn picked[GPUSORT_NARROW_COLUMNS_MAX];	/* else: a narrow row's columns */
	GpuSortDrainColumn keys[GPUSORT_WORDS_MAX];

	ProjectionInfo *projection; /* computes columns; NULL: there are none */
	TupleDesc	appended;		/* the computed columns that go out */
	AttrNumber *inputs;			/* the columns that they are computed from */
	int			n_inputs;
	TupleTableSlot *row;		/* of the scan's type; has the inputs and the computed columns */
} GpuSortPageDrain;

/* Called when the executor starts.  A child is drained if it is a plain heap
 * scan that returns whole tuples, also with computed columns behind theirs, or
 * columns that make narrow rows.  *drain: zeroes.  Memory: the query's. */
extern void gpusort_page_drain_init(GpuSortPageDrain *drain, PlanState *child,
									const GpuSortRowFormat *format);

/* Begins to take the child's rows for the feed. */
extern void gpusort_page_drain_begin(GpuSortPageDrain *drain, GpuSortFeed *feed);

/* Called when a slot that the child or this function has returned was packed.
 * Packs the rest of the child's page, as far as the chunk has room and the rows
 * are plain, and returns the next row, which is to be packed too. */
extern TupleTableSlot *gpusort_page_drain(GpuSortPageDrain *drain);

#endif							/* GPUSORT_PAGE_DRAIN_H */
