/*
 * rowblock.c
 *	  Rows that are longer than a block.
 *
 * In:  the blocks that such a row was split into, in order.
 * Out: the row, in memory of the block's context, up to PostgreSQL's limit of 1 GB.
 *
 * Runs in the backend, for windows that come back sorted.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "sort/rowblock.h"

void
gpusort_rowblock_init(GpuSortRowBlock *block, const GpuSortRowFormat *format,
					  MemoryContext context)
{
	memset(block, 0, sizeof(*block));
	block->format = format;
	block->context = context;
}

void
gpusort_rowblock_clear(GpuSortRowBlock *block)
{
	if (block->long_row != NULL)
		pfree(block->long_row);
	block->long_row = NULL;
	block->next = block->end = NULL;
}

void
gpusort_rowblock_load(GpuSortRowBlock *block, const char *bytes, Size length,
					  bool continued, bool continues)
{
	if (!continued)
	{
		gpusort_rowblock_clear(block);
		if (!continues)
		{
			block->next = bytes;
			block->end = bytes + length;
			return;
		}
		block->long_row_bytes = gpusort_row_bytes(block->format, bytes);
		block->long_row_filled = 0;
		block->long_row = MemoryContextAllocHuge(block->context, block->long_row_bytes);
	}
	if (block->long_row == NULL || length > block->long_row_bytes - block->long_row_filled)
		elog(ERROR, "gpusort row continues where none was begun");
	memcpy(block->long_row + block->long_row_filled, bytes, length);
	block->long_row_filled += length;
	block->next = block->end = NULL;
}

const char *
gpusort_rowblock_long_row(GpuSortRowBlock *block)
{
	if (block->long_row_filled < block->long_row_bytes)
		return NULL;
	if (block->next != NULL)
		return NULL;			/* given out already */
	/* marks it as given out: next == end, but not NULL */
	block->next = block->end = block->long_row;
	return block->long_row;
}
