/*
 * multiway_merge.cuh
 *	  Merges a tile's stretches of sorted runs in shared memory.
 *
 * In:  for a tile, its begin and its end in every run.
 * Out: the run of each of its rows, in order.
 *
 * A block loads the stretches to shared memory and merges them pairwise there, in
 * log2(runs) rounds of merge path.
 */
#ifndef GSORT_MULTIWAY_MERGE_CUH
#define GSORT_MULTIWAY_MERGE_CUH

#include "peers/multiway_select.cuh"
#include "sort/tile_sort.cuh"
#include "sort/tuning.h"

/* --- merging a tile ------------------------------------------------------- */

template<typename Key, typename Row>
struct multiway_memory
{
	Key keys[Row::TILE + 1];	/* one word is read behind the last */
	alignas(8) uint8_t runs[Row::TILE];	/* the runs of the keys */
	/* Begins of the runs' stretches in the tile; empty ones lie at its end. */
	uint32_t	begins[RUN_SLOTS + 1];
	/* First place of a stretch in its run, minus its begin in the tile. */
	uint32_t	skipped[RUN_SLOTS];
	uint32_t	warp_sums[WARP_THREADS];
};

/* Computes the tile's stretches from the splits.  The whole block calls;
 * requires a barrier afterwards. */
template<typename Key, typename Row>
SORT_DEVICE void
begin_stretches(multiway_memory<Key, Row> &shared, const uint32_t *splits, uint32_t n_runs)
{
	constexpr int RUNS_A_THREAD = (RUN_SLOTS + Row::THREADS - 1) / Row::THREADS;
	uint32_t	first = threadIdx.x * RUNS_A_THREAD;
	uint32_t	lengths[RUNS_A_THREAD];
	uint32_t	sum = 0;
	uint32_t	begin;

#pragma unroll
	for (int i = 0; i < RUNS_A_THREAD; i++)
	{
		lengths[i] = first + i < n_runs ? splits[n_runs + first + i] - splits[first + i] : 0;
		sum += lengths[i];
	}
	begin = block_exclusive_sum<Row::THREADS>(sum, shared.warp_sums, NULL);
#pragma unroll
	for (int i = 0; i < RUNS_A_THREAD; i++)
	{
		if (first + i < RUN_SLOTS)
			shared.begins[first + i] = begin;
		if (first + i < n_runs)
			shared.skipped[first + i] = splits[first + i] - begin;
		begin += lengths[i];
	}
	if (threadIdx.x == Row::THREADS - 1)
		shared.begins[RUN_SLOTS] = begin;
}

/* The last of the stretches step * 0, step * 1, ... that begins at or before
 * at.  Stretches beyond the last run begin at the tile's end. */
SORT_DEVICE uint32_t
stretch_of(const uint32_t *begins, uint32_t stretches, uint32_t step, uint32_t at)
{
	return partition_point(0, stretches - 1, [&](uint32_t stretch) { return begins[(stretch + 1) *
																				   step] <= at; });
}

/* Fills the tile, run after run; requires a barrier afterwards. */
template<typename Key, typename Row>
SORT_DEVICE void
load_stretches(multiway_memory<Key, Row> &shared, const key_source<Key> &source,
			   const sampled_run *runs, uint32_t n_runs, uint32_t count)
{
	Key keys[Row::ITEMS];
	uint8_t		from[Row::ITEMS];

	/* separate from the stores, so that all loads are in flight together */
#pragma unroll
	for (int i = 0; i < Row::ITEMS; i++)
	{
		uint32_t	at = i * Row::THREADS + threadIdx.x;

		if (at < count)
		{
			uint32_t	r = stretch_of(shared.begins, n_runs, 1, at);
			const sampled_run run = runs[r];

			keys[i] = source.key_of(run, at + shared.skipped[r]);
			from[i] = (uint8_t) r;
		}
	}
#pragma unroll
	for (int i = 0; i < Row::ITEMS; i++)
	{
		uint32_t	at = i * Row::THREADS + threadIdx.x;

		if (at < count)
		{
			shared.keys[at] = keys[i];
			shared.runs[at] = from[i];
		}
	}
}

