/*
 * radix_pass.cuh
 *	  One pass of the radix sort: a stable scatter of items by one digit.
 *
 * In:  the caller's keys, or the output of the preceding pass; the digits'
 *	    counts.
 * Out: the items in the order of the digits so far.
 *
 * Each item is read and written once (Adinets, Merrill, "Onesweep: a faster
 * least significant digit radix sort for GPUs", 2022).  A tile ranks its items
 * by the digit, obtains the places of its digits by look-back (look_back.cuh),
 * and writes the items digit by digit.  A block waits only for earlier tiles,
 * and takes its next tile when it has finished one.  The first unfinished tile
 * thus never waits.
 */
#ifndef GSORT_RADIX_PASS_CUH
#define GSORT_RADIX_PASS_CUH

#include "sort/launch.cuh"
#include "sort/look_back.cuh"
#include "sort/radix_items.cuh"
#include "sort/tuning.h"

/*
 * The thread's number, read again for each tile and passed down.  Otherwise the
 * compiler hoists all dependent addresses out of the tile loop and has no
 * registers left for items.
 */
SORT_DEVICE uint32_t
this_thread()
{
#ifdef GSORT_EMULATE
	return threadIdx.x;
#else
	uint32_t	thread;

	asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
	return thread;
#endif
}

/* The items of a tile, in shared memory. */
template<typename Rest, int Items>
struct radix_tile
{
	Rest		rests[Items];
	uint32_t	rows[Items];

	__device__ __forceinline__ void put(uint32_t i, radix_item<Rest> x)
	{
		rests[i] = x.rest;
		rows[i] = x.row;
	}

	__device__ __forceinline__ radix_item<Rest> get(uint32_t i) const
	{
		return {rests[i], rows[i]};
	}
};

template<int Items>
struct radix_tile<uint32_t, Items>
{
	uint64_t	words[Items];

	__device__ __forceinline__ void put(uint32_t i, radix_item<uint32_t> x)
	{
		words[i] = word_of_item(x);
	}

	__device__ __forceinline__ radix_item<uint32_t> get(uint32_t i) const
	{
		return item_of_word(words[i]);
	}
};

/* Longer keys take one half more registers and shared memory. */
template<typename Row, typename Rest>
constexpr int RADIX_ITEMS = sizeof(Rest) == sizeof(uint64_t) ? Row::ITEMS * 2 / 3 : Row::ITEMS;

template<typename Row, typename Rest>
constexpr int RADIX_TILE = Row::THREADS * RADIX_ITEMS<Row, Rest>;

template<typename Row, typename Rest>
struct radix_memory
{
	static constexpr int WARPS = Row::THREADS / WARP_THREADS;

	static_assert(Row::THREADS >= STATE_THREADS, "each digit has a thread");
	static_assert(RADIX_TILE<Row, Rest> < 65536, "counts and places have 16 bits");

	union
	{
		/* a warp's items of each digit; later their begin among the tile's
		 * items of the digit */
		uint16_t	counts[WARPS][RADIX_BINS];
		radix_tile<Rest, RADIX_TILE<Row, Rest>> items;
	};
	/* Begin of a digit in the tile; later its place in the output, minus this
	 * begin. */
	uint32_t	place[RADIX_BINS];
	uint32_t	warp_sums[WARP_THREADS];
	uint32_t	tile;
};

/* Places in a tile, two per register. */
template<int Items>
struct tile_places
{
	uint32_t	pairs[(Items + 1) / 2];

	__device__ __forceinline__ void set(int i, uint32_t place)
	{
		pairs[i / 2] = i % 2 ? pairs[i / 2] | place << 16 : place;
	}

	__device__ __forceinline__ void add(int i, uint32_t distance)
	{
		pairs[i / 2] += i % 2 ? distance << 16 : distance;
	}

	__device__ __forceinline__ uint32_t get(int i) const
	{
		return i % 2 ? pairs[i / 2] >> 16 : pairs[i / 2] & 0xffff;
	}
};

struct radix_pass
{
	uint32_t	n;
	uint32_t	number;
	radix_digit digit;
	const uint32_t *counts;		/* [RADIX_BINS] of all items, in this pass */
	uint32_t   *next_tile;		/* starts at 0 */
	uint32_t   *states;			/* [tiles][RADIX_BINS] */
	const uint32_t *wanted;		/* condition of the sort; NULL: unconditional */
};

/* --- ranks ---------------------------------------------------------------- */

/* The lanes with the same bit of the digit. */
SORT_DEVICE uint32_t
lanes_of_bit(uint32_t digit, int bit)
{
#ifdef GSORT_EMULATE
	bool		set = (digit & 1u << bit) != 0;
	uint32_t	lanes = __ballot_sync(WHOLE_WARP, set);

	return set ? lanes : ~lanes;
#else
	uint32_t	lanes;

	/* A test, a vote and a complement.  The compiler needs seven instructions
	 * for the code above, which doubles the time of the ranks. */
	asm("{\n\t"
		".reg .pred set;\n\t"
		".reg .b32 tested;\n\t"
		"and.b32 tested, %1, %2;\n\t"
		"setp.ne.u32 set, tested, 0;\n\t"
		"vote.sync.ballot.b32 %0, set, 0xffffffff;\n\t"
		"@!set not.b32 %0, %0;\n\t"
		"}" : "=r"(lanes) : "r"(digit), "r"(1u << bit));
	return lanes;
#endif
}

