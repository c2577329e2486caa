/*
 * tuplesort.h
 *	  A sort of rows that the device may do: what PostgreSQL's tuplesort.h is to nodeSort.c.
 *
 * Life of a sort: begin; put every row; perform, which gives a source of the sorted rows; end, or
 * restart for other rows.  In a parallel plan other processes feed the sort's job as soon as it has one,
 * and only the rows that they return are put.
 *
 * A serial sort of few rows is made in an array (row_array.h): what packs rows is made when so many
 * have come that the device may be worth it.
 *
 * What the device takes no job for is done by a native tuplesort: callers do not see
 * the difference.  A device that is lost later is an error of class 58, unless all rows are in runs by then.
 */
#ifndef GPUSORT_TUPLESORT_H
#define GPUSORT_TUPLESORT_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/execnodes.h"

#include "compat.h"
#include "sort/feed.h"
#include "sort/output.h"
#include "sort/sort_spec.h"

typedef struct GpuSortTuplesort GpuSortTuplesort;

/* Begins a sort; a native one, if there is a reason.  Memory: a child of parent. */
extern GpuSortTuplesort *gpusort_tuplesort_begin(const GpuSortSpec *spec, MemoryContext parent,
												 GpuSortNativeReason reason);

/* Begins it anew for other rows, which costs less than a new one.  False: it is of no use for that,
 * and is to be ended. */
extern bool gpusort_tuplesort_restart(GpuSortTuplesort *sort);

/* Of a parallel plan, when the sort has a job: how the feed nodes are to lay keys out for it, of the first *n_layouts
 * keys; 0: of a grouping.  NULL: there is no job, or none yet, and they are to return their rows. */
extern const GpuSortKeyLayout *gpusort_tuplesort_layouts(const GpuSortTuplesort *sort, GpuSortJobId *job, int *n_layouts);

/* Takes the slot's row: of a parallel plan, one that the feed nodes have returned, because the job
 * was full or they knew of none. */
extern void gpusort_tuplesort_put(GpuSortTuplesort *sort, TupleTableSlot *slot);

/* What packs the rows of put; NULL while nothing does. */
extern GpuSortFeed *gpusort_tuplesort_feed(GpuSortTuplesort *sort);

/* All rows have been put. */
extern GpuSortOutput *gpusort_tuplesort_perform(GpuSortTuplesort *sort);

/* Rows that have been packed; of a parallel plan by the feed nodes. */
extern uint64 gpusort_tuplesort_rows_fed(const GpuSortTuplesort *sort);

/* Why it is native; NONE if it is not. */
extern GpuSortNativeReason gpusort_tuplesort_native_reason(const GpuSortTuplesort *sort);

/* EXPLAIN ANALYZE's lines, of a sort that has been performed. */
extern void gpusort_tuplesort_explain(const GpuSortTuplesort *sort, ExplainState *es);

/* Frees everything; a job goes back to the service. */
extern void gpusort_tuplesort_end(GpuSortTuplesort *sort);

#endif							/* GPUSORT_TUPLESORT_H */
