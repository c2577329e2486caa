/*
 * pairs_merge_sort.cu
 *	  The pairs sort by CUB's merge sort: the one with the fewest launches, for few pairs.
 *
 * In:  a gsort_pairs whose shape gsort.c has checked, scratch of the caller.
 * Out: the sorted rows and, if wanted, keys.
 *
 * CUB promises a stable order of its sort in place, not of its sort from one array to another; both
 * are the same kernels, and the tests compare with the stable order.  Only enqueues.
 */
#include "device/cuda_device.cuh"

#include <cub/device/device_merge_sort.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

/* Only the bits that are sorted by. */
template<typename Key>
struct masked
{
	Key			mask;

	__device__ __forceinline__ Key operator()(Key key) const
	{
		return key & mask;
	}
};

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
	masked<Key> bits;

	__device__ __forceinline__ bool operator()(const Key &a, const Key &b) const
	{
		return bits(a) < bits(b);
	}
};

/* Where everything is. */
template<typename Key>
struct merge_sort_buffers
{
	Key		   *keys_out;
	void	   *cub_scratch;
	size_t		cub_scratch_bytes;
	size_t		scratch_bytes;	/* of the caller's, in all */
};

template<typename Keys, typename Rows, typename Less, typename Key>
static cudaError_t
cub_sort(merge_sort_buffers<Key> *buffers, const gsort_pairs *pairs, Keys keys, Rows rows, Less less,
		 cudaStream_t stream)
{
	return cub::DeviceMergeSort::SortPairsCopy(buffers->cub_scratch, buffers->cub_scratch_bytes, keys, rows,
											   buffers->keys_out, pairs->d_rows_out, (uint32_t) pairs->n, less, stream);
}

template<typename Key>
static cudaError_t
sort_rows(merge_sort_buffers<Key> *buffers, const gsort_pairs *pairs, cudaStream_t stream)
{
	const Key  *keys = (const Key *) pairs->d_keys;
	const thrust::counting_iterator<uint32_t> numbers(0);
	uint32_t	bits = pairs->end_bit - pairs->begin_bit;
	Key			mask = bits >= 8 * sizeof(Key) ? ~(Key) 0 : (Key) ((((Key) 1 << bits) - 1) << pairs->begin_bit);

	if (pairs->d_rows != NULL)
		return cub_sort(buffers, pairs, keys, pairs->d_rows, less_by_bits<Key>{mask}, stream);
	if (pairs->d_keys_out != NULL)
		return cub_sort(buffers, pairs, keys, numbers, less_by_bits<Key>{mask}, stream);
	/* sorted keys that nobody wants need not be whole, and one AND a key is less than two a comparison */
	return cub_sort(buffers, pairs, thrust::make_transform_iterator(keys, masked<Key>{mask}), numbers,
					less_by_key<Key>(), stream);
}

/* From NULL it only counts. */
template<typename Key>
static merge_sort_buffers<Key>
lay_out(const gsort_pairs *pairs, void *d_scratch)
{
	merge_sort_buffers<Key> buffers = {};
	size_t		keys_bytes = pairs->d_keys_out == NULL ? aligned_bytes(pairs->n * sizeof(Key)) : 0;

	/* an error leaves 0, and the launch that follows meets and reports it */
	(void) sort_rows(&buffers, pairs, NULL);
	buffers.keys_out = pairs->d_keys_out != NULL ? (Key *) pairs->d_keys_out : (Key *) d_scratch;
	buffers.cub_scratch = (char *) d_scratch + keys_bytes;
	buffers.scratch_bytes = keys_bytes + aligned_bytes(buffers.cub_scratch_bytes);
	return buffers;
}

size_t
cuda_merge_sort_scratch_bytes(const gsort_pairs *pairs)
{
	return pairs->key_bits == 64 ? lay_out<uint64_t>(pairs, NULL).scratch_bytes : lay_out<uint32_t>(pairs, NULL).scratch_bytes;
}

template<typename Key>
static gsort_status
sort_keys(cuda_device *device, const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes, cudaStream_t stream)
{
	merge_sort_buffers<Key> buffers = lay_out<Key>(pairs, d_scratch);

	if (scratch_bytes < buffers.scratch_bytes)
		return gsort_fail(&device->common, GSORT_BAD_ARG, "scratch too small");
	GSORT_TRY(device, sort_rows(&buffers, pairs, stream));
	return GSORT_OK;
}

gsort_status
cuda_merge_sort(cuda_device *device, const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
				cudaStream_t stream)
{
	if (pairs->key_bits == 64)
		return sort_keys<uint64_t>(device, pairs, d_scratch, scratch_bytes, stream);
	return sort_keys<uint32_t>(device, pairs, d_scratch, scratch_bytes, stream);
}
