/*
 * peer_bench.cuh
 *	  gsort_bench's peers: algorithms of the literature, which the product does
 *	  not use.
 *
 * In:  an input; for the merges its sorted runs (merge_bench.cuh).
 * Out: a line for each algorithm selected by its name or by "peers".
 *
 * Scratch is allocated before the timed calls, as for all other algorithms.
 */
#ifndef GSORT_PEER_BENCH_CUH
#define GSORT_PEER_BENCH_CUH

#include "peers/pivot_merge.h"
#include "peers/rank_merge.h"
#include "peers/tile_merge_sort.h"

static bool
peer_listed(const char *name)
{
	return listed(the_options.algorithms, name) || listed(the_options.algorithms, "peers");
}

static void
check_status(gsort_status status)
{
	if (status != GSORT_OK)
		CHECK(cudaErrorLaunchFailure);
}

typedef gsort_status (*pair_sorter) (const unsorted_pairs *pairs, void *d_keys_out,
									 uint32_t *d_rows_out, void *d_scratch, size_t scratch_bytes,
									 cudaStream_t stream);

template<typename Key>
static void
run_peer_sort(input<Key> &in, const char *name, pair_sorter sort)
{
	const unsorted_pairs pairs = {in.keys.data, in.rows.data, in.n, 8 * sizeof(Key)};
	size_t		bytes = tile_merge_sort_scratch_bytes(&pairs);
	device_array<char> scratch(bytes);

	in.measure(name, true, [] {}, [&] {
		check_status(sort(&pairs, in.keys_out.data, in.rows_out.data, scratch.data, bytes, NULL));
	});
}

template<typename Key>
static void
run_rank_merge(sorted_runs<Key> &runs)
{
	runs.in.measure("rank_merge", true, [] {}, [&] {
		runs.merge_in_rounds([](const pair_run &a, const pair_run &b, Key *to_keys,
								uint32_t *to_rows, int, cudaStream_t stream) {
			check_status(rank_merge(&a, &b, 8 * sizeof(Key), to_keys, to_rows, stream));
		});
	});
}

/* Merges of one round run concurrently: each has its own scratch, sized for the
 * last round. */
template<typename Key>
static void
run_segmented_rank_merge(sorted_runs<Key> &runs)
{
	size_t		bytes = segmented_rank_merge_scratch_bytes(runs.in.n);
	size_t		each = (bytes + 255) / 256 * 256;
	device_array<char> scratch(each * (MERGED_RUNS / 2));

	runs.in.measure("segmented_rank_merge", true, [] {}, [&] {
		runs.merge_in_rounds([&](const pair_run &a, const pair_run &b, Key *to_keys,
								 uint32_t *to_rows, int number, cudaStream_t stream) {
			check_status(segmented_rank_merge(&a, &b, 8 * sizeof(Key), to_keys, to_rows,
											  scratch.data + number * each, bytes, stream));
		});
	});
}

template<typename Key>
static void
run_pivot_merge(sorted_runs<Key> &runs)
{
	device_array<char> scratch(pivot_merge_scratch_bytes(runs.in.n, MERGED_RUNS));

	runs.measure_order("pivot_merge", [&](const key_plan &plan, const merge_run *described,
										  uint8_t *d_order) {
		return pivot_merge(&plan, described, MERGED_RUNS, scratch.data, d_order, NULL);
	});
}

/* Runs the selected peers. */
template<typename Key>
static void
bench_peers(input<Key> &in)
{
	if (peer_listed("bitonic_merge_sort"))
		run_peer_sort(in, "bitonic_merge_sort", bitonic_merge_sort);
	if (peer_listed("cooperative_merge_sort"))
		run_peer_sort(in, "cooperative_merge_sort", cooperative_merge_sort);

	bool		pivot = peer_listed("pivot_merge") && sizeof(Key) == sizeof(uint64_t);

	if (!peer_listed("rank_merge") && !peer_listed("segmented_rank_merge") && !pivot)
		return;

	sorted_runs<Key> runs(in);

	if (peer_listed("rank_merge"))
		run_rank_merge(runs);
	if (peer_listed("segmented_rank_merge"))
		run_segmented_rank_merge(runs);
	if (pivot)
		run_pivot_merge(runs);
}

#endif							/* GSORT_PEER_BENCH_CUH */
