/*
 * radix_states.cuh
 *	  How the tiles of a radix pass learn where their items go.
 *
 * In:  how many items of each digit a tile has.
 * Out: the places of its first item of each digit.
 *
 * Each tile tells its counts in a row of states, and later where its items end; it adds up the
 * rows of the tiles before it, back to one whose ends are known (Merrill, Garland, "Single-pass
 * parallel prefix scan with decoupled look-back", 2016).  It waits for what those tiles have not
 * told yet, so they must be running: tiles are numbered in the order in which blocks take them.
 *
 * A state is one word that says what it is, so nothing but the word itself must be seen by
 * others.  All passes use one array, zeroed before the first: what a later one finds there is ALL of the
 * pass before, which is neither word of its own, as each tile ends with ALL and no pass has more tiles than the one
 * before.  Tile 0 tells ALL at once, so every search ends there at the latest.  The ends of the last tile, to which
 * places behind the input are added, are looked at by nobody.
 */
#ifndef GSORT_RADIX_STATES_CUH
#define GSORT_RADIX_STATES_CUH

#include "sort/sort_common.cuh"
#include "sort/tuning.h"

#define STATE_OF_TILE		1u	/* the rest of the word counts items of the tile */
#define STATE_ALL(pass)		(2u + ((pass) & 1u))	/* places up to the end of the tile's */
#define STATE_KIND_BITS		2
#define STATE_KIND_MASK		((1u << STATE_KIND_BITS) - 1)

/* A thread handles the states of four neighbouring digits at once. */
#define STATES_A_THREAD		4
#define STATE_THREADS		(RADIX_BINS / STATES_A_THREAD)

/* Tiles whose states are asked for at once. */
#define LOOK_BACK_TILES		4

SORT_DEVICE uint4
load_states(const uint32_t *states)
{
#ifdef GSORT_EMULATE
	const volatile uint32_t *told = states;	/* a test tells while others look */

	return make_uint4(told[0], told[1], told[2], told[3]);
#else
	uint4		x;

	asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
				 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(states) : "memory");
	return x;
#endif
}

SORT_DEVICE void
store_states(uint32_t *states, const uint32_t counts[STATES_A_THREAD], uint32_t kind)
{
	uint4		x = make_uint4(counts[0] << STATE_KIND_BITS | kind, counts[1] << STATE_KIND_BITS | kind,
							   counts[2] << STATE_KIND_BITS | kind, counts[3] << STATE_KIND_BITS | kind);

#ifdef GSORT_EMULATE
	*(uint4 *) states = x;
#else
	asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};"
				 :: "l"(states), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory");
#endif
}

/* The kind of all four, or 0 while they are not of one kind: only single words are sure to be seen whole. */
SORT_DEVICE uint32_t
kind_of_states(uint4 x)
{
	uint32_t	differences = (x.x ^ x.y) | (x.x ^ x.z) | (x.x ^ x.w);

	return (differences & STATE_KIND_MASK) == 0 ? x.x & STATE_KIND_MASK : 0;
}

/*
 * Adds up what the tiles before this one, which is not tile 0, have told of four digits.
 * states: of tile 0, its first of the four.
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
		bool		told = true;

#pragma unroll
		for (uint32_t i = 0; i < LOOK_BACK_TILES; i++)
			before[i] = load_states(states + (size_t) (tile > i ? tile - i - 1 : 0) * RADIX_BINS);
#pragma unroll
		for (uint32_t i = 0; i < LOOK_BACK_TILES; i++)
		{
			uint32_t	kind = kind_of_states(before[i]);

			told = told && !known && (kind == STATE_OF_TILE || kind == STATE_ALL(pass));
			if (told)
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

#endif							/* GSORT_RADIX_STATES_CUH */
