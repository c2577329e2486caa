/*
 * multiway_merge.cu
 *	  The multiway merge of retained keys to run numbers.
 *
 * In:  runs of raw key columns, a plan of one word.
 * Out: the merge order, one byte per row.
 *
 * Words of up to 32 bits are compared as uint32, which halves the shared
 * memory.
 */
#include "sort/order_merge.h"

#include "sort/multiway_merge.cuh"

size_t
order_merge_scratch_bytes(uint64_t rows, uint32_t n_runs)
{
	return merge_lay_out(rows, n_runs, NULL).bytes;
}

cudaError_t
order_merge(const key_plan *plan, const merge_run *runs, uint32_t n_runs, void *d_scratch,
			uint8_t *d_order, cudaStream_t stream)
{
	if (n_runs == 0 || n_runs > GSORT_MERGE_RUNS_MAX)
		return cudaErrorInvalidValue;
	if (plan->bits <= 32)
		return merge_runs(key_source<uint32_t>{*plan}, runs, n_runs, d_scratch, d_order, stream);
	return merge_runs(key_source<uint64_t>{*plan}, runs, n_runs, d_scratch, d_order, stream);
}
