/*
 * scatter_tile.cuh
 *	  Scatters items to their bins, tile by tile: the whole input to buckets, or
 *	  a bucket to its bins.  Block code; blocks never wait for each other.
 *
 * In:  a source of items, which maps each one to its bin; next, the place of
 *	    the next item of each bin.
 * Out: the items, bin after bin.
 *
 * After Kozawa, Amagasa, Kitagawa ("GPU-accelerated scalable sample sort"): a
 * tile's items are reordered in shared memory, so that the items of each bin
 * are written contiguously.  Unlike in the paper, a tile takes its places by an
 * atomic add on the bin, which saves a count per tile and bin.  The order
 * inside a bin is thus the blocks' order of arrival.  Any order is correct,
 * because no two items are equal and each bin is sorted by (key, row)
 * afterwards.  All blocks write at one place in a bin, where the cache joins
 * their writes.
 */
#ifndef GSORT_SCATTER_TILE_CUH
#define GSORT_SCATTER_TILE_CUH

#include "sort/items.cuh"

#define NO_BIN 0xffffffffu

/* For 32 neighbouring places of a tile: the places where bins begin, and the
 * number of nonempty bins that begin before them. */
struct bins_of_places
{
	uint32_t	begins;
	uint32_t	before;
};

template<int Threads, int Items, int Bins, bool Wide>
struct tile_memory
{
	uint64_t	first[Threads * Items];
	uint32_t	second[Wide ? Threads * Items : 4];
	/* Counts; later the begin of each bin in the tile, and its tag << 16. */
	uint32_t	begin[Bins];
	/* For the nonempty bins in order: place in the output minus begin in the
	 * tile. */
	uint32_t	move[Bins];
	bins_of_places bins[Threads * Items / WARP_THREADS];
	uint32_t	warp_sums[WARP_THREADS];
};

/* Marks the bin that begins at begin in the tile as the nonempty bin number
 * index. */
template<int Threads, int Items, int Bins, bool Wide>
SORT_DEVICE void
mark_bin(tile_memory<Threads, Items, Bins, Wide> &shared, uint32_t begin, uint32_t count,
		 uint32_t index)
{
	atomicOr(&shared.bins[begin / WARP_THREADS].begins, 1u << begin % WARP_THREADS);
	for (uint32_t p = begin / WARP_THREADS + 1; p < Threads * Items / WARP_THREADS &&
		 p * WARP_THREADS <= begin + count; p++)
		shared.bins[p].before = index + 1;
}

/*
 * Places the tile's bins in the tile and in the output.  The whole block calls,
 * with all counts behind a barrier; requires a barrier afterwards.
 */
template<int Threads, int Items, int Bins, bool Wide, typename Source>
SORT_DEVICE void
place_bins(tile_memory<Threads, Items, Bins, Wide> &shared, const Source &source, uint32_t *next)
{
	constexpr int PER_THREAD = (Bins + Threads - 1) / Threads;
	uint32_t	counts[PER_THREAD];
	uint32_t	places[PER_THREAD];
	uint32_t	sum = 0;		/* sum of the items, and of nonempty bins << 16 */

	static_assert(Threads * Items <= 0xffff, "a place in the tile has two bytes");
#pragma unroll
	for (int i = 0; i < PER_THREAD; i++)
	{
		uint32_t	bin = threadIdx.x * PER_THREAD + i;

		counts[i] = bin < Bins ? shared.begin[bin] : 0;
		places[i] = counts[i] > 0 ? source.take_places(next, bin, counts[i]) : 0;
		sum += counts[i] > 0 ? counts[i] | 1 << 16 : 0;
	}
	sum = block_exclusive_sum<Threads>(sum, shared.warp_sums, NULL);
#pragma unroll
	for (int i = 0; i < PER_THREAD; i++)
	{
		uint32_t	bin = threadIdx.x * PER_THREAD + i;

		if (counts[i] > 0)
		{
			uint32_t	begin = sum & 0xffff;

			shared.begin[bin] = begin | source.tag_of_bin(bin) << 16;
			shared.move[sum >> 16] = places[i] - begin;
			mark_bin(shared, begin, counts[i], sum >> 16);
			sum += counts[i] | 1 << 16;
		}
	}
}

template<int Threads, int Items, int Bins, bool Wide>
SORT_DEVICE void
clear_counts(tile_memory<Threads, Items, Bins, Wide> &shared)
{
	for (uint32_t bin = threadIdx.x; bin < Bins; bin += Threads)
		shared.begin[bin] = 0;
}

/* Clears the bins' places, once all threads have written the preceding tile. */
template<int Threads, int Items, int Bins, bool Wide>
SORT_DEVICE void
clear_places(tile_memory<Threads, Items, Bins, Wide> &shared)
{
	for (uint32_t p = threadIdx.x; p < Threads * Items / WARP_THREADS; p += Threads)
		shared.bins[p] = {0, 0};
}

/*
 * Ranks each item in its bin.  places: in: the items' tags; out: bin << 16 |
 * rank, NO_BIN if absent.  Full, here and below: the tile is complete, no
 * bounds checks.
 */
