/*
 * row_word.h
 *	  The location of a row in its job's arena as one uint64: 36 bits of offset
 *	  and 28 bits of length, both in 8-byte units.
 *
 * The word addresses 512 GiB of rows per run and rows of up to 2 GiB.  The
 * largest device holds less, and PostgreSQL's longest row is half as long.
 * Therefore every length fits the word.
 */
#ifndef GSORT_ROW_WORD_H
#define GSORT_ROW_WORD_H

#include <stdint.h>

#include "rows/host_device.h"

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

#endif							/* GSORT_ROW_WORD_H */
