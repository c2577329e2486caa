/*
 * merge.cuh
 *	  Cooperative merging: ranges of any length, sorted by all blocks together.
 *
 * In:  ranges of items that the partition could not divide into tiles (its sample
 *	    missed how they lie).
 * Out: their rows (and keys), sorted, at their final places.
 *
 * Each range's tiles are sorted, then its runs are merged pairwise, one kernel a
 * level over all ranges: a prefix sum over the ranges' tile counts gives each block
 * its output tile, merge path cuts the tile out of its two runs, so no range's length
 * can unbalance the work.  Levels alternate between the two item arrays, so that the
 * last one reads the level 2 array and writes the output.
 *
 * A range of r tiles takes ceil(log2 r) levels: n log n at worst, whatever the keys.
 */
#ifndef GSORT_MERGE_CUH
#define GSORT_MERGE_CUH

#include "sort/tile_sort.cuh"

#define MERGE_PLAN_THREADS 1024

/* Merge levels that a range needs; it has more than one tile. */
static inline GSORT_HD uint32_t
merge_levels(uint32_t count, uint32_t tile)
{
	return significant_bits((count - 1) / tile);
}

/* Numbers the tiles of all ranges.  Grid: one block of MERGE_PLAN_THREADS. */
template<int Tile>
static __global__ void
__launch_bounds__(MERGE_PLAN_THREADS)
merge_plan_kernel(partition_plan *plan, merge_range *ranges)
{
	__shared__ uint32_t warp_sums[2][WARP_THREADS];
	uint32_t	tiles_before = 0;
	uint32_t	turn = 0;

	for (uint32_t base = 0; base < plan->ranges; base += MERGE_PLAN_THREADS, turn ^= 1)
	{
		uint32_t	r = base + threadIdx.x;
		uint32_t	tiles = r < plan->ranges ? (ranges[r].count + Tile - 1) / Tile : 0;
		uint32_t	total;
		uint32_t	first = block_exclusive_sum<MERGE_PLAN_THREADS>(tiles, warp_sums[turn], &total);

		if (r < plan->ranges)
			ranges[r].first_tile = tiles_before + first;
		tiles_before += total;
	}
	if (threadIdx.x == 0)
		plan->range_tiles = tiles_before;
}

/* The range of a tile. */
SORT_DEVICE merge_range
find_range(const merge_range *ranges, uint32_t n_ranges, uint32_t tile)
{
	return ranges[partition_point(1, n_ranges, [&](uint32_t r) { return ranges[r].first_tile <= tile; }) - 1];
}

template<typename Key, typename Row, bool Wide>
SORT_DEVICE void
sort_range_tiles(unsigned char *raw, item_arrays<Wide> level1, item_arrays<Wide> level2, const partition_plan *plan,
				 const merge_range *ranges, item_order<Key, Wide> order)
{
	typedef merge_sort_memory<Row::SORT_TILE, Wide> memory;

	memory	   &shared = *(memory *) raw;
	item_arrays<Wide> items = {shared.first, shared.second};

	for (uint32_t tile = blockIdx.x; tile < plan->range_tiles; tile += gridDim.x)
	{
		const merge_range range = find_range(ranges, plan->ranges, tile);
		uint32_t	at = (tile - range.first_tile) * Row::SORT_TILE;
		uint32_t	count = range.count - at < Row::SORT_TILE ? range.count - at : Row::SORT_TILE;
		bool		in_place = merge_levels(range.count, Row::SORT_TILE) % 2 == 1;
		item_arrays<Wide> source = level2.from(range.begin + at);
		item_arrays<Wide> target = (in_place ? level2 : level1).from(range.begin + at);

		order.shortened = range.shortened != 0;
		for (uint32_t i = threadIdx.x; i < count; i += Row::SORT_THREADS)
			items.put(i, source.get(i));
		__syncthreads();
		merge_sort_tile<Row::SORT_THREADS, Row::SORT_ITEMS, Wide>(items, count, order);
		/* Each thread reads the places that it fills in the next turn: no barrier between. */
		for (uint32_t i = threadIdx.x; i < count; i += Row::SORT_THREADS)
			target.put(i, items.get(i));
	}
}

/* Grid: any; each block takes tiles in turn. */
template<typename Key, typename Row, bool MayBeWide>
static __global__ void
__launch_bounds__(Row::SORT_THREADS)
merge_sort_tiles_kernel(item_arrays<true> level1, item_arrays<true> level2, const partition_plan *plan,
						const merge_range *ranges, item_order<Key, true> order)
{
	SHARED_MEMORY(raw);
	if constexpr (MayBeWide)
	{
		if (plan->wide)
		{
			sort_range_tiles<Key, Row, true>(raw, level1, level2, plan, ranges, order);
			return;
		}
	}
	sort_range_tiles<Key, Row, false>(raw, narrow_items(level1), narrow_items(level2), plan, ranges,
									  narrow_order(order));
}

