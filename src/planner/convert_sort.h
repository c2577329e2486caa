/*
 * convert_sort.h
 *	  A Sort node of a finished plan becomes a GpuSort.
 */
#ifndef GPUSORT_CONVERT_SORT_H
#define GPUSORT_CONVERT_SORT_H

#include "postgres.h"

#include "nodes/plannodes.h"

/*
 * What is to stand in the Sort's place: a GpuSort, of the Sort's memory context; or the Sort itself,
 * if it cannot be one.  bound: the rows that a LIMIT above lets be read, or as costs.h has it.
 * rtable: the statement's.
 */
extern Plan *gpusort_convert_sort(Sort *sort, double bound, List *rtable);

/* A list with entries like those of tlist, of which the i-th is the i-th column of varno. */
extern List *gpusort_tlist_of(const List *tlist, int varno);

#endif							/* GPUSORT_CONVERT_SORT_H */
