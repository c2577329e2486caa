/*
 * stats.h
 *	  Counts sorts, by where they ran.
 */
#ifndef GPUSORT_STATS_H
#define GPUSORT_STATS_H

#include "postgres.h"

#include "job/counters.h"

extern void gpusort_stats_count_native(GpuSortNativeReason reason);

/* Returns the reason in words, for EXPLAIN. */
extern const char *gpusort_native_reason_text(GpuSortNativeReason reason);

extern void gpusort_stats_count_in_backend(uint64 sorts);

extern void gpusort_stats_count_index_build(void);

/* Counts a Sort that stays native in a finished plan.  This process keeps the
 * count until the transaction ends, or until gpusort_stats_flush(). */
extern void gpusort_stats_count_planned(GpuSortPlannedReason reason);
extern void gpusort_stats_flush(void);

/* Adds the time that backends spent on the feed and output of device sorts. */
extern void gpusort_stats_add_times(double feed_ms, double output_ms);

/* Counts a run that has been written to a temporary file. */
extern void gpusort_stats_count_run(uint64 bytes);

#endif							/* GPUSORT_STATS_H */
