/*
 * reader.h
 *	  Reads the rows of a finished job by row number.
 */
#ifndef GPUSORT_READER_H
#define GPUSORT_READER_H

#include "postgres.h"

#include "job/job.h"
#include "keys/row_format.h"

#define GPUSORT_PREFETCH_BYTES	1536

typedef struct GpuSortReader
{
	GpuSortJob *job;
	const GpuSortRowFormat *format;
	uint64		rows;			/* in all */
	uint64		bytes_read;		/* of blocks */
	double		wait_ms;		/* time of waiting for blocks */
	uint64		next_row;		/* the row at next */
	const char *next;			/* whole rows up to end: of the block, or the long row alone */
	const char *end;

	/* the block being read; buffer -1: none */
	int			buffer;
	gsort_block	block;
	uint64		block_number;
	uint32	   *offsets;		/* of the block's rows, made by the first step back; else NULL */
	MemoryContext context;

	/* a row longer than a block, assembled; NULL: none */
	char	   *long_row;
	Size		long_row_bytes; /* of the complete row */
	Size		long_row_filled;

	/* tie bits of the rows that start in the block, and of the row after them;
	 * NULL: the job has none.  A row that goes on in other blocks keeps its
	 * own */
	const uint64 *ties;
	uint64		ties_first;		/* the first of these rows */
	uint64		ties_rows;
	uint64		long_row_ties;

	/* blocks asked for ahead, oldest first: from block_number + 1 on */
	int			n_ahead;
	int			ahead[GPUSORT_READ_BUFFERS];
} GpuSortReader;

/* The job has been finished.  All memory, also for long rows, comes from the
 * current context. */
extern GpuSortReader *gpusort_reader_begin(GpuSortJob *job, const GpuSortRowFormat *format);

/* Goes to the block after the one being read, or to the first one:
 * reader->buffer holds it, reader->block.row_bytes long.  False: there is none,
 * or the job, which is merged, has failed. */
extern bool gpusort_reader_next_block(GpuSortReader *reader);

/* Goes back before the first block. */
extern void gpusort_reader_rewind(GpuSortReader *reader);

/* Returns row number row, below reader->rows, in any order; going from one to
 * the next is fast.  Valid until the next call. */
extern const char *gpusort_reader_seek(GpuSortReader *reader, uint64 row);

/* The fast path of a seek.  False: row is not the next one in memory. */
static inline bool
gpusort_reader_next(GpuSortReader *reader, uint64 row, const char **bytes)
{
	const char *next = reader->next;

	if (unlikely(row != reader->next_row || next == reader->end))
		return false;
	/* each row's length leads to the next row, so the walk would wait for
	 * memory without this */
	__builtin_prefetch(next + GPUSORT_PREFETCH_BYTES);
	reader->next = next + gpusort_row_bytes(reader->format, next);
	reader->next_row++;
	*bytes = next;
	return true;
}

/* For a job with tie bits: does row number row tie with the one before it?
 * This is known for the rows of the block in which the row read last starts,
 * and for the row after them.  For other rows the answer is true. */
static inline bool
gpusort_reader_row_ties(const GpuSortReader *reader, uint64 row)
{
	uint64		i = row - reader->ties_first;

	return i > reader->ties_rows || (reader->ties[i / 64] >> (i % 64) & 1) != 0;
}

/* Does a row start in the block that the row read last starts in? */
static inline bool
gpusort_reader_block_has_row(const GpuSortReader *reader, uint64 row)
{
	return row - reader->ties_first < reader->ties_rows;
}

#endif							/* GPUSORT_READER_H */
