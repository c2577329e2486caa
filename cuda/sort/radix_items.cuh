/*
 * radix_items.cuh
 *	  The input and the output of a pass of the radix sort, and the count of the
 *	  digits of all passes.
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
#include "sort/launch.cuh"
#include "sort/tuning.h"

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

/* --- counts -------------------------------------------------------------- */

/*
 * The counts do not depend on the order of the keys, so one pass over them
 * serves all passes of the sort (as in Adinets, Merrill, "Onesweep", 2022).
 */

#define RADIX_COUNT_THREADS		512
#define RADIX_COUNT_ITEMS		8
#define RADIX_COUNT_TILE		(RADIX_COUNT_THREADS * RADIX_COUNT_ITEMS)

template<int Passes>
struct radix_digits
{
	radix_digit digit[Passes];
};

/* Copies of the counters: as many as fit, but at most one per lane. */
template<int Passes>
constexpr uint32_t COUNTER_COPIES = Passes > 4 ? 8 : Passes > 2 ? 16 : WARP_THREADS;

template<int Passes>
constexpr uint32_t COUNTERS = Passes * RADIX_BINS * COUNTER_COPIES<Passes>;

/*
 * A block's counters, several per digit, selected by lane: equal digits of a
 * warp conflict less.
 */
template<int Passes>
struct digit_counters
{
	static constexpr uint32_t COPIES = COUNTER_COPIES<Passes>;

	uint32_t   *counters;

	template<typename Key>
	__device__ __forceinline__ void count(const radix_digits<Passes> &digits, Key key) const
	{
#pragma unroll
		for (int p = 0; p < Passes; p++)
			atomicAdd(&counters[(p * RADIX_BINS + digits.digit[p](key)) * COPIES +
								lane_id() % COPIES], 1u);
	}

	__device__ __forceinline__ uint32_t sum(uint32_t bin) const
	{
		uint32_t	total = 0;

		/* starts at the thread's own copy, because the copies of one number
		 * share a bank */
		for (uint32_t c = 0; c < COPIES; c++)
			total += counters[bin * COPIES + (c + threadIdx.x) % COPIES];
		return total;
	}
};

/* Zeroes the scratch of a conditional sort, in words of 16 bytes, if the sort
 * runs.  Grid: any. */
static __global__ void
__launch_bounds__(RADIX_COUNT_THREADS)
radix_clear_kernel(uint4 *zeroed, uint64_t words, const uint32_t *wanted)
{
	await_kernel_ahead();
	if (*wanted == 0)
		return;
	for (uint64_t i = (uint64_t) blockIdx.x * RADIX_COUNT_THREADS + threadIdx.x; i < words;
		 i += (uint64_t) gridDim.x * RADIX_COUNT_THREADS)
		zeroed[i] = make_uint4(0, 0, 0, 0);
}

/*
 * Adds the number of keys with digit d in pass p to counts[p][d], which starts
 * at 0.  wanted: NULL, or the condition of the sort.  Grid: any, each block
 * takes tiles of RADIX_COUNT_TILE keys in turn; blocks of RADIX_COUNT_THREADS;
 * shared: COUNTERS<Passes> of uint32.
 */
template<typename Key, int Passes>
static __global__ void
__launch_bounds__(RADIX_COUNT_THREADS)
radix_count_kernel(const Key *keys, uint32_t n, radix_digits<Passes> digits, uint32_t *counts,
				   const uint32_t *wanted)
{
	await_kernel_ahead();
	SHARED_MEMORY(raw);
	digit_counters<Passes> counters = {(uint32_t *) raw};

	if (wanted != NULL && *wanted == 0)
		return;
	for (uint32_t i = threadIdx.x; i < COUNTERS<Passes>; i += RADIX_COUNT_THREADS)
		counters.counters[i] = 0;
	__syncthreads();
	for (uint64_t tile = (uint64_t) blockIdx.x * RADIX_COUNT_TILE; tile < n;
		 tile += (uint64_t) gridDim.x * RADIX_COUNT_TILE)
	{
		if (tile + RADIX_COUNT_TILE <= n)
		{
			Key			tile_keys[RADIX_COUNT_ITEMS];

#pragma unroll
			for (int i = 0; i < RADIX_COUNT_ITEMS; i++)
				tile_keys[i] = keys[tile + i * RADIX_COUNT_THREADS + threadIdx.x];
#pragma unroll
			for (int i = 0; i < RADIX_COUNT_ITEMS; i++)
				counters.count(digits, tile_keys[i]);
		}
		else
		{
			for (uint64_t at = tile + threadIdx.x; at < n; at += RADIX_COUNT_THREADS)
				counters.count(digits, keys[at]);
		}
	}
	__syncthreads();
	for (uint32_t bin = threadIdx.x; bin < Passes * RADIX_BINS; bin += RADIX_COUNT_THREADS)
	{
		uint32_t	total = counters.sum(bin);

		if (total > 0)
			atomicAdd(&counts[bin], total);
	}
}

#endif							/* GSORT_RADIX_ITEMS_CUH */
