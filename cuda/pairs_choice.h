/*
 * pairs_choice.h
 *	  Which engine sorts pairs: decided from their number, the keys' significant bits and the
 *	  device.
 *
 * In:  what is known before the sort; nothing of how the keys are distributed.
 * Out: an engine that the device can run.
 *
 * Host code, plain C.
 *
 * Measured on an H200 (bench/results/2026-11-21-nvidia-h200-sort-4.csv), ms, evenly spread keys; in brackets CUB's best
 * for the partition's worst input of the bench's 15.  "20 bits" and "30 bits": CUB's radix sort told so many
 * significant bits (-sort-2.csv, an earlier run on the same kind of device).
 *
 *	64-bit keys      radix    20 bits  30 bits  merge    partition: uniform, worst
 *	      100,000    0.117    0.047    0.061    0.064    0.100  0.129 (0.066)
 *	    1,000,000    0.192    0.075    0.094    0.165    0.132  0.262 (0.169)
 *	   10,000,000    0.920    0.349    0.444    1.328    0.424  0.976 (0.872)
 *	  100,000,000    7.558    2.839    3.652    13.52    2.665  6.708 (7.250)
 *	1,000,000,000    74.47                      154.5    28.77  70.92 (70.25)
 *
 *	32-bit keys      radix    20 bits  30 bits  merge    partition: uniform, worst
 *	      100,000    0.078    0.050    0.063    0.066    0.099  0.110 (0.064)
 *	    1,000,000    0.094    0.065    0.082    0.123    0.117  0.201 (0.091)
 *	   10,000,000    0.377    0.281    0.347    0.933    0.392  0.761 (0.362)
 *	  100,000,000    2.803    2.053    2.640    9.100    2.490  4.970 (2.709)
 *	1,000,000,000    27.45                      104.8    27.24  51.71 (26.44)
 *
 * So the radix sort's time goes with the bits, and for keys of 32 bits nothing is faster on all inputs; the
 * merge sort has the fewest launches; and for long keys the partition is the fastest on all but few inputs.
 */
#ifndef GSORT_PAIRS_CHOICE_H
#define GSORT_PAIRS_CHOICE_H

#include "gsort.h"

/* The radix sort counts in 30 bits. */
#define RADIX_PAIRS_MAX		((1u << 30) - 1)

/* Up to so many significant bits the radix sort needs no more than four passes, and is the fastest. */
#define RADIX_BITS_FEW			32
#define RADIX_PAIRS_FEW			2000000	/* up to these, it is so with any number of bits */

/* But the merge sort has the fewest launches, which decides for few pairs and many passes. */
#define MERGE_PAIRS_FEW			150000
#define MERGE_BITS_FEW_PAIRS	41
#define MERGE_PAIRS_MAX			300000
#define MERGE_BITS				57

static inline gsort_engine
fastest_engine(uint64_t n, uint32_t bits)
{
	if (n <= MERGE_PAIRS_MAX && bits >= (n <= MERGE_PAIRS_FEW ? MERGE_BITS_FEW_PAIRS : MERGE_BITS))
		return GSORT_ENGINE_MERGE;
	if (bits <= RADIX_BITS_FEW || n <= RADIX_PAIRS_FEW)
		return GSORT_ENGINE_RADIX;
	return GSORT_ENGINE_PARTITION;
}

/* Never AUTO.  bits: significant ones of the keys; partition_serves: the device has the shared
 * memory that a partition of so many pairs takes. */
static inline gsort_engine
choose_engine(gsort_engine wanted, uint64_t n, uint32_t bits, int partition_serves)
{
	gsort_engine engine = wanted == GSORT_ENGINE_AUTO ? fastest_engine(n, bits) : wanted;

	/* the merge sort takes anything, the partition only keys that have bits */
	if (engine == GSORT_ENGINE_RADIX && n > RADIX_PAIRS_MAX)
		engine = GSORT_ENGINE_PARTITION;
	if (engine == GSORT_ENGINE_PARTITION && (bits == 0 || !partition_serves))
		return n > RADIX_PAIRS_MAX ? GSORT_ENGINE_MERGE : GSORT_ENGINE_RADIX;
	return engine;
}

#endif							/* GSORT_PAIRS_CHOICE_H */
