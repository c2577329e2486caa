/*
 * chunk.c
 *	  The check of a chunk: the service trusts nothing in it.
 *
 * In:  a shared buffer that some backend has written and may still write to.
 * Out: a copy of its header, and pointers into the buffer that stay inside of
 *	    it.
 *
 * Runs in the service, for buffers that are the service's.  The device checks
 * the contents of the arrays (gsort.h).  This file calls no function of the
 * server, so that the fuzzer of test/fuzz can be linked without one.
 */
#include "postgres.h"

#include "job/chunk.h"

/* All offsets and sizes are checked in the copy of the header before one of
 * them is used. */
bool
gpusort_chunk_check(const char *buffer, uint32 key_columns, uint32 null_mask,
					GpuSortChunkHeader *header, gsort_chunk *chunk)
{
	uint64		rows;

	memcpy(header, buffer, sizeof(*header));
	rows = header->rows;
	if (rows > GPUSORT_BUFFER_BYTES / 8 ||
		header->row_start_offset % 8 != 0 || header->keys_offset % 8 != 0 ||
		header->nulls_offset % 8 != 0 || header->data_offset % 8 != 0 ||
		header->row_start_offset + rows * sizeof(uint32) > GPUSORT_BUFFER_BYTES ||
		header->keys_offset + rows * key_columns * sizeof(uint64) > GPUSORT_BUFFER_BYTES ||
		header->nulls_offset + rows * sizeof(uint32) > GPUSORT_BUFFER_BYTES ||
		(uint64) header->data_offset + header->data_bytes > GPUSORT_BUFFER_BYTES ||
		header->more_bytes > GSORT_ROW_BYTES_MAX || (header->more_bytes > 0 && rows != 1) ||
		(null_mask != 0) != (header->nulls_offset != 0))
		return false;
	memset(chunk, 0, sizeof(*chunk));
	chunk->feeder = header->feeder;
	chunk->rows = header->rows;
	chunk->data = buffer + header->data_offset;
	chunk->data_bytes = header->data_bytes;
	chunk->more_bytes = header->more_bytes;
	chunk->row_start = (const uint32 *) (buffer + header->row_start_offset);
	chunk->keys = (const uint64 *) (buffer + header->keys_offset);
	chunk->nulls = header->nulls_offset != 0 ?
		(const uint32 *) (buffer + header->nulls_offset) : NULL;
	chunk->stats = header->stats;
	return true;
}
