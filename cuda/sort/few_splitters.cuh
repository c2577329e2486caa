/*
 * few_splitters.cuh
 *	  The splitters of the merge sort of few pairs: the begin of each bucket in
 *	  every sorted tile.
 *
 * In:  sorted tiles; the middle one of every gap items is a sample.  (With the
 *      first one, the smallest samples of all tiles would be their smallest
 *      items: the first buckets would be nearly empty, the others fuller.)
 * Out: for each bucket's splitter, the number of preceding samples of each
 *	    tile; from these, the number of preceding items.
 *
 * Splitter b is the sample of global rank b * samples per tile (Shi, Schaeffer,
 * "Parallel sorting by regular sampling", 1992).  One block per tile ranks that
 * tile's samples among those of every other tile, and then identifies the
 * splitters among them.  The time thus does not depend on the keys, and each
 * sample's place in all tiles is known at once.  In each tile, less than gap
 * items may lie on either side of a splitter.  The kernel that sorts the bucket
 * counts these.
 *
 * The order of (key, tile, place) has no equals, so equal keys need no special
 * case.
 */
#ifndef GSORT_FEW_SPLITTERS_CUH
#define GSORT_FEW_SPLITTERS_CUH

#include "sort/rank_sort.cuh"
#include "sort/early_launch.cuh"
#include "sort/warps.cuh"
#include "sort/tuning.h"

#define COUNTED_OF_GAP		12	/* loads of a thread that are in flight together */
#define RANKED_A_LANE		2
#define RANKED_TOGETHER		(RANKED_A_LANE * WARP_THREADS)

/* The division of the pairs into tiles.  All tiles but the last have tile items
 * and 1 << sample_bits samples. */
struct few_shape
{
	uint32_t	n;
	uint32_t	gap;
	uint32_t	sample_bits;
	uint32_t	tile;			/* gap << sample_bits */
	uint32_t	tiles;
	uint32_t	samples;		/* in all tiles */
	uint32_t	buckets;		/* the number of tiles, or one less */
	uint32_t	bucket_max;		/* maximum size of a bucket */

	GSORT_HD uint32_t items_of(uint32_t t) const
	{
		return t + 1 < tiles ? tile : t < tiles ? n - t * tile : 0;
	}

	GSORT_HD uint32_t samples_of(uint32_t t) const
	{
		return (items_of(t) + gap - 1 - gap / 2) / gap;
	}

	GSORT_HD uint32_t place_of_sample(uint32_t number) const
	{
		return number * gap + gap / 2;
	}
};

/* The begins of buckets.  Numbers 0 and buckets (the end) have no sample. */
struct few_splitters
{
	uint64_t   *keys;			/* [buckets] */
	uint32_t   *tiles;			/* [buckets] the tile of each splitter */
	/* [buckets][tiles] samples of each tile that precede the splitter */
	uint8_t    *before;
};

/* All samples follow it, each tile's as a tree. */
template<typename Row>
struct few_splitters_memory
{
	/* a warp ranks RANKED_TOGETHER samples at once, some of which may be
	 * absent */
	static constexpr int RANKED = (Row::SAMPLES_MAX + RANKED_TOGETHER - 1) / RANKED_TOGETHER *
		RANKED_TOGETHER;

	uint32_t	ranks[RANKED];		/* global ranks of the tile's samples */
	uint8_t		before[Row::TILES_MAX][RANKED];	/* samples of each tile that precede each one */
};

template<typename Row>
static inline GSORT_HD size_t
few_splitters_bytes(const few_shape &shape)
{
	return sizeof(few_splitters_memory<Row>) + ((size_t) shape.tiles << shape.sample_bits) *
		sizeof(uint64_t);
}

/*
 * Place of a tile's sample in its search tree: the middle one at 1, the middles
 * of each half at 2 and 3, and so on.  The lanes of a warp, each at its own
 * node of one level, then read neighbouring words.  One more sample behind the
 * perfect tree is at 0.
 */
SORT_DEVICE uint32_t
node_of_sample(uint32_t place, uint32_t sample_bits)
{
	uint32_t	number = place + 1;
	uint32_t	height = __ffs((int) number) - 1;

	return height < sample_bits ? (number >> (height + 1)) + (1u << (sample_bits - 1 - height)) : 0;
}

/* For each key, the number of samples of a tree that precede it; with Equal,
 * equal ones count too.  The searches advance level by level together, so that
 * their latencies in shared memory overlap. */
