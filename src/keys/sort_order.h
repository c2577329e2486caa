/*
 * sort_order.h
 *	  The order of a sort, in the form that tuplesort_begin_heap takes.
 */
#ifndef GPUSORT_SORT_ORDER_H
#define GPUSORT_SORT_ORDER_H

#include "postgres.h"

#include "access/attnum.h"

/* The arrays have n_keys elements each.  Their maker owns them. */
typedef struct GpuSortOrder
{
	int			n_keys;
	AttrNumber *columns;
	Oid		   *operators;
	Oid		   *collations;
	bool	   *nulls_first;
} GpuSortOrder;

#endif							/* GPUSORT_SORT_ORDER_H */
