/*
 * pair_runs.cuh
 *	  Runs of (key, row) pairs as the source of a merge, and two output arrays as its sink.
 *
 * In:  runs whose rows are there (merge_run.h).
 * Out: a tile's keys and rows, in the caller's arrays.
 *
 * No job merges pairs: jobs merge keys to an order of runs.  Device code; owns nothing, enqueues nothing.
 */
#ifndef GSORT_PAIR_RUNS_CUH
#define GSORT_PAIR_RUNS_CUH

#include "sort/merge_run.h"
#include "sort/warps.cuh"

/* Runs of key words with row numbers. */
template<typename Key>
struct pair_runs
{
	typedef Key key;
	typedef uint32_t payload;

	__device__ __forceinline__ Key key_of(const merge_run &run, uint32_t place) const
	{
		return ((const Key *) run.keys)[place];
	}

	__device__ __forceinline__ uint32_t payload_of(const merge_run &run, uint32_t, uint32_t place) const
	{
		return run.rows[place];
	}
};

/* Both output arrays. */
template<typename Key>
struct pair_sink
{
	Key		   *keys;			/* NULL: not wanted */
	uint32_t   *rows;

	template<int Threads>
	__device__ __forceinline__ void put(uint64_t first, uint32_t count, const Key *tile_keys, uint32_t *tile_rows) const
	{
		for (uint32_t i = threadIdx.x; i < count; i += Threads)
		{
			rows[first + i] = tile_rows[i];
			if (keys != NULL)
				keys[first + i] = tile_keys[i];
		}
	}
};

#endif							/* GSORT_PAIR_RUNS_CUH */
