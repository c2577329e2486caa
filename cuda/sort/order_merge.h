/*
 * order_merge.h
 *	  The merge order: the run of each row of the whole order.
 *
 * In:  sorted runs of raw key columns, the plan that packs them into one word.
 * Out: one byte per row: the number of its run.
 *
 * Uses the current CUDA device; only enqueues.
 */
#ifndef GSORT_ORDER_MERGE_H
#define GSORT_ORDER_MERGE_H

#include "rows/key_plan.h"
#include "sort/launch.cuh"

/* One sorted run; the caller owns the arrays. */
typedef struct merge_run
{
	const void *keys;			/* device: [columns][count] raw uint64 */
	const uint8_t *nulls;		/* device: [count] bit c: column c is NULL; NULL: no NULLs */
	uint32_t	count;
	uint32_t	first_sample;	/* number of the run's first sample, set by the merge */
} merge_run;

/* Scratch of order_merge, in device memory. */
size_t		order_merge_scratch_bytes(uint64_t rows, uint32_t n_runs);

/*
 * Enqueues the merge of 1 to GSORT_MERGE_RUNS_MAX runs, equal keys by run.
 * plan: at most one word.  d_order: 8-byte aligned, with room for all rows
 * rounded up to a multiple of 8; the padding becomes 0.  d_scratch: 256-byte
 * aligned.
 * cudaErrorInvalidValue: no run or too many; any other error is a launch's.
 */
cudaError_t order_merge(const key_plan *plan, const merge_run *runs, uint32_t n_runs,
						void *d_scratch, uint8_t *d_order, cudaStream_t stream);

#endif							/* GSORT_ORDER_MERGE_H */
