/*
 * tuplesort.h
 *	  A sort of rows, on the device or in this process.  gpusort_node.c uses it
 *	  as nodeSort.c uses PostgreSQL's tuplesort.h.
 *
 * Life of a sort: begin; put every row; perform, which returns a source of the
 * sorted rows; end, or restart for other rows.  In a parallel plan other
 * processes feed the sort's job as soon as it has one, and only the rows that
 * they return are put.
 *
 * A serial sort of few rows happens in an array (row_array.h).  The means to
 * pack rows are made only when there are enough for the device, and dropped if
 * the rows stay.
 *
 * If the device takes no job, a native tuplesort does the sort, and callers see
 * no difference.  The later loss of a device is an error of class 58, unless
 * all rows are in runs by then.
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

/* Rows of a parallel plan's array.  The feed nodes wait for the choices that
 * these rows make. */
#define GPUSORT_PARALLEL_ARRAY_ROWS		2000

typedef struct GpuSortTuplesort GpuSortTuplesort;

/* Begins a sort, a native one if there is a reason.  Memory: a child of
 * parent. */
extern GpuSortTuplesort *gpusort_tuplesort_begin(const GpuSortSpec *spec, MemoryContext parent,
												 GpuSortNativeReason reason);

/* Begins the sort again for other rows, which costs less than a new sort.
 * False: it cannot serve again, and must be ended. */
extern bool gpusort_tuplesort_restart(GpuSortTuplesort *sort);

/* For a parallel plan: returns the encodings of the first *n_encodings keys, by
 * which the feed nodes pack rows for the sort's job; 0: of a grouping.  NULL:
 * there is no job, or none yet, and the feed nodes must return their rows. */
extern const GpuSortKeyEncoding *gpusort_tuplesort_encodings(const GpuSortTuplesort *sort,
															 GpuSortJobId *job, int *n_encodings);

/* Ends the array's stage, whatever rows it has: a parallel sort has a job then,
 * or is native.  For feeders that wait for that. */
extern void gpusort_tuplesort_leave_array(GpuSortTuplesort *sort);

/* Takes the slot's row.  In a parallel plan the feed nodes have returned it,
 * because the job was full or they knew of none. */
extern void gpusort_tuplesort_put(GpuSortTuplesort *sort, TupleTableSlot *slot);

/* Returns the feed of the rows that are put; NULL while there is none. */
extern GpuSortFeed *gpusort_tuplesort_feed(GpuSortTuplesort *sort);

/* Waits until this many other processes have fed their last rows, and spills
 * runs for them meanwhile.  For feeders that return no rows.  The sort has a
 * job. */
extern void gpusort_tuplesort_wait_for_feeders(GpuSortTuplesort *sort, int feeders);

/* All rows have been put. */
extern GpuSortOutput *gpusort_tuplesort_perform(GpuSortTuplesort *sort);

/* Returns why the sort is native; NONE if it is not. */
extern GpuSortNativeReason gpusort_tuplesort_native_reason(const GpuSortTuplesort *sort);

/* Shows EXPLAIN ANALYZE's lines, after the sort has been performed. */
extern void gpusort_tuplesort_explain(const GpuSortTuplesort *sort, ExplainState *es);

/* Frees everything.  A job goes back to the service. */
extern void gpusort_tuplesort_end(GpuSortTuplesort *sort);

#endif							/* GPUSORT_TUPLESORT_H */
