/*
 * pairs_choice.h
 *	  A sort of pairs, and the choice of its engine by their number, the keys'
 *	  significant bits and the device.
 *
 * In:  facts known before the sort; no distribution of the keys.
 * Out: an engine that the device can run.
 *
 * Host code, plain C.
 *
 * The table gives ms on an H200
 * (bench/results/2026-11-23-nvidia-h200-sort-8.csv, -sort-7.csv; CUB's merge
 * sort: 2026-11-23-nvidia-h200-few.csv).  Partition: evenly spread keys, and
 * the slowest of the bench's 15 usual inputs, which it hands over to the radix
 * sort.  Radix: evenly spread keys; no input is slower by more than a
 * twentieth. "20 bits": the keys' significant ones.  Brackets: CUB's radix
 * sort.
 * Marked figures are older (2026-11-21-nvidia-h200-sort-5.csv).
 *
 *	64-bit keys      radix           20 bits  merge    partition: even, slowest
 *	      100,000    0.086 (0.123)   0.045    0.066    0.142  0.183
 *	      300,000    0.092 (0.135)   -        0.103    0.133  -
 *	    1,000,000    0.126 (0.195)   0.052    -        0.139  0.269
 *	   10,000,000    0.729 (0.910)   0.236    -        0.317  0.766
 *	  100,000,000    6.113 (7.566)   1.838    -        1.702  6.266
 *	1,000,000,000    59.72* (74.40)  17.68*   -        17.41  60.62
 *
 *	32-bit keys      radix           20 bits  merge    partition: even, slowest
 *	      100,000    0.048 (0.070)   0.038    0.066    0.072*  0.085*
 *	      300,000    0.054 (0.083)   -        0.086    -       -
 *	    1,000,000    0.061 (0.089)   0.047    -        0.115*  0.206*
 *	   10,000,000    0.309 (0.382)   0.220    -        0.393*  0.766*
 *	  100,000,000    2.430 (2.810)   1.723    -        2.503*  4.931*
 *	1,000,000,000    24.05 (27.87)   16.91*   -        27.21*  51.79*
 *
 * The radix sort's time grows with the bits.  Up to 24 bits, three passes, it
 * is the fastest.  The time of CUB's merge sort does not depend on the bits.
 * For many long keys the partition is the fastest.  The marked figures of
 * 32-bit keys stem from the partition's first kernels.  The present ones
 * (2026-11-23-nvidia-h200-sort-8.csv) take 0.29 for 10 M, 1.66 for 100 M, 16.9
 * for 1 G.  A hand-over of uneven keys costs 0.08 to 0.17 at 100 M, and
 * relatively more for fewer pairs.  The partition gathers sorted keys and given
 * rows at random, while the radix sort moves them along.
 *
 * An H100 has the same compute capability and ranks the engines alike
 * (2026-11-24-nvidia-h100-sort.csv).  Other chips have no measurements.  CUB's
 * radix sort, which its authors tune for each chip, sorts everything on those
 * chips.
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