template<bool Full, int Threads, int Items, int Bins, bool Wide, typename Source>
SORT_DEVICE void
rank_tile(tile_memory<Threads, Items, Bins, Wide> &shared, const Source &source, uint32_t count,
		  const typename Source::loaded (&x)[Items], uint32_t (&places)[Items])
{
#pragma unroll
	for (int i = 0; i < Items; i++)
	{
		bool		valid = Full || i * Threads + threadIdx.x < count;
		uint32_t	bin = valid ? source.bin_of(x[i], places[i]) : 0;
		uint32_t	rank = count_into(shared.begin, bin, valid);

		places[i] = valid ? bin << 16 | rank : NO_BIN;
	}
}

/* Moves items to their bins in the tile, in their output form.  Loads the next
 * tile's items and their tags, if there is a next tile, in their place. */
template<bool Full, int Threads, int Items, int Bins, bool Wide, typename Source>
SORT_DEVICE void
reorder_tile(tile_memory<Threads, Items, Bins, Wide> &shared, const Source &source, uint32_t tile,
			 uint32_t next_tile, uint32_t end, typename Source::loaded (&x)[Items],
			 uint32_t (&places)[Items])
{
#pragma unroll
	for (int i = 0; i < Items; i++)
	{
		uint32_t	next_at = next_tile + i * Threads + threadIdx.x;

		if (Full || places[i] != NO_BIN)
		{
			uint32_t	begin = shared.begin[places[i] >> 16];
			uint32_t	at = (begin & 0xffff) + (places[i] & 0xffff);

			item<Wide>	finished = source.finish(x[i], tile + i * Threads + threadIdx.x,
												 begin >> 16);

			shared.first[at] = finished.first;
			if (Wide)
				shared.second[at] = finished.second;
		}
		if (next_at < end)
			source.load(next_at, x[i], places[i]);
	}
}

/* Writes the tile's items from shared memory, bin by bin, to their places. */
template<bool Full, int Threads, int Items, int Bins, bool Wide>
SORT_DEVICE void
write_tile(const tile_memory<Threads, Items, Bins, Wide> &shared, uint32_t count,
		   item_arrays<Wide> out)
{
	const uint32_t up_to_me = WHOLE_WARP >> (WARP_THREADS - 1 - lane_id());

#pragma unroll
	for (int i = 0; i < Items; i++)
	{
		uint32_t	at = i * Threads + threadIdx.x;

		if (Full || at < count)
		{
			const bins_of_places bins = shared.bins[at / WARP_THREADS];
			uint32_t	to = shared.move[bins.before + __popc(bins.begins & up_to_me) - 1] + at;

			out.first[to] = shared.first[at];
			if (Wide)
				out.second[to] = shared.second[at];
		}
	}
}

/* Loads the items of a tile and their tags; none if the tile lies behind the
 * end. */
template<int Threads, int Items, typename Source>
SORT_DEVICE void
load_first_tile(const Source &source, uint32_t tile, uint32_t end,
				typename Source::loaded (&x)[Items], uint32_t (&tags)[Items])
{
#pragma unroll
	for (int i = 0; i < Items; i++)
	{
		uint32_t	at = tile + i * Threads + threadIdx.x;

		if (at < end)
			source.load(at, x[i], tags[i]);
	}
}

/*
 * Scatters the items at [begin, end): the first tile of every step places, with
 * tiles of Threads * Items.  The whole block calls; the source's tables in
 * shared memory need no barrier before.  A source has
 *	  loaded				the type of a loaded item;
 *	  load(at, x, tag)		loads an item and its tag, which later calls
 *							receive;
 *	  bin_of(x, tag)		returns the bin, below Bins;
 *	  take_places(next, bin, count)	advances next by count, and returns the
 *							items' place in the output: normally the old next;
 *	  tag_of_bin(bin)		returns a bin's tag of 16 bits, the argument of
 *	  finish(x, at, tag)	which turns x into the item to be written.
 *
 * The next tile's loads are in flight while this one is written.
 */
template<int Threads, int Items, int Bins, bool Wide, typename Source>
SORT_DEVICE void
scatter_tiles(tile_memory<Threads, Items, Bins, Wide> &shared, const Source &source, uint32_t begin,
			  uint32_t end, uint32_t step, uint32_t *next, item_arrays<Wide> out)
{
	constexpr uint32_t TILE = Threads * Items;
	typename Source::loaded x[Items];
	uint32_t	places[Items];	/* tags at first */

	load_first_tile<Threads>(source, begin, end, x, places);
	for (uint32_t tile = begin; tile < end; tile += step)
	{
		uint32_t	count = end - tile < TILE ? end - tile : TILE;
		bool		full = count == TILE;

		clear_counts(shared);
		__syncthreads();
		clear_places(shared);
		if (full)
			rank_tile<true>(shared, source, count, x, places);
		else
			rank_tile<false>(shared, source, count, x, places);
		__syncthreads();
		place_bins(shared, source, next);
		__syncthreads();
		if (full)
			reorder_tile<true>(shared, source, tile, tile + step, end, x, places);
		else
			reorder_tile<false>(shared, source, tile, tile + step, end, x, places);
		__syncthreads();
		if (full)
			write_tile<true>(shared, count, out);
		else
			write_tile<false>(shared, count, out);
	}
}

#endif							/* GSORT_SCATTER_TILE_CUH */
