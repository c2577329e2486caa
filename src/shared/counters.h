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
 * The reasons why a sort was native though it was planned for the device, or an
 * index was to be built through it.
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
		   "the device had gone since the query was planned, or failed before the sort had sent a row; or an index was built") \
	NATIVE(NO_SLOT, no_slot, "too many sorts are open", \
		   "256 sorts were open, or 128, and 32 of this session's or more") \
	NATIVE(NO_BUFFERS, no_buffers, "gpusort.buffer_memory is in use", \
		   "too little of it was free to begin") \
	NATIVE(DEVICE_MEMORY, device_memory, "gpusort.device_memory is in use", \
		   "for longer than `gpusort.wait_timeout`, or the sort must not wait") \
	NATIVE(COLLATION, collation, "a collation's sort keys are not to be trusted", \
		   "strcoll contradicted strxfrm in this sort or has done so before: the rows were sorted natively") \
	NATIVE(COST, cost, "words of its keys cost more than comparisons", \
		   "a serial sort's first rows showed so: texts that begin alike, or that have come in order") \
	NATIVE(INDEX_KEY, index_key, "the index's first key has no words", \
		   "an index's first key has no words under its operator class and collation: PostgreSQL built the index")

/*
 * The reasons why a Sort stays native in a finished plan.
 *
 *	 REFUSAL(enumerator, name, text, remedy)
 *
 * The counter and the column are called refused_name.  remedy tells the user
 * what to do.
 */
#define GPUSORT_SORT_REFUSAL_TABLE(REFUSAL) \
	REFUSAL(DISABLED, disabled, "gpusort.enabled is off", \
			"SET gpusort.enabled = on") \
	REFUSAL(NO_DEVICE, no_device, "no device serves", \
			"the view gpusort_devices says why; gpusort.device chooses the device") \
	REFUSAL(FEW_ROWS, few_rows, "fewer rows are expected than a hundredth of gpusort.min_rows", \
			"a lower gpusort.min_rows, though so few rows gain nothing; ANALYZE, if there are more") \
	REFUSAL(KEY_WORDS, key_words, "its first key has no words under its operator and collation", \
			"ORDER BY an expression of another type, or another COLLATE, in its place") \
	REFUSAL(COLLATION, collation, "its first key's collation has no sort keys to rely on", \
			"another COLLATE, or gpusort.libc_collations = verify where it is off") \
	REFUSAL(LATER_KEY, later_key, \
			"a key without words is behind others, in which many rows may tie", \
			"ORDER BY an expression of another type, or another COLLATE, in its place") \
	REFUSAL(LIMIT, limit, "LIMIT lets it keep the top rows only, which is cheaper", \
			"nothing: few rows of many are found without sorting all") \
	REFUSAL(COST, cost, "the device takes longer for its keys", \
			"as a superuser SET gpusort.debug_force = on, to see the other plan") \
	REFUSAL(CUSTOM_SCAN, custom_scan, \
			"it is below another extension's custom scan, or above one in a query that is planned while another is", \
			"nothing here") \
	REFUSAL(INCREMENTAL, incremental, \
			"it is an Incremental Sort, which gives its first rows soon, as they come in order by its first keys", \
			"SET enable_incremental_sort = off") \
	REFUSAL(GROUPING_SETS, grouping_sets, \
			"it is a further sort of grouping sets, which an Aggregate does itself", \
			"a UNION ALL of queries with one GROUP BY each")

/*
 * The counters, in the order of the view's columns.
 *
 *	 COUNT(name, description)	a number
 *	 MS(name, description)		a time: counted in microseconds as name_us,
 *								shown in milliseconds as name_ms
 *	 NATIVE						as above: sorts that were native for a reason
 *	 REFUSAL					as above: Sorts that were planned natively for
 *								a reason
 */
#define GPUSORT_COUNTER_TABLE(COUNT, MS, NATIVE, REFUSAL) \
	COUNT(jobs, "sorts that a device did") \
	COUNT(rows, "rows that a device sorted") \
	COUNT(bytes_to_device, "rows and keys sent to a device") \
	COUNT(bytes_from_device, "sorted rows fetched from a device") \
	MS(feed, "scanning and packing rows") \
	MS(sort, "sorting on the device, after the last row has come") \
	MS(output, "waiting for sorted rows") \
	COUNT(in_backend, "sorts of so few rows that the backend did them") \
	COUNT(runs_spilled, "runs written to temporary files") \
	COUNT(bytes_spilled, "bytes written to temporary files") \
	COUNT(waited, "sorts that waited for buffers or device memory") \
	COUNT(index_builds, "btree indexes that were built by gpusort") \
	GPUSORT_NATIVE_REASON_TABLE(NATIVE) \
	COUNT(failed, "queries that got an error because the device failed") \
	GPUSORT_SORT_REFUSAL_TABLE(REFUSAL)

typedef enum GpuSortNativeReason
{
	GPUSORT_NATIVE_NONE = -1,
#define NATIVE(enumerator, name, text, description) GPUSORT_NATIVE_##enumerator,
	GPUSORT_NATIVE_REASON_TABLE(NATIVE)
#undef NATIVE
	GPUSORT_NATIVE_REASONS
} GpuSortNativeReason;

typedef enum GpuSortRefusalCode
{
#define REFUSAL(enumerator, name, text, remedy) GPUSORT_REFUSED_##enumerator,
	GPUSORT_SORT_REFUSAL_TABLE(REFUSAL)
#undef REFUSAL
	GPUSORT_REFUSALS_COUNTED,
	GPUSORT_REFUSED_KEPT_PLAN = GPUSORT_REFUSALS_COUNTED	/* in reports only */
} GpuSortRefusalCode;

typedef struct GpuSortCounters
{
#define COUNT(name, description) pg_atomic_uint64 name;
#define MS(name, description) pg_atomic_uint64 name##_us;
#define NATIVE(enumerator, name, text, description)
#define REFUSAL(enumerator, name, text, remedy)
	GPUSORT_COUNTER_TABLE(COUNT, MS, NATIVE, REFUSAL)
#undef COUNT
#undef MS
#undef NATIVE
#undef REFUSAL
	pg_atomic_uint64 native[GPUSORT_NATIVE_REASONS];
	pg_atomic_uint64 refused[GPUSORT_REFUSALS_COUNTED];
} GpuSortCounters;

#endif							/* GPUSORT_COUNTERS_H */
