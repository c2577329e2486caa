/*
 * output.h
 *	  Where the rows of a finished sort come from: one source for each way of sorting.
 *
 * A source gives the rows in key order, in either direction, by the rules of
 * tuplesort_gettupleslot: at the end, the first step back gives the last row.  Its memory is
 * the sort's context, which outlives it.
 */
#ifndef GPUSORT_OUTPUT_H
#define GPUSORT_OUTPUT_H

#include "postgres.h"

#include "compat.h"
#include "executor/tuptable.h"
#include "keys/row_format.h"

/*
 * The slots of a sort.  Result and native belong to the node and outlive every sort; the others are
 * there once rows are packed.  Result is of the row format's kind, minimal tuples or virtual for
 * narrow rows.
 */
typedef struct GpuSortSlots
{
	TupleTableSlot *result;		/* every row that goes out, but for native's */
	TupleTableSlot *native;		/* minimal tuples, of a tuplesort or a tuplestore; may be result */
	bool		native_goes_out;	/* as it is, so that nobody reads columns that nobody asks for */
	TupleTableSlot *array_row;	/* as result: a row of an array on its way to the device */
	TupleTableSlot *merge_run;	/* as result: a run's row, while keys are taken from it */
	TupleTableSlot *tied_native;	/* minimal tuples: a row of tied ones that were sorted natively */
	TupleTableSlot *compared[2];	/* as result: rows while they are compared */
} GpuSortSlots;

typedef struct GpuSortOutput GpuSortOutput;

typedef struct GpuSortOutputMethods
{
	/* The next row in this direction, in the result slot, which is empty at the end. */
	TupleTableSlot *(*next) (GpuSortOutput *output, bool forward);

	/* Goes back before the first row.  False: the rows have been given back. */
	bool		(*rewind) (GpuSortOutput *output);

	/* Remembers the place, and goes back to it: as tuplesort_markpos and _restorepos. */
	void		(*mark) (GpuSortOutput *output);
	void		(*restore) (GpuSortOutput *output);

	/* EXPLAIN ANALYZE's lines. */
	void		(*explain) (const GpuSortOutput *output, ExplainState *es);

	/* Releases what the sort's memory context does not; NULL: there is nothing. */
	void		(*end) (GpuSortOutput *output);
} GpuSortOutputMethods;

struct GpuSortOutput			/* the first member of each source */
{
	const GpuSortOutputMethods *methods;
	GpuSortSlots *slots;
};

/* A place among rows that are numbered. */
typedef struct GpuSortPosition
{
	uint64		rows;
	uint64		current;		/* rows before the place */
	bool		eof_reached;
	uint64		marked;			/* current when the place was marked */
	bool		marked_eof;
} GpuSortPosition;

static inline void
gpusort_position_rewind(GpuSortPosition *position)
{
	position->current = 0;
	position->eof_reached = false;
}

static inline void
gpusort_position_mark(GpuSortPosition *position)
{
	position->marked = position->current;
	position->marked_eof = position->eof_reached;
}

static inline void
gpusort_position_restore(GpuSortPosition *position)
{
	position->current = position->marked;
	position->eof_reached = position->marked_eof;
}

/* The number of the next row in this direction; false: there is none. */
static inline bool
gpusort_position_step(GpuSortPosition *position, bool forward, uint64 *row)
{
	if (forward)
	{
		if (position->current >= position->rows)
		{
			position->eof_reached = true;
			return false;
		}
		*row = position->current++;
		return true;
	}
	if (position->current == 0)
		return false;
	if (position->eof_reached)
		position->eof_reached = false;
	else if (--position->current == 0)
		return false;
	*row = position->current - 1;
	return true;
}

#endif							/* GPUSORT_OUTPUT_H */