template<int Tile, bool Wide>
struct merge_level_memory
{
	uint64_t	first[Tile];
	uint32_t	second[Wide ? Tile : 4];
	uint32_t	taken_from_a[2];	/* before the tile, and up to its end */
};

/*
 * Merges the places [at, at + count) of the merge of a and b into the tile in shared memory.
 * The whole block calls; on return each thread sees all of it.
 */
template<typename Row, bool Wide, typename Order>
SORT_DEVICE void
merge_one_tile(merge_level_memory<Row::SORT_TILE, Wide> &shared, item_arrays<Wide> a, uint32_t a_count,
			   item_arrays<Wide> b, uint32_t b_count, uint32_t at, uint32_t count, const Order &order)
{
	item_arrays<Wide> tile = {shared.first, shared.second};
	item<Wide>	x[Row::SORT_ITEMS];
	uint32_t	mine = threadIdx.x * Row::SORT_ITEMS;
	uint32_t	from_a;

	if (threadIdx.x < 2)
		shared.taken_from_a[threadIdx.x] = merge_path(a, a_count, b, b_count, at + threadIdx.x * count, order);
	__syncthreads();
	a = a.from(shared.taken_from_a[0]);
	b = b.from(at - shared.taken_from_a[0]);
	from_a = shared.taken_from_a[1] - shared.taken_from_a[0];
	for (uint32_t i = threadIdx.x; i < count; i += Row::SORT_THREADS)
		tile.put(i, i < from_a ? a.get(i) : b.get(i - from_a));
	__syncthreads();
	if (mine < count)
		merge_from<Row::SORT_ITEMS, Wide>(x, tile, from_a, tile.from(from_a), count - from_a, mine, order);
	__syncthreads();
#pragma unroll
	for (int i = 0; i < Row::SORT_ITEMS; i++)
	{
		if (mine + i < count)
			tile.put(mine + i, x[i]);
	}
	__syncthreads();
}

template<typename Key, typename Row, bool Wide>
SORT_DEVICE void
merge_range_runs(unsigned char *raw, item_arrays<Wide> level1, item_arrays<Wide> level2, const partition_plan *plan,
				 const merge_range *ranges, uint32_t level, item_order<Key, Wide> order,
				 const sort_output<Key> &output)
{
	typedef merge_level_memory<Row::SORT_TILE, Wide> memory;

	memory	   &shared = *(memory *) raw;
	item_arrays<Wide> items = {shared.first, shared.second};

	for (uint32_t tile = blockIdx.x; tile < plan->range_tiles; tile += gridDim.x)
	{
		const merge_range range = find_range(ranges, plan->ranges, tile);
		uint32_t	levels = merge_levels(range.count, Row::SORT_TILE);
		uint32_t	at = (tile - range.first_tile) * Row::SORT_TILE;
		uint32_t	count = range.count - at < Row::SORT_TILE ? range.count - at : Row::SORT_TILE;
		uint64_t	width = (uint64_t) Row::SORT_TILE << level;
		uint32_t	begin = (uint32_t) (at / (2 * width) * (2 * width));
		uint32_t	middle = begin + width < range.count ? (uint32_t) (begin + width) : range.count;
		uint32_t	end = middle + width < range.count ? (uint32_t) (middle + width) : range.count;
		bool		from_level2 = (levels - 1 - level) % 2 == 0;
		item_arrays<Wide> source = (from_level2 ? level2 : level1).from(range.begin);
		item_arrays<Wide> target = (from_level2 ? level1 : level2).from(range.begin);

		if (level >= levels)
			continue;
		order.shortened = range.shortened != 0;
		merge_one_tile<Row, Wide>(shared, source.from(begin), middle - begin, source.from(middle), end - middle,
								  at - begin, count, order);
		for (uint32_t i = threadIdx.x; i < count; i += Row::SORT_THREADS)
		{
			if (level + 1 == levels)
				output.put(range.begin + at + i, order.row(items.get(i)));
			else
				target.put(at + i, items.get(i));
		}
		/* The next turn fills the tile behind merge_one_tile's first barrier. */
	}
}

/* Merges runs of SORT_TILE << level items.  Grid: any; each block takes tiles in turn. */
template<typename Key, typename Row, bool MayBeWide>
static __global__ void
__launch_bounds__(Row::SORT_THREADS)
merge_level_kernel(item_arrays<true> level1, item_arrays<true> level2, const partition_plan *plan,
				   const merge_range *ranges, uint32_t level, item_order<Key, true> order,
				   sort_output<Key> output)
{
	SHARED_MEMORY(raw);
	if constexpr (MayBeWide)
	{
		if (plan->wide)
		{
			merge_range_runs<Key, Row, true>(raw, level1, level2, plan, ranges, level, order, output);
			return;
		}
	}
	merge_range_runs<Key, Row, false>(raw, narrow_items(level1), narrow_items(level2), plan, ranges, level,
									  narrow_order(order), output);
}

#endif							/* GSORT_MERGE_CUH */
