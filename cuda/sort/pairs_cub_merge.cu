/*
 * pairs_cub_merge.cu
 *	  The pairs sort by CUB's merge sort.  Serves few pairs: its time grows with
 *	  their number, not with the bits of the keys.
 *
 * In:  a gsort_pairs, scratch of the caller.
 * Out: the sorted rows and, if requested, keys.
 *
 * CUB reads the keys and the rows, or counts the rows itself, and writes the
 * output.  No launch copies or numbers anything; a copy would cost a seventh of
 * the sort of 100,000 pairs.
 *
 * CUB promises stability of StableSortPairs alone, which has no variant with
 * separate output.  All variants are one stable sort, by the same dispatch.
 */
#include "sort/pairs_engine.h"

#include <cub/device/device_merge_sort.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "rows/key_plan.h"

/* Compares the bits of mask only. */
template<typename Key>
struct cub_merge_less
{
	Key			mask;

	__host__ __device__ __forceinline__ bool operator()(Key a, Key b) const
	{
		return (a & mask) < (b & mask);
	}
};

template<typename Key>
struct cub_merge_scratch
{
	Key		   *keys_out;
	void	   *of_cub;
	size_t		cub_bytes;
};

/* With scratch->of_cub NULL, CUB only reports cub_bytes. */
template<typename Key, typename Rows>
static cudaError_t
run_cub_merge(const gsort_pairs *pairs, cub_merge_scratch<Key> *scratch, Rows rows,
			  cudaStream_t stream)
{
	const cub_merge_less<Key> less = {(Key) key_low_bits(pairs->bits)};

	return cub::DeviceMergeSort::SortPairsCopy(
		scratch->of_cub, scratch->cub_bytes, (const Key *) pairs->d_keys, rows, scratch->keys_out,
		pairs->d_rows_out, (uint32_t) pairs->n, less, stream);
}

template<typename Key>
static cudaError_t
sort_or_measure(const gsort_pairs *pairs, cub_merge_scratch<Key> *scratch, cudaStream_t stream)
{
	if (pairs->d_rows != NULL)
		return run_cub_merge(pairs, scratch, pairs->d_rows, stream);
	return run_cub_merge(pairs, scratch, thrust::counting_iterator<uint32_t>(0), stream);
}

/* Splits the caller's scratch.  Returns where CUB's part begins. */
template<typename Key>
static uintptr_t
lay_out_keys(const gsort_pairs *pairs, uintptr_t at, cub_merge_scratch<Key> *scratch)
{
	scratch_cursor cursor = {at};

	scratch->keys_out = (Key *) pairs->d_keys_out;
	if (scratch->keys_out == NULL)
		take(&cursor, &scratch->keys_out, pairs->n);
	return cursor.at;
}

template<typename Key>
static size_t
scratch_bytes_of(const gsort_pairs *pairs)
{
	cub_merge_scratch<Key> scratch = {};
	const size_t before = lay_out_keys(pairs, 0, &scratch);

	/* an error leaves 0 bytes; the sort fails too and reports it */
	(void) sort_or_measure(pairs, &scratch, NULL);
	return before + scratch.cub_bytes;
}

size_t
pairs_cub_merge_scratch_bytes(const gsort_pairs *pairs)
{
	if (pairs->n > MERGE_PAIRS_MAX)
		return 0;
	return pairs->key_bits == 64 ? scratch_bytes_of<uint64_t>(pairs) :
		scratch_bytes_of<uint32_t>(pairs);
}

/* CUB gets the rest of the scratch and checks its size.  To ask CUB for the
 * size first would cost a twentieth of the sort of 100,000 pairs. */
template<typename Key>
static cudaError_t
sort_keys(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes, cudaStream_t stream)
{
	cub_merge_scratch<Key> scratch = {};
	const uintptr_t begin = (uintptr_t) d_scratch;
	const uintptr_t of_cub = lay_out_keys(pairs, begin, &scratch);

	if (begin % SCRATCH_ALIGNMENT != 0 || of_cub - begin > scratch_bytes)
		return cudaErrorInvalidValue;
	scratch.of_cub = (void *) of_cub;
	scratch.cub_bytes = scratch_bytes - (of_cub - begin);
	return pairs->n == 0 ? cudaSuccess : sort_or_measure(pairs, &scratch, stream);
}

cudaError_t
pairs_cub_merge_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
					 cudaStream_t stream)
{
	if (pairs->key_bits == 64)
		return sort_keys<uint64_t>(pairs, d_scratch, scratch_bytes, stream);
	return sort_keys<uint32_t>(pairs, d_scratch, scratch_bytes, stream);
}
