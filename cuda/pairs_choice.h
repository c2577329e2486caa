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
 * Measured on an H200 (bench/results/2026-11-21-nvidia-h200-sort-2.csv and -sort-3.csv), ms; "20 bits"
 * and "30 bits": CUB's radix sort told so many significant bits; the partition's worst is that of the bench's 15
 * distributions, with CUB's best for it in brackets.
 *
 *	64-bit keys      radix    20 bits  30 bits  merge    partition: uniform, worst
 *	      100,000    0.117    0.047    0.061    0.063    0.085  0.113 (0.063)
 *	    1,000,000    0.188    0.075    0.094    0.161    0.123  0.271 (0.167)
 *	   10,000,000    0.905    0.349    0.444    1.324    0.423  1.021 (0.877)
 *	  100,000,000    7.551    2.839    3.652    13.51    2.674  7.337 (7.226)
 *	1,000,000,000    74.39                      154.6    28.42  105.2 (70.24)
 *
 *	32-bit keys      radix    20 bits  30 bits  merge    partition: uniform, worst
 *	      100,000    0.070    0.050    0.063    0.063    0.068  0.095 (0.063)
 *	    1,000,000    0.091    0.065    0.082    0.119    0.115  0.222 (0.087)
 *	   10,000,000    0.374    0.281    0.347    0.932    0.382  0.758 (0.358)
 *	  100,000,000    2.804    2.053    2.640    9.078    2.511  5.028 (2.716)
 *	1,000,000,000    27.47                      104.7    26.99  59.50 (26.40)
 *
 * So the radix sort's time goes with the bits, and for keys of 32 bits nothing is faster on all inputs; the
 * merge sort has the fewest launches; and for long keys the partition is the fastest on all but few inputs.
 */
#ifndef GSORT_PAIRS_CHOICE_H
#define GSORT_PAIRS_CHOICE_H

#include "gsort.h"

#define RADIX_BITS_FEW_PAIRS	24	/* up to these many bits, few pairs are sorted by radix */
#define RADIX_BITS_MILLIONS		32
#define RADIX_BITS_MANY_PAIRS	16

#define MERGE_PAIRS_MAX_32		150000
#define MERGE_PAIRS_MAX_64		400000
#define MILLIONS_MAX			15000000

static inline gsort_engine
fastest_engine(uint64_t n, uint32_t key_bits, uint32_t bits)
{
	if (n <= (key_bits == 32 ? MERGE_PAIRS_MAX_32 : MERGE_PAIRS_MAX_64))
		return bits <= RADIX_BITS_FEW_PAIRS ? GSORT_ENGINE_RADIX : GSORT_ENGINE_MERGE;
	if (key_bits == 32)
		return GSORT_ENGINE_RADIX;
	if (bits <= (n <= MILLIONS_MAX ? RADIX_BITS_MILLIONS : RADIX_BITS_MANY_PAIRS))
		return GSORT_ENGINE_RADIX;
	return GSORT_ENGINE_PARTITION;
}

/* Never AUTO.  bits: significant ones of the keys; partition_serves: the device has the shared
 * memory that a partition of so many pairs takes. */
static inline gsort_engine
choose_engine(gsort_engine wanted, uint64_t n, uint32_t key_bits, uint32_t bits, int partition_serves)
{
	gsort_engine engine = wanted == GSORT_ENGINE_AUTO ? fastest_engine(n, key_bits, bits) : wanted;

	/* keys without bits are in order, and only the radix sort knows it */
	if (bits == 0 || (engine == GSORT_ENGINE_PARTITION && !partition_serves))
		return GSORT_ENGINE_RADIX;
	return engine;
}

#endif							/* GSORT_PAIRS_CHOICE_H */
