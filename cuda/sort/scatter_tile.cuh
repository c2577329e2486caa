/*
 * scatter_tile.cuh
 *	  Moving items to their bins, tile by tile: of the whole input to buckets, of a bucket to its bins.
 *
 * In:  a source of items, which tells each one's bin; next, where the next item of each bin goes.
 * Out: the items, bin after bin.
 *
 * After Kozawa, Amagasa, Kitagawa ("GPU-accelerated scalable sample sort"): count first, then every
 * bin's place is exact, and a tile's items are reordered in shared memory so that each bin's are written side by
 * side.  Unlike there, a tile takes its places by an atomic add on the bin, so the order inside a bin is the
 * blocks' order of arrival; it does not matter, as no two items are equal and each bin is sorted by (key, row)
 * afterwards.  That spares a count for each tile and bin, and all blocks write at one place in a bin, where the
 * cache joins their writes.
 *
 * Block code.  No block ever waits for another.
 */
#ifndef GSORT_SCATTER_TILE_CUH
#define GSORT_SCATTER_TILE_CUH

#include "sort/sort_common.cuh"

#define NO_BIN 0xffffffffu

template<int Threads, int Items, int Bins, bool Wide>
struct tile_memory
{
	uint64_t	first[Threads * Items];
	uint32_t	second[Wide ? Threads * Items : 4];
	uint32_t	begin[Bins];	/* counts, then where each bin begins in the tile */
	uint32_t	move[Bins];		/* from there to its place in the output */
	uint32_t	warp_sums[WARP_THREADS];
	uint16_t	bin[Threads * Items];
};

/*
 * Places of the tile's bins, in it and in the output.  The whole block calls, all counts
 * behind a barrier; the results want a barrier after it.
 */
template<int Threads, int Items, int Bins, bool Wide>
SORT_DEVICE void
place_bins(tile_memory<Threads, Items, Bins, Wide> &shared, uint32_t *next)
{
	constexpr int PER_THREAD = (Bins + Threads - 1) / Threads;
	uint32_t	counts[PER_THREAD];
	uint32_t	places[PER_THREAD];
	uint32_t	sum = 0;
	uint32_t	begin;

#pragma unroll
	for (int i = 0; i < PER_THREAD; i++)
	{
		uint32_t	bin = threadIdx.x * PER_THREAD + i;

		counts[i] = bin < Bins ? shared.begin[bin] : 0;
		places[i] = counts[i] > 0 ? atomicAdd(&next[bin], counts[i]) : 0;
		sum += counts[i];
	}
	begin = block_exclusive_sum<Threads>(sum, shared.warp_sums, NULL);
#pragma unroll
	for (int i = 0; i < PER_THREAD; i++)
	{
		uint32_t	bin = threadIdx.x * PER_THREAD + i;

		if (bin < Bins)
		{
			shared.begin[bin] = begin;
			shared.move[bin] = places[i] - begin;
		}
		begin += counts[i];
	}
}

template<int Threads, int Items, int Bins, bool Wide>
SORT_DEVICE void
clear_bins(tile_memory<Threads, Items, Bins, Wide> &shared)
{
	for (uint32_t bin = threadIdx.x; bin < Bins; bin += Threads)
		shared.begin[bin] = 0;
}

/* places: bin and rank of each item by count_into, bin << 16 | rank, NO_BIN for none. */
template<int Threads, int Items, int Bins, bool Wide>
SORT_DEVICE void
reorder_tile(tile_memory<Threads, Items, Bins, Wide> &shared, const item<Wide> (&x)[Items],
			 const uint32_t (&places)[Items])
{
#pragma unroll
	for (int i = 0; i < Items; i++)
	{
		if (places[i] != NO_BIN)
		{
			uint32_t	bin = places[i] >> 16;
			uint32_t	at = shared.begin[bin] + (places[i] & 0xffff);

			shared.first[at] = x[i].first;
			if (Wide)
				shared.second[at] = x[i].second;
			shared.bin[at] = (uint16_t) bin;
		}
	}
}

template<int Threads, int Items, int Bins, bool Wide>
SORT_DEVICE void
write_tile(const tile_memory<Threads, Items, Bins, Wide> &shared, uint32_t count, item_arrays<Wide> out)
{
#pragma unroll
	for (int i = 0; i < Items; i++)
	{
		uint32_t	at = i * Threads + threadIdx.x;

		if (at < count)
		{
			uint32_t	to = shared.move[shared.bin[at]] + at;

			out.first[to] = shared.first[at];
			if (Wide)
				out.second[to] = shared.second[at];
		}
	}
}

/*
 * Scatters the items at [begin, end), of every step places the first tile, a tile being Threads * Items.  The whole
 * block calls; the source's tables in shared memory want no barrier before.  A source has
 *	  load(at, x, note)		reads an item, and what it was found to belong to; the two are handed back to
 *	  bin_of(x, note)		which tells the bin, below Bins, and
 *	  finish(x, at, bin)	which makes of x the item to be written; also called, with bin 0, where there is none.
 */
template<int Threads, int Items, int Bins, bool Wide, typename Source>
SORT_DEVICE void
scatter_tiles(tile_memory<Threads, Items, Bins, Wide> &shared, const Source &source, uint32_t begin, uint32_t end,
			  uint32_t step, uint32_t *next, item_arrays<Wide> out)
{
	constexpr uint32_t TILE = Threads * Items;

	for (uint32_t tile = begin; tile < end; tile += step)
	{
		uint32_t	count = end - tile < TILE ? end - tile : TILE;
		item<Wide>	x[Items];
		uint32_t	places[Items];	/* notes at first */

#pragma unroll
		for (int i = 0; i < Items; i++)
		{
			uint32_t	at = tile + i * Threads + threadIdx.x;

			/* unlike the next loop, whose places below count would take registers from here on that loads in flight need */
			if (at < end)
				source.load(at, x[i], places[i]);
		}
		clear_bins(shared);
		__syncthreads();
#pragma unroll
		for (int i = 0; i < Items; i++)
		{
			uint32_t	at = i * Threads + threadIdx.x;
			uint32_t	bin = at < count ? source.bin_of(x[i], places[i]) : 0;
			uint32_t	rank = count_into(shared.begin, bin, at < count);

			places[i] = at < count ? bin << 16 | rank : NO_BIN;
			source.finish(x[i], tile + at, bin);
		}
		__syncthreads();
		place_bins(shared, next);
		__syncthreads();
		reorder_tile(shared, x, places);
		__syncthreads();
		write_tile(shared, count, out);
	}
}

#endif							/* GSORT_SCATTER_TILE_CUH */
