/*
 * tile_sort.cuh
 *	  Sorting one tile: as many items as one block holds in shared memory.
 *
 * In:  segments, stretches of items that no other segment's items mix with in the
 *	    final order.
 * Out: their rows (and keys), sorted, at their final places.
 *
 * The counting sort spreads a segment over bins by a linear map, then each item finds
 * its rank inside its bin: two passes over shared memory for items that lie evenly.
 * Segments with crowded bins are left to tile_crowded.cuh.  Where nothing is known of the
 * items' values, the merge sort serves: each thread sorts its few items by an odd-even
 * network in registers, then the block merges them pairwise by merge path.
 *
 * Which segment is sorted where never changes the result, as no two items are equal.
 */
#ifndef GSORT_TILE_SORT_CUH
#define GSORT_TILE_SORT_CUH

#include "sort/merge_path.cuh"
#include "sort/partition_plan.cuh"

/* --- counting sort ----------------------------------------------------------- */

/* Items of a bin that are loaded without asking whether there are so many. */
#define LOADED_AT_ONCE 4

template<typename Row, bool Wide>
struct counting_sort_memory
{
	uint64_t	first[Row::SORT_TILE + LOADED_AT_ONCE]; /* a bin's loads may reach beyond the last item */
	uint32_t	bins[Row::SORT_BINS + 4];	/* counts, then where each bin begins */
	uint32_t	second[Wide ? Row::SORT_TILE : 4];
	uint32_t	warp_sums[WARP_THREADS];
};

/* What the items of a segment are spread by. */
template<bool Wide>
SORT_DEVICE uint64_t
item_coordinate(item<Wide> x, uint64_t coordinate_mask, bool by_row)
{
	if (Wide)
		return by_row ? x.second : x.first;
	return x.first & coordinate_mask;
}

/*
 * Turns the counts of the bins into where they begin; the whole block calls.  ReadTwice: where items leave the counts
 * no registers.
 */
template<typename Row, bool ReadTwice>
SORT_DEVICE void
begin_bins(uint32_t *bins, uint32_t count, uint32_t *warp_sums)
{
	constexpr int QUADS = Row::SORT_BINS / Row::SORT_THREADS / 4;
	uint4	   *mine = (uint4 *) bins + threadIdx.x * QUADS;
	uint4		counts[QUADS];
	uint32_t	sum = 0;
	uint32_t	begin;

	static_assert(Row::SORT_BINS % (4 * Row::SORT_THREADS) == 0, "bins divide among the threads, by fours");
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
		uint4		begins;

		begins.x = begin;
		begins.y = begins.x + count_of.x;
		begins.z = begins.y + count_of.y;
		begins.w = begins.z + count_of.z;
		begin = begins.w + count_of.w;
		mine[i] = begins;
	}
	if (threadIdx.x == 0)
		bins[Row::SORT_BINS] = count;
}

/* How many items of the bin [begin, end) come before x, which is one of them. */
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
 * The same, fast.  Words are compared as they are; only if another one shares the upper half
 * can two be tied, and only then is the rank taken again by the whole order.
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

/* In which bin each item of a thread is, and its rank there by arrival. */
template<int Items, bool RanksOnly>
struct bin_places
{
	uint32_t	places[Items];

	__device__ __forceinline__ void set(int i, uint32_t bin, uint32_t rank)
	{
		places[i] = bin << 16 | rank;
	}

	__device__ __forceinline__ uint32_t rank(int i) const
	{
		return places[i] & 0xffff;
	}

	template<typename FindBin>
	__device__ __forceinline__ uint32_t bin(int i, const FindBin &) const
	{
		return places[i] >> 16;
	}
};

/* The same for so many items that they leave few registers: four ranks in each, and the bin is found again.  Ranks
 * that are too large for that make the segment crowded, and are not used. */
template<int Items>
struct bin_places<Items, true>
{
	uint32_t	ranks[(Items + 3) / 4] = {};

	__device__ __forceinline__ void set(int i, uint32_t, uint32_t rank)
	{
		ranks[i / 4] |= rank << i % 4 * 8;
	}

