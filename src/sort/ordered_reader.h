/*
 * ordered_reader.h
 *	  A sorted job's rows in their full order, by row number.
 */
#ifndef GPUSORT_ORDERED_READER_H
#define GPUSORT_ORDERED_READER_H

#include "postgres.h"

#include "utils/tuplesort.h"

#include "sort/ordering.h"
#include "sort/reader.h"
#include "sort/tied_rows.h"

typedef struct GpuSortOrderedReader
{
	GpuSortReader *reader;
	GpuSortOrdering *ordering;
	bool		by_words;		/* words decide all */
	TupleTableSlot *slot;		/* a row on its way into a tuplesort */

	/* all rows are one tie run, since their words were found out of order */
	bool		all_tie;

	/* the tie run being read; n_rows 0: none */
	uint64		first_row;
	uint64		n_rows;
	GpuSortTiedRow *listed;		/* [room] */
	uint32		room;
	uint32		n_copied;		/* the first listed rows, whose blocks have gone */
	Size		copied_bytes;
	bool		walked;			/* too many for the list, but in order, and read again */
	Tuplesortstate *large;		/* its rows, if they are too many for the list; else NULL */
	uint64		large_next;		/* the row of it that comes next, forward */
	char	   *packed_row;		/* a row of large, if tuples are not rows; else NULL */
	Size		packed_bytes;	/* room for it */

	MemoryContext context;		/* the reader's own */
	MemoryContext tie_run_context;	/* for copies of a tie run's rows, and its tuplesort */
	MemoryContext scratch;		/* for memory that comparisons leave */
} GpuSortOrderedReader;

/* The job has been finished.  The ordering must outlive the reader.  Memory:
 * the current context, and children of it. */
extern GpuSortOrderedReader *gpusort_ordered_reader_begin(GpuSortJob *job,
														  GpuSortOrdering *ordering);

/*
 * Reads all rows once if their words are not to be trusted.  If two of
 * different tie runs are out of order, all rows will go through a tuplesort.
 * Must be called before any row is asked for.
 */
extern void gpusort_ordered_reader_check(GpuSortOrderedReader *ordered);

/* Returns row number row of the order, any of them; going from one to the next
 * is fast.  Valid until the next call. */
extern const char *gpusort_ordered_reader_seek(GpuSortOrderedReader *ordered, uint64 row);

/* Ends a tuplesort.  Everything else is in the reader's contexts. */
extern void gpusort_ordered_reader_end(GpuSortOrderedReader *ordered);

/* Does row number row belong to the tie run of the row before it?  The answer
 * is also true if it is not known (gpusort_reader_row_ties). */
static inline bool
gpusort_ordered_reader_ties(const GpuSortOrderedReader *ordered, uint64 row)
{
	if (unlikely(ordered->all_tie))
		return row < ordered->reader->rows;
	return gpusort_reader_row_ties(ordered->reader, row);
}

/* The fast path of a seek.  False: row is not the next one, or ties. */
static inline bool
gpusort_ordered_reader_next(GpuSortOrderedReader *ordered, uint64 row, const char **bytes)
{
	if (likely(ordered->by_words))
		return gpusort_reader_next(ordered->reader, row, bytes);
	if (ordered->n_rows > 0 || row != ordered->reader->next_row ||
		gpusort_ordered_reader_ties(ordered, row + 1))
		return false;
	return gpusort_reader_next(ordered->reader, row, bytes);
}

#endif							/* GPUSORT_ORDERED_READER_H */
