/*
 * row_array.h
 *	  The rows of a small input: first as they have come, then sorted in place.
 *
 * An array is cheaper to make than a tuplesort, and serves again for other
 * rows.
 */
#ifndef GPUSORT_ROW_ARRAY_H
#define GPUSORT_ROW_ARRAY_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "executor/tuptable.h"

#include "keys/row_format.h"
#include "keys/sort_order.h"

typedef struct GpuSortRowArray GpuSortRowArray;

/*
 * Begins an empty array of rows of type desc in this format, which may take
 * limit_bytes.  slot: of the kind for all columns, used while rows are put
 * and sorted.  All arguments must outlive the array.  Memory: the current
 * context, to the end of the array.
 */
extern GpuSortRowArray *gpusort_row_array_begin(const GpuSortOrder *order, TupleDesc desc,
												const GpuSortRowFormat *format,
												TupleTableSlot *slot, Size limit_bytes);

/* Empties it.  Slots that hold its rows must be cleared before. */
extern void gpusort_row_array_reset(GpuSortRowArray *array);

/* Puts a copy of the slot's row behind the others.  False: there is no room.  A
 * first row is always put. */
extern bool gpusort_row_array_put(GpuSortRowArray *array, TupleTableSlot *slot);

/* Have the rows, or this many first ones, come in order?  Each row is compared
 * once, however often this is asked. */
extern bool gpusort_row_array_is_in_order(GpuSortRowArray *array, uint64 rows);

/* Sorts the rows. */
extern void gpusort_row_array_sort(GpuSortRowArray *array);

extern uint64 gpusort_row_array_rows(const GpuSortRowArray *array);

/* Returns a row by its number: as they came, or, after the sort, in order.
 * slot is of one of the format's kinds, and is returned.  Its contents are
 * valid as long as the array's rows. */
extern TupleTableSlot *gpusort_row_array_get(const GpuSortRowArray *array, uint64 number,
											 TupleTableSlot *slot);

/* Would this many rows, as long as those that it has, take no more bytes? */
extern bool gpusort_row_array_fits(const GpuSortRowArray *array, double rows, double bytes);

/* Returns the bytes that the array takes. */
extern Size gpusort_row_array_bytes(const GpuSortRowArray *array);

/* Frees it. */
extern void gpusort_row_array_end(GpuSortRowArray *array);

#endif							/* GPUSORT_ROW_ARRAY_H */
