/*
 * key_stats.h
 *	  Statistics of a key column: folding them, and checking keys against them.
 *
 * In:  each chunk's gsort_column_stats, written by its feeder and untrusted.
 * Out: statistics of a run and of a job; a verdict on them and on each key.
 *
 * A plan of sort words (key_plan.h) depends on statistics alone.  The plan
 * keeps the order of exactly the keys that match the statistics.  A key outside
 * makes the sort and any later merge meaningless.  Therefore every finish
 * compares each key with the run's statistics.  Folding only widens statistics,
 * so keys that match a run's also match the job's, and merges need no second
 * check.
 */
#ifndef GSORT_KEY_STATS_H
#define GSORT_KEY_STATS_H

#include <stdint.h>

#include "gsort.h"
#include "rows/host_device.h"

/* Faults of a chunk that show only when its rows are read.  0: none. */
typedef enum gsort_bad_data
{
	GSORT_BAD_OFFSETS = 1,
	GSORT_BAD_KEYS				/* some keys contradict the statistics */
} gsort_bad_data;

static inline void
key_stats_init(gsort_column_stats *stats)
{
	stats->min = UINT64_MAX;
	stats->max = 0;
	stats->any = 0;
	stats->all = UINT64_MAX;
	stats->nulls = 0;
}

static inline void
key_stats_fold(gsort_column_stats *stats, const gsort_column_stats *more)
{
	if (more->min < stats->min)
		stats->min = more->min;
	if (more->max > stats->max)
		stats->max = more->max;
	stats->any |= more->any;
	stats->all &= more->all;
	stats->nulls += more->nulls;
}

static inline GSORT_HD int
key_stats_hold_value(const gsort_column_stats *stats, uint64_t value)
{
	return value >= stats->min && value <= stats->max &&
		((value & ~stats->any) | (stats->all & ~value)) == 0;
}

/*
 * True if a column with at most most_nulls NULLs can have these statistics.
 * Plans rely on min and max being matching values; without any value, both are
 * those of key_stats_init.  More NULLs than rows could overflow the sum of the
 * counts to 0.
 */
static inline int
key_stats_are_possible(const gsort_column_stats *stats, uint64_t most_nulls)
{
	if (stats->nulls > most_nulls)
		return 0;
	if (stats->min > stats->max)
		return stats->min == UINT64_MAX && stats->max == 0 && stats->any == 0 &&
			stats->all == UINT64_MAX;
	return key_stats_hold_value(stats, stats->min) && key_stats_hold_value(stats, stats->max);
}

#endif							/* GSORT_KEY_STATS_H */
