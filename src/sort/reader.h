/*
 * reader.h
 *	  Reads the rows of a finished job by row number.
 */
#ifndef GPUSORT_READER_H
#define GPUSORT_READER_H

#include "postgres.h"

#include "shared/job.h"
#include "sort/rowblock.h"

typedef struct GpuSortReader
{
	GpuSortJob *job;
	const GpuSortRowFormat *format;
	uint64		rows;			/* in all */
	uint64		bytes_read;		/* of windows */
	double		wait_ms;		/* for windows */
	uint64		next_row;		/* that the block gives next */

	/* the window being read; buffer -1: none */
	int			buffer;
	gsort_window window;
	uint64		window_number;
	GpuSortRowBlock block;
	uint32	   *offsets;		/* of the window's rows, made by the first step back; else NULL */
	MemoryContext context;

	/* tie bits of the rows that start in the window, and of the one after them; NULL: the job
	 * has none.  A row that goes on in other windows keeps its own */
	const uint64 *ties;
	uint64		ties_first;		/* the first of these rows */
	uint64		ties_rows;
	uint64		long_row_ties;

	/* windows asked for ahead, oldest first: window_number + 1 and on */
	int			n_ahead;
	int			ahead[GPUSORT_READ_BUFFERS];
} GpuSortReader;

/* The job has been cut.  Memory, long rows' too, comes from the current context. */
extern GpuSortReader *gpusort_reader_begin(GpuSortJob *job, const GpuSortRowFormat *format);

/* Goes to the window after the one being read, to the first one at first: its bytes are
 * those of reader->buffer, reader->window.row_bytes of them.  False: there is none, or the
 * job, which is merged, has failed. */
extern bool gpusort_reader_next_window(GpuSortReader *reader);

/* Goes back before the first window. */
extern void gpusort_reader_rewind(GpuSortReader *reader);

/* Row number row, below reader->rows; any order, next to next is fast.  Valid until the
 * next call. */
extern const char *gpusort_reader_seek(GpuSortReader *reader, uint64 row);

/* The fast path of a seek: false if row is not the next one of the block. */
static inline bool
gpusort_reader_next(GpuSortReader *reader, uint64 row, const char **bytes)
{
	if (unlikely(row != reader->next_row))
		return false;
	*bytes = gpusort_rowblock_next(&reader->block);
	if (unlikely(*bytes == NULL))
		return false;
	reader->next_row++;
	return true;
}

/* Of a job with tie bits: does row number row tie with the one before it?  row: one of the window
 * that the row read last starts in, or the row after these; of other rows it is not known, and
 * the answer is true. */
static inline bool
gpusort_reader_row_ties(const GpuSortReader *reader, uint64 row)
{
	uint64		i = row - reader->ties_first;

	return i > reader->ties_rows || (reader->ties[i / 64] >> (i % 64) & 1) != 0;
}

/* Does a row start in the window that the row read last starts in? */
static inline bool
gpusort_reader_window_has_row(const GpuSortReader *reader, uint64 row)
{
	return row - reader->ties_first < reader->ties_rows;
}

#endif							/* GPUSORT_READER_H */
