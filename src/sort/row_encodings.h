/*
 * row_encodings.h
 *	  Chooses the number of words of each key of a sort, and the prefix that
 *	  they leave out, by rows that have come.
 */
#ifndef GPUSORT_ROW_ENCODINGS_H
#define GPUSORT_ROW_ENCODINGS_H

#include "postgres.h"

#include "sort/row_array.h"
#include "sort/sort_spec.h"

/*
 * Encodes the spec's keys by statistics, and by the rows of an array, which are
 * not sorted, or by the spec's sample.  slot: to look at the rows;
 * expected_rows: of the whole sort.  Returns the number of keys that have
 * words.  These may be fewer than planned, or none, if a setting has changed
 * since.  *pays: false if PostgreSQL's own sort is expected to take less time;
 * only serial sorts are asked that.  Memory: the current context.
 */
extern int	gpusort_choose_encodings(GpuSortRowArray *array, TupleTableSlot *slot,
									 const GpuSortSpec *spec, double expected_rows,
									 GpuSortKeyEncoding encodings[GPUSORT_WORDS_MAX], bool *pays);

/* Is PostgreSQL's own sort expected to take less time, by the spec's sample?
 * Only serial sorts are asked that. */
extern bool gpusort_sample_tells_to_compare(const GpuSortSpec *spec);

#endif							/* GPUSORT_ROW_ENCODINGS_H */
