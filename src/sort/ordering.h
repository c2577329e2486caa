/*
 * ordering.h
 *	  What tells the order of a sort's rows: their words, and what decides where words do not.
 */
#ifndef GPUSORT_ORDERING_H
#define GPUSORT_ORDERING_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "executor/tuptable.h"

#include "compat.h"
#include "keys/comparer.h"
#include "keys/sortkey.h"
#include "shared/shmem.h"
#include "sort/order_check.h"

/*
 * The slots of a sort.  Result and native belong to the node and outlive every sort; the others are
 * there once rows are packed.  Result is of the row format's kind, minimal tuples or virtual for
 * narrow rows.
 */
typedef struct GpuSortSlots
{
	TupleTableSlot *result;		/* every row that goes out, but for native's */
	TupleTableSlot *native;		/* minimal tuples, of a tuplesort or a tuplestore; may be result */
	bool		native_goes_out;	/* as it is, so that nobody reads columns that nobody asks for */
	TupleTableSlot *array_row;	/* as result: a row of an array on its way to the device */
	TupleTableSlot *merge_run;	/* as result: a run's row, while keys are taken from it */
	TupleTableSlot *tied_native;	/* minimal tuples: a row of tied ones that were sorted natively */
	TupleTableSlot *compared[2];	/* as result: rows while they are compared */
} GpuSortSlots;

/* What groups of tied rows have cost, of all runs of a sort. */
typedef struct GpuSortTieFigures
{
	uint64		groups;
	uint64		rows;			/* in them */
	double		ms;
} GpuSortTieFigures;

/* What tells the order of rows, of one sort. */
typedef struct GpuSortOrdering
{
	const GpuSortOrder *order;
	const GpuSortKeys *keys;
	const GpuSortRowFormat *format;
	TupleDesc	desc;
	GpuSortComparer *ties;		/* for rows that words leave undecided; NULL: there are none */
	GpuSortOrderCheck *check;	/* for words that are not to be trusted; NULL: all are */
	TupleTableSlot *native_slot;	/* minimal tuples, for a tuplesort's rows */
	int			work_mem;		/* kB, as it was: rows that are read again come as they came before */
	GpuSortTieFigures figures;
} GpuSortOrdering;

/* Makes the slots that are the sort's own, as its result slot is; frees those that there are. */
extern void gpusort_slots_make(GpuSortSlots *slots, TupleDesc desc);
extern void gpusort_slots_drop(GpuSortSlots *slots);

/* What is handed in outlives it; the slots are the sort's. */
extern void gpusort_ordering_make(GpuSortOrdering *ordering, const GpuSortOrder *order,
								  const GpuSortKeys *keys, const GpuSortRowFormat *format,
								  TupleDesc desc, const GpuSortSlots *slots, MemoryContext context);

/* Enters what a job is told of the rows' words. */
extern void gpusort_ordering_describe(const GpuSortOrdering *ordering, GpuSortJobOptions *options);

/* All rows have their words, and none of them is to be verified after all: nothing is checked. */
extern void gpusort_ordering_trust_words(GpuSortOrdering *ordering);

/* Were all rows of a run sorted natively, since their words were not to be trusted? */
extern bool gpusort_ordering_is_native(const GpuSortOrdering *ordering);

/* EXPLAIN ANALYZE's lines: of what words have left undecided, and what that took. */
extern void gpusort_ordering_explain(const GpuSortOrdering *ordering, ExplainState *es);
extern void gpusort_ordering_explain_times(const GpuSortOrdering *ordering, ExplainState *es);

#endif							/* GPUSORT_ORDERING_H */