/*
 * Ranks a warp's items among those with the same digit, stably.  counts: the
 * warp's, starts at 0.  Lanes find equal digits by one vote per bit (Ashkiani,
 * Davidson, Meyer, Owens, "GPU multisplit", 2016).
 */
template<typename Rest, int Items>
SORT_DEVICE void
rank_digits(uint32_t thread, uint16_t *counts, radix_digit digit,
			const radix_item<Rest> (&x)[Items],
		   tile_places<Items> &places)
{
#pragma unroll
	for (int i = 0; i < Items; i++)
	{
		uint32_t	mine = digit(x[i].rest);
		uint32_t	peers = WHOLE_WARP;
		uint32_t	before;
		uint32_t	counted;

#pragma unroll
		for (int bit = 0; bit < RADIX_DIGIT_BITS; bit++)
			peers &= lanes_of_bit(mine, bit);
		before = __popc(peers & ((1u << thread % WARP_THREADS) - 1));
		counted = counts[mine];
		__syncwarp();
		if (before == 0)
			counts[mine] = (uint16_t) (counted + __popc(peers));
		__syncwarp();
		places.set(i, counted + before);
	}
}

/* --- places --------------------------------------------------------------- */

/* Turns the warps' counts into begins.  totals: those of the thread's
 * digits. */
template<int Warps>
SORT_DEVICE void
add_up_warps(uint32_t thread, uint16_t (*counts)[RADIX_BINS], uint32_t totals[STATES_A_THREAD])
{
	uint64_t	packed = 0;		/* four sums of 16 bits: a tile has fewer than 65536 items */

#pragma unroll 4
	for (int w = 0; w < Warps; w++)
	{
		uint64_t   *of_warp = (uint64_t *) counts[w] + thread;
		uint64_t	of_this = *of_warp;

		*of_warp = packed;
		packed += of_this;
	}
	for (int i = 0; i < STATES_A_THREAD; i++)
		totals[i] = (uint32_t) (packed >> 16 * i) & 0xffff;
}

/* Exclusive sums over all digits; each of the first STATE_THREADS threads holds
 * its own digits. */
template<int Threads>
SORT_DEVICE void
sum_up_digits(uint32_t thread, const uint32_t counts[STATES_A_THREAD], uint32_t *warp_sums,
			  uint32_t sums[STATES_A_THREAD])
{
	bool		mine = thread < STATE_THREADS;

	sums[0] = block_exclusive_sum<Threads>(mine ? counts[0] + counts[1] + counts[2] + counts[3] : 0,
										   warp_sums, NULL);
	for (int i = 1; i < STATES_A_THREAD; i++)
		sums[i] = sums[i - 1] + (mine ? counts[i - 1] : 0);
}

/*
 * Computes the begins of the tile's digits in the output.  totals: the tile's
 * items of the thread's digits.  The whole block calls.
 */
template<int Threads>
SORT_DEVICE void
find_places(uint32_t thread, const radix_pass &pass, uint32_t tile,
			const uint32_t totals[STATES_A_THREAD], uint32_t *warp_sums,
			uint32_t places[STATES_A_THREAD])
{
	uint32_t	first = thread * STATES_A_THREAD;
	uint32_t	ends[STATES_A_THREAD];

	if (tile == 0)
	{
		uint32_t	counts[STATES_A_THREAD] = {};

		if (thread < STATE_THREADS)
		{
			for (int i = 0; i < STATES_A_THREAD; i++)
				counts[i] = pass.counts[first + i];
		}
		sum_up_digits<Threads>(thread, counts, warp_sums, places);
	}
	if (thread >= STATE_THREADS)
		return;
	if (tile > 0)
		look_back(pass.states + first, tile, pass.number, places);
	for (int i = 0; i < STATES_A_THREAD; i++)
		ends[i] = places[i] + totals[i];
	store_states(pass.states + (size_t) tile * RADIX_BINS + first, ends, STATE_ALL(pass.number));
}

/* --- one tile ------------------------------------------------------------- */

/*
 * Loads the thread's items, in the order warp, item, lane.  Items beyond the
 * end of the input get the greatest digit, which moves them behind all others.
 * A full tile, the common case, needs no bounds checks.
 */
template<typename Row, typename Input, int Items>
SORT_DEVICE void
load_items(uint32_t thread, const Input &input, uint32_t begin, uint32_t count,
		  radix_item<typename Input::rest_type> (&x)[Items])
{
	typedef typename Input::rest_type Rest;
	uint32_t	first = thread / WARP_THREADS * (WARP_THREADS * Items) + thread % WARP_THREADS;

	if (count == Row::THREADS * Items)
	{
#pragma unroll
		for (int i = 0; i < Items; i++)
			x[i] = input.get(begin + first + i * WARP_THREADS);
		return;
	}
#pragma unroll
	for (int i = 0; i < Items; i++)
	{
		x[i] = {(Rest) ~(Rest) 0, 0};
		if (first + i * WARP_THREADS < count)
			x[i] = input.get(begin + first + i * WARP_THREADS);
	}
}

