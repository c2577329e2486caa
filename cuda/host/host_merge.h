/*
 * host_merge.h
 *	  Jobs of several runs on the host device: keeps the sorted keys of each run
 *	  that ends, and merges them.
 *
 * In:  a run that was sorted with its order kept, its key extents still there.
 * Out: the merge order: for each row of all runs, in order, the number of its
 *	    run.
 *
 * The memory counts to the account of the job's run.  host_ops.c sees to it
 * that runs are kept and merged one after the other, and that the order is only
 * read once it stands.
 */
#ifndef GSORT_HOST_MERGE_H
#define GSORT_HOST_MERGE_H

#include <stdatomic.h>

#include "host/host_pool.h"
#include "host/host_run.h"

typedef struct host_kept_run
{
	uint64_t	rows;
	uint64_t   *keys;			/* [rows][columns] in sorted order; NULL for no rows */
	uint8_t    *nulls;			/* [rows] behind the keys; NULL: none is */
} host_kept_run;

typedef struct host_kept
{
	host_memory *memory;
	host_account *account;
	uint32_t	columns;
	uint32_t	n_runs;
	host_kept_run runs[GSORT_MERGE_RUNS_MAX];
	uint64_t	rows;			/* of all runs */
	uint8_t    *order;			/* [rows] and zeros up to a multiple of 8; NULL until merged */
} host_kept;

void		host_kept_init(host_kept *kept, host_run *run);

/* Memory for the kept keys of so many rows, and for the merge order. */
uint64_t	host_kept_bytes(uint32_t columns, uint64_t rows, int with_nulls);
uint64_t	host_order_bytes(uint64_t rows);

/* Gathers the keys of a sorted run as its last.  0: out of memory.  *cancel not
 * 0: ends soon, any answer. */
int			host_kept_add(host_kept *kept, const host_run *run, host_pool *pool, int with_nulls,
						  uint64_t limit_bytes, const atomic_int *cancel);

/* Gives all kept keys back; kept is as after its init, but for the order. */
void		host_kept_drop_keys(host_kept *kept);

/* Gives everything back.  A second call does nothing. */
void		host_kept_free(host_kept *kept);

/* By the plan's only word, or by run if it has none.  OK: the order stands and
 * the keys are gone.  NOMEM: nothing changed.  *cancel not 0: ends soon, any
 * answer. */
gsort_status host_kept_merge(host_kept *kept, host_pool *pool, const key_plan *plan,
							 uint64_t limit_bytes, const atomic_int *cancel);

#endif							/* GSORT_HOST_MERGE_H */
