/*
 * row_word.h
 *	  Where a row lies in its job's arena, in one uint64: 36 bits of offset and
 *	  28 bits of length, both in 8-byte units.
 *
 * That addresses 512 GiB of rows a run and rows of 2 GiB, more than the largest
 * device holds and twice PostgreSQL's longest row, so no length ever has to be
 * looked up elsewhere.
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
 * The word of a row that goes from start to end, in units from its chunk's
 * begin, the chunk lying at first_unit and having data_units.  is_last: it is
 * the chunk's last row; its end is the chunk's, or what the chunk announced for
 * a row that goes on in others. 0, which is no row's word, if the offsets are
 * not rising or not in the chunk.
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
