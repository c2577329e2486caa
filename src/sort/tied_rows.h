/*
 * tied_rows.h
 *	  Sorts a tie run of rows that words have left undecided.
 */
#ifndef GPUSORT_TIED_ROWS_H
#define GPUSORT_TIED_ROWS_H

#include "postgres.h"

#include "keys/comparer.h"
#include "sort/ordering.h"

typedef struct GpuSortTiedRow
{
	GpuSortComparand comparand; /* for the ordering's ties */
	uint32		number;			/* place in the tie run, as the words have ordered it */
} GpuSortTiedRow;

/* Sorts n rows by the ordering's ties, and equal ones by their numbers.
 * taken_bytes: memory of work_mem that the list and the rows take. */
extern void gpusort_sort_tied_rows(const GpuSortOrdering *ordering, GpuSortTiedRow *rows, uint64 n,
								   Size taken_bytes);

#endif							/* GPUSORT_TIED_ROWS_H */
