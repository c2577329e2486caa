/*
 * pairs_cub.cu
 *	  The pairs sorts by CUB: its merge sort, of few pairs, whose time grows
 *	  with their number only; its radix sort, for chips without measurements of
 *	  the other engines, since it is tuned for every chip.
 *
 * In:  a gsort_pairs, scratch of the caller.
 * Out: the sorted rows and, if requested, keys.
 *
 * The merge sort has separate output, because a copy of the input would cost a
 * seventh of the sort of 100,000 pairs.  CUB promises stability of
 * StableSortPairs alone, which has no such variant, but all variants are one
 * stable sort, by the same dispatch.
 *
 * The radix sort receives two buffers, because otherwise it would allocate one
 * more copy of everything.  The final copy is needed only if CUB does not leave
 * the result in the output.
 */
#include "sort/pairs_engine.h"

#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "rows/key_plan.h"

#define NUMBER_THREADS	256
#define CUB_DIGIT_BITS	8		/* another digit width in CUB would cost one more copy */

template<typename Key>
struct cub_scratch
{
	Key		   *keys;			/* the sorted keys, or the radix sort's second buffer */
	uint32_t   *rows;			/* the radix sort's buffer beside the output */
	void	   *of_cub;			/* NULL: CUB only reports cub_bytes */
	size_t		cub_bytes;
	size_t		bytes;			/* total bytes of the caller's scratch */
};

/* --- the merge sort ------------------------------------------------------- */

template<typename Key>
struct cub_merge_less
{
	Key			mask;

	__host__ __device__ __forceinline__ bool operator()(Key a, Key b) const
	{
		return (a & mask) < (b & mask);
	}
};

struct cub_merge_sort
{
	static constexpr bool SECOND_ROWS = false;

	template<typename Key, typename Rows>
	static cudaError_t merge(const gsort_pairs *pairs, cub_scratch<Key> *scratch, Rows rows,
							 cudaStream_t stream)
	{
		const cub_merge_less<Key> less = {(Key) key_low_bits(pairs->bits)};

		return cub::DeviceMergeSort::SortPairsCopy(
			scratch->of_cub, scratch->cub_bytes, (const Key *) pairs->d_keys, rows, scratch->keys,
			pairs->d_rows_out, (uint32_t) pairs->n, less, stream);
	}

	template<typename Key>
	static cudaError_t run(const gsort_pairs *pairs, cub_scratch<Key> *scratch, cudaStream_t stream)
	{
		return pairs->d_rows != NULL ? merge(pairs, scratch, pairs->d_rows, stream) :
			merge(pairs, scratch, thrust::counting_iterator<uint32_t>(0), stream);
	}
};

/* --- the radix sort ------------------------------------------------------- */

/* Writes the identity.  Grid: a thread for each row. */
static __global__ void
__launch_bounds__(NUMBER_THREADS)
cub_radix_number_kernel(uint32_t *rows, uint32_t n)
{
	uint32_t	i = blockIdx.x * NUMBER_THREADS + threadIdx.x;

	if (i < n)
		rows[i] = i;
}

template<typename T>
static cudaError_t
copy_array(T *to, const T *from, uint64_t n, cudaStream_t stream)
{
	return to == from ? cudaSuccess : cudaMemcpyAsync(to, from, n * sizeof(T),
													  cudaMemcpyDeviceToDevice, stream);
}

static cudaError_t
fill_rows(uint32_t *rows, const gsort_pairs *pairs, cudaStream_t stream)
{
	if (pairs->d_rows != NULL)
		return copy_array(rows, pairs->d_rows, pairs->n, stream);
	return launch(cub_radix_number_kernel, tiles_for(pairs->n, NUMBER_THREADS), NUMBER_THREADS, 0,
				  stream, rows, (uint32_t) pairs->n);
}

struct cub_radix_sort
{
	static constexpr bool SECOND_ROWS = true;

