/*
 * order_check.h
 *	  Whether rows whose words are not to be trusted come in the operators' order.
 */
#ifndef GPUSORT_ORDER_CHECK_H
#define GPUSORT_ORDER_CHECK_H

#include "postgres.h"

#include "compat.h"
#include "keys/comparer.h"
#include "keys/sortkey.h"

typedef struct GpuSortOrderCheck
{
	GpuSortComparer *comparer;	/* by all keys */
	const GpuSortOrder *order;
	const GpuSortKeys *keys;
	const GpuSortRowFormat *format;
	uint64		checked;		/* rows, from the first one on, that are in order */
	GpuSortComparand last;		/* the last one of these; row NULL: none yet */
	char	   *copy;			/* of it, once its window has gone */
	Size		copy_room;
	Oid			violated;		/* the C library's collation that rows were out of order by; InvalidOid:
								 * none */
	double		ms;
	MemoryContext context;
	MemoryContext scratch;
} GpuSortOrderCheck;

/* Memory: the current context, and a child of it.  The slots are the comparer's. */
extern GpuSortOrderCheck *gpusort_order_check_make(const GpuSortOrder *order,
												   const GpuSortKeys *keys,
												   const GpuSortRowFormat *format,
												   TupleTableSlot *a, TupleTableSlot *b);

/* Rows of another run come, from number 0 on. */
extern void gpusort_order_check_begin_run(GpuSortOrderCheck *check);

/*
 * Row number row, if it is the one after those checked, is compared with the one before; unless
 * it is known that it was (compared).  False: it comes before it; then violated tells by what.
 */
extern bool gpusort_order_check_row(GpuSortOrderCheck *check, uint64 row, const char *bytes,
									bool compared);

/* The memory of the last row is about to go. */
extern void gpusort_order_check_keep_last(GpuSortOrderCheck *check);

/* Raises it as an error. */
pg_noreturn extern void gpusort_order_check_raise(Oid collation);

#endif							/* GPUSORT_ORDER_CHECK_H */
