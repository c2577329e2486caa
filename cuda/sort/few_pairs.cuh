/*
 * few_pairs.cuh
 *	  The merge sort of few pairs: parallel sorting by regular sampling, in
 *	  three launches.
 *
 * In:  the caller's keys.
 * Out: the sorted rows and, if requested, keys.
 *
 *	  keys --tiles------> sorted tiles, one item in gap of each as a sample
 *	       --splitters--> samples that divide items evenly (few_splitters.cuh)
 *	       --buckets----> the items between two splitters, of all tiles, sorted
 *
 * A bucket holds the items between 1 << sample_bits samples of all tiles, and
 * fewer than gap further items of each tile.  Its size is thus at most tile +
 * tiles * (gap - 1) for any keys (bucket_max of few_shape).  No bucket
 * overflows, and the input needs no property.
 *
 * The block sort is stable, and a bucket's parts are loaded tile by tile.
 * Items thus compare by their keys alone, and the result is the stable order.
 */
#ifndef GSORT_FEW_PAIRS_CUH
#define GSORT_FEW_PAIRS_CUH

#include "sort/few_splitters.cuh"
#include "sort/rank_sort.cuh"

/* --- items ---------------------------------------------------------------- */

/* The caller's keys as items.  Wide: the significant bits, and the place in the
 * input; narrow: both in one word. */
template<typename Key, bool Wide>
struct few_source
{
	const Key  *keys;
	Key			mask;
	uint32_t	shift;
	uint32_t	row_bits;

	__device__ __forceinline__ item<Wide> get(uint32_t place) const
	{
		uint64_t	key = (keys[place] >> shift) & mask;

		if (Wide)
			return {key, place};
		return {key << row_bits | place, 0};
	}

	__device__ __forceinline__ uint32_t place_of(item<Wide> x) const
	{
		return Wide ? x.second : (uint32_t) x.first & ((1u << row_bits) - 1);
	}
};

template<typename Key>
struct few_output
{
	const Key  *keys;
	const uint32_t *rows;		/* NULL: the identity */
	Key		   *keys_out;		/* NULL: not requested */
	uint32_t   *rows_out;

	__device__ __forceinline__ void put(uint32_t at, uint32_t place) const
	{
		rows_out[at] = rows != NULL ? rows[place] : place;
		if (keys_out != NULL)
			keys_out[at] = keys[place];
	}
};

/* --- the sort of a block -------------------------------------------------- */

template<typename Row, int Items, bool Wide, typename Load>
SORT_DEVICE void
load_and_sort(item_arrays<Wide> tile, uint32_t count, const Load &load)
{
	item<Wide>	x[Items];

	load(x, threadIdx.x, count);
	rank_sort<Row::THREADS, Items, Wide>(x, tile, count);
}

/*
 * Sorts count items, at most THREADS * MostItems, into the tile in shared
 * memory.  The sort uses no more items per thread than necessary, because every
 * round searches for each item. load(x, at, count) sets x[i] to item at + i *
 * THREADS if it exists, with all loads in flight together.  The whole block
 * calls; on return each thread sees the result.
 */
template<typename Row, int MostItems, bool Wide, typename Load>
SORT_DEVICE void
sort_loaded(item_arrays<Wide> tile, uint32_t count, const Load &load)
{
	if (count <= Row::THREADS * Row::FEW_ITEMS_EACH)
		load_and_sort<Row, Row::FEW_ITEMS_EACH, Wide>(tile, count, load);
	else if (count <= Row::THREADS * Row::SOME_ITEMS_EACH)
		load_and_sort<Row, Row::SOME_ITEMS_EACH, Wide>(tile, count, load);
	else if (MostItems == Row::TILE_ITEMS || count <= Row::TILE_MAX)
		load_and_sort<Row, Row::TILE_ITEMS, Wide>(tile, count, load);
	else
		load_and_sort<Row, MostItems, Wide>(tile, count, load);
}

/* --- tiles ---------------------------------------------------------------- */

template<typename Row, typename Key, bool Wide>
struct few_tile_load
{
	const few_source<Key, Wide> &source;
	uint32_t	begin;

	template<int Items>
	__device__ __forceinline__ void operator()(item<Wide> (&x)[Items], uint32_t at,
											   uint32_t count) const
	{
#pragma unroll
		for (int i = 0; i < Items; i++)
		{
			if (at + i * Row::THREADS < count)
				x[i] = source.get(begin + at + i * Row::THREADS);
		}
	}
};

template<typename Row, bool Wide>
struct few_tile_memory
{
	uint64_t	first[Row::TILE_MAX];
	uint32_t	second[Wide ? Row::TILE_MAX : 4];
};

/*
 * Sorts each tile of the keys and samples it.  Grid: a block of THREADS for
 * each tile; shared: few_tile_memory.
 */
template<typename Row, typename Key, bool Wide>
static __global__ void
__launch_bounds__(Row::THREADS)
few_tiles_kernel(few_shape shape, few_source<Key, Wide> source, item_arrays<Wide> sorted,
				 uint64_t *samples)
{
	await_kernel_ahead();
	SHARED_MEMORY(raw);
	few_tile_memory<Row, Wide> &shared = *(few_tile_memory<Row, Wide> *) raw;
	item_arrays<Wide> tile = {shared.first, shared.second};
	uint32_t	begin = blockIdx.x * shape.tile;
	uint32_t	count = shape.items_of(blockIdx.x);

	sort_loaded<Row, Row::TILE_ITEMS, Wide>(tile, count,
											few_tile_load<Row, Key, Wide>{source, begin});
	for (uint32_t i = threadIdx.x; i < count; i += Row::THREADS)
		sorted.put(begin + i, tile.get(i));
	for (uint32_t i = threadIdx.x; i < shape.samples_of(blockIdx.x); i += Row::THREADS)
		samples[(blockIdx.x << shape.sample_bits) + i] = tile.first[shape.place_of_sample(i)];
}

