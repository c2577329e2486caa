/*
 * rowblock.h
 *	  Steps through the rows of a block of bytes: a window, or a chunk's data.
 */
#ifndef GPUSORT_ROWBLOCK_H
#define GPUSORT_ROWBLOCK_H

#include "postgres.h"

#include "keys/row_format.h"

#define GPUSORT_PREFETCH_BYTES	1536

typedef struct GpuSortRowBlock
{
	const GpuSortRowFormat *format;
	const char *next;
	const char *end;

	/* a row longer than a block, put together in the context of the block */
	MemoryContext context;
	char	   *long_row;
	Size		long_row_bytes; /* when complete */
	Size		long_row_filled;
} GpuSortRowBlock;

extern void gpusort_rowblock_init(GpuSortRowBlock *block, const GpuSortRowFormat *format,
								  MemoryContext context);

/*
 * Sets the block to bytes of whole rows; or, when the block before was told that
 * its row continues, to the next bytes of that row.
 */
extern void gpusort_rowblock_load(GpuSortRowBlock *block, const char *bytes, Size length,
								  bool continued, bool continues);

/* Frees a long row, complete or not. */
extern void gpusort_rowblock_clear(GpuSortRowBlock *block);

/* The complete long row, else NULL.  Valid until the next load or clear. */
extern const char *gpusort_rowblock_long_row(GpuSortRowBlock *block);

/*
 * The next whole row, or NULL at the end of the block.  Valid as long as the block's
 * bytes; a long row until the next load or clear.
 */
static inline const char *
gpusort_rowblock_next(GpuSortRowBlock *block)
{
	const char *row = block->next;

	if (block->next == block->end)
		return block->long_row == NULL ? NULL : gpusort_rowblock_long_row(block);
	/* the length of each row leads to the next one: without this the walk waits for memory */
	__builtin_prefetch(row + GPUSORT_PREFETCH_BYTES);
	block->next += gpusort_row_bytes(block->format, row);
	return row;
}

#endif							/* GPUSORT_ROWBLOCK_H */
