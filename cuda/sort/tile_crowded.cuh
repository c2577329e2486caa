/*
 * tile_crowded.cuh
 *	  Sorts segments whose items crowd few bins: equal keys, or keys that are
 *	  close together.
 *
 * In:  segments that the counting sort has listed as crowded.
 * Out: their rows, emitted at their places.
 *
 * The crowded bins of a tile are divided again, in rounds.  Each round takes 32
 * bits from the highest differing bit down, and scales them to the number of
 * items in the bin.  If all keys of the bin are equal, it takes bits of the row
 * number.  If the words of a bin are equal because they have lost bits of their
 * keys, the keys are fetched, once, and words are made of their low bits.
 *
 * Every round divides each bin at least in two, and mostly by log2(n) bits if
 * it has n items.  The rounds thus end for any keys.
 */
#ifndef GSORT_TILE_CROWDED_CUH
#define GSORT_TILE_CROWDED_CUH

#include "gsort.h"
#include "sort/tile_sort.cuh"

template<typename Row, bool Wide>
struct crowded_sort_memory
{
	/* Entries of large bins, those of more than FEW_ITEMS.  An entry is begin /
	 * FEW_ITEMS, so no two bins share one. */
	static constexpr int ENTRIES = Row::SORT_TILE / FEW_ITEMS + 1;

	/* The tile's bins: counts, then begins of a round's bins; finally the
	 * sorted rows. */
	counting_sort_memory<Row, Wide> tile;
	/* the bits in which the items of the bin differ, in halves, because the
	 * device has no 64-bit OR in shared memory */
	uint32_t	high_bits[ENTRIES];
	uint32_t	low_bits[ENTRIES];
	uint32_t	row_bits[Wide ? ENTRIES : 4];
};

template<bool Wide>
struct placed_item
{
	item<Wide>	x;
	uint32_t	bin;			/* begin << 16 | end, in the tile */
	/*
	 * Its place in the tile; during a round, its new bin, then that << 16 |
	 * rank.
	 */
	uint32_t	at;

	__device__ __forceinline__ uint32_t begin() const
	{
		return bin >> 16;
	}

	__device__ __forceinline__ uint32_t count() const
	{
		return (bin & 0xffff) - begin();
	}

	__device__ __forceinline__ uint32_t entry() const
	{
		return begin() / FEW_ITEMS;
	}
};

template<typename Row, bool Wide>
struct crowded_segment
{
	static constexpr int THREADS = Row::SORT_THREADS;
	static constexpr int ITEMS = Row::SORT_ITEMS;
	typedef crowded_sort_memory<Row, Wide> memory;

	const segment_view<Row, Wide> &view;
	memory	   &shared;
	item_arrays<Wide> tile;
	placed_item<Wide> items[ITEMS];
	uint32_t	whole = 0;		/* a bit per item: its word has the low bits of its key */

	__device__ __forceinline__ crowded_segment(const segment_view<Row, Wide> &segment,
											   memory &block):
		view(segment), shared(block), tile{block.tile.first, block.tile.second}
	{
	}

	__device__ __forceinline__ bool valid(int i) const
	{
		return i * THREADS + threadIdx.x < view.segment.count;
	}

	__device__ __forceinline__ void clear_bits()
	{
		for (uint32_t entry = threadIdx.x; entry < memory::ENTRIES; entry += THREADS)
		{
			shared.high_bits[entry] = 0;
			shared.low_bits[entry] = 0;
			if (Wide)
				shared.row_bits[entry] = 0;
		}
	}

	/* Moves an item to the bin and rank in at, behind a barrier after
	 * begin_bins. */
	__device__ __forceinline__ void move(placed_item<Wide> &item)
	{
		item.bin = shared.tile.bins[item.at >> 16];
		item.at = item.begin() + (item.at & 0xffff);
		tile.put(item.at, item.x);
	}

	/* Moves items from the segment's array to the bins of its map, like the
	 * counting sort. */
	__device__ __forceinline__ void spread_by_map()
	{
		uint32_t   *bins = shared.tile.bins;

#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			if (valid(i))
				items[i].x = view.source.get(i * THREADS + threadIdx.x);
		}
		clear_bins<Row>(bins);
		clear_bits();
		__syncthreads();
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			uint32_t	bin = valid(i) ? view.bin_of(items[i].x) : 0;

