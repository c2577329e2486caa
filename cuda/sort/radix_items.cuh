/*
 * radix_items.cuh
 *	  The input and the output of a pass of the radix sort.
 *
 * In:  the caller's keys and rows, or the output of the preceding pass.
 * Out: arrays in the scratch, or the caller's sorted rows and keys.
 *
 * A pass stores only the data that later passes need.  The first pass makes row
 * numbers itself, and the last one writes keys only on request.  A key with at
 * most 32 remaining bits shares a word with its row.  Device code; the caller
 * owns the arrays.
 */
#ifndef GSORT_RADIX_ITEMS_CUH
#define GSORT_RADIX_ITEMS_CUH

#include "sort/warps.cuh"

/* The rest of a key, and its row. */
template<typename Rest>
struct radix_item
{
	Rest		rest;
	uint32_t	row;
};

SORT_DEVICE uint64_t
word_of_item(radix_item<uint32_t> x)
{
	return (uint64_t) x.rest << 32 | x.row;
}

SORT_DEVICE radix_item<uint32_t>
item_of_word(uint64_t word)
{
	return {(uint32_t) (word >> 32), (uint32_t) word};
}

/*
 * The rest of a key without its low shift bits; at most 32 of these if the rest
 * is shorter than the key.  Long keys are read as two halves and shifted at
 * once.  A general shift of the whole key would cost registers.
 */
template<typename Rest, typename Key>
SORT_DEVICE Rest
rest_of_key(const Key *key, uint32_t shift)
{
#if defined(__CUDA_ARCH__)
	if constexpr (sizeof(Rest) < sizeof(Key))
	{
		uint2		halves = *(const uint2 *) key;

		return __funnelshift_rc(halves.x, halves.y, shift);
	}
#endif
	return (Rest) (*key >> shift);
}

template<typename Key, typename Rest>
struct radix_keys
{
	typedef Rest rest_type;

	const Key  *keys;
	const uint32_t *rows;		/* NULL: the identity */
	uint32_t	shift;			/* bits below the rest; at most 32 */

	__device__ __forceinline__ radix_item<Rest> get(uint32_t i) const
	{
		return {rest_of_key<Rest>(keys + i, shift), rows != NULL ? rows[i] : i};
	}
};

/* Keys of at most 32 bits and their rows, one word each. */
struct radix_words
{
	typedef uint32_t rest_type;

	uint64_t   *words;

	__device__ __forceinline__ radix_item<uint32_t> get(uint32_t i) const
	{
		return item_of_word(words[i]);
	}

	__device__ __forceinline__ void put(uint32_t i, radix_item<uint32_t> x) const
	{
		words[i] = word_of_item(x);
	}
};

/* Longer keys, and rows. */
struct radix_pairs
{
	typedef uint64_t rest_type;

	uint64_t   *keys;
	uint32_t   *rows;

	__device__ __forceinline__ radix_item<uint64_t> get(uint32_t i) const
	{
		return {keys[i], rows[i]};
	}

	__device__ __forceinline__ void put(uint32_t i, radix_item<uint64_t> x) const
	{
		keys[i] = x.rest;
		rows[i] = x.row;
	}
};

/* Words of longer keys whose low bits are sorted already. */
struct radix_shortened
{
	uint64_t   *words;
	uint32_t	shift;

	__device__ __forceinline__ void put(uint32_t i, radix_item<uint64_t> x) const
	{
		words[i] = word_of_item({(uint32_t) (x.rest >> shift), x.row});
	}
};

template<typename Key>
struct radix_output
{
	uint32_t   *rows;
	Key		   *keys;			/* NULL: not requested; otherwise the rest is the whole key */

	__device__ __forceinline__ void put(uint32_t i, radix_item<Key> x) const
	{
		rows[i] = x.row;
		if (keys != NULL)
			keys[i] = x.rest;
	}
};

/* The bits of a key's rest that the mask covers, from shift on. */
struct radix_digit
{
	uint32_t	shift;
	uint32_t	mask;

	template<typename Rest>
	__device__ __forceinline__ uint32_t operator()(Rest rest) const
	{
		return (uint32_t) (rest >> shift) & mask;
	}
};

#endif							/* GSORT_RADIX_ITEMS_CUH */
