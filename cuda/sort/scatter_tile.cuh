/*
 * scatter_tile.cuh
 *	  Moving items to their bins, tile by tile: of the whole input to buckets,
 *	  of a bucket to its bins.
 *
 * In:  a source of items, which tells each one's bin; next, where the next item
 *	    of each bin goes.
 * Out: the items, bin after bin.
 *
 * After Kozawa, Amagasa, Kitagawa ("GPU-accelerated scalable sample sort"):
 * count first, then every bin's place is exact (or give it room enough), and a
 * tile's items are reordered in shared memory so that each bin's are written
 * side by side.  Unlike there, a tile takes its places by an atomic add on the
 * bin, so the order inside a bin is the blocks' order of arrival; it does not
 * matter, as no two items are equal and each bin is sorted by (key, row)
 * afterwards.  That spares a count for each tile and bin, and all blocks write
 * at one place in a bin, where the cache joins their writes.
 *
 * Block code.  No block ever waits for another.
 */
#ifndef GSORT_SCATTER_TILE_CUH
#define GSORT_SCATTER_TILE_CUH

#include "sort/items.cuh"

#define NO_BIN 0xffffffffu

/* Of 32 neighbouring places of a tile: at which ones bins begin, and how many
 * bins that have items begin before. */
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
	/* Counts, then where each bin begins in the tile, and its note << 16. */
	uint32_t	begin[Bins];
	/* Of each bin that has items, in order: from there to its place in the
	 * output. */
	uint32_t	move[Bins];
	bins_of_places bins[Threads * Items / WARP_THREADS];
	uint32_t	warp_sums[WARP_THREADS];
};

/* Tells the places of the tile that the bin there begins at begin, and that it
 * is the one at index of those with items. */
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
 * Places of the tile's bins, in it and in the output.  The whole block calls,
 * all counts behind a barrier; the results want a barrier after it.
 */
template<int Threads, int Items, int Bins, bool Wide, typename Source>
SORT_DEVICE void
place_bins(tile_memory<Threads, Items, Bins, Wide> &shared, const Source &source, uint32_t *next)
{
	constexpr int PER_THREAD = (Bins + Threads - 1) / Threads;
	uint32_t	counts[PER_THREAD];
	uint32_t	places[PER_THREAD];
	uint32_t	sum = 0;		/* of items, and of bins that have any << 16 */

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

			shared.begin[bin] = begin | source.note_of_bin(bin) << 16;
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

/* Not before all have written the tile before. */
template<int Threads, int Items, int Bins, bool Wide>
SORT_DEVICE void
clear_places(tile_memory<Threads, Items, Bins, Wide> &shared)
{
	for (uint32_t p = threadIdx.x; p < Threads * Items / WARP_THREADS; p += Threads)
		shared.bins[p] = {0, 0};
}

/*
 * Ranks each item in its bin.  places: in: the items' notes; out: bin << 16 |
 * rank, NO_BIN if the item is absent.  Full, here and below: the tile is
 * complete, so no item is asked whether it is there.
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

/* Items to their bins in the tile, as they are to be written.  In each item's
 * place comes that of the next tile, with its note, if there is one. */
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

/* Writes the tile's items, which lie bin by bin in shared memory, to their
 * places. */
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

/* Reads the items of a tile, and what each was found to belong to; none where
 * the tile is behind the end. */
template<int Threads, int Items, typename Source>
SORT_DEVICE void
load_first_tile(const Source &source, uint32_t tile, uint32_t end,
				typename Source::loaded (&x)[Items], uint32_t (&notes)[Items])
{
#pragma unroll
	for (int i = 0; i < Items; i++)
	{
		uint32_t	at = tile + i * Threads + threadIdx.x;

		if (at < end)
			source.load(at, x[i], notes[i]);
	}
}

/*
 * Scatters the items at [begin, end), of every step places the first tile, a
 * tile being Threads * Items.  The whole block calls; the source's tables in
 * shared memory want no barrier before.  A source has
 *	  loaded				what it reads for an item, a type;
 *	  load(at, x, note)		reads one, and its note: what it was found to
 *							belong to; the two are handed back to
 *	  bin_of(x, note)		which tells the bin, below Bins;
 *	  take_places(next, bin, count)	moves next on by count, and tells where the
 *							items go in the output: to where it was, as a rule;
 *	  note_of_bin(bin)		of 16 bits, is handed to
 *	  finish(x, at, note)	which makes of x the item to be written.
 *
 * The next tile is on its way from memory while this one is written.
 */
template<int Threads, int Items, int Bins, bool Wide, typename Source>
SORT_DEVICE void
scatter_tiles(tile_memory<Threads, Items, Bins, Wide> &shared, const Source &source, uint32_t begin,
			  uint32_t end, uint32_t step, uint32_t *next, item_arrays<Wide> out)
{
	constexpr uint32_t TILE = Threads * Items;
	typename Source::loaded x[Items];
	uint32_t	places[Items];	/* notes at first */

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
