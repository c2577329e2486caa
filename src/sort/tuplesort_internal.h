/*
 * tuplesort_internal.h
 *	  Declarations shared by tuplesort.c and tuplesort_runs.c: the sort itself.
 */
#ifndef GPUSORT_TUPLESORT_INTERNAL_H
#define GPUSORT_TUPLESORT_INTERNAL_H

#include "postgres.h"

#include "job/progress.h"
#include "sort/ordering.h"
#include "sort/row_array.h"
#include "sort/spill.h"
#include "sort/tuplesort.h"

typedef enum SortStage
{
	ARRAY,
	DEVICE,
	MERGE,
	NATIVE,
	OUTPUT
} SortStage;

struct GpuSortTuplesort
{
	const GpuSortSpec *spec;
	GpuSortSlots slots;
	MemoryContext context;
	SortStage	stage;

	/* ARRAY, and the OUTPUT of one; NULL: its rows have gone elsewhere */
	GpuSortRowArray *array;
	uint64		array_rows_left;	/* rows that it may get */
	/* sorts that have ended in the array, not yet counted in shared memory */
	uint64		in_backend;

	/* the means to pack rows, from DEVICE on; made by begin_packing */
	GpuSortKeyEncoding encodings[GPUSORT_WORDS_MAX];
	int			n_encodings;	/* of the first keys; 0: of a grouping */
	GpuSortKeys keys;
	GpuSortOrdering ordering;
	double		expected_rows;

	/* DEVICE, MERGE, and the OUTPUT of these */
	GpuSortJob *job;			/* NULL: closed */
	GpuSortFeed *feed;			/* feed of the rows that are put */
	GpuSortSpill *spill;		/* NULL: no run has been spilled */
	uint64		rows_fed;		/* by all feeders, when they have ended */
	uint64		own_rows;		/* of these, those of this process's own feed */
	GpuSortProgress progress;	/* from the request for a job on */

	/* NATIVE, and the OUTPUT of it */
	Tuplesortstate *native;
	GpuSortNativeReason native_reason;

	GpuSortOutput *output;		/* OUTPUT */

	/* for EXPLAIN and the counters */
	GpuSortDeviceFigures figures;
	instr_time	begun;
	double		feed_ms;
	double		sort_ms;
};

/* --- tuplesort_runs.c --- */

/* The job is full: its rows become a run, and the next run begins. */
extern void gpusort_tuplesort_spill_full_job(GpuSortTuplesort *sort);

/* Makes a run of its own of a long row that an empty job has no room for.
 * False: the row is not so long, but others were. */
extern bool gpusort_tuplesort_spill_long_row(GpuSortTuplesort *sort, TupleTableSlot *slot);

/* Sorts after the last row has been fed, by this process and all others.  The
 * next stage is OUTPUT or, if there are runs in files, MERGE. */
extern void gpusort_tuplesort_perform_on_device(GpuSortTuplesort *sort);

/* Merges the runs. */
extern void gpusort_tuplesort_perform_merge(GpuSortTuplesort *sort);

#endif							/* GPUSORT_TUPLESORT_INTERNAL_H */
