/*
 * tile_merge_sort.cu
 *	  Sorts tiles of pairs, then merges them pairwise.
 *
 * In:  unsorted pairs, scratch of the caller.
 * Out: the sorted keys and rows.
 *
 *	  pairs --sort tiles--> items --merge--> ... --merge--> keys, rows
 *
 * An item of a 64-bit key is wide.  An item of a 32-bit key is the word key <<
 * 32 | row, which is narrow and has lost no bits.  The order of (key, row) is
 * thus the order of items in both cases.  Enqueues one kernel for the tiles and
 * one for each round; reads nothing back.
 */
#include "peers/tile_merge_sort.h"

#include "peers/peer_tuning.h"
#include "sort/launch_plan.cuh"
#include "sort/merge.cuh"
#include "sort/tile_sort.cuh"

#define PLACES_END (1ull << 31)	/* the sum of two places fits a word */

/* --- bitonic network (Batcher, "Sorting networks and their applications", 1968) */

/*
 * Sorts count items, for any count.  Places behind the last one count as larger
 * than everything, and the first step of each round mirrors.  All steps thus
 * sort upwards, and absent items stay behind. threads threads call: the block's
 * or a warp's.
 */
template<bool OneWarp, bool Wide, typename Order>
SORT_DEVICE void
bitonic_sort(item_arrays<Wide> items, uint32_t count, uint32_t thread, uint32_t threads,
			 const Order &order)
{
	for (uint32_t width = 2; width < 2 * count; width *= 2)
	{
		for (uint32_t step = width / 2; step > 0; step /= 2)
		{
			for (uint32_t pair = thread; pair < (count + width - 1) / width * (width / 2);
				 pair += threads)
			{
				uint32_t	low = pair / step * (2 * step) + pair % step;
				uint32_t	high = step == width / 2 ?
					low / width * width + width - 1 - low % width : low + step;

				if (high < count)
				{
					item<Wide>	a = items.get(low);
					item<Wide>	b = items.get(high);

					if (order.less(b, a))
					{
						items.put(low, b);
						items.put(high, a);
					}
				}
			}
			if (OneWarp)
				__syncwarp();
			else
				__syncthreads();
		}
	}
}

/* --- tiles -------------------------------------------------------------------- */

/* Pairs in two arrays, converted to items on access. */
template<typename Key>
struct pair_arrays
{
	static constexpr bool WIDE = sizeof(Key) == sizeof(uint64_t);

	Key		   *keys;
	uint32_t   *rows;

	__device__ __forceinline__ item<WIDE> get(uint32_t i) const
	{
		if constexpr (WIDE)
			return {keys[i], rows[i]};
		else
			return {(uint64_t) keys[i] << 32 | rows[i], 0};
	}

	__device__ __forceinline__ void put(uint32_t i, item<WIDE> x) const
	{
		keys[i] = (Key) (WIDE ? x.first : x.first >> 32);
		rows[i] = WIDE ? x.second : (uint32_t) x.first;
	}
};

/* The order of such items, which never reads a key. */
template<bool Wide>
SORT_DEVICE item_order<Wide>
order_of_pairs()
{
	item_order<Wide> order = {};

	order.row_bits = 32;
	return order;
}

struct bitonic_tiles
{
	template<typename Row, bool Wide>
	static __device__ __forceinline__ void sort(item_arrays<Wide> tile, uint32_t count,
												const item_order<Wide> &order)
	{
		bitonic_sort<false, Wide>(tile, count, threadIdx.x, Row::SORT_THREADS, order);
	}
};

struct cooperative_tiles
{
	template<typename Row, bool Wide>
	static __device__ __forceinline__ void sort(item_arrays<Wide> tile, uint32_t count,
												const item_order<Wide> &order)
	{
		merge_sort_tile<Row::SORT_THREADS, Row::SORT_ITEMS, Wide>(tile, count, order);
	}
};

