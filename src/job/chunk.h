/*
 * chunk.h
 *	  The layout of rows and keys in a shared buffer.
 *
 * A feeder writes a chunk.  The service reads a copy of its header, which
 * chunk.c checks, and hands pointers into the buffer to the device.
 *
 *  header, row_start[rows_max], nulls[rows_max], keys[rows_max][columns], data
 *
 * rows_max is set when the chunk is begun, from the width of the rows so far.
 * The chunk is full when either the rows or the data reach their end.
 */
#ifndef GPUSORT_CHUNK_H
#define GPUSORT_CHUNK_H

#include "postgres.h"
#include "gpusort.h"

#define GPUSORT_BUFFER_BYTES		(1024 * 1024)

typedef struct GpuSortChunkHeader
{
	uint32		rows;			/* rows that start in this chunk */
	uint32		data_bytes;		/* a multiple of 8 */
	uint64		more_bytes;		/* bytes of the last row that are in the chunks that follow */
	uint32		row_start_offset;	/* from the chunk's beginning, as all offsets are */
	uint32		nulls_offset;	/* 0: the chunk has none */
	uint32		keys_offset;
	uint32		data_offset;
	uint32		feeder;			/* the feeder whose byte stream the chunk belongs to */
	gsort_column_stats stats[GPUSORT_WORDS_MAX];
} GpuSortChunkHeader;

#define GPUSORT_CHUNK_HEADER_BYTES	MAXALIGN(sizeof(GpuSortChunkHeader))

/* The most data that a chunk of at least one row can hold. */
#define GPUSORT_CHUNK_DATA_MAX(columns) \
	(GPUSORT_BUFFER_BYTES - GPUSORT_CHUNK_HEADER_BYTES - 16 - 8 * (columns))

static inline uint32 *
gpusort_chunk_row_start(const GpuSortChunkHeader *chunk)
{
	return (uint32 *) ((char *) chunk + chunk->row_start_offset);
}

static inline uint32 *
gpusort_chunk_nulls(const GpuSortChunkHeader *chunk)
{
	return (uint32 *) ((char *) chunk + chunk->nulls_offset);
}

static inline uint64 *
gpusort_chunk_keys(const GpuSortChunkHeader *chunk)
{
	return (uint64 *) ((char *) chunk + chunk->keys_offset);
}

static inline char *
gpusort_chunk_data(const GpuSortChunkHeader *chunk)
{
	return (char *) chunk + chunk->data_offset;
}

/*
 * Builds the device's view of the chunk in a buffer of a job with these key
 * columns.  The caller sets its tag.  *header is a copy, so checked values
 * cannot change afterwards.  False: the chunk points outside of its buffer.
 */
extern bool gpusort_chunk_check(const char *buffer, uint32 key_columns, uint32 null_mask,
								GpuSortChunkHeader *header, gsort_chunk *chunk);

#endif							/* GPUSORT_CHUNK_H */
