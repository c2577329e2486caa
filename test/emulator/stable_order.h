/*
 * stable_order.h
 *	  The reference order of a sort of pairs, by std::stable_sort.
 *
 * In:  keys, and the number of their significant bits, the low ones.
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
stable_order_of_bits(const Key *keys, uint32_t n, uint32_t bits)
{
	std::vector<uint32_t> order(n);
	Key			mask = bits >= 8 * sizeof(Key) ? ~(Key) 0 : (Key) (((Key) 1 << bits) - 1);

	std::iota(order.begin(), order.end(), 0u);
	std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
		return (keys[a] & mask) < (keys[b] & mask);
	});
	return order;
}

#endif							/* GSORT_STABLE_ORDER_H */
