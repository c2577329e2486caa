/*
 * output_array.h
 *	  The rows of an array.
 */
#ifndef GPUSORT_OUTPUT_ARRAY_H
#define GPUSORT_OUTPUT_ARRAY_H

#include "postgres.h"

#include "sort/output.h"
#include "sort/row_array.h"

/* Of an array that has been sorted, and stays.  Memory: the current context. */
extern GpuSortOutput *gpusort_output_array_begin(GpuSortSlots *slots, const GpuSortRowArray *array);

#endif							/* GPUSORT_OUTPUT_ARRAY_H */
