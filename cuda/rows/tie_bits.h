/*
 * tie_bits.h
 *	  The tie bits of a run, a bit for each row in sorted order: the row has the key of the
 *	  row before it.
 *
 * In:  bit r % 32 of word r / 32.
 * Out: 64 bits at a time, from any row on, as windows carry them.
 */
#ifndef GSORT_TIE_BITS_H
#define GSORT_TIE_BITS_H

#include <stddef.h>
#include <stdint.h>

#include "api/host_device.h"

static inline GSORT_HD size_t
tie_bits_bytes(uint64_t rows)
{
	return (size_t) (rows + 31) / 32 * sizeof(uint32_t);
}

/* 64 tie bits of the run from row first on, those past count rows 0. */
static inline GSORT_HD uint64_t
tie_bits_from(const uint32_t *ties, uint64_t total_rows, uint64_t first, uint64_t count)
{
	uint64_t	last_word = (total_rows - 1) / 32;
	uint64_t	word = first / 32;
	uint32_t	shift = (uint32_t) (first % 32);
	uint64_t	bits = (uint64_t) ties[word] >> shift;

	if (word + 1 <= last_word)
		bits |= (uint64_t) ties[word + 1] << (32 - shift);
	if (shift > 0 && word + 2 <= last_word)
		bits |= (uint64_t) ties[word + 2] << (64 - shift);
	return count >= 64 ? bits : bits & ((1ull << count) - 1);
}

#endif							/* GSORT_TIE_BITS_H */
