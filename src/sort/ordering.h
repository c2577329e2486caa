/*
 * ordering.h
 *	  The order of a sort's rows: their words, and the comparers for rows that
 *	  words leave undecided.
 */
#ifndef GPUSORT_ORDERING_H
#define GPUSORT_ORDERING_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/tuplesort.h"

#include "compat.h"
#include "job/shmem.h"
#include "keys/comparer.h"
#include "sort/sort_spec.h"

/*
 * The slots of a sort.  The node owns the first three, which outlive every sort
 * and are those of the spec.  The others exist once rows are packed, and have
 * all columns.
 */
typedef struct GpuSortSlots
{
	TupleTableSlot *result;		/* a row that goes out */
	TupleTableSlot *native;		/* minimal tuples, of a tuplesort or a tuplestore; may be result */
	TupleTableSlot *projected;	/* a row that goes out of a tuplesort; NULL: native has it */
	TupleTableSlot *array_row;	/* a row of an array on its way to the device */
	TupleTableSlot *merge_run;	/* a run's row, while keys are taken from it */
	TupleTableSlot *tied_native;	/* minimal tuples: a tied row that was sorted natively */
	TupleTableSlot *compared[2];	/* rows while they are compared */
} GpuSortSlots;

/* The cost of tie runs, in all runs of a sort. */
typedef struct GpuSortTieFigures
{
	uint64		tie_runs;
	uint64		rows;			/* rows in them */
	double		ms;
} GpuSortTieFigures;

/* The order of the rows of one sort. */
typedef struct GpuSortOrdering
{
	const GpuSortSpec *spec;
	const GpuSortKeys *keys;
	/* Compares rows that words leave undecided, by their undecided keys.
	 * Words have ordered rows that are equal in them.  NULL: there are no such
	 * rows. */
	GpuSortComparer *ties;
	/* Compares all rows, by the keys up to the last whose words are not to be
	 * trusted.  NULL: all are. */
	GpuSortComparer *check;
	/* Compares rows of different runs that words leave undecided, or all rows
	 * if there is a check.  NULL: there are no such rows. */
	GpuSortComparer *merge;
	TupleTableSlot *native_slot;	/* minimal tuples, for a tuplesort's rows */
	GpuSortTieFigures figures;
	int			n_violated;		/* runs that words had put out of order */
	double		check_ms;		/* of all runs, reading included */
} GpuSortOrdering;

/* Makes the sort's own slots.  The second function frees them, if there are
 * any. */
extern void gpusort_slots_make(GpuSortSlots *slots, const GpuSortSpec *spec);
extern void gpusort_slots_drop(GpuSortSlots *slots);

/* Its arguments must outlive it.  The slots are the sort's.  Memory: the
 * current context. */
extern void gpusort_ordering_make(GpuSortOrdering *ordering, const GpuSortSpec *spec,
								  const GpuSortKeys *keys, const GpuSortSlots *slots);

/* Begins PostgreSQL's own sort of the spec's rows.  Memory: the current
 * context. */
extern Tuplesortstate *gpusort_begin_native(const GpuSortSpec *spec, bool random_access);

/* Describes the rows' words for the job. */
extern void gpusort_ordering_describe(const GpuSortOrdering *ordering, GpuSortJobOptions *options);

/* Shows EXPLAIN ANALYZE's lines on undecided rows, and the time that they
 * took. */
extern void gpusort_ordering_explain(const GpuSortOrdering *ordering, ExplainState *es);
extern void gpusort_ordering_explain_times(const GpuSortOrdering *ordering, ExplainState *es);

#endif							/* GPUSORT_ORDERING_H */
