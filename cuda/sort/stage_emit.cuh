/*
 * stage_emit.cuh
 *	  The last stage of the sort: a functor receives each row with its place.
 *
 * In:  places of the sorted order, each with its row.
 * Out: the functor's output; emit_pairs writes the rows and keys of a
 *	    gsort_pairs.
 *
 *	  tile sort, crowded sort, last merge, presorted --(place, row)--> functor
 *
 * This stage has no kernel of its own.  The code that finds a row's place calls
 * the functor at once, so no permutation is written and read again.  The
 * kernels are templates over the functor and take it by value:
 *
 *	  __device__ void operator()(uint32_t place, uint32_t row) const
 *
 * Threads of all blocks call it, in any order, for each place below n; the row,
 * also below n, is its place in the input.  A place may receive several calls:
 * output of presorted.cuh is void once a neighbour contradicts, and the last
 * call is valid.  The output may therefore depend on the place and the row
 * alone.  The output must not depend on the preceding row of the order, as tie
 * bits do, because another block may or may not have emitted that row.  The key
 * is not passed: few kernels have the whole key at hand, and functors that do
 * not need it should not pay for it.
 */
#ifndef GSORT_STAGE_EMIT_CUH
#define GSORT_STAGE_EMIT_CUH

#include "sort/items.cuh"

struct emit_pairs
{
	key_view	keys;
	const uint32_t *rows_in;	/* NULL: the identity */
	uint32_t   *rows_out;
	uint64_t   *keys_out;		/* keys of 64 bits; NULL: not requested */

	__device__ __forceinline__ void operator()(uint32_t place, uint32_t row) const
	{
		rows_out[place] = rows_in != NULL ? rows_in[row] : row;
		if (keys_out != NULL)
			keys_out[place] = keys.of_type<uint64_t>().keys[row];
	}
};

#endif							/* GSORT_STAGE_EMIT_CUH */
