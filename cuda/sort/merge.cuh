/*
 * merge.cuh
 *	  Cooperative merging: sorts segments of any length with all blocks.
 *
 * In:  long segments: items that the partition could not divide into tiles,
 *	    because its sample missed their distribution.
 * Out: their rows, emitted at their places.
 *
 * Each segment's tiles are sorted, then its runs are merged pairwise, level by
 * level over all segments.  Tiles are numbered through all segments, blocks
 * take them in turn, and merge path cuts each out of its two runs.  Therefore
 * no segment's length unbalances the work.  Levels alternate between the two
 * item arrays, so that the last one reads the level 2 array and emits.
 *
 * A segment of r tiles takes ceil(log2 r) levels: n log n for any keys.
 */
#ifndef GSORT_MERGE_CUH
#define GSORT_MERGE_CUH

#include "sort/launch.cuh"
#include "sort/tile_sort.cuh"

/* Merge levels of a segment, which has more than one tile. */
static inline GSORT_HD uint32_t
merge_levels(uint32_t count, uint32_t tile)
{
	return significant_bits((count - 1) / tile);
}

SORT_DEVICE long_segment
segment_of_tile(const long_segment *segments, uint32_t n_segments, uint32_t tile)
{
	return segments[partition_point(0, n_segments - 1,
									[&](uint32_t s) { return segments[s + 1].first_tile <= tile;
		})];
}

/* Sorts the tiles of all long segments into the array that the first merge
 * level reads. */
template<typename Row, bool Wide>
SORT_DEVICE void
sort_tiles_of_segments(unsigned char *raw, item_arrays<Wide> level1, item_arrays<Wide> level2,
					   const partition_plan *plan, const long_segment *segments,
					   item_order<Wide> order)
{
	typedef merge_memory<Row::SORT_TILE, Wide> memory;

	memory	   &shared = *(memory *) raw;
	item_arrays<Wide> items = {shared.first, shared.second};

	for (uint32_t tile = blockIdx.x; tile < plan->listed.long_tiles; tile += gridDim.x)
	{
		const long_segment segment = segment_of_tile(segments, plan->listed.long_segments, tile);
		uint32_t	at = (tile - segment.first_tile) * Row::SORT_TILE;
		uint32_t	count = segment.count - at < Row::SORT_TILE ? segment.count - at :
			Row::SORT_TILE;
		bool		in_place = merge_levels(segment.count, Row::SORT_TILE) % 2 == 1;
		item_arrays<Wide> source = level2.from(segment.begin + at);
		item_arrays<Wide> target = in_place ? source : level1.from(segment.level1_begin + at);

		order.shortened = segment.shortened != 0;
		for (uint32_t i = threadIdx.x; i < count; i += Row::SORT_THREADS)
			items.put(i, source.get(i));
		__syncthreads();
		merge_sort_tile<Row::SORT_THREADS, Row::SORT_ITEMS, Wide>(items, count, order);
		/* A thread reads only the places that it fills in the next iteration,
		 * so no barrier is needed. */
		for (uint32_t i = threadIdx.x; i < count; i += Row::SORT_THREADS)
			target.put(i, items.get(i));
	}
}

/*
 * Sorts each tile of each long segment, from level 2 to the first merge level's
 * input.  Grid: any, each block takes tiles in turn; blocks of SORT_THREADS;
 * shared: merge_memory.
 */
template<typename Row, bool MayBeWide>
static __global__ void
__launch_bounds__(Row::SORT_THREADS, BLOCKS_UNLESS_MEASURED(0, 1))
merge_sort_tiles_kernel(item_arrays<true> level1, item_arrays<true> level2,
						const partition_plan *plan, const long_segment *segments,
						item_order<true> order)
{
	await_kernel_ahead();
	SHARED_MEMORY(raw);
	for_items_of_plan<MayBeWide>(plan, [&](auto wide) {
		sort_tiles_of_segments<Row>(raw, items_as<wide.value>(level1), items_as<wide.value>(level2),
									plan, segments, order_as<wide.value>(order));
	});
}

/*
 * Merges the places [at, at + count) of the merge of a and b into the tile in
 * shared memory.  The whole block calls; on return each thread sees the result.
 */
