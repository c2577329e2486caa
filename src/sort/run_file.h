/*
 * run_file.h
 *	  One sorted run in a temporary file: written once, read once, forward.
 */
#ifndef GPUSORT_RUN_FILE_H
#define GPUSORT_RUN_FILE_H

#include "postgres.h"

#include "storage/fd.h"

#include "keys/row_format.h"

typedef struct GpuSortRunFile
{
	const GpuSortRowFormat *format;
	File		file;			/* -1: nothing has been written */
	uint64		bytes;			/* written */

	/* reading */
	MemoryContext context;		/* of the buffer */
	char	   *buffer;
	Size		buffer_bytes;
	uint64		bytes_read;		/* into the buffer so far */
	const char *next;			/* row in the buffer */
	const char *end;			/* of what the buffer holds */
} GpuSortRunFile;

/* Memory: the current context.  The file belongs to the current resource owner. */
extern GpuSortRunFile *gpusort_run_file_create(const GpuSortRowFormat *format);

/* Appends whole rows, or parts of them in order.  Errors: those of temporary files. */
extern void gpusort_run_file_write(GpuSortRunFile *run, const char *bytes, Size length);

/* Of a run that is being read: from its first row again. */
extern void gpusort_run_file_rewind(GpuSortRunFile *run);

/* Nothing more will be written; rows are read through a buffer of buffer_bytes. */
extern void gpusort_run_file_begin_reading(GpuSortRunFile *run, Size buffer_bytes);

extern void gpusort_run_file_close(GpuSortRunFile *run);

/* For gpusort_run_file_next. */
extern const char *gpusort_run_file_refill(GpuSortRunFile *run);

/* The next row's bytes, valid until the next call; NULL at the end. */
static inline const char *
gpusort_run_file_next(GpuSortRunFile *run)
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
	return gpusort_run_file_refill(run);
}

#endif							/* GPUSORT_RUN_FILE_H */
