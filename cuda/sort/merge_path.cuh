/*
 * merge_path.cuh
 *	  Merge path: the split of a merge of two sorted sequences at a given place,
 *	  and the serial merge from there (Green, McColl, Bader: "GPU merge path",
 *	  2012).
 *
 * Thread code: shared or device memory in, registers out; no barrier inside.
 */
#ifndef GSORT_MERGE_PATH_CUH
#define GSORT_MERGE_PATH_CUH

#include "sort/search.cuh"
#include "sort/items.cuh"

/* Number of items from a among the first taken items of the merge of a and b.
 * Ties go to a.  Items: any type with get(). */
template<typename Items, typename Order>
SORT_DEVICE uint32_t
merge_path(const Items &a, uint32_t a_count, const Items &b, uint32_t b_count, uint32_t taken,
		   const Order &order)
{
	return partition_point(taken > b_count ? taken - b_count : 0, taken < a_count ? taken : a_count,
						   [&](uint32_t i) {
		return !order.less(b.get(taken - 1 - i), a.get(i));
	});
}

/* Takes the items of the merge from place taken on, up to Items or the end. */
template<int Items, bool Wide, typename Order>
SORT_DEVICE void
merge_from(item<Wide> (&x)[Items], const item_arrays<Wide> &a, uint32_t a_count,
		   const item_arrays<Wide> &b, uint32_t b_count, uint32_t taken, const Order &order)
{
	uint32_t	i = merge_path(a, a_count, b, b_count, taken, order);
	uint32_t	j = taken - i;
	item<Wide>	next_a;
	item<Wide>	next_b;

	if (i < a_count)
		next_a = a.get(i);
	if (j < b_count)
		next_b = b.get(j);
#pragma unroll
	for (int k = 0; k < Items; k++)
	{
		if (i >= a_count && j >= b_count)
			break;
		if (j >= b_count || (i < a_count && !order.less(next_b, next_a)))
		{
			x[k] = next_a;
			if (++i < a_count)
				next_a = a.get(i);
		}
		else
		{
			x[k] = next_b;
			if (++j < b_count)
				next_b = b.get(j);
		}
	}
}

#endif							/* GSORT_MERGE_PATH_CUH */