	template<typename Key>
	static cudaError_t run(const gsort_pairs *pairs, cub_scratch<Key> *scratch, cudaStream_t stream)
	{
		/* Each digit moves the rows to the other buffer; they should end in the
		 * output. */
		bool		ends_in_second = (pairs->bits + CUB_DIGIT_BITS - 1) / CUB_DIGIT_BITS % 2 == 1;
		cub::DoubleBuffer<Key> keys((Key *) pairs->d_keys, scratch->keys);
		cub::DoubleBuffer<uint32_t> rows(ends_in_second ? scratch->rows : pairs->d_rows_out,
										 ends_in_second ? pairs->d_rows_out : scratch->rows);

		if (scratch->of_cub != NULL)
			CUDA_TRY(fill_rows(rows.Current(), pairs, stream));
		/* without any bits the pairs stay unchanged */
		if (pairs->bits > 0)
			CUDA_TRY(cub::DeviceRadixSort::SortPairs(scratch->of_cub, scratch->cub_bytes, keys,
													 rows, (uint32_t) pairs->n, 0,
													 (int) pairs->bits, stream));
		if (scratch->of_cub == NULL)
			return cudaSuccess;
		CUDA_TRY(copy_array(pairs->d_rows_out, (const uint32_t *) rows.Current(), pairs->n,
							stream));
		return pairs->d_keys_out == NULL ? cudaSuccess :
			copy_array((Key *) pairs->d_keys_out, (const Key *) keys.Current(), pairs->n, stream);
	}
};

/* --- either --------------------------------------------------------------- */

template<typename Sort, typename Key>
static cub_scratch<Key>
lay_out_cub(const gsort_pairs *pairs, void *d_scratch)
{
	scratch_cursor cursor = {(uintptr_t) d_scratch};
	cub_scratch<Key> scratch = {};
	char	   *of_cub;

	/* an error leaves 0 bytes; the sort fails too and reports it */
	(void) Sort::run(pairs, &scratch, NULL);
	scratch.keys = (Key *) pairs->d_keys_out;
	if (scratch.keys == NULL)
		take(&cursor, &scratch.keys, pairs->n);
	take(&cursor, &scratch.rows, Sort::SECOND_ROWS ? pairs->n : 0);
	take(&cursor, &of_cub, scratch.cub_bytes);
	scratch.of_cub = of_cub;
	scratch.bytes = cursor.at - (uintptr_t) d_scratch;
	return scratch;
}

template<typename Sort>
static size_t
scratch_bytes_of(const gsort_pairs *pairs)
{
	return pairs->key_bits == 64 ? lay_out_cub<Sort, uint64_t>(pairs, NULL).bytes :
		lay_out_cub<Sort, uint32_t>(pairs, NULL).bytes;
}

template<typename Sort>
static cudaError_t
sort_by(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes, cudaStream_t stream)
{
	const auto	sort = [&](auto scratch) {
		return scratch_bytes < scratch.bytes || (uintptr_t) d_scratch % SCRATCH_ALIGNMENT != 0 ?
			cudaErrorInvalidValue :
			pairs->n == 0 ? cudaSuccess : Sort::run(pairs, &scratch, stream);
	};

	return pairs->key_bits == 64 ? sort(lay_out_cub<Sort, uint64_t>(pairs, d_scratch)) :
		sort(lay_out_cub<Sort, uint32_t>(pairs, d_scratch));
}

size_t
pairs_cub_merge_scratch_bytes(const gsort_pairs *pairs)
{
	return pairs->n > MERGE_PAIRS_MAX ? 0 : scratch_bytes_of<cub_merge_sort>(pairs);
}

cudaError_t
pairs_cub_merge_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
					 cudaStream_t stream)
{
	return sort_by<cub_merge_sort>(pairs, d_scratch, scratch_bytes, stream);
}

size_t
pairs_cub_radix_scratch_bytes(const gsort_pairs *pairs)
{
	return scratch_bytes_of<cub_radix_sort>(pairs);
}

cudaError_t
pairs_cub_radix_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
					 cudaStream_t stream)
{
	return sort_by<cub_radix_sort>(pairs, d_scratch, scratch_bytes, stream);
}
