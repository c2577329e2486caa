/*
 * row_array.h
 *	  The rows of a small input: as they have come, then sorted where they are.
 *
 * It is cheaper to make than a tuplesort, and what has been made serves again for other rows.
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
 * An empty array of rows of type desc, kept in this format, which may take limit_bytes.  result: a slot
 * of the format's kind, which is used while rows are put and sorted.
 * All of these outlive it.  Memory: the current context, to the end of the array.
 */
extern GpuSortRowArray *gpusort_row_array_begin(const GpuSortOrder *order, TupleDesc desc,
												const GpuSortRowFormat *format,
												TupleTableSlot *result, Size limit_bytes);

/* Empties it.  Slots that have its rows are to be cleared before. */
extern void gpusort_row_array_reset(GpuSortRowArray *array);

/* Puts a copy of the slot's row behind the others.  False: there is no room; a first row is always
 * put. */
extern bool gpusort_row_array_put(GpuSortRowArray *array, TupleTableSlot *slot);

/* Have the rows, or so many first ones, come in order?  Each row is looked at once, however often that is asked. */
extern bool gpusort_row_array_is_in_order(GpuSortRowArray *array, uint64 rows);

/* Sorts the rows. */
extern void gpusort_row_array_sort(GpuSortRowArray *array);

extern uint64 gpusort_row_array_rows(const GpuSortRowArray *array);

/* A row by its number: as they came, or, once they are sorted, in order.  slot: of the format's kind;
 * what it has is valid as long as the array's rows.  Returns it. */
extern TupleTableSlot *gpusort_row_array_get(const GpuSortRowArray *array, uint64 number,
											 TupleTableSlot *slot);

/* Of some rows that lie evenly among those not sorted, whose first key is passed by reference: the numbers of one with its least
 * value, and of one with its greatest.  False: all are NULL. */
extern bool gpusort_row_array_extremes(GpuSortRowArray *array, uint64 *least, uint64 *greatest);

/* May it have the rest of so many rows too?  It may if its rows have come in order, are not too few to tell, and all would take half its
 * room: another half is for a tuplesort that they may go to. */
extern bool gpusort_row_array_may_stay(GpuSortRowArray *array, double rows);

/* What it takes. */
extern Size gpusort_row_array_bytes(const GpuSortRowArray *array);

/* Frees it. */
extern void gpusort_row_array_end(GpuSortRowArray *array);

#endif							/* GPUSORT_ROW_ARRAY_H */