	__device__ __forceinline__ uint32_t rank(int i) const
	{
		return ranks[i / 4] >> i % 4 * 8 & 0xff;
	}

	template<typename FindBin>
	__device__ __forceinline__ uint32_t bin(int, const FindBin &find) const
	{
		return find();
	}
};

static_assert(CROWDED_BIN <= 0xff, "ranks of bins that are not crowded have a byte");

/* A segment as its block sees it. */
template<typename Row, bool Wide>
struct segment_view
{
	static constexpr int THREADS = Row::SORT_THREADS;
	static constexpr int ITEMS = Row::SORT_ITEMS;
	static constexpr bool FEW_REGISTERS = ITEMS > ITEMS_OF_MORE_THREADS;
	typedef counting_sort_memory<Row, Wide> memory;
	typedef bin_places<ITEMS, FEW_REGISTERS> bin_places_of_items;

	sort_segment segment;
	item_arrays<Wide> source;
	uint64_t	coordinate_mask;
	bool		by_row;
	item_order<Wide> order;

	__device__ __forceinline__ segment_view(const sort_segment &wanted, item_arrays<Wide> level1,
											item_arrays<Wide> level2, const item_order<Wide> &items): segment(wanted), order(items)
	{
		source = (segment.flags & ITEMS_IN_LEVEL1 ? level1 : level2).from(segment.begin);
		coordinate_mask = segment.flags & ITEMS_SHORTENED ? ~0ull << order.row_bits : ~0ull;
		by_row = (segment.flags & ITEMS_BY_ROW) != 0;
		order.shortened = (segment.flags & ITEMS_SHORTENED) != 0;
	}

	__device__ __forceinline__ uint32_t bin_of(item<Wide> x) const
	{
		return linear_part(segment.map, item_coordinate<Wide>(x, coordinate_mask, by_row) - segment.lowest);
	}

	/* Loads the items and clears the bins; wants a barrier. */
	__device__ __forceinline__ void load(memory &shared, item<Wide> (&x)[ITEMS]) const
	{
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			uint32_t	at = i * THREADS + threadIdx.x;

			if (at < segment.count)
				x[i] = source.get(at);
		}
		for (uint32_t i = threadIdx.x; i < Row::SORT_BINS / 4; i += THREADS)
			((uint4 *) shared.bins)[i] = make_uint4(0, 0, 0, 0);
	}

	/* True if a bin of this thread's is crowded; the rest is not counted then, as all items of a crowded bin wait
	 * for one word. */
	__device__ __forceinline__ bool count(memory &shared, const item<Wide> (&x)[ITEMS], bin_places_of_items &places) const
	{
		bool		crowded = false;

#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			if (!crowded && i * THREADS + threadIdx.x < segment.count)
			{
				uint32_t	bin = bin_of(x[i]);
				uint32_t	rank = atomicAdd(&shared.bins[bin], 1u);

				crowded = rank >= CROWDED_BIN;
				places.set(i, bin, rank);
			}
		}
		return crowded;
	}

	/* Moves the items to their bins, behind a barrier after begin_bins; wants a barrier. */
	__device__ __forceinline__ void move(memory &shared, const item<Wide> (&x)[ITEMS], const bin_places_of_items &places) const
	{
		item_arrays<Wide> tile = {shared.first, shared.second};

#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			if (i * THREADS + threadIdx.x < segment.count)
				tile.put(shared.bins[places.bin(i, [&] { return bin_of(x[i]); })] + places.rank(i), x[i]);
		}
	}

	/* Writes the items to where they end. */
	__device__ __forceinline__ void emit(memory &shared, const sort_output &output) const
	{
		item_arrays<Wide> tile = {shared.first, shared.second};

#pragma unroll FEW_REGISTERS ? 1 : 2
		for (int i = 0; i < ITEMS; i++)
		{
			uint32_t	at = i * THREADS + threadIdx.x;

			if (at < segment.count)
			{
				item<Wide>	x = tile.get(at);
				uint32_t	bin = bin_of(x);
				uint32_t	begin = shared.bins[bin];

				output.put(segment.begin + begin + rank_in_bin(tile, begin, shared.bins[bin + 1], x, order), order.row(x));
			}
		}
	}
};

