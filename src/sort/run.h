/*
 * run.h
 *	  One sorted run: the bytes of its rows, written once, read forward any number of times.
 *
 * Where the bytes are is the store's affair: in a temporary file (run_file.c), or in the memory of
 * another device (run_device.c).
 */
#ifndef GPUSORT_RUN_H
#define GPUSORT_RUN_H

#include "postgres.h"

#include "keys/row_format.h"
#include "shared/job.h"

typedef struct GpuSortRun GpuSortRun;

typedef struct GpuSortRunStore
{
	/* Appends bytes, in the order of the calls. */
	void		(*write) (GpuSortRun *run, const char *bytes, Size length);

	/* Nothing more will be written. */
	void		(*finish) (GpuSortRun *run);

	/* The next bytes behind those read so far; there are so many. */
	void		(*read) (GpuSortRun *run, char *bytes, Size length);

	/* The next read gives the first bytes. */
	void		(*rewind) (GpuSortRun *run);

	/* Gives back what the memory context does not; may be called twice. */
	void		(*close) (GpuSortRun *run);
} GpuSortRunStore;

struct GpuSortRun				/* the first member of each store's own */
{
	const GpuSortRunStore *store;
	const GpuSortRowFormat *format;
	uint64		bytes;			/* written */
	GpuSortJob *kept_by;		/* on another device, whose memory has the bytes; NULL: a file has them */
	bool		lost;			/* what was written is, and no call does anything any more */

	/* reading */
	MemoryContext context;		/* of the buffer */
	char	   *buffer;
	Size		buffer_bytes;
	uint64		bytes_read;		/* into the buffer so far */
	const char *next;			/* row in the buffer */
	const char *end;			/* of what the buffer holds */
};

/* For stores: a run without bytes.  Memory: the current context. */
extern void gpusort_run_init(GpuSortRun *run, const GpuSortRunStore *store, const GpuSortRowFormat *format);

/* Appends whole rows, or parts of them in order.  False: the run is lost. */
extern bool gpusort_run_write(GpuSortRun *run, const char *bytes, Size length);
extern bool gpusort_run_finish(GpuSortRun *run);

/* Rows are read through a buffer of buffer_bytes. */
extern void gpusort_run_begin_reading(GpuSortRun *run, Size buffer_bytes);

/* Of a run that is being read: from its first row again. */
extern void gpusort_run_rewind(GpuSortRun *run);

extern void gpusort_run_close(GpuSortRun *run);

/* For gpusort_run_next. */
extern const char *gpusort_run_refill(GpuSortRun *run);

/* The next row's bytes, valid until the next call; NULL at the end, or if the run is lost. */
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
