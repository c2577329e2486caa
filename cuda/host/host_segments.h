/*
 * host_segments.h
 *	  Rows that a sort by the first word left tied, on the host device.
 *
 * In:  the sorted first words and the order of the rows by them.
 * Out: the same order with these rows sorted by the other words.
 *
 * A segment is a stretch of rows that share their first word.  One thread sorts
 * it, word by word; the caller sorts each long segment with all threads.  The
 * functions run on threads of the pool; the caller owns all arrays.
 */
#ifndef GSORT_HOST_SEGMENTS_H
#define GSORT_HOST_SEGMENTS_H

#include <stdatomic.h>

#include "host/host_pool.h"
#include "host/host_run.h"
#include "host/radix_pairs.h"

typedef struct host_segments
{
	const host_run *run;
	const key_plan *plan;
	uint64_t	n;
	/* the sorted first words with their rows, and the same space again; the
	 * space of a segment's words holds its other words while it is sorted */
	host_pairs	sides[2];
	const atomic_int *cancel;	/* not 0: the sort ends early with any result */
} host_segments;

/* Sorts all segments but the long ones.  Stable. */
void		host_segments_sort(host_pool *pool, const host_segments *segments);

/* Finds the next long segment behind *end, which is 0 at first.  0: no more. */
int			host_segments_next_long(const host_segments *segments, uint64_t *begin, uint64_t *end);

#endif							/* GSORT_HOST_SEGMENTS_H */
