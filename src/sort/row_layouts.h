/*
 * row_layouts.h
 *	  How many words each key of a sort gets, and what they skip, by rows that have come.
 */
#ifndef GPUSORT_ROW_LAYOUTS_H
#define GPUSORT_ROW_LAYOUTS_H

#include "postgres.h"

#include "sort/row_array.h"
#include "sort/tuplesort.h"

/*
 * Lays out the spec's n_keys keys by the rows of an array, which are not sorted.  slot: to look at
 * them; expected_rows: of the whole sort.  False: a key has no words any more.  Memory: the
 * current context.
 */
extern bool gpusort_lay_out_by_rows(GpuSortRowArray *array, TupleTableSlot *slot,
									const GpuSortSpec *spec, double expected_rows,
									GpuSortKeyLayout *layouts);

#endif							/* GPUSORT_ROW_LAYOUTS_H */
