/*
 * host_segments.h
 *	  Rows that a sort by the first word left tied, on the host device.
 *
 * In:  the sorted first words and the order of the rows by them.
 * Out: the estimated cost of sorting the tied rows in place; the same order
 *	    with these rows sorted.
 *
 * A segment is a stretch of rows that share their first word.  One thread
 * merge-sorts it and derives the other words from the keys at each comparison.
 * This suits few tied rows or short segments, and needs no memory beyond the
 * row numbers.  The caller sorts each long segment with all threads.  The
 * functions run on threads of the pool; the caller owns all arrays.
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
	uint32_t   *spare_rows;		/* [n] scratch of the merges */
	const atomic_int *cancel;	/* not 0: the sort ends early with any result */
	atomic_ullong work;
} host_segments;

/* True if so many of a sample of first words, in the order as fed, are equal
 * that long segments are likely. */
int			host_segments_likely_long(const uint64_t *words, uint64_t n);

/* Estimates the comparisons of the sort.  A long segment counts its rows once
 * per word. */
uint64_t	host_segments_weigh(host_pool *pool, host_segments *segments);

/* Sorts all segments but the long ones.  Stable. */
void		host_segments_sort(host_pool *pool, host_segments *segments);

/* Finds the next long segment behind *end, which is 0 at first.  0: no more. */
int			host_segments_next_long(const host_segments *segments, uint64_t *begin, uint64_t *end);

#endif							/* GSORT_HOST_SEGMENTS_H */
