/*
 * host_sort.h
 *	  The sort of a run on the host device.
 *
 * In:  a run that has been taken in, the plan of its keys.
 * Out: its row words in sorted order, its ties, and where its windows begin.
 */
#ifndef GSORT_HOST_SORT_H
#define GSORT_HOST_SORT_H

#include <stdatomic.h>

#include "host/host_begins.h"
#include "host/host_pool.h"
#include "host/host_run.h"
#include "rows/tie_rule.h"

/* Memory that the sort of so many rows takes beside the extents. */
uint64_t	host_sort_bytes(const gsort_job_options *options, uint64_t rows);

/* What of it stays for the gathering of keys, if the order is kept. */
uint64_t	host_sort_order_bytes(uint64_t rows);

/*
 * ties_of: not read unless the run has ties.  keep_order: run->order is wanted.
 * NOMEM leaves the run as it was.  BAD_DATA: keys beyond the statistics that
 * the plan was made from; run->bad_data is set.  *cancel not 0: ends soon, any
 * answer.
 */
gsort_status host_run_sort(host_run *run, host_pool *pool, const key_plan *plan,
						   const tie_rule *ties_of, uint64_t rows, int keep_order,
						   uint64_t limit_bytes, const atomic_int *cancel, host_begins *begins);

#endif							/* GSORT_HOST_SORT_H */
