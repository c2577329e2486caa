/*
 * column_statistics.h
 *	  What ANALYZE has left of a key's values, for a sort that lays out its keys.
 */
#ifndef GPUSORT_COLUMN_STATISTICS_H
#define GPUSORT_COLUMN_STATISTICS_H

#include "postgres.h"

#include "keys/key_samples.h"

/*
 * Adds what the statistics say of a key's values, in a sort of so many rows, to samples, which are not sorted then: how many
 * there are; how wide they are, if samples say nothing of that; and, if source is not NULL, some of them, which
 * are of its type.  Adds nothing if there are no such statistics, or the user may not see the column.  Memory: the current
 * context.
 */
extern void gpusort_add_statistics(const GpuSortStatisticsKey *key, const GpuSortTextBytes *source,
								   double rows, GpuSortKeySamples *samples);

#endif							/* GPUSORT_COLUMN_STATISTICS_H */
