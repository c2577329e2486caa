/*
 * counters.h
 *	  Every counter and every reason for a native sort, each defined once.
 *
 * The tables here define the counters in shared memory, their start and reset,
 * the row of the view gpusort_stats, and the reasons that EXPLAIN ANALYZE
 * shows.  The view's columns in sql/gpusort.sql and the table in doc/views.md
 * are written by hand.  test/tools/counters compares them with these tables.
 *
 * The counters are atomics in shared memory.  Any process adds to them, without
 * the lock.
 */
#ifndef GPUSORT_COUNTERS_H
#define GPUSORT_COUNTERS_H

#include "postgres.h"

#include "port/atomics.h"

/*
 * Native reasons: why a sort was native though it was planned for the device,
 * or an index was to be built through it.  Decided when the sort is executed.
 *
 *	 NATIVE(enumerator, name, text, description)
 *
 * The counter and the column are called native_name.  EXPLAIN ANALYZE shows the
 * text.
 */
#define GPUSORT_NATIVE_REASON_TABLE(NATIVE) \
	NATIVE(DISABLED, disabled, "gpusort.enabled is off", \
		   "it was on when the query was planned, and off when it ran; or an index was built") \
	NATIVE(NO_DEVICE, no_device, "no device serves", \
		   "no device served any more, or it failed before the sort had sent a row; " \
		   "or an index was built") \
	NATIVE(NO_SLOT, no_slot, "too many sorts are open", \
		   "256 sorts were open, or 128, and 32 of this session's or more") \
	NATIVE(NO_BUFFERS, no_buffers, "gpusort.buffer_memory is in use", \
		   "too little of it was free to begin") \
	NATIVE(DEVICE_MEMORY, device_memory, "gpusort.device_memory is in use", \
		   "for longer than `gpusort.wait_timeout`, or the sort must not wait") \
	NATIVE(COLLATION, collation, "strcoll and strxfrm disagree for a collation, " \
		   "or gpusort.libc_collations is off", \
		   "strcoll contradicted strxfrm in this sort or an earlier one, " \
		   "and PostgreSQL sorted the rows") \
	NATIVE(COST, cost, "making key words costs more than comparisons", \
		   "the first rows of a serial sort showed it: " \
		   "texts begin alike, or come in order") \
	NATIVE(FEW_ROWS, few_rows, "fewer rows are expected than five times gpusort.min_rows", \
		   "PostgreSQL built an index") \
	NATIVE(INDEX_KEY, index_key, "a key of the index cannot be sorted on a device", \
		   "an index's first key has no key words, " \
		   "or an operator class contradicts itself: PostgreSQL built the index")

/*
 * Planned reasons: why a Sort stays PostgreSQL's own.  Decided when its plan is
 * finished.
 *
 *	 PLANNED(enumerator, name)
 *
 * The counter and the column are called planned_native_name.  The texts that
 * users read are in planner/reasons.c.
 */
#define GPUSORT_PLANNED_REASON_TABLE(PLANNED) \
	PLANNED(DISABLED, disabled) \
	PLANNED(NO_DEVICE, no_device) \
	PLANNED(FEW_ROWS, few_rows) \
	PLANNED(KEY_WORDS, key_words) \
	PLANNED(COLLATION, collation) \
	PLANNED(LIMIT, limit) \
	PLANNED(COST, cost) \
	PLANNED(CUSTOM_SCAN, custom_scan) \
	PLANNED(INCREMENTAL, incremental)

/*
 * The counters, in the order of the view's columns.
 *
 *	 COUNT(name, description)	a number
 *	 MS(name, description)		a time: counted in microseconds as name_us,
 *								shown in milliseconds as name_ms
 *	 NATIVE						as above: sorts that were native for a reason
 *	 PLANNED					as above: Sorts that were planned natively for
 *								a reason
 */
#define GPUSORT_COUNTER_TABLE(COUNT, MS, NATIVE, PLANNED) \
	COUNT(jobs, "sorts that a device did") \
	COUNT(rows, "rows that a device sorted") \
	COUNT(bytes_to_device, "rows and keys sent to a device") \
	COUNT(bytes_from_device, "sorted rows fetched from a device") \
	MS(feed, "scanning and packing rows") \
	MS(sort, "sorting on the device, after the last row has come") \
	MS(output, "waiting for sorted rows") \
	COUNT(in_backend, "sorts that the backend did, because few rows came") \
	COUNT(runs_spilled, "runs written to temporary files") \
	COUNT(bytes_spilled, "bytes written to temporary files") \
	COUNT(waited, "sorts that waited for buffers or device memory") \
	COUNT(index_builds, "btree indexes that gpusort built") \
	GPUSORT_NATIVE_REASON_TABLE(NATIVE) \
	COUNT(failed, "sorts that raised an error because the device failed or ran out of memory") \
	GPUSORT_PLANNED_REASON_TABLE(PLANNED)

typedef enum GpuSortNativeReason
{
	GPUSORT_NATIVE_NONE = -1,
#define NATIVE(enumerator, name, text, description) GPUSORT_NATIVE_##enumerator,
	GPUSORT_NATIVE_REASON_TABLE(NATIVE)
#undef NATIVE
	GPUSORT_NATIVE_REASONS
} GpuSortNativeReason;

typedef enum GpuSortPlannedReason
{
#define PLANNED(enumerator, name) GPUSORT_PLANNED_##enumerator,
	GPUSORT_PLANNED_REASON_TABLE(PLANNED)
#undef PLANNED
	GPUSORT_PLANNED_COUNTED,
	GPUSORT_PLANNED_CACHED_PLAN = GPUSORT_PLANNED_COUNTED	/* in reports only */
} GpuSortPlannedReason;

typedef struct GpuSortCounters
{
#define COUNT(name, description) pg_atomic_uint64 name;
#define MS(name, description) pg_atomic_uint64 name##_us;
#define NATIVE(enumerator, name, text, description)
#define PLANNED(enumerator, name)
	GPUSORT_COUNTER_TABLE(COUNT, MS, NATIVE, PLANNED)
#undef COUNT
#undef MS
#undef NATIVE
#undef PLANNED
	pg_atomic_uint64 native[GPUSORT_NATIVE_REASONS];
	pg_atomic_uint64 planned_native[GPUSORT_PLANNED_COUNTED];
} GpuSortCounters;

#endif							/* GPUSORT_COUNTERS_H */
