/*
 * host_radix.h
 *	  Stable sort of (key, row number) pairs on the host's threads.
 *
 * In:  n unsigned keys; their row numbers, or none for 0, 1, ... n - 1.
 * Out: both in ascending order of the keys' low bits.
 *
 * A caller whose keys leave room puts the row numbers into the low row_bits
 * bits of the keys, where they stay.  Such pairs take two thirds of the memory
 * and time.
 *
 * The caller owns all memory but the counts of digits.  The caller may be any
 * thread, and does its share of the sort.
 */
#ifndef GSORT_HOST_RADIX_H
#define GSORT_HOST_RADIX_H

#include <stdatomic.h>
#include <stdint.h>

#include "host/host_pool.h"
#include "host/radix_steps.h"

typedef struct host_radix_sort
{
	uint64_t	n;
	uint32_t	row_bits;		/* 0: the keys are without row numbers */
	uint32_t	bits;			/* of the keys, above the row numbers */
	host_pairs	in;				/* read-only, unless it equals sides[1] */
	/* fastest if aligned to cache lines; sides[1].rows is unused if the keys
	 * have the row numbers */
	host_pairs	sides[2];
	const atomic_int *cancel;	/* not 0: the sort ends early with any result; may be NULL */
} host_radix_sort;

/* Sorts. *sorted is the result: in if that was sorted already, otherwise
 * sides[0].  0: out of memory. */
int			host_radix_run(host_pool *pool, const host_radix_sort *sort, host_pairs *sorted);

#endif							/* GSORT_HOST_RADIX_H */
