/*
 * host_segments.h
 *	  Rows that a sort by the first word left tied, on the host device.
 *
 * In:  the sorted first words and the order of the rows by them.
 * Out: what it takes to sort the tied rows where they stand; the same order
 *	    with them sorted.
 *
 * A segment is a stretch of rows that share their first word.  A thread sorts
 * it by merging, comparing the other words, which it makes of the keys each
 * time: that serves few rows or short segments, and needs no more memory than
 * the row numbers.  Long segments are left to the caller, who sorts each by all
 * threads.  On threads of the pool; the caller owns all arrays.
 */
#ifndef GSORT_HOST_SEGMENTS_H
#define GSORT_HOST_SEGMENTS_H

#include <stdatomic.h>

#include "host/host_pool.h"
#include "host/host_run.h"

typedef struct host_segments
{
	const host_run *run;
	const key_plan *plan;
	uint64_t	n;
	uint32_t	parts;
	const uint64_t *first_words;	/* [n] sorted */
	uint32_t   *rows;			/* [n] in the same order */
	uint32_t   *spare_rows;		/* [n] to merge in */
	const atomic_int *cancel;	/* not 0: stop soon, the result is not wanted */
	atomic_ullong work;
} host_segments;

/* Do so many of some first words, in the order as fed, share theirs that
 * segments will be long? */
int			host_segments_likely_long(const uint64_t *words, uint64_t n);

/* How many comparisons the sort may take; of a long segment, how often a row's
 * words are sorted. */
uint64_t	host_segments_weigh(host_pool *pool, host_segments *segments);

/* Sorts all but long segments.  Stable. */
void		host_segments_sort(host_pool *pool, host_segments *segments);

/* Finds the next long segment behind *end, which is 0 at first.  0: there is
 * none. */
int			host_segments_next_long(const host_segments *segments, uint64_t *begin, uint64_t *end);

#endif							/* GSORT_HOST_SEGMENTS_H */
