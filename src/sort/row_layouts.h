/*
 * row_layouts.h
 *	  How many words each key of a sort gets, and what they skip, by rows that have come.
 */
#ifndef GPUSORT_ROW_LAYOUTS_H
#define GPUSORT_ROW_LAYOUTS_H

#include "postgres.h"

#include "sort/row_array.h"
#include "sort/sort_spec.h"

/*
 * The layouts of the spec's keys by the rows of an array, which are not sorted, if that is better than what
 * the plan says; else those of the spec.  slot: to look at the rows; expected_rows: of the whole sort.
 * Memory: the current context.
 */
extern const GpuSortKeyLayout *gpusort_choose_layouts(GpuSortRowArray *array, TupleTableSlot *slot,
													  const GpuSortSpec *spec,
													  double expected_rows);

#endif							/* GPUSORT_ROW_LAYOUTS_H */
