/*
 * host_merge.h
 *	  Jobs of several runs on the host device: retains the sorted keys of each
 *	  ended run, and merges them.
 *
 * In:  a run that was sorted with its order retained, and its key extents.
 * Out: the merge order: for each row of all runs, in order, the number of its
 *	    run.
 *
 * The memory counts to the account of the job's run. host_ops.c serializes
 * retaining and merging, and admits readers only once the order is complete.
 */
#ifndef GSORT_HOST_MERGE_H
#define GSORT_HOST_MERGE_H

#include <stdatomic.h>

#include "host/host_pool.h"
#include "host/host_run.h"

typedef struct host_retained_run
{
	uint64_t	rows;
	uint64_t   *keys;			/* [rows][columns] in sorted order; NULL for no rows */
	uint8_t    *nulls;			/* [rows] behind the keys; NULL: no NULLs */
} host_retained_run;

typedef struct host_retained
{
	host_memory *memory;
	host_account *account;
	uint32_t	columns;
	uint32_t	n_runs;
	host_retained_run runs[GSORT_MERGE_RUNS_MAX];
	uint64_t	rows;			/* total of all runs */
	/* [rows], padded with zeros to a multiple of 8; NULL until merged */
	uint8_t    *order;
} host_retained;

void		host_retained_init(host_retained *retained, host_run *run);

/* Gathers the keys of a sorted run as the last one.  0: out of memory. *cancel
 * not 0: ends early with any result. */
int			host_retained_add(host_retained *retained, const host_run *run, host_pool *pool,
							  int with_nulls, uint64_t limit_bytes, const atomic_int *cancel);

/* Releases all retained keys; retained is as after its init, except for the
 * order. */
void		host_retained_drop_keys(host_retained *retained);

/* Releases everything.  A second call has no effect. */
void		host_retained_free(host_retained *retained);

/* Merges by the plan's only word, or by run if the plan has none.  OK: the
 * order is complete and the keys are released.  NOMEM: nothing changed. *cancel
 * not 0: ends early with any status. */
gsort_status host_retained_merge(host_retained *retained, host_pool *pool, const key_plan *plan,
								 uint64_t limit_bytes, const atomic_int *cancel);

#endif							/* GSORT_HOST_MERGE_H */
