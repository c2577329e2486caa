/*
 * radix_bucket.h
 *	  Sorts a bucket of pairs in one thread.
 *
 * In:  neighbouring pairs on either side of a radix sort.
 * Out: the same pairs in order, on side 0.
 *
 * Runs on any thread of the pool.  The caller owns all memory.
 */
#ifndef GSORT_RADIX_BUCKET_H
#define GSORT_RADIX_BUCKET_H

#include "host/radix_scatter.h"

/* A thread's memory, 400 kB. */
typedef struct radix_workspace
{
	uint64_t	keys[CACHED_ROWS];
	uint32_t	rows[CACHED_ROWS];
} radix_workspace;

/* Sorts the pairs [begin, end) of a side, at least one, into side 0; overwrites
 * side 1 there. */
void		radix_bucket_sort(const host_pairs sides[2], key_window window, radix_workspace *work,
							  int side, uint64_t begin, uint64_t end);

#endif							/* GSORT_RADIX_BUCKET_H */
