/*
 * radix_count.cuh
 *	  Counts the digits of the keys, for all passes of the radix sort at once.
 *
 * In:  the caller's keys.
 * Out: counts in the scratch, [passes][RADIX_BINS].
 *
 * The counts do not depend on the order of the keys, so one pass over them
 * serves all passes of the sort (as in Adinets, Merrill, "Onesweep", 2022).
 * Device code; blocks do not wait for each other.
 */
#ifndef GSORT_RADIX_COUNT_CUH
#define GSORT_RADIX_COUNT_CUH

#include "sort/launch.cuh"
#include "sort/radix_items.cuh"
#include "sort/tuning.h"

#define RADIX_COUNT_THREADS		512
#define RADIX_COUNT_ITEMS		8
#define RADIX_COUNT_TILE		(RADIX_COUNT_THREADS * RADIX_COUNT_ITEMS)

template<int Passes>
struct radix_digits
{
	radix_digit digit[Passes];
};

/* Copies of the counters: as many as fit, but at most one per lane. */
template<int Passes>
constexpr uint32_t COUNTER_COPIES = Passes > 4 ? 8 : Passes > 2 ? 16 : WARP_THREADS;

template<int Passes>
constexpr uint32_t COUNTERS = Passes * RADIX_BINS * COUNTER_COPIES<Passes>;

/*
 * A block's counters, several per digit, selected by lane: equal digits of a
 * warp conflict less.
 */
template<int Passes>
struct digit_counters
{
	static constexpr uint32_t COPIES = COUNTER_COPIES<Passes>;

	uint32_t   *counters;

	template<typename Key>
	__device__ __forceinline__ void count(const radix_digits<Passes> &digits, Key key) const
	{
#pragma unroll
		for (int p = 0; p < Passes; p++)
			atomicAdd(&counters[(p * RADIX_BINS + digits.digit[p](key)) * COPIES +
								lane_id() % COPIES], 1u);
	}

	__device__ __forceinline__ uint32_t sum(uint32_t bin) const
	{
		uint32_t	total = 0;

		/* starts at the thread's own copy, because the copies of one number
		 * share a bank */
		for (uint32_t c = 0; c < COPIES; c++)
			total += counters[bin * COPIES + (c + threadIdx.x) % COPIES];
		return total;
	}
};

/* Zeroes the scratch of a conditional sort, in words of 16 bytes, if the sort
 * runs.  Grid: any. */
static __global__ void
__launch_bounds__(RADIX_COUNT_THREADS)
radix_clear_kernel(uint4 *zeroed, uint64_t words, const uint32_t *wanted)
{
	await_kernel_ahead();
	if (*wanted == 0)
		return;
	for (uint64_t i = (uint64_t) blockIdx.x * RADIX_COUNT_THREADS + threadIdx.x; i < words;
		 i += (uint64_t) gridDim.x * RADIX_COUNT_THREADS)
		zeroed[i] = make_uint4(0, 0, 0, 0);
}

/*
 * Adds the number of keys with digit d in pass p to counts[p][d], which starts
 * at 0.  wanted: NULL, or the condition of the sort.  Grid: any, each block
 * takes tiles of RADIX_COUNT_TILE keys in turn; blocks of RADIX_COUNT_THREADS;
 * shared: COUNTERS<Passes> of uint32.
 */
template<typename Key, int Passes>
static __global__ void
__launch_bounds__(RADIX_COUNT_THREADS)
radix_count_kernel(const Key *keys, uint32_t n, radix_digits<Passes> digits, uint32_t *counts,
				   const uint32_t *wanted)
{
	await_kernel_ahead();
	SHARED_MEMORY(raw);
	digit_counters<Passes> counters = {(uint32_t *) raw};

	if (wanted != NULL && *wanted == 0)
		return;
	for (uint32_t i = threadIdx.x; i < COUNTERS<Passes>; i += RADIX_COUNT_THREADS)
		counters.counters[i] = 0;
	__syncthreads();
	for (uint64_t tile = (uint64_t) blockIdx.x * RADIX_COUNT_TILE; tile < n;
		 tile += (uint64_t) gridDim.x * RADIX_COUNT_TILE)
	{
		if (tile + RADIX_COUNT_TILE <= n)
		{
			Key			tile_keys[RADIX_COUNT_ITEMS];

#pragma unroll
			for (int i = 0; i < RADIX_COUNT_ITEMS; i++)
				tile_keys[i] = keys[tile + i * RADIX_COUNT_THREADS + threadIdx.x];
#pragma unroll
			for (int i = 0; i < RADIX_COUNT_ITEMS; i++)
				counters.count(digits, tile_keys[i]);
		}
		else
		{
			for (uint64_t at = tile + threadIdx.x; at < n; at += RADIX_COUNT_THREADS)
				counters.count(digits, keys[at]);
		}
	}
	__syncthreads();
	for (uint32_t bin = threadIdx.x; bin < Passes * RADIX_BINS; bin += RADIX_COUNT_THREADS)
	{
		uint32_t	total = counters.sum(bin);

		if (total > 0)
			atomicAdd(&counts[bin], total);
	}
}

#endif							/* GSORT_RADIX_COUNT_CUH */
