/*
 * index_workers.h
 *	  Parallel workers of an index build, which scan the table and feed the
 *	  sort's job; one of them then loads the index, and one writes its pages.
 *
 * Life: begin; the leader runs its own part of the shared scan, and tells the
 * workers as soon as its sort has a job; wait; end.  The session is in parallel
 * mode from begin to end.
 */
#ifndef GPUSORT_INDEX_WORKERS_H
#define GPUSORT_INDEX_WORKERS_H

#include "postgres.h"

#include "access/relscan.h"
#include "storage/shm_mq.h"

#include "index/index_scan.h"
#include "sort/tuplesort.h"

typedef struct GpuSortIndexWorkers GpuSortIndexWorkers;

/* Starts the workers that the planner has granted the build, and sets the
 * sort's number of workers (spec->workers) to theirs.  NULL: there are none,
 * and the build is serial.  Memory: the current context. */
extern GpuSortIndexWorkers *gpusort_index_workers_begin(const GpuSortIndexScan *scan,
														GpuSortSpec *spec);

/* Begins the leader's part of the scan. */
extern TableScanDesc gpusort_index_workers_leader_scan(const GpuSortIndexWorkers *workers);

/* Puts a row of the leader's into the sort, unless the sort is native, and
 * lacks the workers' rows. */
extern void gpusort_index_workers_put(GpuSortIndexWorkers *workers, GpuSortTuplesort *sort,
									  TupleTableSlot *slot);

/* Waits until the workers have fed their last rows.  Adds the table's rows that
 * they have scanned to *heap_tuples, and the index's to *rows.  False: the sort
 * is native, and has not got their rows; they have ended. */
extern bool gpusort_index_workers_wait(GpuSortIndexWorkers *workers, GpuSortTuplesort *sort,
									   double *heap_tuples, double *rows);

/* Returns the queue of the worker that loads the index now. */
extern shm_mq_handle *gpusort_index_workers_loader(const GpuSortIndexWorkers *workers);

/* Waits until the workers have ended. */
extern void gpusort_index_workers_end(GpuSortIndexWorkers *workers);

#endif							/* GPUSORT_INDEX_WORKERS_H */
