/*
 * warps.cuh
 *	  Sums and counts over a warp and over a block, and a table of sums.
 *
 * Device code.
 */
#ifndef GSORT_WARPS_CUH
#define GSORT_WARPS_CUH

#include <stddef.h>
#include <stdint.h>

#include "sort/launch.cuh"

#define SORT_DEVICE		static __device__ __forceinline__
#define WARP_THREADS	32
#define WHOLE_WARP		0xffffffffu

SORT_DEVICE uint32_t
lane_id()
{
	return threadIdx.x % WARP_THREADS;
}

SORT_DEVICE uint32_t
warp_id()
{
	return threadIdx.x / WARP_THREADS;
}

/* Inclusive scan in log2 steps of doubling distance (Hillis, Steele, "Data
 * parallel algorithms", 1986).  The whole warp calls. */
template<typename Number>
SORT_DEVICE Number
warp_inclusive_sum(Number x)
{
#pragma unroll
	for (int step = 1; step < WARP_THREADS; step *= 2)
	{
		Number		y = __shfl_up_sync(WHOLE_WARP, x, step);

		if (lane_id() >= (uint32_t) step)
			x += y;
	}
	return x;
}

/*
 * Exclusive prefix sum over the block.  sums: one word per warp, in shared
 * memory, which no other code accesses between the barriers before and after
 * this call.
 */
template<int Threads>
SORT_DEVICE uint32_t
block_exclusive_sum(uint32_t x, uint32_t *sums, uint32_t *total)
{
	constexpr uint32_t WARPS = Threads / WARP_THREADS;
	uint32_t	inclusive = warp_inclusive_sum(x);
	uint32_t	of_warp;
	uint32_t	up_to_warp;

	if (lane_id() == WARP_THREADS - 1)
		sums[warp_id()] = inclusive;
	__syncthreads();
	of_warp = lane_id() < WARPS ? sums[lane_id()] : 0;
	up_to_warp = warp_inclusive_sum(of_warp);
	if (total != NULL)
		*total = __shfl_sync(WHOLE_WARP, up_to_warp, WARPS - 1);
	return __shfl_sync(WHOLE_WARP, up_to_warp - of_warp, warp_id()) + inclusive - x;
}

/*
 * Counts x into counters[bin] and returns the previous count.  If all threads
 * of a warp have one bin (sorted or constant input), the warp adds once,
 * because 32 adds to one word would be serialized.  The whole warp calls.
 */
SORT_DEVICE uint32_t
count_into(uint32_t *counters, uint32_t bin, bool valid)
{
	uint32_t	bin_of_first = __shfl_sync(WHOLE_WARP, bin, 0);

	if (__all_sync(WHOLE_WARP, valid && bin == bin_of_first))
	{
		uint32_t	before = 0;

		if (lane_id() == 0)
			before = atomicAdd(&counters[bin], (uint32_t) WARP_THREADS);
		return __shfl_sync(WHOLE_WARP, before, 0) + lane_id();
	}
	return valid ? atomicAdd(&counters[bin], 1u) : 0;
}

/*
 * The same for few distinct bins per warp: equal bins are added once together,
 * because adds to one word of shared memory are serialized.  The whole warp
 * calls.
 */
SORT_DEVICE uint32_t
count_together(uint32_t *counters, uint32_t bin, bool valid)
{
	uint32_t	peers = __match_any_sync(WHOLE_WARP, valid ? bin : 0xffffffffu);
	int			first = __ffs((int) peers) - 1;
	uint32_t	before = 0;

	if (valid && (int) lane_id() == first)
		before = atomicAdd(&counters[bin], (uint32_t) __popc(peers));
	return __shfl_sync(WHOLE_WARP, before, first) + __popc(peers & ((1u << lane_id()) - 1));
}

/*
 * Makes a table that narrows a search among splitters, of the buckets or of a
 * bucket's cells. splitters_in: the number of splitters that a linear map takes
 * to each of Entries places. table[p] holds the number of splitters before
 * place p, and in its upper half the number up to its end.  These are the first
 * and the last part that a value at p can belong to.  The whole block calls.
 */
template<int Threads, int Entries, typename Entry>
SORT_DEVICE void
make_search_table(const uint32_t *splitters_in, uint32_t *warp_sums, Entry *table)
{
	constexpr int PER_THREAD = Entries / Threads;
	uint32_t	sum = 0;
	uint32_t	first;

	for (int i = 0; i < PER_THREAD; i++)
		sum += splitters_in[threadIdx.x * PER_THREAD + i];
	first = block_exclusive_sum<Threads>(sum, warp_sums, NULL);
	for (int i = 0; i < PER_THREAD; i++)
	{
		uint32_t	last = first + splitters_in[threadIdx.x * PER_THREAD + i];

		table[threadIdx.x * PER_THREAD + i] = (Entry) (first | last << 4 * sizeof(Entry));
		first = last;
	}
}

#endif							/* GSORT_WARPS_CUH */
