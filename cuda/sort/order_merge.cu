/*
 * order_merge.cu
 *	  The multiway merge of retained keys to run numbers.
 *
 * In:  runs of raw key columns, a plan of one word.
 * Out: the merge order, one byte per row.
 *
 *	  runs --split, coarse and fine--> each output tile's begin in every run
 *	       --sort---> the runs of the tile's rows
 *
 * The output is cut into tiles of equal size, so that the work of the blocks is
 * balanced for any distribution of the keys.  A block loads its tile's words
 * from all runs and sorts them with the numbers of their runs.  Equal words of
 * one run need no order, because only the run is written.
 */
#include "sort/order_merge.h"

#include "sort/launch_plan.cuh"
#include "sort/tile_sort.cuh"

#define RUNS_A_LANE		((MERGE_RUNS_MAX + WARP_THREADS) / WARP_THREADS)
#define SPLIT_WARPS		4		/* warps of a block that splits */
#define COARSE_TILES	32		/* tiles between two coarse splits */
#define RUNS_RECORDED_AT_ONCE	64		/* limit of a kernel's arguments */

/* --- run descriptions ----------------------------------------------------- */

typedef struct merge_run_list
{
	merge_run	runs[RUNS_RECORDED_AT_ONCE];
} merge_run_list;

/* Grid: one block of RUNS_RECORDED_AT_ONCE threads. */
static __global__ void
merge_record_runs_kernel(merge_run_list list, uint32_t n, merge_run *runs)
{
	if (threadIdx.x < n)
		runs[threadIdx.x] = list.runs[threadIdx.x];
}

static cudaError_t
record_runs(const merge_run *runs, uint32_t n_runs, merge_run *d_runs, cudaStream_t stream)
{
	for (uint32_t first = 0; first < n_runs; first += RUNS_RECORDED_AT_ONCE)
	{
		uint32_t	n = n_runs - first < RUNS_RECORDED_AT_ONCE ? n_runs - first :
			RUNS_RECORDED_AT_ONCE;
		merge_run_list list = {};

		for (uint32_t i = 0; i < n; i++)
			list.runs[i] = runs[first + i];
		CUDA_TRY(launch(merge_record_runs_kernel, 1, RUNS_RECORDED_AT_ONCE, 0, stream, list, n,
						d_runs + first));
	}
	return cudaSuccess;
}

SORT_DEVICE uint64_t
word_of_row(const key_plan &plan, const merge_run &run, uint32_t row)
{
	return key_plan_word(&plan, 0, (const uint64_t *) run.keys + row, run.count,
						 run.nulls != NULL ? run.nulls[row] : 0);
}

/* --- splits --------------------------------------------------------------- */

/*
 * Writes splits[t][runs]: the rows of each run before output place t * tile.
 * The search fixes the word of the last row before it bit by bit (multisequence
 * selection: Varman, Scheufler, Iyer, Ricard, "Merging multiple lists on
 * hierarchical-memory multiprocessors", 1991).  Rows equal to that word come in
 * the order of the runs. coarse: splits at every COARSE_TILES tiles, which
 * bound the search, or NULL.  Grid: a warp for each tile and one more,
 * SPLIT_WARPS a block.  Lane l has the runs l, l + 32, ...
 */
