/*
 * tile_sort.cuh
 *	  The common parts of the sorts of one tile: the items that one block holds
 *	  in shared memory.
 *
 * In:  segments: ranges of items that are contiguous in the sorted order.
 * Out: their rows, emitted at their places (stage_emit.cuh).
 *
 * The counting sort (tile_counting.cuh) distributes a segment over bins by a
 * linear map, then ranks each item inside its bin.  It leaves segments with
 * crowded bins to tile_crowded.cuh.  If the distribution is unknown, the merge
 * sort below serves.  The choice never changes the result, because no two items
 * are equal.
 */
#ifndef GSORT_TILE_SORT_CUH
#define GSORT_TILE_SORT_CUH

#include "sort/items.cuh"
#include "sort/partition_plan.cuh"

/* --- bins ----------------------------------------------------------------- */

/* Items of a bin that are loaded without a bounds check. */
#define LOADED_AT_ONCE 4

template<typename Row, bool Wide>
struct counting_sort_memory
{
	/* A bin's loads may reach beyond the last item. */
	uint64_t	first[Row::SORT_TILE + LOADED_AT_ONCE];
	/*
	 * counts, then begin << 16 | end of each; finally rows of the crowded sort
	 */
	uint32_t	bins[Row::SORT_BINS > Row::SORT_TILE ? Row::SORT_BINS : Row::SORT_TILE];
	uint32_t	second[Wide ? Row::SORT_TILE : 4];
	uint32_t	warp_sums[WARP_THREADS];
};

/* The coordinate of an item: the value that distributes a segment's items over
 * bins. */
template<bool Wide>
SORT_DEVICE uint64_t
item_coordinate(item<Wide> x, uint64_t coordinate_mask, bool by_row)
{
	if (Wide)
		return by_row ? x.second : x.first;
	return x.first & coordinate_mask;
}

/* Requires a barrier afterwards. */
template<typename Row>
SORT_DEVICE void
clear_bins(uint32_t *bins)
{
	for (uint32_t i = threadIdx.x; i < Row::SORT_BINS / 4; i += Row::SORT_THREADS)
		((uint4 *) bins)[i] = make_uint4(0, 0, 0, 0);
}

/*
 * Turns the counts of the bins into begin << 16 | end of each; the whole block
 * calls.  ReadTwice: reads the counts again where the items leave no registers
 * for them.
 */
template<typename Row, bool ReadTwice>
SORT_DEVICE void
begin_bins(uint32_t *bins, uint32_t *warp_sums)
{
	constexpr int QUADS = Row::SORT_BINS / Row::SORT_THREADS / 4;
	uint4	   *mine = (uint4 *) bins + threadIdx.x * QUADS;
	uint4		counts[QUADS];
	uint32_t	sum = 0;
	uint32_t	begin;

	static_assert(Row::SORT_BINS % (4 * Row::SORT_THREADS) == 0,
				  "bins divide among the threads, by fours");
	static_assert(Row::SORT_TILE <= 0xffff, "a bin's begin and end have two bytes each");
#pragma unroll
	for (int i = 0; i < QUADS; i++)
	{
		counts[i] = mine[i];
		sum += counts[i].x + counts[i].y + counts[i].z + counts[i].w;
	}
	begin = block_exclusive_sum<Row::SORT_THREADS>(sum, warp_sums, NULL);
#pragma unroll
	for (int i = 0; i < QUADS; i++)
	{
		uint4		count_of = ReadTwice ? mine[i] : counts[i];
		uint4		ends;

		ends.x = begin + count_of.x;
		ends.y = ends.x + count_of.y;
		ends.z = ends.y + count_of.z;
		ends.w = ends.z + count_of.w;
		mine[i] = make_uint4(begin << 16 | ends.x, ends.x << 16 | ends.y, ends.y << 16 | ends.z,
							 ends.z << 16 | ends.w);
		begin = ends.w;
	}
}

/* Number of items in the bin [begin, end) that precede x, which is one of
 * them. */
template<bool Wide>
SORT_DEVICE uint32_t
rank_by_order(const item_arrays<Wide> &tile, uint32_t begin, uint32_t end, item<Wide> x,
			  const item_order<Wide> &order)
{
	uint32_t	before = 0;

	for (uint32_t i = begin; i < end; i++)
		before += order.less(tile.get(i), x);
	return before;
}

/*
 * The same, but faster.  Compares words; two items can tie only if they share
 * the upper half, and only then the full order ranks again.
 */
