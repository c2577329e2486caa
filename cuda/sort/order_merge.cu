/*
 * order_merge.cu
 *	  The multiway merge of kept keys to run numbers.
 *
 * In:  runs of raw key columns, a plan of one word.
 * Out: the merge order, one byte a row.
 *
 * Words of up to 32 bits are compared as uint32, which takes half of the shared memory.
 */
#include "sort/order_merge.h"

#include "sort/merge_launch.cuh"

size_t
order_merge_scratch_bytes(uint64_t rows, uint32_t n_runs)
{
	return merge_scratch_bytes(rows, n_runs);
}

cudaError_t
order_merge(const key_plan *plan, const merge_run *runs, uint32_t n_runs, void *d_scratch, uint8_t *d_order,
			cudaStream_t stream)
{
	const order_sink sink = {(uint64_t *) d_order};

	if (plan->bits <= 32)
		return merge_runs(planned_runs<uint32_t>{*plan}, sink, runs, n_runs, d_scratch, stream);
	return merge_runs(planned_runs<uint64_t>{*plan}, sink, runs, n_runs, d_scratch, stream);
}