template<bool Equal>
SORT_DEVICE void
rank_in_tile(const uint64_t *tree, uint32_t sample_bits, const uint64_t (&keys)[RANKED_A_LANE],
			 uint32_t (&counts)[RANKED_A_LANE])
{
	uint32_t	nodes[RANKED_A_LANE];
	uint64_t	last = tree[0];

#pragma unroll
	for (int j = 0; j < RANKED_A_LANE; j++)
		nodes[j] = 1;
	for (uint32_t level = 0; level < sample_bits; level++)
	{
		uint64_t	seen[RANKED_A_LANE];

#pragma unroll
		for (int j = 0; j < RANKED_A_LANE; j++)
			seen[j] = tree[nodes[j]];
#pragma unroll
		for (int j = 0; j < RANKED_A_LANE; j++)
			nodes[j] = 2 * nodes[j] + (Equal ? seen[j] <= keys[j] : seen[j] < keys[j]);
	}
	/* the sample behind the tree is the greatest */
#pragma unroll
	for (int j = 0; j < RANKED_A_LANE; j++)
		counts[j] = nodes[j] - (1u << sample_bits) + (Equal ? last <= keys[j] : last < keys[j]);
}

/* Issues all of a thread's loads together.  Absent samples of the last tile are
 * greater than all others.  Requires a barrier afterwards. */
template<typename Row>
SORT_DEVICE void
load_trees(uint64_t *trees, const uint64_t *samples, const few_shape &shape)
{
	constexpr uint32_t WARPS = Row::SPLITTER_THREADS / WARP_THREADS;
	constexpr int TILES_A_WARP = (Row::TILES_MAX + WARPS - 1) / WARPS;

	for (uint32_t place = lane_id(); place < 1u << shape.sample_bits; place += WARP_THREADS)
	{
		uint32_t	node = node_of_sample(place, shape.sample_bits);
		uint64_t	x[TILES_A_WARP];

#pragma unroll
		for (int i = 0; i < TILES_A_WARP; i++)
		{
			uint32_t	at = ((warp_id() + i * WARPS) << shape.sample_bits) + place;

			x[i] = at < shape.samples ? samples[at] : ~0ull;
		}
#pragma unroll
		for (int i = 0; i < TILES_A_WARP; i++)
		{
			uint32_t	t = warp_id() + i * WARPS;

			if (t < shape.tiles)
				trees[(t << shape.sample_bits) + node] = x[i];
		}
	}
}

/* Ranks keys, which are the tile's samples first and first + 32, among those of
 * the warp's tiles, from begin to end. */
template<typename Row, bool Equal>
SORT_DEVICE void
rank_among_tiles(few_splitters_memory<Row> &shared, const uint64_t *trees,
				 const uint64_t (&keys)[RANKED_A_LANE], uint32_t first, uint32_t sample_bits,
				 uint32_t begin, uint32_t end, uint32_t (&ranks)[RANKED_A_LANE])
{
	constexpr uint32_t WARPS = Row::SPLITTER_THREADS / WARP_THREADS;

	for (uint32_t t = begin + (warp_id() + WARPS - begin % WARPS) % WARPS; t < end; t += WARPS)
	{
		uint32_t	before[RANKED_A_LANE];

		rank_in_tile<Equal>(trees + (t << sample_bits), sample_bits, keys, before);
#pragma unroll
		for (int j = 0; j < RANKED_A_LANE; j++)
		{
			ranks[j] += before[j];
			shared.before[t][first + j * WARP_THREADS] = (uint8_t) before[j];
		}
	}
}

/* Ranks the tile's samples first and first + 32.  Ties go to earlier tiles. */
template<typename Row>
SORT_DEVICE void
rank_samples(few_splitters_memory<Row> &shared, const uint64_t *trees, uint32_t first,
			 const few_shape &shape)
{
	uint32_t	own_tile = blockIdx.x;
	uint32_t	ranks[RANKED_A_LANE] = {};
	uint64_t	keys[RANKED_A_LANE];

#pragma unroll
	for (int j = 0; j < RANKED_A_LANE; j++)
	{
		uint32_t	place = first + j * WARP_THREADS;

		keys[j] = place < 1u << shape.sample_bits ?
			trees[(own_tile << shape.sample_bits) + node_of_sample(place, shape.sample_bits)] : 0;
		if (warp_id() == 0)
		{
			ranks[j] = place;
			shared.before[own_tile][place] = (uint8_t) place;
		}
	}
	rank_among_tiles<Row, true>(shared, trees, keys, first, shape.sample_bits, 0, own_tile, ranks);
	rank_among_tiles<Row, false>(shared, trees, keys, first, shape.sample_bits, own_tile + 1,
								 shape.tiles, ranks);
#pragma unroll
	for (int j = 0; j < RANKED_A_LANE; j++)
		atomicAdd(&shared.ranks[first + j * WARP_THREADS], ranks[j]);
}

