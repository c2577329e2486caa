/*
 * tuplesort_internal.h
 *	  What the files of the sort share: tuplesort.c, tuplesort_provisional.c,
 *	  tuplesort_device.c, tuplesort_native.c, tuplesort_perform.c.
 *
 * All functions run in the backend that leads the sort.
 */
#ifndef GPUSORT_TUPLESORT_INTERNAL_H
#define GPUSORT_TUPLESORT_INTERNAL_H

#include "postgres.h"

#include "portability/instr_time.h"

#include "shared/progress.h"
#include "sort/device_figures.h"
#include "sort/ordering.h"
#include "sort/row_array.h"
#include "sort/spill.h"
#include "sort/tuplesort.h"

struct GpuSortTuplesort
{
	const GpuSortSpec *spec;
	GpuSortSlots slots;
	MemoryContext context;

	/* few rows: NULL once there are more, or if none are expected */
	GpuSortRowArray *provisional;
	uint64		provisional_limit;	/* rows that it may have */
	uint64		in_backend;		/* sorts that have ended so, not yet counted in shared memory */

	/* what packs rows: made by gpusort_tuplesort_begin_packing */
	List	   *own_slots;		/* those of slots that are the sort's own */
	GpuSortKeys keys;
	GpuSortOrdering ordering;
	double		expected_rows;

	GpuSortFeed *feed;			/* this process's own; NULL: it packs no rows */
	uint64		private_rows_max;	/* then they go to the device */
	GpuSortJob *job;			/* NULL: not opened, or closed */
	GpuSortSpill *spill;		/* NULL: no run has been spilled */
	Tuplesortstate *native;		/* NULL: no row goes to a native sort */
	GpuSortNativeReason native_reason;
	uint64		rows_fed;		/* by all feeders, when they have ended */
	uint64		own_rows;		/* of these, by this process's own feed */
	GpuSortOutput *output;		/* when performed */

	GpuSortProgress progress;	/* from when it asks for a job */

	/* for EXPLAIN and the counters */
	GpuSortDeviceFigures figures;
	instr_time	begun;
	double		feed_ms;
	double		sort_ms;
};

static inline bool
gpusort_tuplesort_is_parallel(const GpuSortTuplesort *sort)
{
	return sort->spec->workers >= 0;
}

/* --- tuplesort_native.c ---------------------------------------------------------- */

/* Rows to come go into a native sort. */
extern void gpusort_tuplesort_begin_native(GpuSortTuplesort *sort, GpuSortNativeReason reason);

/*
 * The device cannot take the sort: hands every row fed so far to a native sort, which may
 * have begun.
 */
extern void gpusort_tuplesort_switch_to_native(GpuSortTuplesort *sort, GpuSortNativeReason reason);

/*
 * The job takes no more rows: those to come are sorted natively.  In a parallel plan the
 * others may still feed; then rows are recalled when all have ended.
 */
extern void gpusort_tuplesort_stop_feeding(GpuSortTuplesort *sort);

/* --- tuplesort_provisional.c ----------------------------------------------------- */

/* Begins a provisional sort, if there is to be one. */
extern void gpusort_tuplesort_begin_provisional(GpuSortTuplesort *sort);

/* --- tuplesort_device.c ---------------------------------------------------------- */

/* Makes what rows are packed by, before the first one is; layouts: of the spec's keys. */
extern void gpusort_tuplesort_begin_packing(GpuSortTuplesort *sort,
											const GpuSortKeyLayout *layouts);

/* This process packs rows, into private memory at first. */
extern void gpusort_tuplesort_begin_feed(GpuSortTuplesort *sort);

/* Packs a row; puts it into the native sort, if rows come to go there. */
extern void gpusort_tuplesort_feed_row(GpuSortTuplesort *sort, TupleTableSlot *slot);

/* A job for so many feeders; the reason is set if the device takes none now. */
extern void gpusort_tuplesort_open_job(GpuSortTuplesort *sort, int feeders,
									   GpuSortNativeReason *reason);

/* From here on the rows go to the device; if it takes none now, to a native sort. */
extern void gpusort_tuplesort_go_to_device(GpuSortTuplesort *sort);

/* Goes to the device when enough rows are private, before their memory is full. */
extern void gpusort_tuplesort_leave_private_memory(GpuSortTuplesort *sort);

/* Spills the run that the job has been cut to. */
extern void gpusort_tuplesort_spill_run(GpuSortTuplesort *sort);

/* The job is full: what it has becomes a run, and the next one begins; or it takes no more. */
extern void gpusort_tuplesort_spill_full_job(GpuSortTuplesort *sort);

/* --- tuplesort_perform.c --------------------------------------------------------- */

/* Ends the feeding and sorts the rows where they are.  Memory: the current context, the sort's. */
extern void gpusort_tuplesort_sort_rows(GpuSortTuplesort *sort);

#endif							/* GPUSORT_TUPLESORT_INTERNAL_H */
