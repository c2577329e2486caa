/*
 * extents.h
 *	  The extents of a job's row arena and of its key tables, and the sizes of
 *	  what a job retains for a merge.
 *
 * A unit of the arena is 8 bytes.  Unit u lies in extent u /
 * GSORT_EXTENT_UNITS.  Rows and chunks may cross the end of an extent, so
 * copies proceed stretch by stretch.  The word and the keys of row r lie in
 * extent r / GSORT_KEY_EXTENT_ROWS of their kind.
 */
#ifndef GSORT_EXTENTS_H
#define GSORT_EXTENTS_H

#include <stdint.h>

#include "gsort.h"
#include "rows/host_device.h"

#define GSORT_EXTENT_BYTES		(8u << 20)
#define GSORT_EXTENT_UNITS		(GSORT_EXTENT_BYTES / 8)
#define GSORT_BLOCK_BYTES_MAX	(1u << 20)
#define GSORT_PAGE_BYTES		4096u
#define GSORT_KEY_EXTENT_ROWS	(1u << 17)
#define GSORT_RUN_EXTENTS_MAX	(GSORT_RUN_BYTES_MAX / GSORT_EXTENT_BYTES)
#define GSORT_RUN_KEY_EXTENTS_MAX	((GSORT_RUN_ROWS_MAX + 1ull) / GSORT_KEY_EXTENT_ROWS)

static inline GSORT_HD uint64_t
arena_stretch(uint64_t unit, uint64_t units)
{
	return gsort_min_u64(units, GSORT_EXTENT_UNITS - unit % GSORT_EXTENT_UNITS);
}

static inline GSORT_HD uint64_t *
arena_unit(uint64_t *const *extents, uint64_t unit)
{
	return extents[unit / GSORT_EXTENT_UNITS] + unit % GSORT_EXTENT_UNITS;
}

/*
 * First unit for new rows of units in an arena with used units in use.  Rows
 * that fit a block do not cross the end of an extent.  Longer rows do, so that
 * no extent wastes more than the size of a block.
 */
static inline uint64_t
arena_place(uint64_t used, uint64_t units, uint32_t block_bytes)
{
	uint64_t	used_of_last = used % GSORT_EXTENT_UNITS;

	if (units <= block_bytes / 8 && used_of_last + units > GSORT_EXTENT_UNITS)
		return used + (GSORT_EXTENT_UNITS - used_of_last);
	return used;
}

/* Arena units that hold units of rows placed in this way, with the wasted tails
 * of extents included. */
static inline uint64_t
arena_units_for(uint64_t units, uint32_t block_bytes)
{
	uint64_t	usable = GSORT_EXTENT_UNITS - block_bytes / 8;

	return (units + usable - 1) / usable * GSORT_EXTENT_UNITS;
}

/* Extents for that many arena units, up to the largest run. */
static inline GSORT_HD uint64_t
arena_extents_for(uint64_t units)
{
	return gsort_min_u64((units + GSORT_EXTENT_UNITS - 1) / GSORT_EXTENT_UNITS,
						 GSORT_RUN_EXTENTS_MAX);
}

static inline GSORT_HD uint64_t
key_extents_of_rows(uint64_t rows)
{
	return (rows + GSORT_KEY_EXTENT_ROWS - 1) / GSORT_KEY_EXTENT_ROWS;
}

static inline uint64_t
whole_pages(uint64_t bytes)
{
	return (bytes + GSORT_PAGE_BYTES - 1) / GSORT_PAGE_BYTES * GSORT_PAGE_BYTES;
}

/* Memory of a run's retained keys: a uint64 for each row and column, and
 * optionally a byte of NULL bits for each row. */
static inline uint64_t
retained_keys_bytes(uint32_t columns, uint64_t rows, int with_nulls)
{
	return whole_pages(rows * (columns * sizeof(uint64_t) + (with_nulls ? 1 : 0)));
}

static inline uint64_t
merge_order_bytes(uint64_t rows)
{
	return whole_pages(rows);
}

/* --- row words ------------------------------------------------------------ */

/*
 * A row word is the location of a row in the arena: 36 bits of offset and 28
 * bits of length, both in units.  It addresses 512 GiB of rows per run and rows
 * of up to 2 GiB.  The largest device holds less, and PostgreSQL's longest row
 * is half as long.  Therefore every length fits the word.
 */
#define GSORT_ROW_UNITS_BITS 28

static inline GSORT_HD uint64_t
row_word_make(uint64_t offset_units, uint64_t units)
{
	return offset_units << GSORT_ROW_UNITS_BITS | units;
}

static inline GSORT_HD uint64_t
row_word_offset(uint64_t word)
{
	return word >> GSORT_ROW_UNITS_BITS;
}

static inline GSORT_HD uint64_t
row_word_units(uint64_t word)
{
	return word & ((1ull << GSORT_ROW_UNITS_BITS) - 1);
}

/*
 * The word of a row from start to end, in units from the beginning of its
 * chunk.  The chunk lies at first_unit and has data_units.  The last row of a
 * chunk ends with the chunk, or at the announced end if the row continues in
 * other chunks.  Returns 0, which no row has, if the offsets do not rise or
 * leave the chunk.
 */
static inline GSORT_HD uint64_t
row_word_checked(uint64_t first_unit, uint64_t data_units, uint64_t start, uint64_t end,
				 int is_last)
{
	if (end <= start || (is_last ? start : end) >= data_units)
		return 0;
	return row_word_make(first_unit + start, end - start);
}

#endif							/* GSORT_EXTENTS_H */