static __global__ void
__launch_bounds__(SPLIT_WARPS * WARP_THREADS)
merge_split_kernel(key_plan plan, const merge_run *runs, uint32_t n_runs, uint64_t total,
				   uint64_t tile, const uint32_t *coarse, uint32_t *splits)
{
	uint64_t	t = (uint64_t) blockIdx.x * SPLIT_WARPS + warp_id();
	const uint32_t *bounds = coarse + (t > 0 ? (t - 1) / COARSE_TILES * n_runs : 0);
	uint64_t	left = t * tile < total ? t * tile : total;
	uint64_t	least = 0;
	uint64_t	most = key_low_bits(plan.bits);
	uint32_t	low[RUNS_A_LANE];
	uint32_t	high[RUNS_A_LANE];
	uint32_t	middles[RUNS_A_LANE];
	uint64_t	below = 0;

	if (t > (total + tile - 1) / tile)
		return;
#pragma unroll
	for (uint32_t k = 0; k < RUNS_A_LANE; k++)
	{
		uint32_t	r = k * WARP_THREADS + lane_id();

		low[k] = r < n_runs && coarse != NULL ? bounds[r] : 0;
		high[k] = r >= n_runs ? 0 : coarse != NULL ? bounds[n_runs + r] : runs[r].count;
	}
	while (least < most)
	{
		uint64_t	middle = least + (most - least) / 2;
		uint64_t	sum = 0;
		bool		passed;

#pragma unroll
		for (uint32_t k = 0; k < RUNS_A_LANE; k++)
		{
			const merge_run *run = runs + k * WARP_THREADS + lane_id();

			middles[k] = partition_point(low[k], high[k], [&](uint32_t row) {
				return word_of_row(plan, *run, row) <= middle;
			});
			sum += middles[k];
		}
		passed = __shfl_sync(WHOLE_WARP, warp_inclusive_sum(sum), WARP_THREADS - 1) < left;
		least = passed ? middle + 1 : least;
		most = passed ? most : middle;
#pragma unroll
		for (uint32_t k = 0; k < RUNS_A_LANE; k++)
		{
			low[k] = passed ? middles[k] : low[k];
			high[k] = passed ? high[k] : middles[k];
		}
	}
#pragma unroll
	for (uint32_t k = 0; k < RUNS_A_LANE; k++)
		below += low[k];
	left -= __shfl_sync(WHOLE_WARP, warp_inclusive_sum(below), WARP_THREADS - 1);
#pragma unroll
	for (uint32_t k = 0; k < RUNS_A_LANE; k++)
	{
		uint32_t	r = k * WARP_THREADS + lane_id();
		uint64_t	equal = high[k] - low[k];
		uint64_t	up_to_me = warp_inclusive_sum(equal);
		uint64_t	before = up_to_me - equal < left ? up_to_me - equal : left;

		if (r < n_runs)
			splits[t * n_runs + r] = low[k] + (uint32_t) gsort_min_u64(equal, left - before);
		left -= gsort_min_u64(left, __shfl_sync(WHOLE_WARP, up_to_me, WARP_THREADS - 1));
	}
}

/* --- tiles ---------------------------------------------------------------- */

template<typename Row>
struct merge_tile_memory
{
	uint64_t	words[Row::TILE];
	uint32_t	runs[Row::TILE];	/* the runs of the words */
	uint32_t	begins[MERGE_RUNS_MAX];	/* of the runs' stretches in the tile */
	uint32_t	skipped[MERGE_RUNS_MAX];	/* first row of a stretch, minus its begin */
	uint32_t	warp_sums[WARP_THREADS];
};

/* Fills the tile, run after run; requires a barrier afterwards. */
template<typename Row>
SORT_DEVICE void
load_stretches(merge_tile_memory<Row> &shared, const key_plan &plan, const merge_run *runs,
			   uint32_t n_runs, const uint32_t *splits, uint32_t count)
{
	uint32_t	mine = threadIdx.x;
	uint32_t	length = mine < n_runs ? splits[n_runs + mine] - splits[mine] : 0;
	uint32_t	begin = block_exclusive_sum<Row::THREADS>(length, shared.warp_sums, NULL);

	static_assert(Row::THREADS > MERGE_RUNS_MAX, "each run has a thread");
	if (mine < n_runs)
	{
		shared.begins[mine] = begin;
		shared.skipped[mine] = splits[mine] - begin;
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < Row::ITEMS; i++)
	{
		uint32_t	at = i * Row::THREADS + threadIdx.x;

		if (at < count)
		{
			uint32_t	r = partition_point(0, n_runs - 1,
											[&](uint32_t s) { return shared.begins[s + 1] <= at; });

			shared.words[at] = word_of_row(plan, runs[r], at + shared.skipped[r]);
			shared.runs[at] = r;
		}
	}
}

/* Writes the runs of the output places from blockIdx.x * TILE on, eight per
 * store, padded with zeros.  Grid: a block of THREADS for each output tile;
 * shared: merge_tile_memory. */
