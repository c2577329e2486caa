/*
 * sort_spec.h
 *	  The description of a sort, from its plan.
 */
#ifndef GPUSORT_SORT_SPEC_H
#define GPUSORT_SORT_SPEC_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "executor/tuptable.h"

#include "keys/key_samples.h"
#include "keys/row_format.h"
#include "keys/sortkey.h"
#include "sort/row_array.h"

/* The rows to sort and their order.  It outlives the sort. */
typedef struct GpuSortSpec
{
	/* the rows and their order */
	TupleDesc	desc;
	const GpuSortOrder *order;

	/* for the device */
	bool		grouping;		/* equal rows need only come together */
	int			n_keys;			/* keys that have words, by the plan */
	const GpuSortKeyOrigin *key_origins;	/* of these keys */
	const GpuSortRowFormat *format;
	GpuSortRowArray *sample;	/* rows that lie evenly among all, in their order; NULL: none are
								 * known before the first rows come */

	/* Slots.  row is of the kind for all columns.  The others have the visible
	 * columns: result is of the format's kind for these, and native holds
	 * minimal tuples.  Each may be the one before it. */
	TupleTableSlot *row;
	TupleTableSlot *result;
	TupleTableSlot *native;
	TupleTableSlot *projected;	/* virtual: what goes out of a tuplesort; NULL: native does */

	int			workers;		/* planned feeders; -1: the plan is serial */
	bool		never_waits;	/* for the device: workers hold memory, or would stand still */

	/* the planner's estimates */
	int			row_width;		/* bytes of a row's columns */
	double		rows;			/* of the whole sort */
	int			packed_bytes;	/* of a row in a chunk */
	int			native_ms;		/* milliseconds that the native sort would take */

	int			work_mem;		/* kB for the rows in this process */
	bool		random_access;	/* the rows may be read again, or backward */
	bool		may_use_device;
	bool		timed;			/* the time of each step is wanted */
} GpuSortSpec;

/* Do workers feed the sort, or might they? */
static inline bool
gpusort_is_parallel(const GpuSortSpec *spec)
{
	return spec->workers >= 0;
}

#endif							/* GPUSORT_SORT_SPEC_H */
