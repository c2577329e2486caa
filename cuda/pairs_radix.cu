/*
 * pairs_radix.cu
 *	  The pairs sort by CUB's radix sort: keys with their row numbers.
 *
 * In:  a gsort_pairs whose shape gsort.c has checked, scratch of the caller.
 * Out: the sorted rows and, if wanted, keys, at the places that were named.
 *
 * CUB moves the pairs between two buffers, one pass for each digit, so where they
 * end depends on the number of passes.  They start in the buffer that should
 * make them end where they are wanted; where that guess fails, they are copied.
 * Only enqueues.
 */
#include "cuda_device.cuh"

#include <cub/device/device_radix_sort.cuh>

#define RADIX_DIGIT_BITS	8

/* Where everything is: the two buffers of each kind, and CUB's own scratch. */
typedef struct radix_buffers
{
	void	   *keys[2];		/* the sorted keys are wanted in the first */
	uint32_t   *rows[2];		/* likewise */
	void	   *cub_scratch;
	size_t		cub_scratch_bytes;
	size_t		scratch_bytes;	/* of the caller's, in all */
} radix_buffers;

template<typename Key>
static cudaError_t
cub_sort(void *scratch, size_t *scratch_bytes, cub::DoubleBuffer<Key> *keys,
		 cub::DoubleBuffer<uint32_t> *rows, const gsort_pairs *pairs, cudaStream_t stream)
{
	return cub::DeviceRadixSort::SortPairs(scratch, *scratch_bytes, *keys, *rows,
										   (uint32_t) pairs->n, (int) pairs->begin_bit,
										   (int) pairs->end_bit, stream);
}

static size_t
cub_scratch_bytes(const gsort_pairs *pairs)
{
	size_t		bytes = 0;
	cub::DoubleBuffer<uint64_t> keys64;
	cub::DoubleBuffer<uint32_t> keys32;
	cub::DoubleBuffer<uint32_t> rows;
	cudaError_t error = pairs->key_bits == 64 ?
		cub_sort(NULL, &bytes, &keys64, &rows, pairs, NULL) :
		cub_sort(NULL, &bytes, &keys32, &rows, pairs, NULL);

	return error == cudaSuccess ? bytes : 0;
}

static char *
take_bytes(char **scratch, size_t bytes)
{
	char	   *taken = *scratch;

	*scratch += aligned_bytes(bytes);
	return taken;
}

/* Also tells the size of the scratch, counted from NULL. */
static radix_buffers
lay_out(const gsort_pairs *pairs, void *d_scratch)
{
	radix_buffers buffers;
	char	   *scratch = (char *) d_scratch;
	size_t		keys_bytes = pairs->n * pairs->key_bits / 8;
	void	   *wanted = pairs->d_keys_out;

	if (wanted == NULL && !pairs->keep_keys)
		wanted = pairs->d_keys;
	buffers.keys[0] = wanted != NULL ? wanted : take_bytes(&scratch, keys_bytes);
	if (pairs->keep_keys || pairs->d_keys_out == NULL)
		buffers.keys[1] = take_bytes(&scratch, keys_bytes);
	else
		buffers.keys[1] = pairs->d_keys;
	buffers.rows[0] = pairs->d_rows_out;
	buffers.rows[1] = (uint32_t *) take_bytes(&scratch, pairs->n * sizeof(uint32_t));
	buffers.cub_scratch_bytes = cub_scratch_bytes(pairs);
	buffers.cub_scratch = take_bytes(&scratch, buffers.cub_scratch_bytes);
	buffers.scratch_bytes = (size_t) (scratch - (char *) d_scratch);
	return buffers;
}

size_t
cuda_radix_scratch_bytes(const gsort_pairs *pairs)
{
	return lay_out(pairs, NULL).scratch_bytes;
}

#define ROWS_A_THREAD	4

/* Grid: a thread for each ROWS_A_THREAD rows. */
static __global__ void
number_rows_kernel(uint32_t *rows, uint64_t n)
{
	uint64_t	i = ((uint64_t) blockIdx.x * blockDim.x + threadIdx.x) * ROWS_A_THREAD;
	uint32_t	row = (uint32_t) i;

	if (i + ROWS_A_THREAD <= n)
		*(uint4 *) (rows + i) = make_uint4(row, row + 1, row + 2, row + 3);
	else
	{
		for (; i < n; i++)
			rows[i] = (uint32_t) i;
	}
}

static gsort_status
copy_unless_there(cuda_device *device, void *to, const void *from, size_t bytes, cudaStream_t stream)
{
	if (to != from)
		GSORT_TRY(device, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
	return GSORT_OK;
}

static gsort_status
start_rows(cuda_device *device, const gsort_pairs *pairs, uint32_t *rows, cudaStream_t stream)
{
	if (pairs->d_rows != NULL)
		return copy_unless_there(device, rows, pairs->d_rows, pairs->n * sizeof(uint32_t), stream);
	number_rows_kernel<<<blocks_for((pairs->n + ROWS_A_THREAD - 1) / ROWS_A_THREAD), LAUNCH_THREADS, 0, stream>>>
		(rows, pairs->n);
	GSORT_TRY(device, cudaGetLastError());
	return GSORT_OK;
}

template<typename Key>
static gsort_status
sort_keys(cuda_device *device, const gsort_pairs *pairs, radix_buffers *buffers, cudaStream_t stream)
{
	uint32_t	bits = pairs->end_bit - pairs->begin_bit;
	int			first = (bits + RADIX_DIGIT_BITS - 1) / RADIX_DIGIT_BITS % 2;
	size_t		keys_bytes = pairs->n * sizeof(Key);
	/* keys that may be used up start where they lie */
	int			first_keys = pairs->keep_keys ? first : buffers->keys[0] != pairs->d_keys;
	cub::DoubleBuffer<Key> keys((Key *) buffers->keys[first_keys],
								(Key *) buffers->keys[!first_keys]);
	cub::DoubleBuffer<uint32_t> rows(buffers->rows[first], buffers->rows[!first]);

	GSORT_TRY_STATUS(start_rows(device, pairs, rows.Current(), stream));
	GSORT_TRY_STATUS(copy_unless_there(device, keys.Current(), pairs->d_keys, keys_bytes, stream));
	if (bits > 0)
		GSORT_TRY(device, cub_sort(buffers->cub_scratch, &buffers->cub_scratch_bytes, &keys, &rows,
								   pairs, stream));
	if (pairs->d_keys_out != NULL)
		GSORT_TRY_STATUS(copy_unless_there(device, pairs->d_keys_out, keys.Current(), keys_bytes,
										   stream));
	return copy_unless_there(device, pairs->d_rows_out, rows.Current(),
							 pairs->n * sizeof(uint32_t), stream);
}

gsort_status
cuda_radix_sort(cuda_device *device, const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
				cudaStream_t stream)
{
	radix_buffers buffers = lay_out(pairs, d_scratch);

	if (scratch_bytes < buffers.scratch_bytes)
		return gsort_fail(&device->common, GSORT_BAD_ARG, "scratch too small");
	if (pairs->key_bits == 64)
		return sort_keys<uint64_t>(device, pairs, &buffers, stream);
	return sort_keys<uint32_t>(device, pairs, &buffers, stream);
}
