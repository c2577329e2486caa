/*
 * pairs_choice.h
 *	  Which engine sorts pairs: decided from their number, the keys' significant
 *	  bits and the device.
 *
 * In:  what is known before the sort; nothing of how the keys are distributed.
 * Out: an engine that the device can run.
 *
 * Host code, plain C.
 *
 * Measured on an H200 (bench/results/2026-11-23-nvidia-h200-sort-8.csv,
 * -sort-7.csv; the merge sort: 2026-11-23-nvidia-h200-few.csv), ms.  Partition:
 * evenly spread keys, and the slowest of the bench's 15 usual inputs, which it
 * hands over to the radix sort.  Radix: evenly spread keys, no input is slower
 * by more than a twentieth; "20 bits": told so many significant bits.  In
 * brackets CUB's radix sort.  Marked figures are older
 * (2026-11-21-nvidia-h200-sort-5.csv).
 *
 *	64-bit keys      radix           20 bits  merge    partition: even, slowest
 *	      100,000    0.086 (0.123)   0.045    0.028    0.142  0.183
 *	      300,000    0.092 (0.135)   -        0.056    0.133  -
 *	    1,000,000    0.126 (0.195)   0.052    -        0.139  0.269
 *	   10,000,000    0.729 (0.910)   0.236    -        0.317  0.766
 *	  100,000,000    6.113 (7.566)   1.838    -        1.702  6.266
 *	1,000,000,000    59.72* (74.40)  17.68*   -        17.41  60.62
 *
 *	32-bit keys      radix           20 bits  merge    partition: even, slowest
 *	      100,000    0.048 (0.070)   0.038    0.027    0.072*  0.085*
 *	      300,000    0.054 (0.083)   -        0.052    -       -
 *	    1,000,000    0.061 (0.089)   0.047    -        0.115*  0.206*
 *	   10,000,000    0.309 (0.382)   0.220    -        0.393*  0.766*
 *	  100,000,000    2.430 (2.810)   1.723    -        2.503*  4.931*
 *	1,000,000,000    24.05 (27.87)   16.91*   -        27.21*  51.79*
 *
 * So the radix sort's time goes with the bits, and up to 24 of them, three
 * passes, nothing is faster but the merge sort of few pairs, whose time does
 * not; and for long keys of many rows the partition is the fastest.  The marked
 * figures of 32-bit keys are those of its first kernels for them; the present
 * ones (2026-11-23-nvidia-h200-sort-8.csv) take 0.29 for 10 M, 1.66 for 100 M,
 * 16.9 for 1 G.  But uneven keys are handed over, which at 100 M costs 0.08 to
 * 0.17, and weighs more the fewer pairs there are.  Sorted keys, and rows that
 * are given, the partition gathers at random: the radix sort moves them along.
 *
 * An H100, of the same compute capability, ranks them alike
 * (2026-11-24-nvidia-h100-sort.csv).  On other chips none of this was measured:
 * there CUB's radix sort, which its authors tune for each of them, serves
 * everything, until somebody measures.
 */
#ifndef GSORT_PAIRS_CHOICE_H
#define GSORT_PAIRS_CHOICE_H

#include <stddef.h>

#include "gsort.h"

/* The radix sort counts in 30 bits. */
#define RADIX_PAIRS_MAX		((1u << 30) - 1)

/* Up to so many significant bits the radix sort needs no more than three
 * passes, and is the fastest. */
#define RADIX_BITS_FEW			24
#define RADIX_PAIRS_FEW			2000000	/* up to these, it is so with any number of bits */

/* With four it is so only below so many pairs, or if sorted keys are wanted, or
 * rows are given. */
#define RADIX_BITS_FOUR_PASSES	32
#define PARTITION_PAIRS_FOUR_PASSES	80000000

/*
 * The merge sort takes as long whatever the bits are, and longer with more
 * pairs.  A pass of the radix sort, of 8 bits, takes some 9 us: so up to so
 * many pairs the merge sort is the faster one, if the keys have no less than so
 * many bits.
 */
typedef struct merge_threshold
{
	uint64_t	pairs;
	uint32_t	bits;
} merge_threshold;

static const merge_threshold merge_thresholds[] =
	{{100000, 0}, {150000, 9}, {200000, 17}, {300000, 33}};

/* The compute capability of the chips that the table was measured on: major *
 * 10 + minor. */
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

static inline gsort_engine
automatic_engine(uint64_t n, uint32_t bits, int gathers, int capability)
{
	return capability == MEASURED_CAPABILITY ? fastest_engine(n, bits, gathers) :
		GSORT_ENGINE_CUB_RADIX;
}

/*
 * Never AUTO.  bits: significant ones of the keys; gathers: sorted keys are
 * wanted, or rows are given; partition_serves: the partition takes such pairs,
 * and the device has the shared memory for so many; merge_serves: there are no
 * more pairs than the device's merge sort takes; capability: the device's.
 */
static inline gsort_engine
choose_engine(gsort_engine wanted, uint64_t n, uint32_t bits, int gathers, int partition_serves,
			  int merge_serves, int capability)
{
	gsort_engine engine = wanted == GSORT_ENGINE_AUTO ?
		automatic_engine(n, bits, gathers, capability) : wanted;

	if (engine == GSORT_ENGINE_MERGE && !merge_serves)
		engine = GSORT_ENGINE_RADIX;
	/* what the radix sort cannot count is faster partitioned than sorted by
	 * CUB; that takes anything, the partition only keys that have bits */
	if (engine == GSORT_ENGINE_RADIX && n > RADIX_PAIRS_MAX)
		engine = GSORT_ENGINE_PARTITION;
	if (engine == GSORT_ENGINE_PARTITION && (bits == 0 || !partition_serves))
		return n > RADIX_PAIRS_MAX ? GSORT_ENGINE_CUB_RADIX : GSORT_ENGINE_RADIX;
	return engine;
}

#endif							/* GSORT_PAIRS_CHOICE_H */
