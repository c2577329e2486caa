/*
 * pairs_merge_sort.cu
 *	  The pairs sort by CUB's merge sort: the one with the fewest launches, for few pairs.
 *
 * In:  a gsort_pairs, scratch of the caller.
 * Out: the sorted rows and, if wanted, keys.
 *
 *	  keys, rows --fill--> where they are sorted --StableSortPairs, in place--> sorted
 *
 * Of CUB's merge sorts of pairs only StableSortPairs promises a stable order, and it sorts in place:
 * SortPairsCopy, which would spare the fill, promises none.  Rows are sorted in the caller's output, keys too
 * if they are wanted; else in the caller's input if it may be used up, or in the scratch.
 */
#include "sort/pairs_merge_sort.h"

#include <cub/device/device_merge_sort.cuh>

#include "sort/launch_plan.cuh"

#define FILL_THREADS 256

/*
 * Keys, as far as the mask has their bits, and rows to where they are sorted.  rows: NULL for a row's own
 * number.  Either array may be its own copy.  Grid: a thread for each pair.
 */
template<typename Key>
static __global__ void
__launch_bounds__(FILL_THREADS)
merge_sort_fill_kernel(const Key *keys, const uint32_t *rows, uint32_t n, Key mask, Key *keys_out, uint32_t *rows_out)
{
	uint32_t	i = blockIdx.x * FILL_THREADS + threadIdx.x;

	if (i >= n)
		return;
	keys_out[i] = keys[i] & mask;
	rows_out[i] = rows != NULL ? rows[i] : i;
}

template<typename Key>
struct less_by_key
{
	__device__ __forceinline__ bool operator()(const Key &a, const Key &b) const
	{
		return a < b;
	}
};

template<typename Key>
struct less_by_bits
{
	Key			mask;

	__device__ __forceinline__ bool operator()(const Key &a, const Key &b) const
	{
		return (a & mask) < (b & mask);
	}
};

/* The bits that are sorted by.  There may be none, at a begin_bit behind the key's last. */
template<typename Key>
static Key
significant_mask(const gsort_pairs *pairs)
{
	uint32_t	bits = pairs->end_bit - pairs->begin_bit;

	if (bits == 0)
		return 0;
	return (Key) (~(Key) 0 >> (8 * sizeof(Key) - bits) << pairs->begin_bit);
}

/* Where everything is. */
template<typename Key>
struct merge_sort_buffers
{
	Key		   *keys;			/* where they are sorted */
	void	   *cub_scratch;
	size_t		cub_scratch_bytes;
	size_t		bytes;			/* of the caller's scratch, in all */
};

/* With cub_scratch NULL CUB only tells cub_scratch_bytes. */
template<typename Key>
static cudaError_t
sort_in_place(merge_sort_buffers<Key> *buffers, const gsort_pairs *pairs, cudaStream_t stream)
{
	uint32_t	n = (uint32_t) pairs->n;

	/* keys that nobody wants have lost their other bits: one AND a key is less than two a comparison */
	if (pairs->d_keys_out == NULL)
		return cub::DeviceMergeSort::StableSortPairs(buffers->cub_scratch, buffers->cub_scratch_bytes, buffers->keys,
													 pairs->d_rows_out, n, less_by_key<Key>(), stream);
	return cub::DeviceMergeSort::StableSortPairs(buffers->cub_scratch, buffers->cub_scratch_bytes, buffers->keys,
												 pairs->d_rows_out, n, less_by_bits<Key>{significant_mask<Key>(pairs)},
												 stream);
}

/* From NULL it only counts. */
template<typename Key>
static merge_sort_buffers<Key>
lay_out_merge_sort(const gsort_pairs *pairs, void *d_scratch)
{
	scratch_cursor cursor = {(uintptr_t) d_scratch};
	merge_sort_buffers<Key> buffers = {};
	char	   *cub_scratch;

	/* an error leaves 0 bytes, and the sort meets and reports it */
	(void) sort_in_place(&buffers, pairs, NULL);
	if (pairs->d_keys_out != NULL)
		buffers.keys = (Key *) pairs->d_keys_out;
	else if (!pairs->keep_keys)
		buffers.keys = (Key *) pairs->d_keys;
	else
		take(&cursor, &buffers.keys, pairs->n);
	take(&cursor, &cub_scratch, buffers.cub_scratch_bytes);
	buffers.cub_scratch = cub_scratch;
	buffers.bytes = cursor.at - (uintptr_t) d_scratch;
	return buffers;
}

size_t
pairs_merge_sort_scratch_bytes(const gsort_pairs *pairs)
{
	return pairs->key_bits == 64 ? lay_out_merge_sort<uint64_t>(pairs, NULL).bytes :
		lay_out_merge_sort<uint32_t>(pairs, NULL).bytes;
}

template<typename Key>
static cudaError_t
sort_keys(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes, cudaStream_t stream)
{
	merge_sort_buffers<Key> buffers = lay_out_merge_sort<Key>(pairs, d_scratch);
	Key			wanted = pairs->d_keys_out != NULL ? ~(Key) 0 : significant_mask<Key>(pairs);
	cudaError_t error;

	if (scratch_bytes < buffers.bytes || (uintptr_t) d_scratch % SCRATCH_ALIGNMENT != 0)
		return cudaErrorInvalidValue;
	if (pairs->n == 0)
		return cudaSuccess;
	error = launch(merge_sort_fill_kernel<Key>, tiles_for(pairs->n, FILL_THREADS), FILL_THREADS, 0, stream,
				   (const Key *) pairs->d_keys, pairs->d_rows, (uint32_t) pairs->n, wanted, buffers.keys,
				   pairs->d_rows_out);
	return error == cudaSuccess ? sort_in_place(&buffers, pairs, stream) : error;
}

cudaError_t
pairs_merge_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes, cudaStream_t stream)
{
	if (pairs->key_bits == 64)
		return sort_keys<uint64_t>(pairs, d_scratch, scratch_bytes, stream);
	return sort_keys<uint32_t>(pairs, d_scratch, scratch_bytes, stream);
}
