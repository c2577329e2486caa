/*
 * merge_bench.cuh
 *	  gsort_bench's merges of MERGED_RUNS sorted runs: to an order at once, or
 *	  pairwise.
 *
 * In:  an input, whose rows are cut into runs of equal length and sorted there.
 * Out: a line for each algorithm.  A stable merge of stably sorted neighbours
 *	    equals the stable sort of the whole, so the input provides the
 *	    reference.
 */
#ifndef GSORT_MERGE_BENCH_CUH
#define GSORT_MERGE_BENCH_CUH

#include "peers/pair_run.h"

#if __has_include(<cub/device/device_merge.cuh>)
#include <cub/device/device_merge.cuh>
#define HAVE_CUB_DEVICE_MERGE
#endif

#define MERGED_RUNS		16			/* a power of two */

/* Streams for the merges of one round, ordered behind the default stream and
 * before its later work. */
struct side_streams
{
	cudaStream_t streams[MERGED_RUNS / 2];
	cudaEvent_t events[MERGED_RUNS / 2];
	cudaEvent_t begun;

	side_streams()
	{
		CHECK(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming));
		for (int i = 0; i < MERGED_RUNS / 2; i++)
		{
			CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
			CHECK(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
		}
	}

	~side_streams()
	{
		cudaEventDestroy(begun);
		for (int i = 0; i < MERGED_RUNS / 2; i++)
		{
			cudaStreamDestroy(streams[i]);
			cudaEventDestroy(events[i]);
		}
	}

	void fork(int n)
	{
		CHECK(cudaEventRecord(begun));
		for (int i = 0; i < n; i++)
			CHECK(cudaStreamWaitEvent(streams[i], begun, 0));
	}

	void join(int n)
	{
		for (int i = 0; i < n; i++)
		{
			CHECK(cudaEventRecord(events[i], streams[i]));
			CHECK(cudaStreamWaitEvent(NULL, events[i], 0));
		}
	}
};

template<typename Key>
struct sorted_runs
{
	input<Key> &in;
	device_array<Key> keys;		/* run after run */
	device_array<uint32_t> rows;
	device_array<Key> other_keys;	/* output of every second round */
	device_array<uint32_t> other_rows;
	side_streams sides;

	explicit sorted_runs(input<Key> &input):
		in(input), keys(in.n), rows(in.n), other_keys(in.n), other_rows(in.n)
	{
		size_t		bytes = 0;
		uint64_t	longest = begin_of(MERGED_RUNS) - begin_of(MERGED_RUNS - 1);

		CHECK(cub::DeviceRadixSort::SortPairs(NULL, bytes, in.keys.data, keys.data, in.rows.data,
											  rows.data, (uint32_t) longest));
		device_array<char> scratch(bytes);

		for (int r = 0; r < MERGED_RUNS; r++)
		{
			uint64_t	begin = begin_of(r);

			CHECK(cub::DeviceRadixSort::SortPairs(scratch.data, bytes, in.keys.data + begin,
												  keys.data + begin, in.rows.data + begin,
												  rows.data + begin,
												  (uint32_t) (begin_of(r + 1) - begin)));
		}
		CHECK(cudaDeviceSynchronize());
	}

	/* The last run is the longest. */
	uint64_t begin_of(int run)
	{
		return in.n * run / MERGED_RUNS;
	}

	pair_run describe(Key *from_keys, uint32_t *from_rows, int first, int end)
	{
		uint64_t	begin = begin_of(first);

		return {from_keys + begin, from_rows + begin, (uint32_t) (begin_of(end) - begin)};
	}

	/*
	 * Rounds of merges of two neighbours: merge(a, b, to_keys, to_rows, number,
	 * stream).  The number of rounds is even, so the last one writes the
	 * input's output arrays.
	 */
	template<typename Merge>
	void merge_in_rounds(Merge merge)
	{
		Key		   *from_keys = keys.data;
		uint32_t   *from_rows = rows.data;

		for (int width = 1; width < MERGED_RUNS; width *= 2)
		{
			bool		to_output = from_keys == other_keys.data;
			Key		   *to_keys = to_output ? in.keys_out.data : other_keys.data;
			uint32_t   *to_rows = to_output ? in.rows_out.data : other_rows.data;
			int			pairs = MERGED_RUNS / (2 * width);

			sides.fork(pairs);
			for (int p = 0; p < pairs; p++)
			{
				int			first = 2 * width * p;
				uint64_t	begin = begin_of(first);

				merge(describe(from_keys, from_rows, first, first + width),
					  describe(from_keys, from_rows, first + width, first + 2 * width),
					  to_keys + begin, to_rows + begin, p, sides.streams[p]);
			}
			sides.join(pairs);
			from_keys = to_keys;
			from_rows = to_rows;
		}
	}

#ifdef HAVE_CUB_DEVICE_MERGE
	cudaError_t cub_merge(void *scratch, size_t &bytes, const pair_run &a, const pair_run &b,
						  Key *to_keys, uint32_t *to_rows, cudaStream_t stream)
	{
		return cub::DeviceMerge::MergePairs(scratch, bytes, (const Key *) a.keys, a.rows,
											(int64_t) a.count, (const Key *) b.keys, b.rows,
											(int64_t) b.count, to_keys, to_rows, less_than(),
											stream);
	}

