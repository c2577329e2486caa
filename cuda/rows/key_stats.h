/*
 * key_stats.h
 *	  Statistics of a key column: how they are folded, and whether keys keep to
 *	  them.
 *
 * In:  each chunk's gsort_column_stats, which its feeder wrote and which may
 *	    lie.
 * Out: those of a run and of a job; a verdict on them and on each key.
 *
 * A plan of sort words (key_plan.h) is made from statistics alone.  It keeps
 * the order of all keys that keep to them, and of no others: a key beyond them
 * makes the sort's result, and a merge that relies on it, meaningless.  So no
 * run is cut sorted before each of its keys was compared with the run's
 * statistics.  Folding widens only: what keeps to a run's statistics keeps to
 * those of all runs, so that merges need not look again.
 */
#ifndef GSORT_KEY_STATS_H
#define GSORT_KEY_STATS_H

#include <stdint.h>

#include "gsort.h"
#include "rows/host_device.h"

/* What turns out to be wrong with a chunk when its rows are looked at.  0:
 * nothing. */
typedef enum gsort_bad_data
{
	GSORT_BAD_OFFSETS = 1,
	GSORT_BAD_KEYS				/* they do not keep to the statistics */
} gsort_bad_data;

/* Of no value at all. */
static inline void
key_stats_init(gsort_column_stats *stats)
{
	stats->min = UINT64_MAX;
	stats->max = 0;
	stats->any = 0;
	stats->all = UINT64_MAX;
	stats->nulls = 0;
}

/* Adds those of a chunk, or of a run, to those of more. */
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

/* Does a value keep to them? */
static inline GSORT_HD int
key_stats_hold_value(const gsort_column_stats *stats, uint64_t value)
{
	return value >= stats->min && value <= stats->max &&
		((value & ~stats->any) | (stats->all & ~value)) == 0;
}

/*
 * Can a chunk's column have them that has at most so many NULLs?  The least and
 * the greatest value must be values that keep to them, for plans rely on that
 * too; where there is no value they are those of key_stats_init.  More NULLs
 * than rows could make their sum come round to 0.
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
