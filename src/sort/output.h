/*
 * output.h
 *	  The sources of a finished sort's rows, one for each way of sorting.
 *
 * A source returns the rows in key order, in either direction, by the rules of
 * tuplesort_gettupleslot: at the end, the first step back returns the last row.
 * It also tells EXPLAIN how they were sorted.
 */
#ifndef GPUSORT_OUTPUT_H
#define GPUSORT_OUTPUT_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/tuplesort.h"

#include "compat.h"
#include "job/counters.h"
#include "job/job.h"
#include "sort/ordering.h"
#include "sort/row_array.h"

/* --- what the device did, summed over the runs of a sort, for EXPLAIN ----- */

typedef struct GpuSortDeviceFigures
{
	gsort_kind	kind;
	const char *device;			/* one of several; empty: there is one */
	gsort_job_stats sum;		/* the largest peak_bytes and key_bits; the last run's engine */
	uint64		bytes_received;
	double		output_ms;		/* time spent waiting for sorted rows */
} GpuSortDeviceFigures;

/* Adds the run that the job has been finished to. */
extern void gpusort_device_figures_add_run(GpuSortDeviceFigures *figures, GpuSortJob *job);

/* Returns EXPLAIN's name for a sort by this device. */
extern const char *gpusort_device_figures_method(const GpuSortDeviceFigures *figures);

extern void gpusort_device_figures_explain(const GpuSortDeviceFigures *figures, ExplainState *es);

/* --- sources -------------------------------------------------------------- */

typedef struct GpuSortOutput GpuSortOutput;

typedef struct GpuSortOutputMethods
{
	/* Returns the next row in this direction, in one of the sort's slots; an
	 * empty slot at the end. */
	TupleTableSlot *(*next) (GpuSortOutput *output, bool forward);

	/* Goes back before the first row.  False: the rows have been given back. */
	bool		(*rewind) (GpuSortOutput *output);

	/* Remember the place, and go back to it, as tuplesort_markpos and
	 * _restorepos do. */
	void		(*mark) (GpuSortOutput *output);
	void		(*restore) (GpuSortOutput *output);

	/* Shows EXPLAIN ANALYZE's lines. */
	void		(*explain) (const GpuSortOutput *output, ExplainState *es);

	/* Releases resources that are not in the sort's memory context.  NULL:
	 * there are none. */
	void		(*end) (GpuSortOutput *output);
} GpuSortOutputMethods;

struct GpuSortOutput			/* the first member of each source */
{
	const GpuSortOutputMethods *methods;
	GpuSortSlots *slots;
};

/*
 * The arguments of a source, the slots and figures must outlive it.
 * If rows are in a job or in runs, random_access tells that they may be read
 * again or backward; else they are given back after the last one has been read.
 * Memory: the current context.
 */

/* The rows of a sorted array. */
extern GpuSortOutput *gpusort_output_array_begin(GpuSortSlots *slots, const GpuSortRowArray *array);

/* The rows of a tuplesort that has been performed.  can_rewind: it was begun
 * with random access.  reason: NONE if these are rows that the device was never
 * to have. */
extern GpuSortOutput *gpusort_output_native_begin(GpuSortSlots *slots, Tuplesortstate *native,
												  bool can_rewind, GpuSortNativeReason reason);

/* The rows of a job that has been finished SORTED. */
extern GpuSortOutput *gpusort_output_device_begin(GpuSortSlots *slots, GpuSortOrdering *ordering,
												  GpuSortJob *job, bool random_access,
												  GpuSortDeviceFigures *figures);

#endif							/* GPUSORT_OUTPUT_H */