/* Grid: a block of SORT_THREADS for each tile; shared: merge_memory. */
template<typename Row, typename Sorter, typename Key, typename Target>
static __global__ void
__launch_bounds__(Row::SORT_THREADS)
sort_tiles_kernel(pair_arrays<Key> source, Target target, uint32_t n)
{
	constexpr bool WIDE = pair_arrays<Key>::WIDE;

	SHARED_MEMORY(raw);
	merge_memory<Row::SORT_TILE, WIDE> &shared =
		*(merge_memory<Row::SORT_TILE, WIDE> *) raw;
	item_arrays<WIDE> tile = {shared.first, shared.second};
	uint32_t	first = blockIdx.x * Row::SORT_TILE;
	uint32_t	count = n - first < Row::SORT_TILE ? n - first : Row::SORT_TILE;

	for (uint32_t i = threadIdx.x; i < count; i += Row::SORT_THREADS)
		tile.put(i, source.get(first + i));
	__syncthreads();
	Sorter::template sort<Row, WIDE>(tile, count, order_of_pairs<WIDE>());
	for (uint32_t i = threadIdx.x; i < count; i += Row::SORT_THREADS)
		target.put(first + i, tile.get(i));
}

/*
 * Merges neighbouring runs of width items, a multiple of the tile, pairwise.
 * Grid: a block of SORT_THREADS for each output tile; shared:
 * merge_memory.
 */
template<typename Row, bool Wide, typename Target>
static __global__ void
__launch_bounds__(Row::SORT_THREADS)
merge_tiles_kernel(item_arrays<Wide> source, Target target, uint32_t n, uint64_t width)
{
	SHARED_MEMORY(raw);
	merge_memory<Row::SORT_TILE, Wide> &shared =
		*(merge_memory<Row::SORT_TILE, Wide> *) raw;
	item_arrays<Wide> tile = {shared.first, shared.second};
	uint32_t	at = blockIdx.x * Row::SORT_TILE;
	uint32_t	count = n - at < Row::SORT_TILE ? n - at : Row::SORT_TILE;
	uint32_t	begin = (uint32_t) (at / (2 * width) * (2 * width));
	uint32_t	middle = begin + width < n ? (uint32_t) (begin + width) : n;
	uint32_t	end = middle + width < n ? (uint32_t) (middle + width) : n;

	merge_one_tile<Row, Wide>(shared, source.from(begin), middle - begin, source.from(middle),
							  end - middle, at - begin, count, order_of_pairs<Wide>());
	for (uint32_t i = threadIdx.x; i < count; i += Row::SORT_THREADS)
		target.put(at + i, tile.get(i));
}

/* The alternating inputs and outputs of the rounds. */
template<bool Wide>
struct tile_merge_scratch
{
	item_arrays<Wide> items[2];
	size_t		bytes;
};

/* With NULL, only counts. */
template<bool Wide>
static tile_merge_scratch<Wide>
tile_merge_lay_out(uint64_t n, void *d_scratch)
{
	scratch_cursor cursor = {(uintptr_t) d_scratch};
	tile_merge_scratch<Wide> scratch = {};

	for (item_arrays<Wide> &items : scratch.items)
	{
		take(&cursor, &items.first, n);
		if (Wide)
			take(&cursor, &items.second, n);
	}
	scratch.bytes = cursor.at - (uintptr_t) d_scratch;
	return scratch;
}

template<typename Row, typename Sorter, typename Key, typename Target>
static cudaError_t
sort_tiles(const unsorted_pairs *pairs, const Target &target, cudaStream_t stream)
{
	const pair_arrays<Key> source = {(Key *) pairs->keys, (uint32_t *) pairs->rows};

	return launch(sort_tiles_kernel<Row, Sorter, Key, Target>, tiles_for(pairs->n, Row::SORT_TILE),
				  Row::SORT_THREADS, sizeof(merge_memory<Row::SORT_TILE,
				  	pair_arrays<Key>::WIDE>), stream, source, target,
				  (uint32_t) pairs->n);
}

