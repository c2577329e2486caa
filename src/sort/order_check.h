/*
 * order_check.h
 *	  Checks whether untrusted words have put a run's rows in the operators'
 *	  order.
 */
#ifndef GPUSORT_ORDER_CHECK_H
#define GPUSORT_ORDER_CHECK_H

#include "postgres.h"

#include "compat.h"
#include "keys/comparer.h"
#include "keys/sortkey.h"

/* A row that later ones are compared with. */
typedef struct GpuSortCheckedRow
{
	GpuSortComparand comparand; /* row NULL: there is none */
	char	   *copy;			/* the row's copy, once its block has gone; or room for one */
	Size		room;
} GpuSortCheckedRow;

typedef struct GpuSortOrderCheck
{
	GpuSortComparer *comparer;	/* by all keys */
	const GpuSortOrder *order;
	const GpuSortKeys *keys;
	const GpuSortRowFormat *format;
	/* the greatest row of the tie run before that of the row checked last */
	GpuSortCheckedRow before;
	GpuSortCheckedRow greatest; /* the greatest row of that row's tie run so far */
	int			n_violated;		/* runs that were out of order */
	double		ms;				/* for EXPLAIN: time of all runs, reading included */
	MemoryContext context;
	MemoryContext scratch;
} GpuSortOrderCheck;

/* Memory: the current context, and a child of it.  The slots are the
 * comparer's. */
extern GpuSortOrderCheck *gpusort_order_check_make(const GpuSortOrder *order,
												   const GpuSortKeys *keys,
												   const GpuSortRowFormat *format,
												   TupleTableSlot *a, TupleTableSlot *b);

/* The rows of another run come next. */
extern void gpusort_order_check_begin_run(GpuSortOrderCheck *check);

/*
 * Checks a run's next row.  ties: its words are those of the row before.
 * False: it belongs before another tie run.  The collation whose sort keys were
 * wrong is distrusted from now on.
 */
extern bool gpusort_order_check_row(GpuSortOrderCheck *check, const char *bytes, bool ties);

/* Called before the memory of the rows so far goes. */
extern void gpusort_order_check_retain_rows(GpuSortOrderCheck *check);

#endif							/* GPUSORT_ORDER_CHECK_H */
