/*
 * tie_bits.h
 *	  The tie bits of a run: one bit per row in sorted order, set if the row
 *	  ties with its predecessor (tie_rule.h).
 *
 * In:  bit r % 32 of word r / 32.
 * Out: 64 bits at a time from any row on, as blocks carry them.
 */
#ifndef GSORT_TIE_BITS_H
#define GSORT_TIE_BITS_H

#include <stddef.h>
#include <stdint.h>

#include "gsort.h"
#include "rows/host_device.h"

/* True if the blocks of a sorted run carry tie bits. */
static inline int
tie_bits_wanted(const gsort_job_options *options)
{
	return (options->flags & GSORT_TIES) != 0 || options->inexact_mask != 0;
}

static inline GSORT_HD size_t
tie_bits_bytes(uint64_t rows)
{
	return (size_t) (rows + 31) / 32 * sizeof(uint32_t);
}

/* 64 tie bits from row first on; bits at count and above are 0. */
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

/* Number of 64-bit tie words in a block: one bit per row and one for the next
 * row. */
static inline GSORT_HD uint32_t
tie_words_of_block(uint32_t block_rows)
{
	return block_rows > 0 ? block_rows / 64 + 1 : 0;
}

/* A tie word of a block that begins at first_row. */
static inline GSORT_HD uint64_t
tie_word_of_block(const uint32_t *ties, uint64_t total_rows, uint64_t first_row,
				  uint32_t block_rows, uint32_t word)
{
	uint64_t	first = first_row + (uint64_t) word * 64;
	uint64_t	count = block_rows + 1 - word * 64;

	if (first >= total_rows)
		return 0;
	return tie_bits_from(ties, total_rows, first,
						 count < total_rows - first ? count : total_rows - first);
}

#endif							/* GSORT_TIE_BITS_H */