template<typename Row, bool Wide, typename Target>
static cudaError_t
merge_tiles(const item_arrays<Wide> &source, const Target &target, uint64_t n, uint64_t width,
			cudaStream_t stream)
{
	return launch(merge_tiles_kernel<Row, Wide, Target>, tiles_for(n, Row::SORT_TILE),
				  Row::SORT_THREADS, sizeof(merge_memory<Row::SORT_TILE, Wide>), stream,
				  source, target, (uint32_t) n, width);
}

/* The last kernel writes the output: that of the last round, or of the tiles if
 * there is only one. */
template<typename Row, typename Sorter, typename Key>
static cudaError_t
sort_by_merging(const unsorted_pairs *pairs, const pair_arrays<Key> &output, void *d_scratch,
				cudaStream_t stream)
{
	constexpr bool WIDE = pair_arrays<Key>::WIDE;
	const tile_merge_scratch<WIDE> scratch = tile_merge_lay_out<WIDE>(pairs->n, d_scratch);
	uint64_t	n = pairs->n;
	uint64_t	width = Row::SORT_TILE;
	int			from = 0;
	cudaError_t error;

	if (n <= width)
		return sort_tiles<Row, Sorter, Key>(pairs, output, stream);
	error = sort_tiles<Row, Sorter, Key>(pairs, scratch.items[from], stream);
	for (; error == cudaSuccess && 2 * width < n; width *= 2, from ^= 1)
		error = merge_tiles<Row, WIDE>(scratch.items[from], scratch.items[from ^ 1], n, width,
									   stream);
	return error == cudaSuccess ? merge_tiles<Row, WIDE>(scratch.items[from], output, n, width,
														 stream) : error;
}

size_t
tile_merge_sort_scratch_bytes(const unsorted_pairs *pairs)
{
	return pairs->key_bits == 64 ? tile_merge_lay_out<true>(pairs->n, NULL).bytes :
		tile_merge_lay_out<false>(pairs->n, NULL).bytes;
}

/* Checks the arguments and sorts by keys of their type. */
template<typename Sorter>
static gsort_status
sort_with_tiles(const unsorted_pairs *pairs, void *d_keys_out, uint32_t *d_rows_out,
				void *d_scratch, size_t scratch_bytes, cudaStream_t stream)
{
	cudaError_t error;

	if (pairs->n >= PLACES_END || (pairs->key_bits != 32 && pairs->key_bits != 64) ||
		(uintptr_t) d_scratch % SCRATCH_ALIGNMENT != 0 ||
		scratch_bytes < tile_merge_sort_scratch_bytes(pairs))
		return GSORT_BAD_ARG;
	if (pairs->n == 0)
		return GSORT_OK;
	if (pairs->key_bits == 32)
		error = sort_by_merging<MERGE_SORT_ROW, Sorter>(
			pairs, pair_arrays<uint32_t>{(uint32_t *) d_keys_out, d_rows_out}, d_scratch, stream);
	else
		error = sort_by_merging<MERGE_SORT_ROW, Sorter>(
			pairs, pair_arrays<uint64_t>{(uint64_t *) d_keys_out, d_rows_out}, d_scratch, stream);
	return error == cudaSuccess ? GSORT_OK : GSORT_DEVICE_LOST;
}

gsort_status
bitonic_merge_sort(const unsorted_pairs *pairs, void *d_keys_out, uint32_t *d_rows_out,
				   void *d_scratch, size_t scratch_bytes, cudaStream_t stream)
{
	return sort_with_tiles<bitonic_tiles>(pairs, d_keys_out, d_rows_out, d_scratch, scratch_bytes,
										  stream);
}

gsort_status
cooperative_merge_sort(const unsorted_pairs *pairs, void *d_keys_out, uint32_t *d_rows_out,
					   void *d_scratch, size_t scratch_bytes, cudaStream_t stream)
{
	return sort_with_tiles<cooperative_tiles>(pairs, d_keys_out, d_rows_out, d_scratch,
											  scratch_bytes, stream);
}
