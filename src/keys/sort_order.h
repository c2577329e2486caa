/*
 * sort_order.h
 *	  What rows are sorted by, as tuplesort_begin_heap takes it.
 */
#ifndef GPUSORT_SORT_ORDER_H
#define GPUSORT_SORT_ORDER_H

#include "postgres.h"

#include "access/attnum.h"

/* The arrays have n_keys elements each; whoever made them owns them. */
typedef struct GpuSortOrder
{
	int			n_keys;
	AttrNumber *columns;
	Oid		   *operators;
	Oid		   *collations;
	bool	   *nulls_first;
} GpuSortOrder;

#endif							/* GPUSORT_SORT_ORDER_H */