/* So many items a thread leave no registers for a second block. */
template<typename Row>
constexpr int COUNTING_SORT_BLOCKS = Row::SORT_ITEMS > ITEMS_OF_MORE_THREADS ?
	BLOCKS_UNLESS_MEASURED(Row::SORT_BLOCKS, 1) : Row::SORT_BLOCKS;

/*
 * Sorts the items [begin, begin + count) of each segment to the same places of the output.  Segments too crowded for
 * it are listed for tile_crowded_sort_kernel.  Grid: any, each block takes segments in turn; blocks of SORT_THREADS;
 * shared: counting_sort_memory.
 */
template<typename Row, bool Wide>
static __global__ void
__launch_bounds__(Row::SORT_THREADS, (blocks_that_fit<counting_sort_memory<Row, Wide>>(COUNTING_SORT_BLOCKS<Row>)))
tile_counting_sort_kernel(item_arrays<Wide> level1, item_arrays<Wide> level2, partition_plan *plan,
						  const sort_segment *segments, uint32_t *crowded, item_order<Wide> order,
						  sort_output output)
{
	SHARED_MEMORY(raw);
	counting_sort_memory<Row, Wide> &shared = *(counting_sort_memory<Row, Wide> *) raw;
	uint32_t	n_segments = plan->wide == (Wide ? 1u : 0u) ? plan->segments : 0;

	for (uint32_t g = blockIdx.x; g < n_segments; g += gridDim.x)
	{
		const segment_view<Row, Wide> view(segments[g], level1, level2, order);
		item<Wide>	x[Row::SORT_ITEMS];
		typename segment_view<Row, Wide>::bin_places_of_items places;

		view.load(shared, x);
		__syncthreads();
		if (__syncthreads_or(view.count(shared, x, places)))
		{
			if (threadIdx.x == 0)
				crowded[atomicAdd(&plan->crowded, 1u)] = g;
			continue;
		}
		begin_bins<Row, segment_view<Row, Wide>::FEW_REGISTERS>(shared.bins, view.segment.count, shared.warp_sums);
		__syncthreads();
		view.move(shared, x, places);
		__syncthreads();
		view.emit(shared, output);
		__syncthreads();
	}
}

/* --- merge sort ---------------------------------------------------------------- */

template<int Tile, bool Wide>
struct merge_sort_memory
{
	uint64_t	first[Tile];
	uint32_t	second[Wide ? Tile : 4];
};

/* Odd-even transposition (Knuth, volume 3, 5.3.4) of a thread's own items; those from valid on are not there. */
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
 * Sorts the count items of the tile, in shared memory.  The whole block calls, behind
 * a barrier after the tile was filled; on return each thread sees all of it.
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

/*
 * Input that one tile holds, n at most SORT_TILE: from the keys to the output at once.  Grid: one block of
 * SORT_THREADS; shared: merge_sort_memory.
 */
template<typename Row>
static __global__ void
__launch_bounds__(Row::SORT_THREADS)
tile_sort_keys_kernel(uint32_t n, item_order<true> order, sort_output output)
{
	typedef merge_sort_memory<Row::SORT_TILE, true> memory;

	SHARED_MEMORY(raw);
	memory	   &shared = *(memory *) raw;
	item_arrays<true> tile = {shared.first, shared.second};

	for (uint32_t i = threadIdx.x; i < n; i += Row::SORT_THREADS)
		tile.put(i, {order.keys[i], i});
	__syncthreads();
	merge_sort_tile<Row::SORT_THREADS, Row::SORT_ITEMS, true>(tile, n, order);
	for (uint32_t i = threadIdx.x; i < n; i += Row::SORT_THREADS)
		output.put(i, tile.get(i).second);
}

#endif							/* GSORT_TILE_SORT_CUH */