template<typename Row>
static __global__ void
__launch_bounds__(Row::THREADS, (blocks_that_fit<merge_tile_memory<Row>>(Row::BLOCKS)))
merge_tile_kernel(key_plan plan, const merge_run *runs, uint32_t n_runs, uint64_t total,
				  const uint32_t *splits, uint64_t *order)
{
	SHARED_MEMORY(raw);
	merge_tile_memory<Row> &shared = *(merge_tile_memory<Row> *) raw;
	uint64_t	first = (uint64_t) blockIdx.x * Row::TILE;
	uint32_t	count = total - first < Row::TILE ? (uint32_t) (total - first) : Row::TILE;

	static_assert(Row::TILE % 8 == 0, "whole stores");
	load_stretches(shared, plan, runs, n_runs, splits + (size_t) blockIdx.x * n_runs, count);
	__syncthreads();
	merge_sort_tile<Row::THREADS, Row::ITEMS, true>({shared.words, shared.runs}, count,
													item_word_order());
	for (uint32_t i = threadIdx.x; i < (count + 7) / 8; i += Row::THREADS)
	{
		uint64_t	eight = 0;

		for (uint32_t k = 0; k < 8 && i * 8 + k < count; k++)
			eight |= (uint64_t) shared.runs[i * 8 + k] << 8 * k;
		order[first / 8 + i] = eight;
	}
}

/* --- the merge ------------------------------------------------------------ */

typedef struct merge_scratch
{
	merge_run  *runs;			/* [runs] */
	uint32_t   *coarse;			/* [coarse tiles + 1][runs] */
	uint32_t   *splits;			/* [tiles + 1][runs] */
	size_t		bytes;
} merge_scratch;

/* Lays out the scratch; with NULL, only counts. */
static merge_scratch
merge_lay_out(uint64_t total, uint32_t n_runs, void *d_scratch)
{
	scratch_cursor cursor = {(uintptr_t) d_scratch};
	merge_scratch scratch;

	take(&cursor, &scratch.runs, n_runs);
	take(&cursor, &scratch.coarse, (tiles_for(total, COARSE_TILES * MERGE_ROW::TILE) + 1) * n_runs);
	take(&cursor, &scratch.splits, ((size_t) tiles_for(total, MERGE_ROW::TILE) + 1) * n_runs);
	scratch.bytes = cursor.at - (uintptr_t) d_scratch;
	return scratch;
}

size_t
order_merge_scratch_bytes(uint64_t rows, uint32_t n_runs)
{
	return merge_lay_out(rows, n_runs, NULL).bytes;
}

static cudaError_t
split_runs(const key_plan &plan, const merge_run *d_runs, uint32_t n_runs, uint64_t total,
		   uint64_t tile, const uint32_t *coarse, uint32_t *splits, cudaStream_t stream)
{
	return launch(merge_split_kernel, tiles_for(tiles_for(total, tile) + 1, SPLIT_WARPS),
				  SPLIT_WARPS * WARP_THREADS, 0, stream, plan, d_runs, n_runs, total, tile, coarse,
				  splits);
}

cudaError_t
order_merge(const key_plan *plan, const merge_run *runs, uint32_t n_runs, void *d_scratch,
			uint8_t *d_order, cudaStream_t stream)
{
	typedef MERGE_ROW Row;
	uint64_t	total = 0;

	static_assert(sizeof(merge_tile_memory<Row>) <= Row::SHARED_BYTES, "shared memory of the row");
	if (n_runs == 0 || n_runs > MERGE_RUNS_MAX)
		return cudaErrorInvalidValue;
	for (uint32_t r = 0; r < n_runs; r++)
		total += runs[r].count;
	if (total == 0)
		return cudaSuccess;

	const merge_scratch scratch = merge_lay_out(total, n_runs, d_scratch);

	CUDA_TRY(record_runs(runs, n_runs, scratch.runs, stream));
	CUDA_TRY(split_runs(*plan, scratch.runs, n_runs, total, COARSE_TILES * Row::TILE, NULL,
						scratch.coarse, stream));
	CUDA_TRY(split_runs(*plan, scratch.runs, n_runs, total, Row::TILE, scratch.coarse,
						scratch.splits, stream));
	return launch(merge_tile_kernel<Row>, tiles_for(total, Row::TILE), Row::THREADS,
				  sizeof(merge_tile_memory<Row>), stream, *plan, (const merge_run *) scratch.runs,
				  n_runs, total, (const uint32_t *) scratch.splits, (uint64_t *) d_order);
}
