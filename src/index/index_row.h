/*
 * index_row.h
 *	  Rows of an index build: index tuples in a form that src/sort takes.
 *
 * A row's first column is its heap TID as an int8, which sorts as TIDs do; its
 * lowest bit tells that the heap tuple is dead.  The index's columns follow.
 * They lie behind the int8, in a minimal tuple or a narrow row (row_format.h),
 * as they lie behind the header of an index tuple.  So columns are copied as
 * they are, but for a narrow row with NULLs.
 */
#ifndef GPUSORT_INDEX_ROW_H
#define GPUSORT_INDEX_ROW_H

#include "postgres.h"

#include "access/htup_details.h"
#include "access/itup.h"
#include "executor/tuptable.h"

#include "keys/row_format.h"

#define GPUSORT_INDEX_ROW_TID		1	/* the column of the TID */
#define GPUSORT_INDEX_ROW_COLUMN(i)	((AttrNumber) ((i) + 1))	/* that of the index's column i */

/* An index tuple has at most INDEX_SIZE_MASK bytes.  A row has the TID and at
 * most a longer bitmap of NULLs besides. */
#define GPUSORT_INDEX_ROW_BYTES_MAX	(INDEX_SIZE_MASK + 1 + 64)

/* Returns the row type, in the current context. */
extern TupleDesc gpusort_index_row_desc(TupleDesc index_desc);

/* Makes a row from an index tuple with a TID, at place, which has room for any
 * row.  index_desc tells which columns may be NULL. */
extern MinimalTuple gpusort_index_row_make(IndexTuple tuple, bool alive, TupleDesc index_desc,
										   char *place);

/* Makes the index tuple from a row again, at place, which has room for any
 * index tuple. */
extern IndexTuple gpusort_index_row_tuple(const GpuSortRowFormat *format, TupleTableSlot *row,
										  TupleDesc index_desc, char *place, bool *alive);

/* Returns the TID as a row's first column has it. */
static inline int64
gpusort_index_row_tid(ItemPointer tid, bool alive)
{
	return (int64) ItemPointerGetBlockNumberNoCheck(tid) << 17 |
		(int64) ItemPointerGetOffsetNumberNoCheck(tid) << 1 | (alive ? 0 : 1);
}

#endif							/* GPUSORT_INDEX_ROW_H */