template<typename Row, bool Wide, typename Order>
SORT_DEVICE void
merge_one_tile(merge_memory<Row::SORT_TILE, Wide> &shared, item_arrays<Wide> a,
			   uint32_t a_count, item_arrays<Wide> b, uint32_t b_count, uint32_t at, uint32_t count,
			   const Order &order)
{
	item_arrays<Wide> tile = {shared.first, shared.second};
	item<Wide>	x[Row::SORT_ITEMS];
	uint32_t	mine = threadIdx.x * Row::SORT_ITEMS;
	uint32_t	from_a;

	if (threadIdx.x < 2)
		shared.taken_from_a[threadIdx.x] = merge_path(a, a_count, b, b_count,
													  at + threadIdx.x * count, order);
	__syncthreads();
	a = a.from(shared.taken_from_a[0]);
	b = b.from(at - shared.taken_from_a[0]);
	from_a = shared.taken_from_a[1] - shared.taken_from_a[0];
	for (uint32_t i = threadIdx.x; i < count; i += Row::SORT_THREADS)
		tile.put(i, i < from_a ? a.get(i) : b.get(i - from_a));
	__syncthreads();
	if (mine < count)
		merge_from<Row::SORT_ITEMS, Wide>(x, tile, from_a, tile.from(from_a), count - from_a, mine,
										  order);
	__syncthreads();
#pragma unroll
	for (int i = 0; i < Row::SORT_ITEMS; i++)
	{
		if (mine + i < count)
			tile.put(mine + i, x[i]);
	}
	__syncthreads();
}

/* One merge level over all long segments: each output tile is cut out of its
 * two runs.  A segment's last level emits. */
template<typename Row, bool Wide, typename Emit>
SORT_DEVICE void
merge_runs_of_segments(unsigned char *raw, item_arrays<Wide> level1, item_arrays<Wide> level2,
					   const partition_plan *plan, const long_segment *segments, uint32_t level,
					   item_order<Wide> order, const Emit &emit)
{
	typedef merge_memory<Row::SORT_TILE, Wide> memory;

	memory	   &shared = *(memory *) raw;
	item_arrays<Wide> items = {shared.first, shared.second};

	for (uint32_t tile = blockIdx.x; tile < plan->listed.long_tiles; tile += gridDim.x)
	{
		const long_segment segment = segment_of_tile(segments, plan->listed.long_segments, tile);
		uint32_t	levels = merge_levels(segment.count, Row::SORT_TILE);
		uint32_t	at = (tile - segment.first_tile) * Row::SORT_TILE;
		uint32_t	count = segment.count - at < Row::SORT_TILE ? segment.count - at :
			Row::SORT_TILE;
		uint64_t	width = (uint64_t) Row::SORT_TILE << level;
		uint32_t	begin = (uint32_t) (at / (2 * width) * (2 * width));
		uint32_t	middle = begin + width < segment.count ? (uint32_t) (begin + width) :
			segment.count;
		uint32_t	end = middle + width < segment.count ? (uint32_t) (middle + width) :
			segment.count;
		bool		from_level2 = (levels - 1 - level) % 2 == 0;
		item_arrays<Wide> in_level1 = level1.from(segment.level1_begin);
		item_arrays<Wide> in_level2 = level2.from(segment.begin);
		item_arrays<Wide> source = from_level2 ? in_level2 : in_level1;
		item_arrays<Wide> target = from_level2 ? in_level1 : in_level2;

		if (level >= levels)
			continue;
		order.shortened = segment.shortened != 0;
		merge_one_tile<Row, Wide>(shared, source.from(begin), middle - begin, source.from(middle),
								  end - middle, at - begin, count, order);
		for (uint32_t i = threadIdx.x; i < count; i += Row::SORT_THREADS)
		{
			if (level + 1 == levels)
				emit(segment.place + at + i, order.row(items.get(i)));
			else
				target.put(at + i, items.get(i));
		}
		/* The next iteration fills the tile only behind merge_one_tile's first
		 * barrier. */
	}
}

/*
 * Merges runs of SORT_TILE << level items pairwise, for each of the levels; a
 * segment's last level emits.  Grid: any, each block takes output tiles in
 * turn; with several levels, all blocks run at once.  Blocks of SORT_THREADS;
 * shared: merge_memory.
 */
template<typename Row, bool MayBeWide, typename Emit>
static __global__ void
__launch_bounds__(Row::SORT_THREADS, BLOCKS_UNLESS_MEASURED(0, 1))
merge_levels_kernel(item_arrays<true> level1, item_arrays<true> level2, partition_plan *plan,
					const long_segment *segments, uint32_t levels, item_order<true> order,
					Emit emit)
{
	/* this kernel itself is not launched early, but the next one may be */
	await_kernel_ahead();
	SHARED_MEMORY(raw);
	if (plan->listed.long_tiles == 0)
		return;
	for (uint32_t level = 0; level < levels; level++)
	{
		if (level > 0)
			await_all_blocks(&plan->listed.arrived, level);
		for_items_of_plan<MayBeWide>(plan, [&](auto wide) {
			merge_runs_of_segments<Row>(raw, items_as<wide.value>(level1),
										items_as<wide.value>(level2), plan, segments, level,
										order_as<wide.value>(order), emit);
		});
	}
}

#endif							/* GSORT_MERGE_CUH */
