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
	uint64		next_row;		/* that the block gives next */

	/* the window being read; buffer -1: none */
	int			buffer;
	gsort_window window;
	uint64		window_number;
	GpuSortRowBlock block;
	uint32	   *offsets;		/* of the window's rows, made by the first step back; else NULL */
	MemoryContext context;

	/* windows asked for ahead, oldest first: window_number + 1 and on */
	int			n_ahead;
	int			ahead[GPUSORT_READ_BUFFERS];
} GpuSortReader;

/* The job has been cut.  Memory, long rows' too, comes from the current context. */
extern GpuSortReader *gpusort_reader_begin(GpuSortJob *job, const GpuSortRowFormat *format);

/* Goes to the window after the one being read, to the first one at first: its bytes are
 * those of reader->buffer, reader->window.row_bytes of them.  False: there is none, or the
 * job failed. */
extern bool gpusort_reader_next_window(GpuSortReader *reader);

/* Goes back before the first window. */
extern void gpusort_reader_rewind(GpuSortReader *reader);

/* Row number row, below reader->rows; any order, next to next is fast.  Valid until the
 * next call.  NULL: the job failed. */
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

#endif							/* GPUSORT_READER_H */
