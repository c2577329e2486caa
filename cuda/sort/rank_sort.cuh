/*
 * rank_sort.cuh
 *	  Sorts the items of a block, in shared memory.
 *
 * In:  items in registers, the 32 items of a warp adjacent.
 * Out: a tile of shared memory, sorted by first words.  The sort is stable, so
 *      items with equal first words must arrive in the order of their second
 *      words.
 *
 * Each warp sorts 32 items at a time in registers, by a bitonic network
 * (Batcher, "Sorting networks and their applications", 1968).  Runs are then
 * merged pairwise: each item finds its place by its rank in the other run
 * (Shiloach, Vishkin, "Finding the maximum, merging, and sorting in a parallel
 * computation model", 1981; in blocks: Satish, Harris, Garland, "Designing
 * efficient sorting algorithms for manycore GPUs", 2009).  The searches of a
 * thread's items advance step by step together, and take equally many steps for
 * any items.  Their latencies in shared memory thus overlap.
 */
#ifndef GSORT_RANK_SORT_CUH
#define GSORT_RANK_SORT_CUH

#include "sort/items.cuh"

/*
 * The search for an item's rank in the other run: the number of items there
 * that precede it.  Branch-free: past the end of a run it reads the last item
 * again, and the final rank is limited to the run's length.
 */
struct rank_search
{
	uint32_t	begin;			/* begin of the run; for an empty run, any place but the first */
	uint32_t	end;
	uint32_t	passed;			/* number of items known to precede the item */
	uint64_t	last;			/* items up to this value precede the item */

	__device__ __forceinline__ uint64_t look(uint32_t step, const uint64_t *tile) const
	{
		return tile[(passed + step < end ? passed + step : end) - 1];
	}

	__device__ __forceinline__ uint32_t rank() const
	{
		return (passed < end ? passed : end) - begin;
	}
};

/* Steps are powers of two, from at least the runs' length down to 1.  All
 * searches load before any of them uses its value. */
template<int Items>
SORT_DEVICE void
take_step(rank_search (&search)[Items], uint32_t step, const uint64_t *tile)
{
	uint64_t	seen[Items];

#pragma unroll
	for (int i = 0; i < Items; i++)
		seen[i] = search[i].look(step, tile);
#pragma unroll
	for (int i = 0; i < Items; i++)
		search[i].passed += seen[i] <= search[i].last ? step : 0;
}

/* A value above all items, or equal to the last of them. */
template<bool Wide>
SORT_DEVICE item<Wide>
item_above_all()
{
	return {~0ull, Wide ? ~0u : 0};
}

template<bool Wide>
SORT_DEVICE bool
comes_before(item<Wide> a, item<Wide> b)
{
	return a.first < b.first || (Wide && a.first == b.first && a.second < b.second);
}

/* Sorts x[i] of the warp's lanes, for each i.  The whole warp calls.  The loops
 * are not unrolled, because code that runs once stalls on instruction
 * fetches. */
template<int Items, bool Wide>
SORT_DEVICE void
sort_in_warp(item<Wide> *x)
{
#pragma unroll 1
	for (uint32_t run = 2; run <= WARP_THREADS; run *= 2)
	{
#pragma unroll 1
		for (uint32_t distance = run / 2; distance > 0; distance /= 2)
		{
			bool		takes_first = ((lane_id() & distance) == 0) == ((lane_id() & run) == 0);

#pragma unroll
			for (int i = 0; i < Items; i++)
			{
				item<Wide>	other = {__shfl_xor_sync(WHOLE_WARP, x[i].first, distance),
					Wide ? __shfl_xor_sync(WHOLE_WARP, x[i].second, distance) : 0};

				if (comes_before(other, x[i]) == takes_first)
					x[i] = other;
			}
		}
	}
}

/* Starts the search for the item at a place, whose run of width items is merged
 * with its neighbour.  Ties go to the first run. */
SORT_DEVICE rank_search
begin_rank_search(uint32_t at, uint32_t width, uint32_t count, uint64_t key)
{
	bool		in_second = (at & width) != 0;
	uint32_t	other = (at ^ width) & ~(width - 1);
	uint32_t	length = other >= count ? 0 : other + width < count ? width : count - other;

	if (!in_second && key == 0)
		length = 0;
	other = length > 0 ? other : 1;
	return {other, other + length, other, in_second ? key : key - 1};
}

/* Finds the places of a warp's items in the merged runs; the input runs have
 * width items. */
template<int Threads, int Items, bool Wide>
SORT_DEVICE void
rank_in_run(item<Wide> *x, uint32_t *places, item_arrays<Wide> tile, uint32_t count, uint32_t width)
{
	rank_search search[Items];

#pragma unroll
	for (int i = 0; i < Items; i++)
	{
		uint32_t	at = threadIdx.x + i * Threads;

		x[i] = tile.get(at < count ? at : 0);
		search[i] = begin_rank_search(at, width, count, x[i].first);
	}
	for (uint32_t step = width; step > 0; step /= 2)
		take_step<Items>(search, step, tile.first);
#pragma unroll
	for (int i = 0; i < Items; i++)
	{
		/* clears the bit that distinguishes the second run from the first */
		places[i] = ((threadIdx.x + i * Threads) & ~width) + search[i].rank();
	}
}

/*
 * Sorts count items, at most Threads * Items, into the tile: x[i] is item
 * threadIdx.x + i * Threads, if it exists.  The whole block calls; on return
 * each thread sees the whole tile.  A warp skips the searches of absent items.
 */
template<int Threads, int Items, bool Wide>
SORT_DEVICE void
rank_sort(item<Wide> (&x)[Items], item_arrays<Wide> tile, uint32_t count)
{
	constexpr int FEWER = Items > 1 ? Items - 1 : 1;
	uint32_t	at_of_lane_0 = threadIdx.x - lane_id();
	bool		has_all = at_of_lane_0 + (Items - 1) * Threads < count;
	bool		has_any = at_of_lane_0 < count;
	uint32_t	places[Items];

#pragma unroll
	for (int i = 0; i < Items; i++)
	{
		places[i] = threadIdx.x + i * Threads;
		if (places[i] >= count)
			x[i] = item_above_all<Wide>();
	}
	if (has_all)
		sort_in_warp<Items, Wide>(x);
	else if (has_any)
		sort_in_warp<FEWER, Wide>(x);
	for (uint32_t width = WARP_THREADS / 2;;)
	{
#pragma unroll
		for (int i = 0; i < Items; i++)
		{
			if (threadIdx.x + i * Threads < count)
				tile.put(places[i], x[i]);
		}
		__syncthreads();
		width *= 2;
		if (width >= count)
			return;
		if (has_all)
			rank_in_run<Threads, Items, Wide>(x, places, tile, count, width);
		else if (has_any)
			rank_in_run<Threads, FEWER, Wide>(x, places, tile, count, width);
		__syncthreads();
	}
}

#endif							/* GSORT_RANK_SORT_CUH */
