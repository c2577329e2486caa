/*
 * host_sort.h
 *	  The sort of a run on the host device.
 *
 * In:  a complete run, and the plan of its keys.
 * Out: its row words in sorted order, its ties, and its block begins.
 *
 * Runs on the thread that finishes the run; idle threads share its parts.
 * host_ops.c lets no other operation of the job run meanwhile.
 */
#ifndef GSORT_HOST_SORT_H
#define GSORT_HOST_SORT_H

#include <stdatomic.h>

#include "host/host_pool.h"
#include "host/host_run.h"
#include "host/radix_steps.h"
#include "rows/ties.h"

/* The block begins of a sorted run, with room for one more.  malloc'd; the
 * receiver owns them. */
typedef struct host_begins
{
	block_begin *begins;
	uint64_t	n;
} host_begins;

/* Memory of a sort of that many rows beside the extents. */
uint64_t	host_sort_bytes(const gsort_job_options *options, uint64_t rows);

/* The part of it that stays for the gather of keys, if that is retained. */
uint64_t	host_sort_order_bytes(uint64_t rows);

/*
 * Sorts a run. ties_of is read only if the run has ties.  retain_order:
 * run->order is requested.  NOMEM leaves the run unchanged.  BAD_DATA: keys
 * contradict the statistics of the plan; run->bad_data is set. *cancel not 0:
 * ends early with any status.
 */
gsort_status host_run_sort(host_run *run, host_pool *pool, const key_plan *plan,
						   const tie_rule *ties_of, uint64_t rows, int retain_order,
						   uint64_t limit_bytes, const atomic_int *cancel, host_begins *begins);

/* --- rows that share their first word (host_segments.c) ------------------- */

/* A segment is a stretch of such rows.  One thread sorts it by the other words,
 * in turn; the caller sorts each long segment with all threads. */
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

#endif							/* GSORT_HOST_SORT_H */
