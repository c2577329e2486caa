/*
 * pairs_cub_radix.cu
 *	  The pairs sort by CUB's radix sort, which is tuned for every chip.  Serves
 *	  chips without measurements of the other engines.
 *
 * In:  a gsort_pairs, scratch of the caller.
 * Out: the sorted rows and, if requested, keys.
 *
 *	  keys, rows --> one of two buffers --SortPairs, to and fro-->
 *	      sorted, in one of them --> the output
 *
 * CUB receives both buffers, because otherwise it would allocate one more copy
 * of everything.  CUB reports the buffer that holds the result.  The final copy
 * is needed only if this is not the output.
 */
#include "sort/pairs_engine.h"

#include <cub/device/device_radix_sort.cuh>

#include "sort/launch_plan.cuh"

#define NUMBER_THREADS	256
#define CUB_DIGIT_BITS	8		/* another digit width in CUB would cost one more copy */

/* Writes the identity.  Grid: a thread for each row. */
static __global__ void
__launch_bounds__(NUMBER_THREADS)
cub_radix_number_kernel(uint32_t *rows, uint32_t n)
{
	uint32_t	i = blockIdx.x * NUMBER_THREADS + threadIdx.x;

	if (i < n)
		rows[i] = i;
}

/* The locations of all arrays. */
template<typename Key>
struct cub_radix_buffers
{
	Key		   *keys[2];		/* first and second buffer */
	uint32_t   *rows[2];
	void	   *cub_scratch;
	size_t		cub_scratch_bytes;
	size_t		bytes;			/* total bytes of the caller's scratch */
};

/* Sorts from the first buffers to the current ones.  With cub_scratch NULL, CUB
 * only reports cub_scratch_bytes. */
template<typename Key>
static cudaError_t
sort_buffers(cub_radix_buffers<Key> *buffers, const gsort_pairs *pairs,
			 cub::DoubleBuffer<Key> *keys, cub::DoubleBuffer<uint32_t> *rows, cudaStream_t stream)
{
	*keys = cub::DoubleBuffer<Key>(buffers->keys[0], buffers->keys[1]);
	*rows = cub::DoubleBuffer<uint32_t>(buffers->rows[0], buffers->rows[1]);
	/* without any bits the pairs stay unchanged */
	if (pairs->bits == 0)
		return cudaSuccess;
	return cub::DeviceRadixSort::SortPairs(buffers->cub_scratch, buffers->cub_scratch_bytes, *keys,
										   *rows, (uint32_t) pairs->n, 0, (int) pairs->bits,
										   stream);
}

/* Chooses the start of the rows so that they probably end in the output: each
 * digit moves them to the other buffer. */
template<typename Key>
static void
lay_out_rows(cub_radix_buffers<Key> *buffers, const gsort_pairs *pairs, scratch_cursor *cursor)
{
	uint32_t	digits = (pairs->bits + CUB_DIGIT_BITS - 1) / CUB_DIGIT_BITS;

	buffers->rows[digits % 2] = pairs->d_rows_out;
	take(cursor, &buffers->rows[1 - digits % 2], pairs->n);
}

/* With NULL, only counts. */
template<typename Key>
static cub_radix_buffers<Key>
lay_out_cub_radix(const gsort_pairs *pairs, void *d_scratch)
{
	scratch_cursor cursor = {(uintptr_t) d_scratch};
	cub_radix_buffers<Key> buffers = {};
	cub::DoubleBuffer<Key> keys;
	cub::DoubleBuffer<uint32_t> rows;
	char	   *cub_scratch;

	/* an error leaves 0 bytes; the sort fails too and reports it */
	(void) sort_buffers(&buffers, pairs, &keys, &rows, NULL);
	buffers.keys[0] = (Key *) pairs->d_keys;
	buffers.keys[1] = (Key *) pairs->d_keys_out;
	if (buffers.keys[1] == NULL)
		take(&cursor, &buffers.keys[1], pairs->n);
	lay_out_rows(&buffers, pairs, &cursor);
	take(&cursor, &cub_scratch, buffers.cub_scratch_bytes);
	buffers.cub_scratch = cub_scratch;
	buffers.bytes = cursor.at - (uintptr_t) d_scratch;
	return buffers;
}

size_t
pairs_cub_radix_scratch_bytes(const gsort_pairs *pairs)
{
	return pairs->key_bits == 64 ? lay_out_cub_radix<uint64_t>(pairs, NULL).bytes :
		lay_out_cub_radix<uint32_t>(pairs, NULL).bytes;
}

template<typename T>
static cudaError_t
copy_array(T *to, const T *from, uint64_t n, cudaStream_t stream)
{
	return to == from ? cudaSuccess : cudaMemcpyAsync(to, from, n * sizeof(T),
													  cudaMemcpyDeviceToDevice, stream);
}

/* Copies the rows to the first buffer, or numbers them there. */
static cudaError_t
fill_rows(uint32_t *rows, const gsort_pairs *pairs, cudaStream_t stream)
{
	if (pairs->d_rows != NULL)
		return copy_array(rows, pairs->d_rows, pairs->n, stream);
	return launch(cub_radix_number_kernel, tiles_for(pairs->n, NUMBER_THREADS), NUMBER_THREADS, 0,
				  stream, rows, (uint32_t) pairs->n);
}

/* Enqueues the copies and CUB's sort for keys of this type. */
template<typename Key>
static cudaError_t
sort_keys(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes, cudaStream_t stream)
{
	cub_radix_buffers<Key> buffers = lay_out_cub_radix<Key>(pairs, d_scratch);
	cub::DoubleBuffer<Key> keys;
	cub::DoubleBuffer<uint32_t> rows;

	if (scratch_bytes < buffers.bytes || (uintptr_t) d_scratch % SCRATCH_ALIGNMENT != 0)
		return cudaErrorInvalidValue;
	if (pairs->n == 0)
		return cudaSuccess;
	CUDA_TRY(fill_rows(buffers.rows[0], pairs, stream));
	CUDA_TRY(sort_buffers(&buffers, pairs, &keys, &rows, stream));
	CUDA_TRY(copy_array(pairs->d_rows_out, (const uint32_t *) rows.Current(), pairs->n, stream));
	if (pairs->d_keys_out == NULL)
		return cudaSuccess;
	return copy_array((Key *) pairs->d_keys_out, (const Key *) keys.Current(), pairs->n, stream);
}

cudaError_t
pairs_cub_radix_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
					 cudaStream_t stream)
{
	if (pairs->key_bits == 64)
		return sort_keys<uint64_t>(pairs, d_scratch, scratch_bytes, stream);
	return sort_keys<uint32_t>(pairs, d_scratch, scratch_bytes, stream);
}
