/*
 * stage_emit.cuh
 *	  The last stage of the sort: a functor receives each row with its place.
 *
 * In:  places of the sorted order, each with its row.
 * Out: the functor's output; emit_pairs writes the rows and keys of a
 *	    gsort_pairs.
 *
 * The code that finds a row's place calls the functor at once, so no
 * permutation is written and read again.  The kernels are templates over the
 * functor and take it by value:
 *
 *	  __device__ void operator()(uint32_t place, uint32_t row) const
 *
 * Threads of all blocks call it, in any order, for each place below n; the row,
 * also below n, is its place in the input.  A place may receive several calls,
 * of which the last is valid: rows of keys that are not presorted after all are
 * emitted again.  The output may therefore depend on the place and the row
 * alone, not on the preceding row, as tie bits do.  The key is not passed: few
 * kernels have the whole key at hand, and functors that do not need it should
 * not pay for it.
 */
#ifndef GSORT_STAGE_EMIT_CUH
#define GSORT_STAGE_EMIT_CUH

#include "sort/launch_plan.cuh"
#include "sort/partition_plan.cuh"
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

/* --- presorted keys ------------------------------------------------------ */

/*
 * Keys that are already in rising or falling order, by the order seen in the
 * sorted sample (partition_split.cuh), are emitted in place or reversed.  If a
 * neighbour contradicts the sample, the sort emits all rows again.
 *
 * If the sample is unordered, which is nearly always so, the kernel ends at
 * once.  Otherwise it reads each key once and emits on the way.  This takes a
 * fifth of the partition's traffic.  The first contradiction that any block
 * finds ends all of them.
 *
 * The functor contains the compared keys as its member keys.  The compiler thus
 * sees that these are the emitted keys.  With a separate argument, the compiler
 * would generate other code.
 */

#define PRESORTED_THREADS	512
#define PRESORTED_ITEMS		8
#define PRESORTED_TILE		(PRESORTED_THREADS * PRESORTED_ITEMS)

/* True if two neighbours contradict the order of the sample.  The sort is
 * stable, so falling keys must differ. */
static inline GSORT_HD bool
contradicts(uint32_t seen_order, uint64_t key, uint64_t next)
{
	return seen_order == SEEN_RISING ? key > next : key <= next;
}

/* Emits a tile; true: neighbours contradict. */
template<typename Key, typename Emit>
SORT_DEVICE bool
pass_tile_through(const typed_keys<Key> &keys, uint32_t n, uint32_t tile, uint32_t seen_order,
				  const Emit &emit)
{
	Key			key[PRESORTED_ITEMS];
	Key			next[PRESORTED_ITEMS];
	bool		contradicted = false;

#pragma unroll
	for (int i = 0; i < PRESORTED_ITEMS; i++)
	{
		uint32_t	row = tile + i * PRESORTED_THREADS + threadIdx.x;

		key[i] = row < n ? keys[row] : 0;
		next[i] = row + 1 < n ? keys[row + 1] : 0;
	}
#pragma unroll
	for (int i = 0; i < PRESORTED_ITEMS; i++)
	{
		uint32_t	row = tile + i * PRESORTED_THREADS + threadIdx.x;

		if (row < n)
			emit(seen_order == SEEN_RISING ? row : n - 1 - row, row);
		contradicted |= row + 1 < n && contradicts(seen_order, key[i], next[i]);
	}
	return contradicted;
}

/* Grid: any, each block takes tiles in turn; blocks of PRESORTED_THREADS. */
template<typename Key, typename Emit>
static __global__ void
__launch_bounds__(PRESORTED_THREADS)
presorted_kernel(uint32_t n, partition_plan *plan, Emit emit)
{
	await_kernel_ahead();
	uint32_t	seen_order = plan->verdict.seen_order;

	if (seen_order == SEEN_UNORDERED)
		return;
	for (uint32_t tile = blockIdx.x * PRESORTED_TILE; tile < n; tile += gridDim.x * PRESORTED_TILE)
	{
		if (*(volatile uint32_t *) &plan->verdict.contradicted)
			return;
		if (pass_tile_through(emit.keys.template of_type<Key>(), n, tile, seen_order, emit))
			*(volatile uint32_t *) &plan->verdict.contradicted = 1;
	}
}

/* Runs behind choose_splitters and before partition_keys, which has no work if
 * this succeeds. */
template<typename Emit>
static cudaError_t
pass_presorted(uint32_t n, partition_plan *plan, const Emit &emit, const launch_target &target)
{
	return launch(emit.keys.key_bits == 32 ? presorted_kernel<uint32_t, Emit> :
				  presorted_kernel<uint64_t, Emit>,
				  tiles_up_to(n, PRESORTED_TILE,
							  target.device.processors * GRID_BLOCKS_A_PROCESSOR),
				  PRESORTED_THREADS, 0, target.stream, n, plan, emit);
}

#endif							/* GSORT_STAGE_EMIT_CUH */
