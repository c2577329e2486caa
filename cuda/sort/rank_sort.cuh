/*
 * rank_sort.cuh
 *	  Sorts the items of a block, in shared memory.
 *
 * In:  items in registers, a warp's 32 beside each other.
 * Out: a tile of shared memory, in order of first words; items of equal ones
 *      come in the order in which they came, which must be that of their second
 *      words.
 *
 * Each warp sorts 32 items at a time in registers, by a bitonic network
 * (Batcher, "Sorting networks and their applications", 1968).  From there on
 * runs are merged two by two, and each item finds its place by its rank in the
 * other run (Shiloach, Vishkin, "Finding the maximum, merging, and sorting in a
 * parallel computation model", 1981; in blocks: Satish, Harris, Garland,
 * "Designing efficient sorting algorithms for manycore GPUs", 2009).  The
 * searches of a thread's items go step by step together and take as many steps
 * whatever the items: they wait for shared memory, not for each other.
 */
#ifndef GSORT_RANK_SORT_CUH
#define GSORT_RANK_SORT_CUH

#include "sort/items.cuh"

/*
 * An item's search for its rank in the other run: how many items there come
 * before it.  Without branches: of a run that has ended its last item is read
 * again, and the rank is no more than the run's length in the end.
 */
struct rank_search
{
	uint32_t	begin;			/* of the run; where it is empty, any place but the first */
	uint32_t	end;
	uint32_t	passed;			/* what lies before comes before the item */
	uint64_t	last;			/* what is not above it comes before the item */

	__device__ __forceinline__ uint64_t look(uint32_t step, const uint64_t *tile) const
	{
		return tile[(passed + step < end ? passed + step : end) - 1];
	}

	__device__ __forceinline__ uint32_t rank() const
	{
		return (passed < end ? passed : end) - begin;
	}
};

/* Steps are powers of two that fall to 1, of which the first is at least the
 * runs' length.  All look before any waits for what it sees. */
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

/* What is above all items, or the same as the last of them. */
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

/* Sorts x[i] of the warp's lanes, for each i.  The whole warp calls.  Its loops
 * stay loops: code that is run once waits for itself to be fetched. */
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

/* For the item at a place, whose run of width items is merged with the one
 * beside it.  Of equal items those of the first run come first. */
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

/* Looks for the items of a warp among runs of width items: each one's place in
 * its merged run. */
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
		/* without the bit that tells the second run from the first */
		places[i] = ((threadIdx.x + i * Threads) & ~width) + search[i].rank();
	}
}

/*
 * Sorts count items, at most Threads * Items, into the tile: x[i] is the item
 * threadIdx.x + i * Threads, if there are so many.  The whole block calls; on
 * return each thread sees all of the tile.  A warp whose last items are not
 * there does not look for them.
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
