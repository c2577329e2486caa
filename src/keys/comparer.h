/*
 * comparer.h
 *	  The order of rows by the operators themselves, for rows that words leave
 *	  undecided.
 *
 * The sort in the backend, the tie runs, the check of the order and the merge
 * of runs have a comparer each.
 */
#ifndef GPUSORT_COMPARER_H
#define GPUSORT_COMPARER_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/sortsupport.h"

#include "keys/row_format.h"
#include "keys/sort_order.h"

/* A row, with the value that comparisons need first. */
typedef struct GpuSortComparand
{
	const char *row;
	/* of the comparer's first key; points into the row if by reference */
	Datum		value;
	bool		is_null;
} GpuSortComparand;

typedef struct GpuSortComparer
{
	int			first_key;		/* compared rows agree in the keys before it */
	int			n_keys;			/* these and the compared ones */
	SortSupportData *keys;
	bool		by_value;		/* the first key's type */
	int16		length;
	const GpuSortRowFormat *format;
	TupleTableSlot *a;			/* rows of the format, while keys are taken from them */
	TupleTableSlot *b;
} GpuSortComparer;

/*
 * Makes a comparer by the order's first n_keys keys, for rows of this format
 * that agree in the keys before first_key.  The slots are of the format's kind,
 * and are the comparer's alone.  Memory: the current context, which must
 * outlive it.
 */
extern GpuSortComparer *gpusort_comparer_make(const GpuSortOrder *order, int first_key, int n_keys,
											  const GpuSortRowFormat *format,
											  TupleTableSlot *a, TupleTableSlot *b);

/* Sets *comparand to a row, which must live as long. */
extern void gpusort_comparer_take(GpuSortComparer *comparer, const char *row,
								  GpuSortComparand *comparand);

/* Returns a negative number, 0 or a positive one. */
extern int	gpusort_comparer_compare(GpuSortComparer *comparer, const GpuSortComparand *a,
									 const GpuSortComparand *b);

/* Returns the number of the key that tells two rows apart; n_keys: none
 * does. */
extern int	gpusort_comparer_deciding_key(GpuSortComparer *comparer, const GpuSortComparand *a,
										  const GpuSortComparand *b);

/* Hashes the value of the comparer's first key by its bytes.  Tells if two have
 * the same bytes, as only equal values can. */
extern uint32 gpusort_comparer_hash(const GpuSortComparer *comparer, const GpuSortComparand *row);
extern bool gpusort_comparer_same_bytes(const GpuSortComparer *comparer,
										const GpuSortComparand *a, const GpuSortComparand *b);

/* Does the same as compare, with two slots of any kind. */
extern int	gpusort_comparer_compare_slots(GpuSortComparer *comparer, TupleTableSlot *a,
										   TupleTableSlot *b);

#endif							/* GPUSORT_COMPARER_H */
