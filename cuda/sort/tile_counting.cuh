/*
 * tile_counting.cuh
 *	  The tile sort of even input: counts items into bins, and ranks each item
 *	  in its bin.
 *
 * In:  segments, as defined in tile_sort.cuh.
 * Out: their rows, emitted at their places; or the segment is listed as
 *	    crowded, for tile_crowded.cuh.
 *
 * There are as many bins as items, so a bin has one or two items: two passes
 * over shared memory.  The tile keeps the row of a narrow item, and the residue
 * that selects the bin: the 32 highest bits that differ in the segment.  One
 * instruction thus compares half of the word's bytes.  If two residues are
 * equal, which is rare, the keys are fetched.  A wide item is kept as a whole.
 *
 * A thread loads its next items before it ranks the current ones, because the
 * ranking hides the latency of the loads.
 */
#ifndef GSORT_TILE_COUNTING_CUH
#define GSORT_TILE_COUNTING_CUH

#include "sort/tile_sort.cuh"

template<typename Row>
struct counting_residues_memory
{
	uint32_t	residues[Row::SORT_TILE + LOADED_AT_ONCE];
	uint32_t	rows[Row::SORT_TILE];
	uint32_t	bins[Row::SORT_BINS];	/* counts, later begin << 16 | end of each */
	uint32_t	warp_sums[WARP_THREADS];
};

/* The items of a segment, in the registers of its block and in shared
 * memory. */
template<typename Row, bool Wide>
struct counted_items;

template<typename Row>
struct counted_items<Row, false>
{
	static constexpr int ITEMS = Row::SORT_ITEMS;
	typedef counting_residues_memory<Row> memory;

	uint32_t	residues[ITEMS];
	uint32_t	rows[ITEMS];
	uint32_t	ranks[(ITEMS + 3) / 4];	/* rank in the bin by arrival; one byte each */

	__device__ __forceinline__ void take(const segment_view<Row, false> &view,
										 const item<false> (&x)[ITEMS])
	{
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			residues[i] = view.residue_of(x[i]);
			rows[i] = view.order.row(x[i]);
			ranks[i / 4] = 0;
		}
	}

	__device__ __forceinline__ uint32_t bin(const segment_view<Row, false> &view, int i) const
	{
		return part_of_residue(view.segment.map, residues[i]);
	}

	/* A rank that overflows its byte makes the segment crowded, and is not
	 * used. */
	__device__ __forceinline__ void record_rank(int i, uint32_t, uint32_t rank)
	{
		ranks[i / 4] |= rank << i % 4 * 8;
	}

	__device__ __forceinline__ void put(memory &shared, const segment_view<Row, false> &view,
										int i) const
	{
		uint32_t	at = (shared.bins[bin(view, i)] >> 16) + (ranks[i / 4] >> i % 4 * 8 & 0xff);

		shared.residues[at] = residues[i];
		shared.rows[at] = rows[i];
	}

	/* Pads behind the last item, for reads of ranks beyond the last bin. */
	__device__ __forceinline__ static void put_end(memory &shared, uint32_t count)
	{
		if (threadIdx.x < LOADED_AT_ONCE)
			shared.residues[count + threadIdx.x] = 0xffffffff;
	}

	/* Number of items in the bin [begin, end) that precede the one at place at,
	 * by their keys. */
	__device__ static uint32_t rank_by_keys(const memory &shared, uint32_t begin, uint32_t end,
											uint32_t at, const key_view &keys)
	{
		uint32_t	row = shared.rows[at];
		uint64_t	key = keys[row];
		uint32_t	before = 0;

		for (uint32_t i = begin; i < end; i++)
		{
			uint32_t	other_row = shared.rows[i];
			uint64_t	other;

			before += shared.residues[i] < shared.residues[at];
			if (i == at || shared.residues[i] != shared.residues[at])
				continue;
			other = keys[other_row];
			before += other < key || (other == key && other_row < row);
		}
		return before;
	}

	/* The final place of the item at a place of the tile, and its row. */
	__device__ __forceinline__ static uint32_t final_place(const memory &shared,
														   const segment_view<Row, false> &view,
														   uint32_t at, uint32_t *row)
	{
		uint32_t	residue = shared.residues[at];
		uint32_t	bin = shared.bins[part_of_residue(view.segment.map, residue)];
		uint32_t	begin = bin >> 16;
		uint32_t	end = bin & 0xffff;
		uint32_t	below = 0;
		uint32_t	up_to = 0;

		/* items behind the bin are larger, because bins rise with residues */
#pragma unroll
		for (uint32_t i = 0; i < LOADED_AT_ONCE; i++)
		{
			below += shared.residues[begin + i] < residue;
			up_to += shared.residues[begin + i] <= residue;
		}
		for (uint32_t i = begin + LOADED_AT_ONCE; i < end; i++)
		{
			below += shared.residues[i] < residue;
			up_to += shared.residues[i] <= residue;
		}
		*row = shared.rows[at];
		return begin + (up_to - below > 1 ? rank_by_keys(shared, begin, end, at, view.order.keys) :
						below);
	}
};

