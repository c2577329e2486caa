/*
 * run.h
 *	  One sorted run in a temporary file: the bytes of its rows, written once,
 *	  and read once.
 */
#ifndef GPUSORT_RUN_H
#define GPUSORT_RUN_H

#include "postgres.h"

#include "storage/fd.h"

#include "keys/row_format.h"

typedef struct GpuSortRun
{
	const GpuSortRowFormat *format;
	uint64		bytes;			/* written so far */
	File		file;			/* -1: nothing has been written, or it is closed */

	/* writing row by row, and reading */
	MemoryContext context;		/* the buffer's context */
	char	   *buffer;
	Size		filled;			/* of the buffer, while rows are written */
	Size		usual_bytes;	/* of the buffer, while rows are read */
	Size		buffer_bytes;	/* more while the next row is longer */
	uint64		bytes_read;		/* read into the buffer so far */
	const char *next;			/* next row in the buffer */
	const char *end;			/* end of the buffer's contents */
} GpuSortRun;

/* Makes an empty run.  Memory: the current context.  The file will belong to
 * the resource owner of the first write.  All calls may raise the errors of
 * temporary files. */
extern GpuSortRun *gpusort_run_create(const GpuSortRowFormat *format);

/* Appends whole rows, or parts of them in order. */
extern void gpusort_run_write(GpuSortRun *run, const char *bytes, Size length);

/* Appends a row to a block.  gpusort_run_end_rows writes the last block. */
extern void gpusort_run_write_row(GpuSortRun *run, const char *row);
extern void gpusort_run_end_rows(GpuSortRun *run);

/* Begins to read rows through a buffer of buffer_bytes. */
extern void gpusort_run_begin_reading(GpuSortRun *run, Size buffer_bytes);

/* Removes the file.  May be called twice. */
extern void gpusort_run_close(GpuSortRun *run);

/* For gpusort_run_next. */
extern const char *gpusort_run_refill(GpuSortRun *run);

/* Returns the next row's bytes, valid until the next call; NULL at the end. */
static inline const char *
gpusort_run_next(GpuSortRun *run)
{
	const char *row = run->next;

	if (likely(row != run->end))
	{
		Size		bytes = gpusort_row_bytes(run->format, row);

		if (likely(bytes <= (Size) (run->end - row)))
		{
			run->next += bytes;
			return row;
		}
	}
	return gpusort_run_refill(run);
}

#endif							/* GPUSORT_RUN_H */
