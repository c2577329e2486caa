/*
 * first_not_before.h
 *	  The binary search of the C files.  (Kernels have one of their own.)
 *
 * It is inlined, with the predicate that each caller names: no call is left.
 */
#ifndef GSORT_FIRST_NOT_BEFORE_H
#define GSORT_FIRST_NOT_BEFORE_H

#include <stdint.h>

/* Is place i before the point that is searched?  context is the caller's. */
typedef int (*partition_predicate) (const void *context, uint64_t i);

/*
 * The first of the places from low to high that is not before the point, or
 * high.  Once a place is not before it, none further on may be.
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