template<typename Row>
struct counted_items<Row, true>
{
	static constexpr int ITEMS = Row::SORT_ITEMS;
	typedef counting_sort_memory<Row, true> memory;

	item<true>	x[ITEMS];
	uint32_t	places[ITEMS];	/* bin << 16 | rank in it by arrival */

	__device__ __forceinline__ void take(const segment_view<Row, true> &,
										 const item<true> (&loaded)[ITEMS])
	{
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
			x[i] = loaded[i];
	}

	__device__ __forceinline__ uint32_t bin(const segment_view<Row, true> &view, int i) const
	{
		return view.bin_of(x[i]);
	}

	__device__ __forceinline__ void record_rank(int i, uint32_t bin, uint32_t rank)
	{
		places[i] = bin << 16 | rank;
	}

	__device__ __forceinline__ void put(memory &shared, const segment_view<Row, true> &,
										int i) const
	{
		item_arrays<true> tile = {shared.first, shared.second};

		tile.put((shared.bins[places[i] >> 16] >> 16) + (places[i] & 0xffff), x[i]);
	}

	__device__ __forceinline__ static void put_end(memory &, uint32_t)
	{
	}

	__device__ __forceinline__ static uint32_t final_place(memory &shared,
														   const segment_view<Row, true> &view,
														   uint32_t at, uint32_t *row)
	{
		item_arrays<true> tile = {shared.first, shared.second};
		item<true>	mine = tile.get(at);
		uint32_t	bin = shared.bins[view.bin_of(mine)];

		*row = mine.second;
		return (bin >> 16) + rank_in_bin(tile, bin >> 16, bin & 0xffff, mine, view.order);
	}
};

static_assert(CROWDED_BIN <= 0xff, "ranks of bins that are not crowded have a byte");

template<bool Wide>
struct item_stretch
{
	item_arrays<Wide> items;
	uint32_t	count;
};

/* The items of segment g, of n; none if there is no such segment. */
template<bool Wide>
SORT_DEVICE item_stretch<Wide>
stretch_of_segment(const sort_segment *segments, uint32_t g, uint32_t n,
				   const item_arrays<Wide> &level1, const item_arrays<Wide> &level2)
{
	if (g >= n)
		return {level1, 0};
	return {(segments[g].flags & ITEMS_IN_LEVEL1 ? level1 : level2).from(segments[g].begin),
		segments[g].count};
}

template<typename Row, bool Wide>
struct counting_sort
{
	static constexpr int THREADS = Row::SORT_THREADS;
	static constexpr int ITEMS = Row::SORT_ITEMS;
	typedef counted_items<Row, Wide> items_of_segment;
	typedef typename items_of_segment::memory memory;
	static constexpr int RANKED_AT_ONCE = 2;
	static constexpr int COUNTED_AT_ONCE = 4;

	memory	   &shared;

	__device__ __forceinline__ static void load(const item_stretch<Wide> &stretch, int i,
												item<Wide> (&x)[ITEMS])
	{
		uint32_t	at = i * THREADS + threadIdx.x;

		if (at < stretch.count)
			x[i] = stretch.items.get(at);
	}

	__device__ __forceinline__ static void load(const item_stretch<Wide> &stretch,
												item<Wide> (&x)[ITEMS])
	{
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
			load(stretch, i, x);
	}