template<typename Row, typename Rest, typename Output>
SORT_DEVICE void
write_items(uint32_t thread, const radix_memory<Row, Rest> &shared, radix_digit digit,
			uint32_t count, const Output &output)
{
	if (count == RADIX_TILE<Row, Rest>)
	{
#pragma unroll
		for (int i = 0; i < RADIX_ITEMS<Row, Rest>; i++)
		{
			uint32_t	at = i * Row::THREADS + thread;
			radix_item<Rest> x = shared.items.get(at);

			output.put(shared.place[digit(x.rest)] + at, x);
		}
		return;
	}
	for (uint32_t at = thread; at < count; at += Row::THREADS)
	{
		radix_item<Rest> x = shared.items.get(at);

		output.put(shared.place[digit(x.rest)] + at, x);
	}
}

/* Ranks the items and stores them in shared memory, digit by digit, with the
 * offsets to their places. */
template<typename Row, typename Rest, int Items>
SORT_DEVICE void
order_tile(uint32_t thread, radix_memory<Row, Rest> &shared, const radix_pass &pass, uint32_t tile,
		   const radix_item<Rest> (&x)[Items])
{
	bool		has_digits = thread < STATE_THREADS;
	uint32_t	first = thread * STATES_A_THREAD;
	uint16_t   *counts = shared.counts[thread / WARP_THREADS];
	tile_places<Items> places = {};
	uint32_t	totals[STATES_A_THREAD] = {};
	uint32_t	begins[STATES_A_THREAD];
	uint32_t	outside[STATES_A_THREAD];

	rank_digits(thread, counts, pass.digit, x, places);
	__syncthreads();
	if (has_digits)
	{
		add_up_warps<radix_memory<Row, Rest>::WARPS>(thread, shared.counts, totals);
		if (tile > 0)
			store_states(pass.states + (size_t) tile * RADIX_BINS + first, totals, STATE_OF_TILE);
	}
	sum_up_digits<Row::THREADS>(thread, totals, shared.warp_sums, begins);
	if (has_digits)
	{
		for (int i = 0; i < STATES_A_THREAD; i++)
			shared.place[first + i] = begins[i];
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < Items; i++)
	{
		uint32_t	mine = pass.digit(x[i].rest);

		places.add(i, counts[mine] + shared.place[mine]);
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < Items; i++)
		shared.items.put(places.get(i), x[i]);
	find_places<Row::THREADS>(thread, pass, tile, totals, shared.warp_sums, outside);
	if (has_digits)
	{
		for (int i = 0; i < STATES_A_THREAD; i++)
			shared.place[first + i] = outside[i] - begins[i];
	}
	__syncthreads();
}

/*
 * Moves item i of the input to its place in the output, stably by digit.  Grid:
 * a block of THREADS for each tile of RADIX_TILE; shared: radix_memory.
 * TilesInTurn: as many blocks as run at once; each takes tiles in turn, which
 * is slower.  A grid of this kind ends at once if a conditional sort does not
 * run.
 */
template<typename Row, bool TilesInTurn, typename Input, typename Output>
static __global__ void
__launch_bounds__(Row::THREADS, (blocks_that_fit<radix_memory<Row,
	typename Input::rest_type>>(Row::BLOCKS)))
radix_pass_kernel(Input input, Output output, radix_pass pass)
{
	/* without early launch of the next pass: it made passes 2 % slower */
	await_end_of_kernel_ahead();
	typedef typename Input::rest_type Rest;
	typedef radix_memory<Row, Rest> memory;
	constexpr uint32_t TILE = RADIX_TILE<Row, Rest>;

	SHARED_MEMORY(raw);
	memory	   &shared = *(memory *) raw;

	if (pass.wanted != NULL && *pass.wanted == 0)
		return;
	do
	{
		uint32_t	thread = this_thread();
		radix_item<Rest> x[RADIX_ITEMS<Row, Rest>];
		uint32_t	begin;
		uint32_t	count;

		if (thread == 0)
			shared.tile = atomicAdd(pass.next_tile, 1u);
		for (uint32_t i = thread; i < sizeof(shared.counts) / sizeof(uint4); i += Row::THREADS)
			((uint4 *) shared.counts)[i] = make_uint4(0, 0, 0, 0);
		__syncthreads();
		begin = shared.tile * TILE;
		if (TilesInTurn && begin >= pass.n)
			return;
		count = pass.n - begin < TILE ? pass.n - begin : TILE;
		load_items<Row>(thread, input, begin, count, x);
		order_tile(thread, shared, pass, begin / TILE, x);
		write_items(thread, shared, pass.digit, count, output);
		if (TilesInTurn)
			__syncthreads();
	} while (TilesInTurn);
}

#endif							/* GSORT_RADIX_PASS_CUH */
