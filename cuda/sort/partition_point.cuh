/*
 * partition_point.cuh
 *	  The binary search of all stages.
 *
 * Host and device code; reads only the predicate's data.
 */
#ifndef GSORT_PARTITION_POINT_CUH
#define GSORT_PARTITION_POINT_CUH

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

#endif							/* GSORT_PARTITION_POINT_CUH */
