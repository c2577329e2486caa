/*
 * run.h
 *	  One sorted run in a temporary file: the bytes of its rows, written once, read forward any
 *	  number of times.
 */
#ifndef GPUSORT_RUN_H
#define GPUSORT_RUN_H

#include "postgres.h"

#include "storage/fd.h"

#include "keys/row_format.h"

typedef struct GpuSortRun
{
	const GpuSortRowFormat *format;
	uint64		bytes;			/* written */
	File		file;			/* -1: nothing has been written, or it is closed */

	/* writing row by row, and reading */
	MemoryContext context;		/* of the buffer */
	char	   *buffer;
	Size		filled;			/* of it, while rows are written */
	Size		buffer_bytes;
	uint64		bytes_read;		/* into the buffer so far */
	const char *next;			/* row in the buffer */
	const char *end;			/* of what the buffer holds */
} GpuSortRun;

/* A run without bytes.  Memory: the current context.  Its file will belong to the resource owner of the first
 * write.  Errors of all calls: those of temporary files. */
extern GpuSortRun *gpusort_run_create(const GpuSortRowFormat *format);

/* Appends whole rows, or parts of them in order. */
extern void gpusort_run_write(GpuSortRun *run, const char *bytes, Size length);

/* Appends a row, by way of a block; the last block is written by gpusort_run_end_rows. */
extern void gpusort_run_write_row(GpuSortRun *run, const char *row);
extern void gpusort_run_end_rows(GpuSortRun *run);

/* Rows are read through a buffer of buffer_bytes. */
extern void gpusort_run_begin_reading(GpuSortRun *run, Size buffer_bytes);

/* Of a run that is being read: from its first row again. */
extern void gpusort_run_rewind(GpuSortRun *run);

/* Removes the file.  May be called twice. */
extern void gpusort_run_close(GpuSortRun *run);

/* For gpusort_run_next. */
extern const char *gpusort_run_refill(GpuSortRun *run);

/* The next row's bytes, valid until the next call; NULL at the end. */
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
