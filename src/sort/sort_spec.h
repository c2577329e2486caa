/*
 * sort_spec.h
 *	  What a sort is told by its plan.
 */
#ifndef GPUSORT_SORT_SPEC_H
#define GPUSORT_SORT_SPEC_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "executor/tuptable.h"

#include "keys/key_samples.h"
#include "keys/row_format.h"
#include "keys/sortkey.h"

/* What to sort and how; it outlives the sort. */
typedef struct GpuSortSpec
{
	/* the rows and their order */
	TupleDesc	desc;
	const GpuSortOrder *order;

	/* the same for the device */
	bool		grouping;		/* equal rows are to come together, and no more */
	int			n_keys;			/* that have words, by the plan */
	const GpuSortKeyFigures *key_figures;	/* of their values */
	const GpuSortRowFormat *format;

	/* every row goes out in result, of the format's kind: minimal tuples, or virtual for narrow
	 * rows; native is of minimal tuples, and may be result, or go out too */
	TupleTableSlot *result;
	TupleTableSlot *native;
	bool		native_goes_out;

	int			workers;		/* planned to feed; -1: the plan is serial */

	bool		workers_sort;	/* on the device too, and hold its memory until their rows are read */

	/* the planner's estimates */
	int			row_width;		/* bytes of a row's columns */
	double		rows;			/* of the whole sort */
	int			packed_bytes;	/* of a row in a chunk */
	int			native_ms;		/* milliseconds that the native sort would take */

	bool		random_access;	/* the rows may be read again, or backward */
	bool		may_use_device;
	bool		timed;			/* somebody asks what each step takes */
} GpuSortSpec;

#endif							/* GPUSORT_SORT_SPEC_H */
