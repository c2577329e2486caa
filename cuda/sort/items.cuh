/*
 * items.cuh
 *	  The caller's keys by their significant bits; items, which are pairs inside
 *	  the partition, and their order.
 *
 * A narrow item is one 64-bit word: key bits on top, the row in the low
 * row_bits.  A key that does not fit loses low bits; the item is then
 * shortened, and ties read the keys.  A wide item is the whole key and the row.
 *
 * No two items are equal.  Every stage may therefore reorder items freely, and
 * the sorted order is still the one stable order of the keys.
 */
#ifndef GSORT_ITEMS_CUH
#define GSORT_ITEMS_CUH

#include "rows/host_device.h"
#include "sort/warps.cuh"
#include "sort/search.cuh"

/* The caller's keys, uint32_t or uint64_t, by their significant bits. */
template<typename Key>
struct typed_keys
{
	const Key  *keys;
	Key			mask;

	__device__ __forceinline__ Key operator[](uint32_t row) const
	{
		return keys[row] & mask;
	}
};

/* The same for either type, chosen at run time.  For kernels that read few
 * keys, and for the host. */
struct key_view
{
	const void *keys;
	uint64_t	mask;
	uint32_t	key_bits;		/* 32 or 64 */

	template<typename Key>
	GSORT_HD typed_keys<Key> of_type() const
	{
		return {(const Key *) keys, (Key) mask};
	}

	__device__ __forceinline__ uint64_t operator[](uint32_t row) const
	{
		if (key_bits == 32)
			return of_type<uint32_t>()[row];
		return of_type<uint64_t>()[row];
	}
};

template<typename Work>
SORT_DEVICE void
for_type_of_keys(const key_view &keys, const Work &work)
{
	if (keys.key_bits == 32)
		work(keys.of_type<uint32_t>());
	else
		work(keys.of_type<uint64_t>());
}

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

/* The order of items within one bucket. */
template<bool Wide>
struct item_order
{
	key_view	keys;
	uint32_t	row_bits;
	bool		shortened;		/* narrow: keys have lost bits */

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

/* --- merge path ---------------------------------------------------------- */

/* Merge path: the split of a merge of two sorted sequences at a given place,
 * and the serial merge from there (Green, McColl, Bader: "GPU merge path",
 * 2012). */

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

#endif							/* GSORT_ITEMS_CUH */
