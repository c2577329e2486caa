/*
 * stage_emit.cuh
 *	  The last stage of the sort: what becomes of a row whose place is known.
 *
 * In:  places of the sorted order, each with the row that comes there.
 * Out: what the functor makes of them; emit_pairs: the rows and keys of a
 *	    gsort_pairs.
 *
 *	  tile sort, crowded sort, last merge, presorted --(place, row)--> functor
 *
 * This stage has no kernel of its own: whatever finds a row's place calls the
 * functor there and then, so no permutation is written to be read again.  The
 * kernels are templates over the functor and take it by value:
 *
 *	  __device__ void operator()(uint32_t place, uint32_t row) const
 *
 * Threads of all blocks call it, in any order, for each place below n; the row
 * is the place in the input, below n too.  It may be called for a place more
 * than once: what presorted.cuh emits before a neighbour contradicts it is
 * void, and the last call stands.  So it writes what depends on the place and
 * the row alone: not what depends on the row before in the order, as tie bits
 * do, which another block may have emitted, or not yet.  The key is not handed
 * over: few kernels have all of it at hand then, and who does not need it shall
 * not pay.
 */
#ifndef GSORT_STAGE_EMIT_CUH
#define GSORT_STAGE_EMIT_CUH

#include "sort/keys.cuh"

/* To the caller's output arrays. */
struct emit_pairs
{
	key_view	keys;
	const uint32_t *rows_in;	/* NULL: a row is its own number */
	uint32_t   *rows_out;
	uint64_t   *keys_out;		/* of keys of 64 bits; NULL: not wanted */

	__device__ __forceinline__ void operator()(uint32_t place, uint32_t row) const
	{
		rows_out[place] = rows_in != NULL ? rows_in[row] : row;
		if (keys_out != NULL)
			keys_out[place] = keys.of_type<uint64_t>().keys[row];
	}
};

#endif							/* GSORT_STAGE_EMIT_CUH */
