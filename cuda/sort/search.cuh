/*
 * search.cuh
 *	  How a value finds its part: by binary search, or by a linear map, which
 *	  divides a range of numbers into parts of equal size.
 *
 * Host and device code; reads only the predicate's data.
 */
#ifndef GSORT_SEARCH_CUH
#define GSORT_SEARCH_CUH

#include <stdint.h>

#include "rows/host_device.h"

/*
 * The first of the places [first, end) for which holds is false; end if there
 * is none. holds must be monotone: true, then false.  Places are at most 2^31,
 * so that a sum of two fits.
 *
 * The last of the places [first, last] whose value is at most x, provided that
 * first qualifies: partition_point(first, last, [&](uint32_t i) { return
 * values[i + 1] <= x; }).
 */
#ifdef __CUDACC__
#pragma nv_exec_check_disable	/* holds may be device code only */
#endif
template<typename Predicate>
static inline GSORT_HD uint32_t
partition_point(uint32_t first, uint32_t end, const Predicate &holds)
{
	while (first < end)
	{
		uint32_t	middle = (first + end) / 2;

		if (holds(middle))
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

/* Monotone: maps [0, range] evenly to [0, parts). */
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

/* The map's input: the 32 highest bits of x's range.  Monotone. */
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

/* The part of any x: a value beyond the range counts as its end.  The map of a
 * 32-bit range does not shift. */
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

/* The least x that maps to a part. */
static inline GSORT_HD uint64_t
lowest_of_part(linear_map map, uint32_t part)
{
	return (((uint64_t) part << 32) + map.factor - 1) / map.factor << map.shift;
}

#endif							/* GSORT_SEARCH_CUH */
