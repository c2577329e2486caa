/*
 * look_back.cuh
 *	  Decoupled look-back: prefix sums over tiles that run concurrently.
 *
 * In:  each tile's own counts.
 * Out: the sum of the counts of all earlier tiles.
 *
 * A tile first publishes its own counts and later the inclusive sum up to its
 * end.  It adds up the published counts of earlier tiles, back to one whose
 * inclusive sum is published (Merrill, Garland, "Single-pass parallel prefix
 * scan with decoupled look-back", 2016).  It waits for tiles that have not
 * published yet, so these must be running: blocks take tile numbers in turn.
 *
 * A state is one word that holds a number and its kind; 0: not published.
 * Other tiles read only this word, so no fence is needed.  A radix pass has a
 * 32-bit state for each digit of each tile, and a thread looks back for four
 * neighbouring digits.  Row placement needs one wider sum per tile, and a warp
 * looks back for it, at the states of 32 tiles at once.
 */
#ifndef GSORT_LOOK_BACK_CUH
#define GSORT_LOOK_BACK_CUH

#include "sort/warps.cuh"
#include "sort/tuning.h"

/* --- states of digits ----------------------------------------------------- */

/*
 * The array is zeroed once, before the first pass.  ALL alternates between 2
 * and 3 by pass, so leftovers of the preceding pass read as not published.
 * Each tile's last write is ALL, and later passes never have more tiles.  Tile
 * 0 publishes ALL at once, so every look-back ends there at the latest.  No
 * tile reads the sums of the last tile, which include places behind the input.
 */
#define STATE_OF_TILE		1u	/* count of this tile alone */
#define STATE_ALL(pass)		(2u + ((pass) & 1u))	/* inclusive sum up to this tile */
#define STATE_KIND_BITS		2
#define STATE_KIND_MASK		((1u << STATE_KIND_BITS) - 1)

/* A thread handles the states of four neighbouring digits at once. */
#define STATES_A_THREAD		4
#define STATE_THREADS		(RADIX_BINS / STATES_A_THREAD)

#define LOOK_BACK_TILES		4

/* Loads four neighbouring states.  Each is whole; they may differ in age. */
SORT_DEVICE uint4
load_states(const uint32_t *states)
{
#ifdef GSORT_EMULATE
	const volatile uint32_t *now = states;	/* a test publishes while others look back */

	return make_uint4(now[0], now[1], now[2], now[3]);
#else
	uint4		x;

	asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
				 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(states) : "memory");
	return x;
#endif
}

/* Publishes the counts of four neighbouring digits, as states of this kind. */
SORT_DEVICE void
store_states(uint32_t *states, const uint32_t counts[STATES_A_THREAD], uint32_t kind)
{
	uint4		x = make_uint4(counts[0] << STATE_KIND_BITS | kind,
							   counts[1] << STATE_KIND_BITS | kind,
							   counts[2] << STATE_KIND_BITS | kind,
							   counts[3] << STATE_KIND_BITS | kind);

#ifdef GSORT_EMULATE
	*(uint4 *) states = x;
#else
	asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};"
				 :: "l"(states), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory");
#endif
}

/* The common kind of all four words, or 0 if the kinds differ: only single
 * words are read atomically. */
SORT_DEVICE uint32_t
kind_of_states(uint4 x)
{
	uint32_t	differences = (x.x ^ x.y) | (x.x ^ x.z) | (x.x ^ x.w);

	return (differences & STATE_KIND_MASK) == 0 ? x.x & STATE_KIND_MASK : 0;
}

/*
 * Sums the published counts of four digits over all tiles before this one,
 * which is not tile 0.  states: tile 0's first of the four.
 */
SORT_DEVICE void
look_back(const uint32_t *states, uint32_t tile, uint32_t pass, uint32_t places[STATES_A_THREAD])
{
	bool		known = false;

	for (int i = 0; i < STATES_A_THREAD; i++)
		places[i] = 0;
	while (!known)
	{
		uint4		before[LOOK_BACK_TILES];
		bool		published = true;

#pragma unroll
		for (uint32_t i = 0; i < LOOK_BACK_TILES; i++)
			before[i] = load_states(states + (size_t) (tile > i ? tile - i - 1 : 0) * RADIX_BINS);
#pragma unroll
		for (uint32_t i = 0; i < LOOK_BACK_TILES; i++)
		{
			uint32_t	kind = kind_of_states(before[i]);

			published = published && !known && (kind == STATE_OF_TILE || kind == STATE_ALL(pass));
			if (published)
			{
				places[0] += before[i].x >> STATE_KIND_BITS;
				places[1] += before[i].y >> STATE_KIND_BITS;
				places[2] += before[i].z >> STATE_KIND_BITS;
				places[3] += before[i].w >> STATE_KIND_BITS;
				known = kind == STATE_ALL(pass);
				tile--;
			}
		}
	}
}

/* --- states of sums ------------------------------------------------------- */

#define SUM_STATE_BITS		62	/* width of the sum; the kind lies above, as STATE_ALL of pass 0 */

/* Other tiles read and write a state as one word. */
SORT_DEVICE volatile uint64_t &
sum_state(uint64_t *states, uint32_t tile)
{
	return *(volatile uint64_t *) &states[tile];
}

/* The sum over all tiles before this one, which is not tile 0.  The whole warp
 * calls, and each lane receives the sum. */
SORT_DEVICE uint64_t
sum_of_tiles_before(uint64_t *states, uint32_t tile)
{
	uint64_t	sum = 0;

	for (;;)
	{
		uint64_t	state = lane_id() < tile ? sum_state(states, tile - 1 - lane_id()) :
			(uint64_t) STATE_ALL(0) << SUM_STATE_BITS;
		uint64_t	kind = state >> SUM_STATE_BITS;
		uint32_t	published = __ballot_sync(WHOLE_WARP, kind != 0);
		uint32_t	all = __ballot_sync(WHOLE_WARP, kind == STATE_ALL(0));
		/* number of preceding tiles whose values are added */
		uint32_t	counted = all != 0 ? __ffs((int) all) : WARP_THREADS;
		uint64_t	value = lane_id() < counted ? state & ((1ull << SUM_STATE_BITS) - 1) : 0;

		if (~published << (WARP_THREADS - counted) != 0)
			continue;			/* one of them is not published yet */
		sum += __shfl_sync(WHOLE_WARP, warp_inclusive_sum(value), WARP_THREADS - 1);
		if (all != 0)
			return sum;
		tile -= WARP_THREADS;
	}
}

/*
 * Publishes the tile's own sum, and writes the sum of all earlier tiles to
 * *first.  One warp calls; the caller provides the barrier afterwards.
 */
SORT_DEVICE void
publish_and_look_back(uint64_t *states, uint32_t tile, uint64_t own, uint64_t *first)
{
	uint64_t	before = 0;

	if (tile > 0)
	{
		if (lane_id() == 0)
			sum_state(states, tile) = (uint64_t) STATE_OF_TILE << SUM_STATE_BITS | own;
		before = sum_of_tiles_before(states, tile);
	}
	if (lane_id() == 0)
	{
		sum_state(states, tile) = (uint64_t) STATE_ALL(0) << SUM_STATE_BITS | (before + own);
		*first = before;
	}
}

#endif							/* GSORT_LOOK_BACK_CUH */
