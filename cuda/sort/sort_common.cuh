/*
 * sort_common.cuh
 *	  What all stages of the sort share: items, their order, linear maps, and the
 *	  scans and votes of a warp and a block.
 *
 * An item is one pair under way.  A narrow item is one word, the row below so many bits of the
 * key as there is room for (word_of_key in partition_plan.cuh), which in its bucket rises with the key; low bits
 * may be lost (ties are then settled by fetching the keys).  A wide item is the whole key and the row.  No two items are equal, so
 * every stage may move them in any order, and the sorted order is still the one
 * stable order of the keys.
 *
 * Device code, and host code where nothing but arithmetic is done.
 */
#ifndef GSORT_SORT_COMMON_CUH
#define GSORT_SORT_COMMON_CUH

#include <stddef.h>
#include <stdint.h>

#include "rows/host_device.h"
#include "sort/launch.cuh"

#define SORT_DEVICE		static __device__ __forceinline__
#define WARP_THREADS	32
#define WHOLE_WARP		0xffffffffu

/* --- keys ------------------------------------------------------------------ */

/* The caller's keys, uint32_t or uint64_t, seen by their significant bits only. */
template<typename Key>
struct typed_keys
{
	const Key  *keys;
	Key			mask;
	uint32_t	shift;

	__device__ __forceinline__ Key significant(Key key) const
	{
		return (key >> shift) & mask;
	}

	__device__ __forceinline__ Key operator[](uint32_t row) const
	{
		return significant(keys[row]);
	}
};

/* The same, of either type: the type is chosen by kernels that read few keys, and by the host, for the others. */
struct key_view
{
	const void *keys;
	uint64_t	mask;
	uint32_t	shift;
	uint32_t	key_bits;		/* 32 or 64 */

	template<typename Key>
	GSORT_HD typed_keys<Key> of_type() const
	{
		return {(const Key *) keys, (Key) mask, shift};
	}

	__device__ __forceinline__ uint64_t operator[](uint32_t row) const
	{
		if (key_bits == 32)
			return of_type<uint32_t>()[row];
		return of_type<uint64_t>()[row];
	}
};

/* Calls work with the keys as what they are. */
template<typename Work>
SORT_DEVICE void
for_type_of_keys(const key_view &keys, const Work &work)
{
	if (keys.key_bits == 32)
		work(keys.of_type<uint32_t>());
	else
		work(keys.of_type<uint64_t>());
}

/* --- linear maps ----------------------------------------------------------- */

/* Monotone: takes [0, range] to [0, parts), evenly. */
struct linear_map
{
	uint32_t	factor;
	uint32_t	shift;
};

static inline GSORT_HD linear_map
make_linear_map(uint64_t range, uint32_t parts)
{
	linear_map	map;
	uint32_t	bits = significant_bits(range);
	uint64_t	top;
	uint64_t	factor;

	map.shift = bits > 32 ? bits - 32 : 0;
	top = (range >> map.shift) + 1;
	factor = ((uint64_t) parts << 32) / top;
	map.factor = factor > 0xffffffffu ? 0xffffffffu : (uint32_t) factor;
	return map;
}

/* What the map goes by: the 32 highest bits that x can have.  Monotone. */
static inline GSORT_HD uint32_t
map_residue(linear_map map, uint64_t x)
{
#if defined(__CUDA_ARCH__)
	return __funnelshift_rc((uint32_t) x, (uint32_t) (x >> 32), map.shift);
#else
	return (uint32_t) (x >> map.shift);
#endif
}

static inline GSORT_HD uint32_t
part_of_residue(linear_map map, uint32_t residue)
{
#if defined(__CUDA_ARCH__)
	return __umulhi(residue, map.factor);
#else
	return (uint32_t) (((uint64_t) residue * map.factor) >> 32);
#endif
}

static inline GSORT_HD uint32_t
linear_part(linear_map map, uint64_t x)
{
	return part_of_residue(map, map_residue(map, x));
}

