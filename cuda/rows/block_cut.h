/*
 * block_cut.h
 *	  The rule that cuts a sorted run into blocks.  It depends on row lengths
 *	  alone and decides row by row, so all devices cut alike and in parallel.
 *
 * A greedy cut fills blocks better, but each block would depend on the one
 * before.  Here a row begins a block if its offset in the sorted stream passes
 * a multiple of a fixed stride.  The stride leaves room for the overhang of the
 * longest short row.  Long rows, above a quarter of the block, have blocks of
 * their own.  The stride is thus at least three quarters of a block.
 */
#ifndef GSORT_BLOCK_CUT_H
#define GSORT_BLOCK_CUT_H

#include <stdint.h>

#include "gsort.h"
#include "rows/host_device.h"

typedef struct block_cut
{
	uint64_t	long_units;		/* a longer row has blocks of its own */
	uint64_t	stride_units;	/* distance between the cuts of short rows */
	uint64_t	piece_units;	/* part of a long row in one of its blocks */
} block_cut;

/* The first row of a block, in sorted order, and its offset in units in the
 * sorted stream. */
typedef struct block_begin
{
	uint64_t	row;
	uint64_t	units;
} block_begin;

static inline GSORT_HD uint64_t
block_cut_long_units(uint32_t block_bytes)
{
	return block_bytes / 8 / 4;
}

/* longest_short_units: the longest row up to block_cut_long_units; 0 if
 * none. */
static inline GSORT_HD block_cut
block_cut_make(uint32_t block_bytes, int with_ties, uint64_t longest_short_units)
{
	uint64_t	units = block_bytes / 8;
	block_cut	cut;

	cut.long_units = block_cut_long_units(block_bytes);
	/* a row has at least one unit, so tie bits take at most units / 64 words */
	cut.stride_units = units - longest_short_units - (with_ties ? units / 64 + 1 : 0);
	cut.piece_units = units - (with_ties ? 1 : 0);
	return cut;
}

/*
 * True if row i begins a block. units and offset_units: its length and its
 * offset in the sorted stream.  previous_units: the length of row i - 1; 0 for
 * the first row.
 */
static inline GSORT_HD int
block_cut_begins(const block_cut *cut, uint64_t offset_units, uint64_t units,
				 uint64_t previous_units)
{
	if (previous_units == 0 || units > cut->long_units || previous_units > cut->long_units)
		return 1;
	return offset_units / cut->stride_units !=
		(offset_units - previous_units) / cut->stride_units;
}

/*
 * Upper limit of the blocks that begin in a stretch of rows.  Short rows have
 * one cut per stride, which is at least 0.73 blocks wide.  Each long row, which
 * exceeds a quarter of a block, adds two.
 */
static inline GSORT_HD uint64_t
block_cut_begins_at_most(uint64_t rows, uint64_t units, uint32_t block_bytes)
{
	return gsort_min_u64(10 * units / (block_bytes / 8) + 2, rows);
}

/* Units of a split row in the blocks before this one. */
static inline uint64_t
block_units_before(const gsort_block *block)
{
	uint64_t	units = 0;

	while (block->flags & GSORT_BLOCK_CONTINUED)
	{
		block--;
		units += block->row_bytes / 8;
	}
	return units;
}

#endif							/* GSORT_BLOCK_CUT_H */
