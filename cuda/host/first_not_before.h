/*
 * first_not_before.h
 *	  The binary search of the C files.  (Kernels have one of their own.)
 *
 * The search and each caller's predicate are inlined, so that no call remains.
 */
#ifndef GSORT_FIRST_NOT_BEFORE_H
#define GSORT_FIRST_NOT_BEFORE_H

#include <stdint.h>

/* True if place i lies before the target. context belongs to the caller. */
typedef int (*partition_predicate) (const void *context, uint64_t i);

/*
 * The first place from low to high that is not before the target, or high.  The
 * predicate must be monotonic: true, then false.
 */
static inline uint64_t
first_not_before(uint64_t low, uint64_t high, partition_predicate is_before, const void *context)
{
	while (low < high)
	{
		uint64_t	middle = low + (high - low) / 2;

		if (is_before(context, middle))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif							/* GSORT_FIRST_NOT_BEFORE_H */
