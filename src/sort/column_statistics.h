/*
 * column_statistics.h
 *	  Statistics of a key's values from ANALYZE, for a sort that encodes its
 *	  keys.
 */
#ifndef GPUSORT_COLUMN_STATISTICS_H
#define GPUSORT_COLUMN_STATISTICS_H

#include "postgres.h"

#include "keys/dictionary.h"
#include "keys/key_samples.h"

/*
 * Adds some of a key's values, of the source's type, to samples, which are not
 * sorted then.  Adds none if there are no statistics, or the user may not see
 * the column.  Memory: the current context.
 */
extern void gpusort_add_statistics(const GpuSortKeyOrigin *origin, const GpuSortTextBytes *source,
								   GpuSortKeySamples *samples);

/* Counts the most common values of a key's column, of a base type, for a
 * dictionary.  Counts none if there are no statistics, or the user may not see
 * the column.  False: the dictionary has too many values. */
extern bool gpusort_count_common_values(const GpuSortKeyOrigin *origin, Oid type,
										GpuSortDictionary *dictionary);

/* Returns how many values a key is expected to have in this many rows.  Returns
 * 0 if nothing is known. */
extern double gpusort_expected_distinct(const GpuSortKeyOrigin *origin, double rows);

/* Returns the correlation between the rows' order and that of a key's column: 1
 * or -1 if they agree.  Returns 0 if they do not, if nothing is known, or if
 * the user may not see it. */
extern double gpusort_correlation(const GpuSortKeyOrigin *origin);

#endif							/* GPUSORT_COLUMN_STATISTICS_H */
