/*
 * column_statistics.h
 *	  What ANALYZE has left of a key's values, for a sort that lays out its keys.
 */
#ifndef GPUSORT_COLUMN_STATISTICS_H
#define GPUSORT_COLUMN_STATISTICS_H

#include "postgres.h"

#include "keys/key_samples.h"

/*
 * Adds some of a key's values, of the source's type, to samples, which are not sorted then.  Adds none if there are no
 * statistics of them, or the user may not see the column.  Memory: the current context.
 */
extern void gpusort_add_statistics(const GpuSortKeyFigures *figures, const GpuSortTextBytes *source,
								   GpuSortKeySamples *samples);

/* How far rows lie in the order of a key's column: 1 or -1 if they do; 0: not at all, or nothing is known, or the user may not see it. */
extern double gpusort_correlation(const GpuSortKeyFigures *figures);

#endif							/* GPUSORT_COLUMN_STATISTICS_H */
