/*
 * sort_method.h
 *	  Chooses the sort method, words on the device or comparisons here, by rows
 *	  that have come.
 */
#ifndef GPUSORT_SORT_METHOD_H
#define GPUSORT_SORT_METHOD_H

#include "postgres.h"

#include "keys/key_encoding.h"
#include "sort/row_array.h"
#include "sort/sort_spec.h"

/* The rows of a sort by which its keys are encoded: its first ones, or some
 * that lie evenly among all. */
typedef struct GpuSortFirstRows
{
	GpuSortRowArray *array;		/* not sorted */
	bool		among_all;		/* they lie evenly among all */
	TupleTableSlot *slot;		/* to look at them */
	const GpuSortSpec *spec;
	double		expected_rows;	/* of the whole sort */
} GpuSortFirstRows;

/* Do the first n_keys keys, by the words that each of them wants, decide so
 * much that the next key is not worth its expensive words? */
extern bool gpusort_keys_decide(const GpuSortFirstRows *from, int n_keys,
								const GpuSortWantedWords *words);

/*
 * Would comparisons in this process, in the array if all rows have room there,
 * else in PostgreSQL's own sort, take less time than words of the first n_keys
 * keys and the device?  The answer is an estimate.
 */
extern bool gpusort_comparing_costs_less(const GpuSortFirstRows *from, int n_keys,
										 const GpuSortWantedWords *words,
										 const GpuSortKeyEncoding *encodings);

#endif							/* GPUSORT_SORT_METHOD_H */
