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
#include "rows/tie_rule.h"

/* The block begins of a sorted run, with room for one more.  malloc'd; the
 * receiver owns them. */
typedef struct host_begins
{
	block_begin *begins;
	uint64_t	n;
} host_begins;

/* Finds row words in sorted order, and the block begins (host_begins.c).
 * order NULL: as fed.  row_words has room for all rows.  0: out of memory. */
int			host_begins_find(const host_run *run, host_pool *pool, const uint32_t *order,
							 uint64_t rows, uint64_t *row_words, host_begins *begins);

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

#endif							/* GSORT_HOST_SORT_H */
