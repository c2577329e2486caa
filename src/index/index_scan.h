/*
 * index_scan.h
 *	  A process's scan of a table, for an index build: makes a row
 *	  (index_row.h) of each table row that belongs to the index.
 */
#ifndef GPUSORT_INDEX_SCAN_H
#define GPUSORT_INDEX_SCAN_H

#include "postgres.h"

#include "access/relscan.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "keys/row_format.h"

/* Takes a row, in a context that is reset afterwards. */
typedef void (*GpuSortTakeIndexRow) (void *arg, TupleTableSlot *slot);

typedef struct GpuSortIndexScan
{
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	TupleDesc	index_desc;
	TupleDesc	row_desc;
	GpuSortRowFormat format;	/* of the rows */
	TupleTableSlot *slot;		/* the row on its way */
	char	   *row_bytes;		/* its bytes */
	MemoryContext row_context;	/* reset after each row */
	GpuSortTakeIndexRow take;
	void	   *arg;
	double		rows;			/* that have been taken */
} GpuSortIndexScan;

/* Prepares a scan.  Memory: the current context. */
extern void gpusort_index_scan_begin(GpuSortIndexScan *scan, Relation heap, Relation index,
									 IndexInfo *info);

/* Hands rows to take that lie evenly among all, in their order; none of a small
 * table. */
extern void gpusort_index_scan_sample(GpuSortIndexScan *scan, GpuSortTakeIndexRow take,
									  void *arg);

/*
 * Hands all rows to take; or, with a scan of the table that is shared by
 * several processes, this process's part of them.  Returns the number of the
 * table's rows that were scanned here.  progress: the scan reports it.
 */
extern double gpusort_index_scan_run(GpuSortIndexScan *scan, GpuSortTakeIndexRow take, void *arg,
									 TableScanDesc shared_scan, bool progress);

#endif							/* GPUSORT_INDEX_SCAN_H */