	/* Counts the items.  Returns true if one of this thread's bins is crowded.
	 * The rest is then not counted, because all items of a crowded bin contend
	 * for one word. */
	__device__ __forceinline__ bool count(const segment_view<Row, Wide> &view,
										  items_of_segment &items) const
	{
		uint32_t	largest = 0;

#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			if (i % COUNTED_AT_ONCE == 0 && largest >= CROWDED_BIN)
				break;
			if (i * THREADS + threadIdx.x < view.segment.count)
			{
				uint32_t	bin = items.bin(view, i);
				uint32_t	rank = atomicAdd(&shared.bins[bin], 1u);

				largest = rank > largest ? rank : largest;
				items.record_rank(i, bin, rank);
			}
		}
		return largest >= CROWDED_BIN;
	}

	/* Moves the items to their bins, behind a barrier after begin_bins, and
	 * loads the next ones; requires a barrier afterwards. */
	__device__ __forceinline__ void move(const segment_view<Row, Wide> &view,
										 const items_of_segment &items,
										 const item_stretch<Wide> &next,
										 item<Wide> (&x)[ITEMS]) const
	{
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			if (i * THREADS + threadIdx.x < view.segment.count)
				items.put(shared, view, i);
			load(next, i, x);
		}
		items.put_end(shared, view.segment.count);
	}

	template<typename Emit>
	__device__ __forceinline__ void emit_items(const segment_view<Row, Wide> &view,
											   const Emit &emit) const
	{
#pragma unroll RANKED_AT_ONCE
		for (int i = 0; i < ITEMS; i++)
		{
			uint32_t	at = i * THREADS + threadIdx.x;

			if (at < view.segment.count)
			{
				uint32_t	row;
				uint32_t	place = items_of_segment::final_place(shared, view, at, &row);

				emit(view.segment.place + place, row);
			}
		}
	}
};

/* Blocks per multiprocessor.  With this many items per thread, the registers do
 * not suffice for a second block. */
template<typename Row>
constexpr int COUNTING_SORT_BLOCKS = Row::SORT_ITEMS > ITEMS_OF_MORE_THREADS ?
	BLOCKS_UNLESS_MEASURED(Row::SORT_BLOCKS, 1) : Row::SORT_BLOCKS;

template<typename Row, bool Wide>
using counting_memory = typename counted_items<Row, Wide>::memory;

/*
 * Sorts the items [begin, begin + count) of each segment and emits them at its
 * place.  Lists crowded segments for tile_crowded_sort_kernel.  Grid: any, each
 * block takes segments in turn; blocks of SORT_THREADS; shared:
 * counting_memory.
 */
template<typename Row, bool Wide, typename Key, typename Emit>
static __global__ void
__launch_bounds__(Row::SORT_THREADS, (blocks_that_fit<counting_memory<Row,
	Wide>>(COUNTING_SORT_BLOCKS<Row>)))
tile_counting_sort_kernel(item_arrays<Wide> level1, item_arrays<Wide> level2, partition_plan *plan,
						  const sort_segment *segments, uint32_t *crowded, item_order<Wide> order,
						  Emit emit)
{
	await_kernel_ahead();
	SHARED_MEMORY(raw);
	typedef counting_sort<Row, Wide> sort_type;
	const sort_type sort = {*(counting_memory<Row, Wide> *) raw};
	uint32_t	n_segments = plan->splitters.wide == (Wide ? 1u : 0u) ? plan->listed.segments : 0;
	item<Wide>	loaded[Row::SORT_ITEMS];

	/* a constant for the compiler; a runtime value costs one twelfth of the
	 * kernel's time */
	order.keys.key_bits = 8 * sizeof(Key);
	sort_type::load(stretch_of_segment(segments, blockIdx.x, n_segments, level1, level2), loaded);
	for (uint32_t g = blockIdx.x; g < n_segments; g += gridDim.x)
	{
		const segment_view<Row, Wide> view(segments[g], level1, level2, order);
		const item_stretch<Wide> next = stretch_of_segment(segments, g + gridDim.x, n_segments,
														   level1, level2);
		counted_items<Row, Wide> items;

		items.take(view, loaded);
		clear_bins<Row>(sort.shared.bins);
		__syncthreads();
		if (__syncthreads_or(sort.count(view, items)))
		{
			if (threadIdx.x == 0)
				crowded[atomicAdd(&plan->listed.crowded, 1u)] = g;
			sort_type::load(next, loaded);
			continue;
		}
		begin_bins<Row, (Row::SORT_ITEMS > ITEMS_OF_MORE_THREADS)>(sort.shared.bins,
																   sort.shared.warp_sums);
		__syncthreads();
		sort.move(view, items, next, loaded);
		__syncthreads();
		sort.emit_items(view, emit);
		__syncthreads();
	}
}

#endif							/* GSORT_TILE_COUNTING_CUH */