/* One warp per sample of the tile: if the sample is a splitter, it stores the
 * result. */
template<typename Row>
SORT_DEVICE void
put_splitters(const few_splitters_memory<Row> &shared, const uint64_t *own_samples,
			  const few_shape &shape, const few_splitters &splitters)
{
	uint32_t	own_count = shape.samples_of(blockIdx.x);

	for (uint32_t s = warp_id(); s < own_count; s += Row::SPLITTER_THREADS / WARP_THREADS)
	{
		uint32_t	number = shared.ranks[s] >> shape.sample_bits;

		if (number << shape.sample_bits != shared.ranks[s])
			continue;
		for (uint32_t t = lane_id(); t < shape.tiles; t += WARP_THREADS)
			splitters.before[number * Row::TILES_MAX + t] = shared.before[t][s];
		if (lane_id() == 0)
		{
			splitters.keys[number] = own_samples[s];
			splitters.tiles[number] = blockIdx.x;
		}
	}
}

/*
 * Finds the splitters among the samples of one tile.  Grid: a block of
 * SPLITTER_THREADS for each tile; shared: few_splitters_bytes.
 */
template<typename Row>
static __global__ void
__launch_bounds__(Row::SPLITTER_THREADS, 1)
few_splitters_kernel(few_shape shape, const uint64_t *samples, few_splitters splitters)
{
	await_kernel_ahead();
	SHARED_MEMORY(raw);
	few_splitters_memory<Row> &shared = *(few_splitters_memory<Row> *) raw;
	uint64_t   *trees = (uint64_t *) (raw + sizeof(shared));

	static_assert(Row::SAMPLES_MAX <= 0xff, "so many samples of a tile are counted in a byte");
	for (uint32_t s = threadIdx.x; s < shared.RANKED; s += Row::SPLITTER_THREADS)
		shared.ranks[s] = 0;
	load_trees<Row>(trees, samples, shape);
	__syncthreads();
	for (uint32_t first = 0; first < shape.samples_of(blockIdx.x); first += RANKED_TOGETHER)
		rank_samples<Row>(shared, trees, first + lane_id(), shape);
	__syncthreads();
	put_splitters<Row>(shared, samples + (blockIdx.x << shape.sample_bits), shape, splitters);
}

/* Number of items of tile t that precede the splitter, given the number of its
 * samples that do. */
SORT_DEVICE uint32_t
items_before(const uint64_t *sorted, const few_shape &shape, uint32_t t, uint32_t samples_before,
			 uint64_t key, bool equal_comes_before)
{
	const uint64_t *items = sorted + t * shape.tile;
	uint32_t	count = shape.items_of(t);
	uint32_t	next_sample = shape.place_of_sample(samples_before);
	uint32_t	end = next_sample < count ? next_sample : count;
	uint32_t	before = samples_before > 0 ? next_sample - shape.gap + 1 : 0;

	for (uint32_t first = before; first < end; first += COUNTED_OF_GAP)
	{
		uint64_t	keys[COUNTED_OF_GAP];

		/* separate from the comparisons, so that all loads are in flight
		 * together */
#pragma unroll
		for (int i = 0; i < COUNTED_OF_GAP; i++)
			keys[i] = items[first + i < end ? first + i : end - 1];
#pragma unroll
		for (int i = 0; i < COUNTED_OF_GAP; i++)
			before += first + i < end && (keys[i] != key ? keys[i] < key : equal_comes_before);
	}
	return before;
}

/* Number of items of tile t before a bucket.  All tiles begin in the first
 * bucket and end with the last one. */
template<typename Row>
SORT_DEVICE uint32_t
cut_tile(const few_splitters &splitters, const uint64_t *sorted, const few_shape &shape,
		 uint32_t bucket, uint32_t t)
{
	if (bucket == 0)
		return 0;
	if (bucket == shape.buckets)
		return shape.items_of(t);
	return items_before(sorted, shape, t, splitters.before[bucket * Row::TILES_MAX + t],
						splitters.keys[bucket], t <= splitters.tiles[bucket]);
}

#endif							/* GSORT_FEW_SPLITTERS_CUH */
