/*
 * pairs_merge.cu
 *	  The multiway merge of (key, row) pairs.
 *
 * In:  sorted runs, scratch of the caller.
 * Out: the merged keys and rows.
 *
 * The library's kernels with a source and a sink of pairs, which no job has: jobs merge keys to an order of runs.
 */
#include "pairs_merge.h"

#include "peers/pair_runs.cuh"
#include "sort/merge_launch.cuh"

size_t
pairs_merge_scratch_bytes(uint64_t pairs, uint32_t n_runs)
{
	return merge_scratch_bytes(pairs, n_runs);
}

template<typename Key>
static gsort_status
merge_keys(const merge_run *runs, uint32_t n_runs, void *d_keys_out, uint32_t *d_rows_out, void *d_scratch,
		   cudaStream_t stream)
{
	const pair_sink<Key> sink = {(Key *) d_keys_out, d_rows_out};

	return merge_runs(pair_runs<Key>(), sink, runs, n_runs, d_scratch, stream) == cudaSuccess ? GSORT_OK : GSORT_DEVICE_LOST;
}

gsort_status
pairs_merge(const merge_run *runs, uint32_t n_runs, uint32_t key_bits, void *d_keys_out, uint32_t *d_rows_out,
			void *d_scratch, size_t scratch_bytes, cudaStream_t stream)
{
	if (n_runs == 0 || n_runs > MERGE_RUNS_MAX || (key_bits != 32 && key_bits != 64) ||
		(uintptr_t) d_scratch % SCRATCH_ALIGNMENT != 0 ||
		scratch_bytes < merge_scratch_bytes(rows_of_runs(runs, n_runs), n_runs))
		return GSORT_BAD_ARG;
	if (key_bits == 32)
		return merge_keys<uint32_t>(runs, n_runs, d_keys_out, d_rows_out, d_scratch, stream);
	return merge_keys<uint64_t>(runs, n_runs, d_keys_out, d_rows_out, d_scratch, stream);
}