			items[i].at = bin << 16 | count_together(bins, bin, valid(i));
		}
		__syncthreads();
		begin_bins<Row, Wide>(bins, shared.tile.warp_sums);
		__syncthreads();
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			if (valid(i))
				move(items[i]);
		}
	}

	/* Adds bits to recorded.  The preceding read saves nearly all atomics,
	 * because mostly all bits are set already. */
	__device__ __forceinline__ static void record_bits(uint32_t *recorded, uint32_t bits)
	{
		if (bits & ~*(volatile uint32_t *) recorded)
			atomicOr(recorded, bits);
	}

	/* The bits of an item's word that order it in its bin. */
	__device__ __forceinline__ uint64_t word_mask(int i) const
	{
		return whole >> i & 1 ? ~0ull : view.coordinate_mask;
	}

	/* Finds the bits in which the items of each large bin differ from its first
	 * one. */
	__device__ __forceinline__ void find_bits()
	{
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			if (valid(i) && items[i].count() > FEW_ITEMS)
			{
				item<Wide>	first = tile.get(items[i].begin());
				uint32_t	entry = items[i].entry();
				uint64_t	differ = (items[i].x.first ^ first.first) & word_mask(i);

				record_bits(&shared.high_bits[entry], (uint32_t) (differ >> 32));
				record_bits(&shared.low_bits[entry], (uint32_t) differ);
				if (Wide)
					record_bits(&shared.row_bits[entry], items[i].x.second ^ first.second);
			}
		}
	}

	/* Computes the new bin of an item of a large bin; false: the words of the
	 * bin are equal. */
	__device__ __forceinline__ bool find_bin(int i, uint32_t *bin) const
	{
		const placed_item<Wide> &item = items[i];
		uint32_t	entry = item.entry();
		uint32_t	top = significant_bits((uint64_t) shared.high_bits[entry] << 32 |
										   shared.low_bits[entry]);
		uint64_t	coordinate = item.x.first & word_mask(i);
		/* The item's bits, from the highest differing one in its bin on, at the
		 * top of a word. */
		uint32_t	bits;

		if (top > 32)
			bits = (uint32_t) (coordinate >> (top - 32));
		else if (top > 0)
			bits = (uint32_t) coordinate << (32 - top);
		else if (Wide && shared.row_bits[entry] != 0)
			bits = item.x.second << (32 - significant_bits(shared.row_bits[entry]));
		else
			return false;
		/* an even number of parts, so that the highest bit always divides */
		*bin = item.begin() + (uint32_t) ((uint64_t) bits * (item.count() & ~1u) >> 32);
		return true;
	}

	/* Makes the word of an item whose bin has equal words from the low bits of
	 * its key, which are all that its bin's keys differ in, and its row.  Keys
	 * lose row_bits + 1 bits at most. */
	__device__ __forceinline__ void take_low_bits(int i)
	{
		uint32_t	row = view.order.row(items[i].x);

		static_assert((uint64_t) GSORT_RUN_ROWS_MAX < UINT64_C(1) << 31,
					  "the lost bits fit beside those of the row");
		items[i].x.first = view.order.keys[row] << view.order.row_bits | row;
		tile.put(items[i].at, items[i].x);
		whole |= 1u << i;
	}

	/* One round, behind a barrier; false: no bin was large.  Requires a barrier
	 * afterwards. */
	__device__ __forceinline__ bool divide()
	{
		uint32_t   *bins = shared.tile.bins;
		uint32_t	divided = 0;	/* one bit per item */
		bool		any = false;

		find_bits();
		clear_bins<Row>(bins);
		__syncthreads();
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			if (!valid(i) || items[i].count() <= FEW_ITEMS)
				continue;
			any = true;
			if (find_bin(i, &items[i].at))
				divided |= 1u << i;
			else
				take_low_bits(i);
		}
		if (!__syncthreads_or(any))
			return false;
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			if (divided >> i & 1)
				items[i].at = items[i].at << 16 | atomicAdd(&bins[items[i].at], 1u);
			else if (valid(i))
				bins[items[i].at] = 1;
		}
		__syncthreads();
		begin_bins<Row, Wide>(bins, shared.tile.warp_sums);
		clear_bits();
		__syncthreads();
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			if (divided >> i & 1)
				move(items[i]);
		}
		return true;
	}

	/* Writes the sorted rows into the bins, and emits them from there. */
	template<typename Emit>
	__device__ __forceinline__ void emit_items(const Emit &emit)
	{
		uint32_t   *rows = shared.tile.bins;

#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			if (valid(i))
			{
				uint32_t	begin = items[i].begin();

				rows[begin + rank_in_bin(tile, begin, begin + items[i].count(), items[i].x,
										 view.order)] =
					view.order.row(items[i].x);
			}
		}
		__syncthreads();
		for (uint32_t at = threadIdx.x; at < view.segment.count; at += THREADS)
			emit(view.segment.place + at, rows[at]);
	}
};

template<typename Row, bool Wide, typename Emit>
SORT_DEVICE void
sort_crowded_segments(unsigned char *raw, item_arrays<Wide> level1, item_arrays<Wide> level2,
					  const partition_plan *plan, const sort_segment *segments,
					  const uint32_t *crowded, const item_order<Wide> &order, const Emit &emit)
{
	crowded_sort_memory<Row, Wide> &shared = *(crowded_sort_memory<Row, Wide> *) raw;

	for (uint32_t c = blockIdx.x; c < plan->listed.crowded; c += gridDim.x)
	{
		const segment_view<Row, Wide> view(segments[crowded[c]], level1, level2, order);
		crowded_segment<Row, Wide> segment(view, shared);

		segment.spread_by_map();
		do
			__syncthreads();
		while (segment.divide());
		segment.emit_items(emit);
		__syncthreads();
	}
}

/*
 * Sorts the items of each segment listed in crowded and emits them at the same
 * places.  Grid: any, each block takes listed segments in turn; blocks of
 * SORT_THREADS; shared: crowded_sort_memory.
 */
template<typename Row, bool MayBeWide, typename Emit>
static __global__ void
__launch_bounds__(Row::SORT_THREADS, (BLOCKS_UNLESS_MEASURED(Row::SORT_BLOCKS, 1)))
tile_crowded_sort_kernel(item_arrays<true> level1, item_arrays<true> level2,
						 const partition_plan *plan, const sort_segment *segments,
						 const uint32_t *crowded, item_order<true> order, Emit emit)
{
	await_kernel_ahead();
	SHARED_MEMORY(raw);
	for_items_of_plan<MayBeWide>(plan, [&](auto wide) {
		sort_crowded_segments<Row>(raw, items_as<wide.value>(level1), items_as<wide.value>(level2),
								   plan, segments, crowded, order_as<wide.value>(order), emit);
	});
}

#endif							/* GSORT_TILE_CROWDED_CUH */