/* --- buckets -------------------------------------------------------------- */

/* The bucket's items follow it. */
template<typename Row>
struct few_bucket_memory
{
	uint32_t	cuts[2][Row::TILES_MAX];	/* the cuts of the tiles before and behind the bucket */
	uint32_t	begins[Row::TILES_MAX];		/* begins of the tiles' parts in the bucket */
	/* Place of a part in the sorted tiles, minus its begin in the bucket. */
	uint32_t	skipped[Row::TILES_MAX];
	uint32_t	warp_sums[2][WARP_THREADS];
};

template<typename Row, bool Wide>
static inline GSORT_HD size_t
few_bucket_bytes(const few_shape &shape)
{
	return sizeof(few_bucket_memory<Row>) + shape.bucket_max *
		(sizeof(uint64_t) + (Wide ? sizeof(uint32_t) : 0));
}

/* A range of the output. */
struct few_bucket
{
	uint32_t	begin;
	uint32_t	count;
};

/* Computes the bucket's parts from the cuts.  The whole block calls; requires a
 * barrier afterwards. */
template<typename Row>
SORT_DEVICE few_bucket
begin_parts(few_bucket_memory<Row> &shared, const few_shape &shape)
{
	uint32_t	t = threadIdx.x;
	uint32_t	cut = t < shape.tiles ? shared.cuts[0][t] : 0;
	uint32_t	length = t < shape.tiles ? shared.cuts[1][t] - cut : 0;
	few_bucket	bucket;
	uint32_t	begin = block_exclusive_sum<Row::THREADS>(length, shared.warp_sums[0],
														  &bucket.count);

	static_assert(Row::TILES_MAX <= Row::THREADS, "a thread for each tile");
	block_exclusive_sum<Row::THREADS>(cut, shared.warp_sums[1], &bucket.begin);
	if (t < shape.tiles)
	{
		shared.begins[t] = begin;
		shared.skipped[t] = t * shape.tile + cut - begin;
	}
#ifdef GSORT_EMULATE
	if (bucket.count > shape.bucket_max)
		emulator::fail("a bucket has more items than its bound");
#endif
	return bucket;
}

/* Loads a bucket's items, part by part. */
template<typename Row, bool Wide>
struct few_parts_load
{
	const few_bucket_memory<Row> &shared;
	const item_arrays<Wide> &sorted;
	uint32_t	tiles;

	/* Finds the part of each item: the last part that begins at or before it.
	 * All searches advance step by step together. */
	template<int Items>
	__device__ __forceinline__ void operator()(item<Wide> (&x)[Items], uint32_t at,
											   uint32_t count) const
	{
		uint32_t	part[Items] = {};

		for (uint32_t step = 1u << significant_bits(tiles) >> 1; step > 0; step /= 2)
		{
#pragma unroll
			for (int i = 0; i < Items; i++)
			{
				uint32_t	next = part[i] + step < tiles ? part[i] + step : part[i];

				part[i] = shared.begins[next] <= at + i * Row::THREADS ? next : part[i];
			}
		}
#pragma unroll
		for (int i = 0; i < Items; i++)
		{
			if (at + i * Row::THREADS < count)
				x[i] = sorted.get(at + i * Row::THREADS + shared.skipped[part[i]]);
		}
	}
};

/*
 * Sorts the items between two splitters to their final places.  Grid: a block
 * of THREADS for each bucket; shared: few_bucket_bytes.
 */
template<typename Row, typename Key, bool Wide>
static __global__ void
__launch_bounds__(Row::THREADS, 1)
few_buckets_kernel(few_shape shape, few_source<Key, Wide> source, item_arrays<Wide> sorted,
				   few_splitters splitters, few_output<Key> output)
{
	await_kernel_ahead();
	SHARED_MEMORY(raw);
	few_bucket_memory<Row> &shared = *(few_bucket_memory<Row> *) raw;
	uint64_t   *items = (uint64_t *) (raw + sizeof(shared));
	item_arrays<Wide> tile = {items, (uint32_t *) (items + shape.bucket_max)};
	few_bucket	bucket;

	for (uint32_t i = threadIdx.x; i < 2 * shape.tiles; i += Row::THREADS)
	{
		uint32_t	side = i >= shape.tiles;
		uint32_t	t = i - side * shape.tiles;

		shared.cuts[side][t] = cut_tile<Row>(splitters, sorted.first, shape, blockIdx.x + side, t);
	}
	__syncthreads();
	bucket = begin_parts(shared, shape);
	__syncthreads();
	sort_loaded<Row, Row::BUCKET_ITEMS, Wide>(
		tile, bucket.count, few_parts_load<Row, Wide>{shared, sorted, shape.tiles});
	for (uint32_t i = threadIdx.x; i < bucket.count; i += Row::THREADS)
		output.put(bucket.begin + i, source.place_of(tile.get(i)));
}

#endif							/* GSORT_FEW_PAIRS_CUH */
