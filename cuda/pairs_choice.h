/*
 * pairs_choice.h
 *	  Which engine sorts pairs: decided from their number, the keys' significant bits and the
 *	  device.
 *
 * In:  what is known before the sort; nothing of how the keys are distributed.
 * Out: an engine that the device can run.
 *
 * Host code, plain C.  Measured on an H200 (bench/results/2026-11-21-nvidia-h200-sort-2.csv), ms;
 * "bits": CUB's radix sort told so many significant bits.
 *
 *	64-bit keys    radix   20 bits 30 bits merge   partition: uniform, sorted, doubles
 *	    100,000    0.111   0.047   0.061   0.061   0.080  0.078  0.095
 *	  1,000,000    0.182   0.075   0.094   0.158   0.124  0.090  0.253
 *	 10,000,000    0.912   0.349   0.444   1.324   0.421  0.388  0.643
 *	100,000,000    7.606   2.839   3.652   13.56   2.676  2.362  3.127
 *
 *	32-bit keys    radix   20 bits 30 bits merge   partition: uniform, sorted, 1000_random
 *	    100,000    0.064   0.050   0.063   0.061   0.064  0.063  0.089
 *	  1,000,000    0.084   0.065   0.082   0.117   0.113  0.078  0.331
 *	 10,000,000    0.377   0.281   0.347   0.931   0.381  0.347  1.265
 *	100,000,000    2.810   2.053   2.640   9.135   2.485  2.180  4.083
 *
 * So the radix sort's time goes with the bits, and for 32 of them nothing is faster on all inputs;
 * the merge sort has the fewest launches; and for long keys the partition is.
 */
#ifndef GSORT_PAIRS_CHOICE_H
#define GSORT_PAIRS_CHOICE_H

#include "gsort.h"

#define RADIX_BITS_FEW_PAIRS	24	/* up to these many bits, few pairs are sorted by radix */
#define RADIX_BITS_MILLIONS		32
#define RADIX_BITS_MANY_PAIRS	16

#define MERGE_PAIRS_MAX_32		150000
#define MERGE_PAIRS_MAX_64		400000
#define MILLIONS_MAX			5000000

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