/* Adapts keys to merge_path. */
template<typename Key>
struct key_array
{
	const Key  *keys;

	__device__ __forceinline__ Key get(uint32_t i) const
	{
		return keys[i];
	}
};

struct key_less
{
	template<typename Key>
	__device__ __forceinline__ bool less(Key a, Key b) const
	{
		return a < b;
	}
};

/* A thread's position in the merge of two neighbouring sorted stretches of
 * width runs each. */
template<typename Key>
struct stretch_pair
{
	const Key  *keys;
	uint32_t	number;
	uint32_t	a;				/* next place of the first stretch, which ends at middle */
	uint32_t	middle;
	uint32_t	b;				/* next place of the second */
	uint32_t	end;
	Key			next_a;			/* undefined if a or b has ended */
	Key			next_b;

	/* Starts at the beginning of pair number.  Skips empty pairs unless no
	 * other one follows. */
	__device__ __forceinline__ void begin(const uint32_t *begins, uint32_t width, uint32_t pair)
	{
		uint32_t	first = 2 * width * pair;

		while (begins[first] == begins[first + 2 * width])
			first += 2 * width;
		number = first / (2 * width);
		a = begins[first];
		middle = begins[first + width];
		b = middle;
		end = begins[first + 2 * width];
	}

	__device__ __forceinline__ void load_next()
	{
		next_a = keys[a];
		next_b = keys[b];
	}

	/* Takes the next item and returns its place. */
	__device__ __forceinline__ uint32_t take(Key *key)
	{
		bool		from_b = a >= middle || (b < end && next_b < next_a);
		uint32_t	place = from_b ? b : a;
		Key			next = keys[place + 1];

		*key = from_b ? next_b : next_a;
		if (from_b)
		{
			b++;
			next_b = next;
		}
		else
		{
			a++;
			next_a = next;
		}
		return place;
	}
};

/*
 * One round: merges every two neighbouring stretches of width runs.  Each
 * thread merges ITEMS neighbouring places, into registers first.  The whole
 * block calls, behind a barrier after the tile was filled; on return each
 * thread sees the result.
 */
template<typename Key, typename Row>
SORT_DEVICE void
merge_round(multiway_memory<Key, Row> &shared, uint32_t n_runs, uint32_t width, uint32_t count)
{
	uint32_t	at = threadIdx.x * Row::ITEMS;
	Key			keys[Row::ITEMS];
	uint8_t		from[Row::ITEMS];

	if (at < count)
	{
		stretch_pair<Key> pair = {};
		uint32_t	begin;

		pair.keys = shared.keys;
		pair.begin(shared.begins, width,
				   stretch_of(shared.begins, (n_runs + 2 * width - 1) / (2 * width), 2 * width,
							  at));
		begin = pair.a;
		pair.a += merge_path(key_array<Key>{shared.keys + begin}, pair.middle - begin,
							 key_array<Key>{shared.keys + pair.middle}, pair.end - pair.middle,
							 at - begin, key_less());
		pair.b += at - pair.a;
		pair.load_next();
#pragma unroll
		for (int i = 0; i < Row::ITEMS; i++)
		{
			if (at + i < count)
			{
				if (pair.a >= pair.middle && pair.b >= pair.end)
				{
					pair.begin(shared.begins, width, pair.number + 1);
					pair.load_next();
				}
				from[i] = shared.runs[pair.take(&keys[i])];
			}
		}
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < Row::ITEMS; i++)
	{
		if (at + i < count)
		{
			shared.keys[at + i] = keys[i];
			shared.runs[at + i] = from[i];
		}
	}
	__syncthreads();
}

#endif							/* GSORT_MULTIWAY_MERGE_CUH */