/* The same for any x: beyond the range counts as its end.  The map of a range of 32 bits shifts nothing. */
template<typename Number>
static inline GSORT_HD uint32_t
clamped_part(linear_map map, Number lowest, Number range, Number x)
{
	Number		distance = x > lowest ? x - lowest : 0;

	distance = distance < range ? distance : range;
	if constexpr (sizeof(Number) == sizeof(uint32_t))
		return part_of_residue(map, distance);
	else
		return linear_part(map, distance);
}

/* The least x that the map takes to a part. */
static inline GSORT_HD uint64_t
lowest_of_part(linear_map map, uint32_t part)
{
	return (((uint64_t) part << 32) + map.factor - 1) / map.factor << map.shift;
}

/* --- items ----------------------------------------------------------------- */

template<bool Wide>
struct item
{
	uint64_t	first;			/* narrow: the word; wide: the key */
	uint32_t	second;			/* wide: the row */
};

/* Arrays of items, in device or shared memory; second is unused when narrow. */
template<bool Wide>
struct item_arrays
{
	uint64_t   *first;
	uint32_t   *second;

	__device__ __forceinline__ item<Wide> get(uint32_t i) const
	{
		item<Wide>	x;

		x.first = first[i];
		x.second = Wide ? second[i] : 0;
		return x;
	}

	__device__ __forceinline__ void put(uint32_t i, item<Wide> x) const
	{
		first[i] = x.first;
		if (Wide)
			second[i] = x.second;
	}

	__device__ __forceinline__ item_arrays from(uint32_t i) const
	{
		item_arrays rest;

		rest.first = first + i;
		rest.second = Wide ? second + i : second;
		return rest;
	}
};

/* The order of items that came from one bucket. */
template<bool Wide>
struct item_order
{
	key_view	keys;
	uint32_t	row_bits;
	bool		shortened;		/* narrow: offsets have lost bits */

	__device__ __forceinline__ uint32_t row(item<Wide> x) const
	{
		return Wide ? x.second : (uint32_t) x.first & (uint32_t) ((1ull << row_bits) - 1);
	}

	__device__ __forceinline__ bool tied(item<Wide> a, item<Wide> b) const
	{
		return !Wide && ((a.first ^ b.first) >> row_bits) == 0;
	}

	__device__ __forceinline__ bool less(item<Wide> a, item<Wide> b) const
	{
		if (Wide)
			return a.first < b.first || (a.first == b.first && a.second < b.second);
		if (shortened && tied(a, b))
		{
			uint64_t	key_a = keys[row(a)];
			uint64_t	key_b = keys[row(b)];

			if (key_a != key_b)
				return key_a < key_b;
		}
		return a.first < b.first;
	}
};

/* The same arrays and order for the kind of items that it turned out to be. */
template<bool Wide>
static inline GSORT_HD item_arrays<Wide>
items_as(const item_arrays<true> &items)
{
	return {items.first, items.second};
}

template<bool Wide>
static inline GSORT_HD item_order<Wide>
order_as(const item_order<true> &order)
{
	return {order.keys, order.row_bits, order.shortened};
}

/* --- warps and blocks -------------------------------------------------------- */

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

/* In log2 steps of doubling distance (Hillis, Steele, "Data parallel algorithms", 1986).  The whole warp calls. */
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
 * Exclusive prefix sum over the block.  sums: a word for each warp, in shared memory,
 * not touched by anyone between the barrier before and the barrier after this call.
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
 * Counts x into counters[bin] and returns how many were there before.  A warp whose
 * threads all have one bin (sorted or constant input) adds once: 32 adds to one
 * word would wait for each other.  The whole warp calls.
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
 * The same where few bins are expected in a warp: those of one bin add once together, as each of
 * many adds to one word of shared memory waits for the one before.  The whole warp calls.
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

#endif							/* GSORT_SORT_COMMON_CUH */