	void run_cub_two_way()
	{
		size_t		bytes = 0;
		size_t		each;

		static_assert(MERGED_RUNS == 16, "an even number of rounds");
		CHECK(cub_merge(NULL, bytes, describe(keys.data, rows.data, 0, MERGED_RUNS / 2),
						describe(keys.data, rows.data, MERGED_RUNS / 2, MERGED_RUNS),
						in.keys_out.data, in.rows_out.data, NULL));
		each = (bytes + 255) / 256 * 256;
		device_array<char> scratch(each * (MERGED_RUNS / 2));

		in.measure("cub_two_way_merge", true, [] {}, [&] {
			merge_in_rounds([&](const pair_run &a, const pair_run &b, Key *to_keys,
								uint32_t *to_rows, int number, cudaStream_t stream) {
				CHECK(cub_merge(scratch.data + number * each, bytes, a, b, to_keys, to_rows,
								stream));
			});
		});
	}
#endif

	/* The run of each row in the reference order. */
	std::vector<uint8_t> right_order()
	{
		std::vector<uint32_t> right(in.n);
		std::vector<uint8_t> order(in.n);

		CHECK(cudaMemcpy(right.data(), in.rows_right.data, in.n * sizeof(uint32_t),
						 cudaMemcpyDeviceToHost));
		for (uint64_t i = 0; i < in.n; i++)
		{
			int			run = (int) ((uint64_t) right[i] * MERGED_RUNS / in.n);

			while (right[i] >= begin_of(run + 1))
				run++;
			order[i] = (uint8_t) run;
		}
		return order;
	}

	/* A job's plan for the statistics of the keys. */
	key_plan plan_of_keys()
	{
		gsort_column_stats stats;
		unsigned long long seen[2];
		Key			ends[2];

		in.find_significant_bits();
		CHECK(cudaMemcpy(seen, in.counters.data, sizeof(seen), cudaMemcpyDeviceToHost));
		CHECK(cudaMemcpy(&ends[0], in.keys_right.data, sizeof(Key), cudaMemcpyDeviceToHost));
		CHECK(cudaMemcpy(&ends[1], in.keys_right.data + in.n - 1, sizeof(Key),
						 cudaMemcpyDeviceToHost));
		stats.min = ends[0];
		stats.max = ends[1];
		stats.any = seen[0];
		stats.all = ~seen[1];
		stats.nulls = 0;
		return key_plan_make(1, 0, &stats);
	}

	/*
	 * Times a merge to an order: merge(plan, runs, d_order).  Checks the bytes
	 * of the rows only, because the algorithms differ in the padding.
	 */
	template<typename Merge>
	void measure_order(const char *name, Merge merge)
	{
		const key_plan plan = plan_of_keys();
		merge_run	runs[MERGED_RUNS];
		uint64_t	order_bytes = (in.n + 7) / 8 * 8;
		device_array<uint8_t> order(order_bytes);
		std::vector<uint8_t> got(in.n);
		std::vector<float> times;

		for (int r = 0; r < MERGED_RUNS; r++)
			runs[r] = {keys.data + begin_of(r), NULL, (uint32_t) (begin_of(r + 1) - begin_of(r)),
				0};
		CHECK(cudaMemset(order.data, POISON, order_bytes));
		times = time_repeats([] {}, [&] {
			CHECK(merge(plan, runs, order.data));
		});
		CHECK(cudaMemcpy(got.data(), order.data, in.n, cudaMemcpyDeviceToHost));
		report(name, 8 * sizeof(Key), in.n, in.name.c_str(), times, got == right_order());
	}

	void run_order()
	{
		device_array<char> scratch(order_merge_scratch_bytes(in.n, MERGED_RUNS));

		measure_order("order_merge", [&](const key_plan &plan, const merge_run *runs,
										 uint8_t *d_order) {
			return order_merge(&plan, runs, MERGED_RUNS, scratch.data, d_order, NULL);
		});
	}
};

/* Runs the selected merges. */
template<typename Key>
static void
bench_merges(input<Key> &in)
{
	const std::string &algorithms = the_options.algorithms;
	bool		order = listed(algorithms, "order_merge") && sizeof(Key) == sizeof(uint64_t);

	if (!listed(algorithms, "cub_two_way_merge") && !order)
		return;

	sorted_runs<Key> runs(in);

#ifdef HAVE_CUB_DEVICE_MERGE
	if (listed(algorithms, "cub_two_way_merge"))
		runs.run_cub_two_way();
#endif
	if (order)
		runs.run_order();
}

#endif							/* GSORT_MERGE_BENCH_CUH */
