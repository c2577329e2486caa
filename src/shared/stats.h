/*
 * stats.h
 *	  Counting what was sorted where.
 */
#ifndef GPUSORT_STATS_H
#define GPUSORT_STATS_H

#include "postgres.h"

#include "shared/counters.h"

extern void gpusort_stats_count_native(GpuSortNativeReason reason);

/* The reason in words, for EXPLAIN. */
extern const char *gpusort_native_reason_text(GpuSortNativeReason reason);

extern void gpusort_stats_count_in_backend(uint64 sorts);

/* A Sort stays native in a finished plan.  Counted in this process until the transaction ends, or
 * until gpusort_stats_flush(). */
extern void gpusort_stats_count_refused(GpuSortRefusalCode reason);
extern void gpusort_stats_flush(void);

/* A query gets an error of class 58; each of its processes may say so. */
extern void gpusort_stats_count_failed(void);

/* Time that backends spent on device sorts' feed and output. */
extern void gpusort_stats_add_times(double feed_ms, double output_ms);

/* One run has been written to a temporary file. */
extern void gpusort_stats_count_run(uint64 bytes);

#endif							/* GPUSORT_STATS_H */
