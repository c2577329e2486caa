/*
 * stable_order.h
 *	  The reference order of a sort of pairs, by std::stable_sort.
 *
 * In:  keys, and the range of significant bits.
 * Out: the rows in the order of these bits; ties in input order.
 */
#ifndef GSORT_STABLE_ORDER_H
#define GSORT_STABLE_ORDER_H

#include <stdint.h>

#include <algorithm>
#include <numeric>
#include <vector>

template<typename Key>
static std::vector<uint32_t>
stable_order_of_bits(const Key *keys, uint32_t n, uint32_t begin_bit, uint32_t end_bit)
{
	std::vector<uint32_t> order(n);
	uint32_t	bits = end_bit - begin_bit;
	Key			mask = bits >= 8 * sizeof(Key) ? ~(Key) 0 : (Key) (((Key) 1 << bits) - 1);

	std::iota(order.begin(), order.end(), 0u);
	/* without any bits all keys are equal, and begin_bit may exceed the key
	 * width */
	std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
		return bits > 0 && ((keys[a] >> begin_bit) & mask) < ((keys[b] >> begin_bit) & mask);
	});
	return order;
}

#endif							/* GSORT_STABLE_ORDER_H */
