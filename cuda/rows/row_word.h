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

#include "api/host_device.h"

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

#endif							/* GSORT_ROW_WORD_H */
