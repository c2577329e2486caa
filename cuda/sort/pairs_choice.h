/*
 * pairs_choice.h
 *	  A sort of pairs, and the choice of its engine by their number, the keys'
 *	  significant bits and the device.  Host code, plain C.
 *
 * In:  facts known before the sort; no distribution of the keys.
 * Out: an engine that the device can run.
 *
 * The times behind it are in bench/NOTES-pairs.md, "Which engine".  The radix
 * sort's time grows with the bits; the time of CUB's merge sort does not.  For
 * many long keys the partition is the fastest.  It gathers sorted keys and
 * given rows at random, while the radix sort moves them along.
 *
 * An H100 has the same compute capability as the measured H200 and ranks the
 * engines alike.  Other chips have no measurements.  CUB's radix sort, which
 * its authors tune for each chip, sorts everything on those chips.
 */
#ifndef GSORT_PAIRS_CHOICE_H
#define GSORT_PAIRS_CHOICE_H

#include <stddef.h>

#include "gsort.h"

/*
 * A stable sort of n unsigned keys with their row numbers, ascending by the
 * keys' low bits.  All arrays and the scratch are device memory, 256-byte
 * aligned, and do not overlap.
 */
typedef struct gsort_pairs
{
	uint32_t	key_bits;		/* 32 or 64 */
	uint32_t	bits;			/* at most key_bits */
	uint64_t	n;				/* at most GSORT_RUN_ROWS_MAX */
	void	   *d_keys;			/* [n] the sort may overwrite them */
	void	   *d_keys_out;		/* [n], or NULL to discard the sorted keys */
	const uint32_t *d_rows;		/* [n] never written; NULL: 0, 1, ... n - 1 */
	uint32_t   *d_rows_out;		/* [n] */
	gsort_engine engine;
} gsort_pairs;

/* The radix sort counts in 30 bits. */
#define RADIX_PAIRS_MAX		((1u << 30) - 1)

/* Up to this many significant bits, the radix sort takes at most three passes
 * and is the fastest. */
#define RADIX_BITS_FEW			24
/* up to this many pairs, it is the fastest for any number of bits */
#define RADIX_PAIRS_FEW			2000000

/* With four passes it is the fastest only below this many pairs, or if sorted
 * keys are requested or rows are given. */
#define RADIX_BITS_FOUR_PASSES	32
#define PARTITION_PAIRS_FOUR_PASSES	80000000

/* The merge sort is not offered for more pairs, since it is not the fastest
 * there. */
#define MERGE_PAIRS_MAX		200000

/*
 * The merge sort's time depends on the number of pairs, not on the bits.  A
 * radix pass of 8 bits takes some 9 us.  The merge sort is therefore faster up
 * to pairs pairs, if the keys have at least bits bits.
 */
typedef struct merge_threshold
{
	uint64_t	pairs;
	uint32_t	bits;
} merge_threshold;

static const merge_threshold merge_thresholds[] =
	{{30000, 25}, {100000, 49}, {MERGE_PAIRS_MAX, 57}};

/* The compute capability of the measured chips: major * 10 + minor. */
#define MEASURED_CAPABILITY		90

static inline int
merge_is_fastest(uint64_t n, uint32_t bits)
{
	for (size_t i = 0; i < sizeof(merge_thresholds) / sizeof(merge_thresholds[0]); i++)
	{
		if (n <= merge_thresholds[i].pairs)
			return bits >= merge_thresholds[i].bits;
	}
	return 0;
}

static inline gsort_engine
fastest_engine(uint64_t n, uint32_t bits, int gathers)
{
	if (merge_is_fastest(n, bits))
		return GSORT_ENGINE_MERGE;
	if (bits <= RADIX_BITS_FEW || n <= RADIX_PAIRS_FEW)
		return GSORT_ENGINE_RADIX;
	if (bits <= RADIX_BITS_FOUR_PASSES && (gathers || n < PARTITION_PAIRS_FOUR_PASSES))
		return GSORT_ENGINE_RADIX;
	return GSORT_ENGINE_PARTITION;
}

/*
 * Never AUTO.  bits: significant bits of the keys.  gathers: sorted keys are
 * requested, or rows are given.  partition_serves: the partition supports such
 * pairs, and the device has the shared memory for that many.  capability: the
 * device's.
 */
static inline gsort_engine
choose_engine(gsort_engine wanted, uint64_t n, uint32_t bits, int gathers, int partition_serves,
			  int capability)
{
	gsort_engine engine = wanted != GSORT_ENGINE_AUTO ? wanted :
		capability != MEASURED_CAPABILITY ? GSORT_ENGINE_CUB_RADIX :
		fastest_engine(n, bits, gathers);

	if (engine == GSORT_ENGINE_MERGE && n > MERGE_PAIRS_MAX)
		engine = GSORT_ENGINE_RADIX;
	/* Pairs beyond the radix sort's counters are faster partitioned than sorted
	 * by CUB.  CUB supports everything, the partition only keys that have
	 * bits. */
	if (engine == GSORT_ENGINE_RADIX && n > RADIX_PAIRS_MAX)
		engine = GSORT_ENGINE_PARTITION;
	if (engine == GSORT_ENGINE_PARTITION && (bits == 0 || !partition_serves))
		return n > RADIX_PAIRS_MAX ? GSORT_ENGINE_CUB_RADIX : GSORT_ENGINE_RADIX;
	return engine;
}

#endif							/* GSORT_PAIRS_CHOICE_H */
