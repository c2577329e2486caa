/*
 * multiway_select.cuh
 *	  The input of a multiway merge, and the begin of its output tiles in every
 *	  run.
 *
 * In:  the runs' descriptions and keys, the plan that makes words of them.
 * Out: for each output tile, the number of preceding places of each run.
 *
 * Multisequence selection (Varman, Scheufler, Iyer, Ricard, "Merging multiple
 * lists on hierarchical-memory multiprocessors", 1991), in two steps.  First,
 * every stride-th key of each run gets its exact place in the output by one
 * binary search in every run; two neighbouring samples then enclose a tile's
 * begin.  Second, each step takes the middle key of one run as pivot, locates
 * it in the other runs, and drops the places on the wrong side.  The pivot's
 * run is the one that holds the middle of all remaining places.  At most runs *
 * log2(stride) steps are needed.  The order of (key, run, place) has no equals,
 * so equal keys need no special case.
 */
#ifndef GSORT_MULTIWAY_SELECT_CUH
#define GSORT_MULTIWAY_SELECT_CUH

#include "rows/key_plan.h"
#include "sort/order_merge.h"
#include "sort/search.cuh"
#include "sort/tuning.h"
#include "sort/warps.cuh"

#define RUN_SLOTS			256		/* a power of two above GSORT_MERGE_RUNS_MAX */
/* Blocks per multiprocessor, low enough for each thread's registers. */
#define SELECT_BLOCKS		4
#define SELECT_WARPS		4		/* warps of a block that samples or splits */

/* --- input ---------------------------------------------------------------- */

/* Runs of raw key columns, which the plan packs into one word of 32 or 64
 * bits. */
template<typename Key>
struct key_source
{
	key_plan	plan;

	__device__ __forceinline__ Key key_of(const merge_run &run, uint32_t place) const
	{
		const uint64_t *values = (const uint64_t *) run.keys;
		uint32_t	nulls = run.nulls != NULL ? run.nulls[place] : 0;

		return (Key) key_plan_word(&plan, 0, values + place, run.count, nulls);
	}
};

/* --- samples -------------------------------------------------------------- */

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
places_before(const key_source<Key> &source, const merge_run &run, uint32_t number, uint32_t low,
			  uint32_t high, Key key, uint32_t pivot_run)
{
	return partition_point(low, high, [&](uint32_t place) {
		Key other = source.key_of(run, place);

		return other != key ? other < key : number < pivot_run;
	});
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
multiway_sample_kernel(key_source<Key> source, const merge_run *runs, uint32_t n_runs,
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
	run = partition_point(0, n_runs - 1,
						  [&](uint32_t r) { return runs[r + 1].first_sample <= sample; });
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

/* --- splits --------------------------------------------------------------- */

/* The remaining places of each run while a warp selects; each lane accesses its
 * own runs only. */
struct selection_memory
{
	uint32_t	low[RUN_SLOTS];
	uint32_t	high[RUN_SLOTS];
	uint32_t	before[RUN_SLOTS];
};

/* The run, from first on, that contains item skipped of the remaining
 * places. */
SORT_DEVICE uint32_t
run_of_remaining(const selection_memory &memory, uint32_t first, uint32_t skipped)
{
	while (skipped >= memory.high[first] - memory.low[first])
	{
		skipped -= memory.high[first] - memory.low[first];
		first++;
	}
	return first;
}

/*
 * Raises low until it covers wanted more places in total; the warp calls. low
 * and high enclose the result: at most the places between two samples remain,
 * and their sum fits uint32.
 */
template<typename Key>
SORT_DEVICE void
select_places(const key_source<Key> &source, const merge_run *runs, const lane_runs &mine,
			  uint32_t wanted, selection_memory &memory)
{
	while (wanted > 0)
	{
		uint32_t	remaining = 0;
		uint32_t	before = 0;
		uint32_t	up_to_lane;
		uint32_t	middle;
		uint32_t	run = 0;
		uint32_t	place = 0;
		int			chooser;
		Key key = 0;

		for (uint32_t r = mine.first; r < mine.end; r++)
			remaining += memory.high[r] - memory.low[r];
		up_to_lane = warp_inclusive_sum(remaining);
		middle = __shfl_sync(WHOLE_WARP, up_to_lane, WARP_THREADS - 1) / 2;
		chooser = __ffs((int) __ballot_sync(WHOLE_WARP, up_to_lane > middle)) - 1;
		if ((int) lane_id() == chooser)
		{
			run = run_of_remaining(memory, mine.first, middle - (up_to_lane - remaining));
			place = memory.low[run] + (memory.high[run] - memory.low[run]) / 2;
			key = source.key_of(runs[run], place);
		}
		run = __shfl_sync(WHOLE_WARP, run, chooser);
		place = __shfl_sync(WHOLE_WARP, place, chooser);
		key = __shfl_sync(WHOLE_WARP, key, chooser);
		for (uint32_t r = mine.first; r < mine.end; r++)
		{
			memory.before[r] = r == run ? place :
				places_before(source, runs[r], r, memory.low[r], memory.high[r], key, run);
			before += memory.before[r] - memory.low[r];
		}
		before = __shfl_sync(WHOLE_WARP, warp_inclusive_sum(before), WARP_THREADS - 1);
		/* the pivot itself goes to the lower side, unless it is the first item
		 * beyond */
		for (uint32_t r = mine.first; r < mine.end; r++)
		{
			if (before > wanted)
				memory.high[r] = memory.before[r];
			else
				memory.low[r] = memory.before[r] + (before < wanted && r == run);
		}
		if (before <= wanted)
			wanted -= before + (before < wanted);
	}
}

/*
 * Grid: a warp for each tile and one more, SELECT_WARPS a block; SELECT_WARPS
 * selection_memory of shared memory.  Warp t writes splits[t][runs]: the places
 * of each run before output place t * tile.
 */
template<typename Key>
static __global__ void
__launch_bounds__(SELECT_WARPS * WARP_THREADS, BLOCKS_UNLESS_MEASURED(0, SELECT_BLOCKS))
multiway_split_kernel(key_source<Key> source, const merge_run *runs, uint32_t n_runs,
					  uint64_t total, uint32_t tile, uint32_t n_samples, const uint64_t *ranks,
					  const uint32_t *places, uint32_t *splits)
{
	SHARED_MEMORY(raw);
	selection_memory &memory = ((selection_memory *) raw)[warp_id()];
	uint64_t	t = (uint64_t) blockIdx.x * SELECT_WARPS + warp_id();
	const lane_runs mine(n_runs);
	uint64_t	rank = t * tile;
	uint32_t	sample;

	if (t > (total + tile - 1) / tile)
		return;
	if (rank > total)
		rank = total;
	sample = partition_point(0, n_samples - 1, [&](uint32_t s) { return ranks[s + 1] <= rank; });
	for (uint32_t r = mine.first; r < mine.end; r++)
	{
		memory.low[r] = places[(size_t) sample * n_runs + r];
		memory.high[r] = sample + 1 < n_samples ? places[(size_t) (sample + 1) * n_runs + r] :
			runs[r].count;
	}
	select_places(source, runs, mine, (uint32_t) (rank - ranks[sample]), memory);
	for (uint32_t r = mine.first; r < mine.end; r++)
		splits[t * n_runs + r] = memory.low[r];
}

#endif							/* GSORT_MULTIWAY_SELECT_CUH */