template<bool Wide>
SORT_DEVICE uint32_t
rank_in_bin(const item_arrays<Wide> &tile, uint32_t begin, uint32_t end, item<Wide> x,
			const item_order<Wide> &order)
{
	if constexpr (Wide)
		return rank_by_order(tile, begin, end, x, order);
	else
	{
		uint32_t	before = 0;
		uint32_t	alike = 0;

#pragma unroll
		for (uint32_t i = 0; i < LOADED_AT_ONCE; i++)
		{
			uint64_t	other = tile.first[begin + i];

			before += begin + i < end && other < x.first;
			alike += begin + i < end && (uint32_t) (other >> 32) == (uint32_t) (x.first >> 32);
		}
		for (uint32_t i = begin + LOADED_AT_ONCE; i < end; i++)
		{
			uint64_t	other = tile.first[i];

			before += other < x.first;
			alike += (uint32_t) (other >> 32) == (uint32_t) (x.first >> 32);
		}
		if (order.shortened && alike > 1)
			before = rank_by_order(tile, begin, end, x, order);
		return before;
	}
}

/* A segment as its block sees it. */
template<typename Row, bool Wide>
struct segment_view
{
	static constexpr int THREADS = Row::SORT_THREADS;
	static constexpr int ITEMS = Row::SORT_ITEMS;

	sort_segment segment;
	item_arrays<Wide> source;
	uint64_t	coordinate_mask;
	bool		by_row;
	item_order<Wide> order;

	__device__ __forceinline__ segment_view(const sort_segment &wanted, item_arrays<Wide> level1,
											item_arrays<Wide> level2,
											const item_order<Wide> &items): segment(wanted),
											order(items)
	{
		source = (segment.flags & ITEMS_IN_LEVEL1 ? level1 : level2).from(segment.begin);
		coordinate_mask = segment.flags & ITEMS_SHORTENED ? ~0ull << order.row_bits : ~0ull;
		by_row = (segment.flags & ITEMS_BY_ROW) != 0;
		order.shortened = (segment.flags & ITEMS_SHORTENED) != 0;
	}

	/* The part of an item that selects its bin. */
	__device__ __forceinline__ uint32_t residue_of(item<Wide> x) const
	{
		return map_residue(segment.map, item_coordinate<Wide>(x, coordinate_mask, by_row) -
						   segment.lowest);
	}

	__device__ __forceinline__ uint32_t bin_of(item<Wide> x) const
	{
		return part_of_residue(segment.map, residue_of(x));
	}
};

/* --- merge sort ----------------------------------------------------------- */

template<int Tile, bool Wide>
struct merge_memory
{
	uint64_t	first[Tile];
	uint32_t	second[Wide ? Tile : 4];
	uint32_t	taken_from_a[2];	/* merge: items of a before the tile, and up to its end */
};

/* Odd-even transposition (Knuth, volume 3, 5.3.4) of a thread's own items;
 * items from valid on are absent. */
template<int Items, bool Wide, typename Order>
SORT_DEVICE void
sort_in_registers(item<Wide> (&x)[Items], uint32_t valid, const Order &order)
{
#pragma unroll
	for (int round = 0; round < Items; round++)
	{
#pragma unroll
		for (int i = round % 2; i + 1 < Items; i += 2)
		{
			if ((uint32_t) i + 1 < valid && order.less(x[i + 1], x[i]))
			{
				item<Wide>	y = x[i];

				x[i] = x[i + 1];
				x[i + 1] = y;
			}
		}
	}
}

/*
 * Sorts the count items of the tile, in shared memory.  The whole block calls,
 * behind a barrier after the tile was filled; on return each thread sees the
 * result.
 */
template<int Threads, int Items, bool Wide, typename Order>
SORT_DEVICE void
merge_sort_tile(item_arrays<Wide> tile, uint32_t count, const Order &order)
{
	uint32_t	at = threadIdx.x * Items;
	uint32_t	valid = at < count ? count - at : 0;
	item<Wide>	x[Items];

#pragma unroll
	for (int i = 0; i < Items; i++)
	{
		if ((uint32_t) i < valid)
			x[i] = tile.get(at + i);
	}
	sort_in_registers<Items, Wide>(x, valid, order);
	for (uint32_t width = Items; width < Threads * Items; width *= 2)
	{
#pragma unroll
		for (int i = 0; i < Items; i++)
		{
			if ((uint32_t) i < valid)
				tile.put(at + i, x[i]);
		}
		__syncthreads();
		if (valid > 0)
		{
			uint32_t	begin = at / (2 * width) * (2 * width);
			uint32_t	middle = begin + width < count ? begin + width : count;
			uint32_t	end = middle + width < count ? middle + width : count;

			merge_from<Items, Wide>(x, tile.from(begin), middle - begin, tile.from(middle),
									end - middle, at - begin, order);
		}
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < Items; i++)
	{
		if ((uint32_t) i < valid)
			tile.put(at + i, x[i]);
	}
	__syncthreads();
}

#endif							/* GSORT_TILE_SORT_CUH */
