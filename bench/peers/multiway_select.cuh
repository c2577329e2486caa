/*
 * multiway_select.cuh
 *	  The input of a multiway merge, and samples of its runs.
 *
 * In:  the runs' descriptions and keys, the plan that makes words of them.
 * Out: every stride-th key of each run, with its exact place in the output, by
 *	    one binary search in every run.
 *
 * The order of (key, run, place) has no equals, so equal keys need no special
 * case.
 */
#ifndef GSORT_MULTIWAY_SELECT_CUH
#define GSORT_MULTIWAY_SELECT_CUH

#include "rows/key_plan.h"
#include "sort/launch_plan.cuh"
#include "sort/order_merge.h"
#include "sort/partition_point.cuh"
#include "sort/tuning.h"
#include "sort/warps.cuh"

#define RUN_SLOTS			256		/* a power of two above MERGE_RUNS_MAX */
#define RUNS_RECORDED_AT_ONCE	64		/* limit of a kernel's arguments */
/* Blocks per multiprocessor, low enough for each thread's registers. */
#define SELECT_BLOCKS		4
#define SELECT_WARPS		4		/* warps of a block that samples or splits */

/* A run with the number of its first sample. */
struct sampled_run : merge_run
{
	uint32_t	first_sample;
};

/* --- input ---------------------------------------------------------------- */

/* Runs of raw key columns, which the plan packs into one word of 32 or 64
 * bits. */
template<typename Key>
struct key_source
{
	key_plan	plan;

	__device__ __forceinline__ Key key_of(const sampled_run &run, uint32_t place) const
	{
		const uint64_t *values = (const uint64_t *) run.keys;
		uint32_t	nulls = run.nulls != NULL ? run.nulls[place] : 0;

		return (Key) key_plan_word(&plan, 0, values + place, run.count, nulls);
	}
};

/* --- run descriptions ----------------------------------------------------- */

typedef struct merge_run_list
{
	sampled_run runs[RUNS_RECORDED_AT_ONCE];
} merge_run_list;

/* Grid: one block of RUNS_RECORDED_AT_ONCE threads.  Thread i writes runs[first
 * + i]. */
static __global__ void
multiway_record_runs_kernel(merge_run_list list, uint32_t first, uint32_t n, sampled_run *runs)
{
	if (threadIdx.x < n)
		runs[first + threadIdx.x] = list.runs[threadIdx.x];
}

/* --- samples -------------------------------------------------------------- */

/* The runs of one lane of a warp. */
struct lane_runs
{
	uint32_t	first;
	uint32_t	end;

	__device__ __forceinline__ explicit lane_runs(uint32_t n_runs)
	{
		uint32_t	each = (n_runs + WARP_THREADS - 1) / WARP_THREADS;

		first = lane_id() * each < n_runs ? lane_id() * each : n_runs;
		end = first + each < n_runs ? first + each : n_runs;
	}
};

/* The first place in [low, high) of run number that does not precede place
 * pivot of run pivot_run, which has the given key. */
template<typename Key>
SORT_DEVICE uint32_t
places_before(const key_source<Key> &source, const sampled_run &run, uint32_t number, uint32_t low,
			  uint32_t high, Key key, uint32_t pivot_run)
{
	return partition_point(low, high, [&](uint32_t place) {
		Key other = source.key_of(run, place);

		return other != key ? other < key : number < pivot_run;
	});
}

SORT_DEVICE uint32_t
run_of_sample(const sampled_run *runs, uint32_t n_runs, uint32_t sample)
{
	return partition_point(0, n_runs - 1, [&](uint32_t run) { return runs[run +
		1].first_sample <= sample; });
}

/*
 * Grid: a warp for each sample, SELECT_WARPS a block; RUN_SLOTS uint32 of
 * shared memory for each warp.  Sample s lies in the last run with first_sample
 * <= s, at stride * (s - first_sample).  The warp writes the number of
 * preceding places of each run, and their sum, which is the sample's rank in
 * the output.  The index of these results is the sample's place among the
 * sorted samples.  No sort is needed for this place: the preceding samples of
 * each run are those at preceding places.
 */
template<typename Key>
static __global__ void
__launch_bounds__(SELECT_WARPS * WARP_THREADS, BLOCKS_UNLESS_MEASURED(0, SELECT_BLOCKS))
multiway_sample_kernel(key_source<Key> source, const sampled_run *runs, uint32_t n_runs,
					   uint32_t stride, uint32_t n_samples, uint64_t *ranks, uint32_t *places)
{
	SHARED_MEMORY(raw);
	uint32_t   *before = (uint32_t *) raw + warp_id() * RUN_SLOTS;
	uint32_t	sample = blockIdx.x * SELECT_WARPS + warp_id();
	const lane_runs mine(n_runs);
	uint64_t	rank = 0;
	uint32_t	number = 0;
	uint32_t	run;
	uint32_t	place;
	Key key;

	if (sample >= n_samples)
		return;
	run = run_of_sample(runs, n_runs, sample);
	place = (sample - runs[run].first_sample) * stride;
	key = source.key_of(runs[run], place);
	for (uint32_t r = mine.first; r < mine.end; r++)
	{
		before[r] = r == run ? place : places_before(source, runs[r], r, 0, runs[r].count, key,
													 run);
		rank += before[r];
		number += (before[r] + stride - 1) / stride;
	}
	rank = warp_inclusive_sum(rank);
	number = __shfl_sync(WHOLE_WARP, warp_inclusive_sum(number), WARP_THREADS - 1);
	for (uint32_t r = mine.first; r < mine.end; r++)
		places[(size_t) number * n_runs + r] = before[r];
	if (lane_id() == WARP_THREADS - 1)
		ranks[number] = rank;
}

/* Numbers the runs' samples, and copies the run descriptions to the device. */
static inline cudaError_t
record_sampled_runs(const merge_run *runs, uint32_t n_runs, uint32_t stride, sampled_run *d_runs,
					uint32_t *n_samples, cudaStream_t stream)
{
	uint32_t	samples = 0;

	for (uint32_t first = 0; first < n_runs; first += RUNS_RECORDED_AT_ONCE)
	{
		uint32_t	n = n_runs - first < RUNS_RECORDED_AT_ONCE ?
			n_runs - first : RUNS_RECORDED_AT_ONCE;
		merge_run_list list = {};

		for (uint32_t i = 0; i < n; i++)
		{
			list.runs[i] = {runs[first + i], samples};
			samples += (uint32_t) (((uint64_t) runs[first + i].count + stride - 1) / stride);
		}
		CUDA_TRY(launch(multiway_record_runs_kernel, 1, RUNS_RECORDED_AT_ONCE, 0, stream, list,
						first, n, d_runs));
	}
	*n_samples = samples;
	return cudaSuccess;
}

static inline uint64_t
rows_of_runs(const merge_run *runs, uint32_t n_runs)
{
	uint64_t	total = 0;

	for (uint32_t r = 0; r < n_runs; r++)
		total += runs[r].count;
	return total;
}

#endif							/* GSORT_MULTIWAY_SELECT_CUH */
