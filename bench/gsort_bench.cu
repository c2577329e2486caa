/*
 * gsort_bench.cu
 *	  Times the project's sort and merge of (key, row) pairs beside CUB's and
 *	  moderngpu's, its gather of rows beside a copy, and whole jobs, without
 *	  PostgreSQL.
 *
 * Usage: gsort_bench [--rows N,N,...] [--bits 32|64|32_of_64|both]
 *			[--distributions all|hard|tables|NAME,...]
 *			[--algorithms NAME,...] [--repeat N] [--csv FILE]
 *
 * In:  inputs of distributions.h.  all: the usual ones; hard: inputs designed
 *	    to defeat the sort; tables: inputs like real tables, with text.
 * Out: a line for each measurement, and the same as CSV.
 *
 * Keys are made on the device.  Each sort runs once to warm up, then the given
 * number of times between two events.  Every result is compared bit by bit, on
 * the device, with the one stable permutation (from CUB's stable radix sort
 * over all bits).
 *
 * auto, partition, radix and merge are the library's engines as jobs use them.
 * The keys are a copy that the sort may overwrite, the sort numbers the rows,
 * and the output is the sorted rows only. partition_keys,
 * radix_keys and merge_keys output the sorted keys too, as the cub_ and
 * moderngpu sorts always do; the latter receive row numbers as input. auto
 * knows the varying bits, as jobs do. merge falls back to the radix sort for
 * more pairs than the merge sort supports.  With 32_of_64, the keys have 64
 * bits of which 32 vary, as in jobs with short columns.  All engines know the
 * varying bits, and inputs are named _32_bits.
 *
 * The merges start from MERGED_RUNS sorted runs of equal length. order_merge
 * (64-bit keys) outputs a run number for each row, as in jobs.
 * cub_two_way_merge outputs keys and rows, in rounds; the merges of a round run
 * concurrently on their own streams.
 *
 * The peers are algorithms of the literature that the product does not use.
 * --algorithms peers selects all of them; by default none runs
 * (peers/README.md). bitonic_merge_sort and cooperative_merge_sort output keys
 * and rows. rank_merge and segmented_rank_merge merge the same runs in the same
 * rounds. pivot_merge (64-bit keys) has the output of order_merge.
 *
 * By default no job runs (job_bench.cuh). job_cut runs whole jobs of uniform
 * keys through gsort.h, with rows of several lengths. job_cut_keys runs jobs
 * with two keys. job_cut_long runs jobs whose rows mostly fill a block each,
 * and take 1 MiB of host memory each.
 *
 * row_gather gathers rows of GATHERED_ROW_BYTES in the order of uniform keys
 * into blocks, as jobs do but without copies to the host. row_copy copies as
 * many bytes on the device.
 */
#include <cuda_runtime.h>

#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>

#include <algorithm>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <vector>

#ifdef WITH_MODERNGPU
#include <moderngpu/kernel_mergesort.hxx>
#endif

#include "distributions.h"
#include "gsort.h"
#include "sort/order_merge.h"
#include "sort/pairs_engine.h"
#include "device/transfer_rows.cuh"

#define GRID_BLOCKS		2048
#define GRID_THREADS	256
#define POISON			0xa5

static void
check(cudaError_t error, const char *what, int line)
{
	if (error != cudaSuccess)
	{
		fprintf(stderr, "gsort_bench: line %d: %s: %s\n", line, what, cudaGetErrorString(error));
		exit(2);
	}
}

#define CHECK(call) check(call, #call, __LINE__)

/* --- options -------------------------------------------------------------- */

struct options
{
	std::vector<uint64_t> rows = {100000, 1000000, 10000000, 100000000};
	std::string bits = "both";
	std::string distributions = "all";
	std::string algorithms = "auto,partition,radix,cub_radix,cub_radix_bits,cub_merge,moderngpu,"
		"cub_two_way_merge,order_merge,row_gather,row_copy";
	int			repeat = 7;
	FILE	   *csv = NULL;
};

static options the_options;
static int	failures;

static bool
listed(const std::string &list, const std::string &name)
{
	return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

static bool
wanted(distribution d)
{
	if (the_options.distributions == "all")
		return d < DISTRIBUTIONS;
	if (the_options.distributions == "hard")
		return d >= DISTRIBUTIONS && d < HARD_DISTRIBUTIONS;
	if (the_options.distributions == "tables")
		return d >= HARD_DISTRIBUTIONS;
	return listed(the_options.distributions, distribution_names[d]);
}

/* Opens the CUDA device, or ends the program with the reason. */
static gsort_device *
open_device()
{
	gsort_device_options options = {};
	gsort_device *device;
	char		reason[256];

	options.kind = GSORT_KIND_CUDA;
	gsort_prepare(0);
	if (gsort_open(&options, &device, reason, sizeof(reason)) != GSORT_OK)
	{
		fprintf(stderr, "gsort_bench: %s\n", reason);
		exit(2);
	}
	return device;
}

/* --- device arrays -------------------------------------------------------- */

template<typename T>
struct device_array
{
	T		   *data = NULL;

	explicit device_array(size_t length)
	{
		CHECK(cudaMalloc((void **) &data, length > 0 ? length * sizeof(T) : 1));
	}

	~device_array()
	{
		cudaFree(data);
	}

	device_array(const device_array &) = delete;
	device_array &operator=(const device_array &) = delete;
};

template<typename Key>
static __global__ void
make_keys_kernel(Key *keys, uint64_t n, distribution which, int bits)
{
	for (uint64_t i = blockIdx.x * (uint64_t) blockDim.x + threadIdx.x; i < n;
		 i += (uint64_t) gridDim.x * blockDim.x)
		keys[i] = (Key) distribution_key(which, i, n, 12345 + which, bits);
}

static __global__ void
number_rows_kernel(uint32_t *rows, uint64_t n)
{
	for (uint64_t i = blockIdx.x * (uint64_t) blockDim.x + threadIdx.x; i < n;
		 i += (uint64_t) gridDim.x * blockDim.x)
		rows[i] = (uint32_t) i;
}

template<typename T>
static __global__ void
count_differences_kernel(const T *a, const T *b, uint64_t n, unsigned long long *differences)
{
	unsigned long long mine = 0;

	for (uint64_t i = blockIdx.x * (uint64_t) blockDim.x + threadIdx.x; i < n;
		 i += (uint64_t) gridDim.x * blockDim.x)
		mine += a[i] != b[i];
	if (mine > 0)
		atomicAdd(differences, mine);
}

/* Folds the bits set in any key, and the bits clear in any key. */
template<typename Key>
static __global__ void
fold_bits_kernel(const Key *keys, uint64_t n, unsigned long long *any, unsigned long long *missing)
{
	unsigned long long ones = 0;
	unsigned long long zeros = 0;

	for (uint64_t i = blockIdx.x * (uint64_t) blockDim.x + threadIdx.x; i < n;
		 i += (uint64_t) gridDim.x * blockDim.x)
	{
		ones |= keys[i];
		zeros |= (Key) ~keys[i];
	}
	atomicOr(any, ones);
	atomicOr(missing, zeros);
}

/* The keys without the low bits that do not vary. */
template<typename Key>
static __global__ void
shift_keys_kernel(Key *to, const Key *from, uint64_t n, int shift)
{
	for (uint64_t i = blockIdx.x * (uint64_t) blockDim.x + threadIdx.x; i < n;
		 i += (uint64_t) gridDim.x * blockDim.x)
		to[i] = from[i] >> shift;
}

/* --- timing --------------------------------------------------------------- */

/* Sorted times; the first call, the warm-up, is excluded. */
template<typename Prepare, typename Work>
static std::vector<float>
time_repeats(Prepare prepare, Work work)
{
	std::vector<float> times;
	cudaEvent_t begin;
	cudaEvent_t end;

	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreate(&end));
	for (int i = 0; i <= the_options.repeat; i++)
	{
		float		ms;

		prepare();
		CHECK(cudaEventRecord(begin));
		work();
		CHECK(cudaEventRecord(end));
		CHECK(cudaEventSynchronize(end));
		CHECK(cudaEventElapsedTime(&ms, begin, end));
		if (i > 0)
			times.push_back(ms);
	}
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaEventDestroy(begin));
	CHECK(cudaEventDestroy(end));
	std::sort(times.begin(), times.end());
	return times;
}

/* Writes a measurement's line, and its CSV line. */
static void
report(const char *algorithm, size_t key_bits, uint64_t n, const char *input_name,
	   const std::vector<float> &times, bool ok)
{
	double		median = times[times.size() / 2];

	failures += !ok;
	printf("%-22s u%-2zu %11llu %-13s %9.4f ms (%.4f to %.4f) %8.3f Gpairs/s %s\n", algorithm,
		   key_bits, (unsigned long long) n, input_name, median, times.front(), times.back(),
		   n / median / 1e6, ok ? "ok" : "WRONG");
	fflush(stdout);
	if (the_options.csv != NULL)
	{
		fprintf(the_options.csv, "%s,%zu,%llu,%s,%.5f,%.5f,%.5f,%.4f,%s\n", algorithm, key_bits,
				(unsigned long long) n, input_name, median, times.front(), times.back(),
				n / median / 1e6, ok ? "ok" : "WRONG");
		fflush(the_options.csv);
	}
}

/* --- one input ------------------------------------------------------------ */

struct less_than
{
	template<typename T>
	__host__ __device__ bool operator()(const T &a, const T &b) const
	{
		return a < b;
	}
};

template<typename Key>
struct input
{
	uint64_t	n;
	std::string name;
	bool		short_keys;			/* the type is wider than the generated keys */
	int			significant_bits;	/* from bit 0 up to the highest varying bit */
	int			lowest_bit;
	device_array<Key> keys;
	device_array<Key> keys_out;
	device_array<Key> keys_right;
	device_array<uint32_t> rows;
	device_array<uint32_t> rows_out;
	device_array<uint32_t> rows_right;
	device_array<unsigned long long> counters;

	input(uint64_t rows_wanted, distribution which, int bits):
		n(rows_wanted), name(distribution_names[which]), short_keys(bits < (int) (8 * sizeof(Key))),
		keys(n), keys_out(n), keys_right(n), rows(n), rows_out(n), rows_right(n), counters(2)
	{
		if (short_keys)
			name += "_" + std::to_string(bits) + "_bits";
		make_keys_kernel<Key><<<GRID_BLOCKS, GRID_THREADS>>>(keys.data, n, which, bits);
		CHECK(cudaGetLastError());
		number_rows_kernel<<<GRID_BLOCKS, GRID_THREADS>>>(rows.data, n);
		CHECK(cudaGetLastError());
		find_significant_bits();
		sort_right();
	}

	void find_significant_bits()
	{
		unsigned long long seen[2];
		unsigned long long varying;

		CHECK(cudaMemset(counters.data, 0, sizeof(seen)));
		fold_bits_kernel<Key><<<GRID_BLOCKS, GRID_THREADS>>>(keys.data, n, counters.data,
															 counters.data + 1);
		CHECK(cudaGetLastError());
		CHECK(cudaMemcpy(seen, counters.data, sizeof(seen), cudaMemcpyDeviceToHost));
		varying = seen[0] & seen[1];
		lowest_bit = varying ? __builtin_ctzll(varying) : 0;
		significant_bits = varying ? 64 - __builtin_clzll(varying) - lowest_bit : 1;
	}

	/* Computes the permutation that all results must equal. */
	void sort_right()
	{
		size_t		bytes = 0;

		CHECK(cub::DeviceRadixSort::SortPairs(NULL, bytes, keys.data, keys_right.data, rows.data,
											  rows_right.data, (uint32_t) n));
		device_array<char> scratch(bytes);

		CHECK(cub::DeviceRadixSort::SortPairs(scratch.data, bytes, keys.data, keys_right.data,
											  rows.data, rows_right.data, (uint32_t) n));
		CHECK(cudaDeviceSynchronize());
	}

	void poison()
	{
		CHECK(cudaMemset(keys_out.data, POISON, n * sizeof(Key)));
		CHECK(cudaMemset(rows_out.data, POISON, n * sizeof(uint32_t)));
	}

	bool right(bool with_keys)
	{
		unsigned long long differences;

		CHECK(cudaMemset(counters.data, 0, sizeof(differences)));
		count_differences_kernel<uint32_t><<<GRID_BLOCKS,
			GRID_THREADS>>>(rows_out.data, rows_right.data, n, counters.data);
		CHECK(cudaGetLastError());
		if (with_keys)
			count_differences_kernel<Key><<<GRID_BLOCKS,
				GRID_THREADS>>>(keys_out.data, keys_right.data, n, counters.data);
		CHECK(cudaGetLastError());
		CHECK(cudaMemcpy(&differences, counters.data, sizeof(differences), cudaMemcpyDeviceToHost));
		return differences == 0;
	}

	/* Times sort on the output of prepare, and reports it. */
	template<typename Prepare, typename Sort>
	void measure(const char *algorithm, bool with_keys, Prepare prepare, Sort sort)
	{
		std::vector<float> times;

		poison();
		times = time_repeats(prepare, sort);
		report(algorithm, 8 * sizeof(Key), n, name.c_str(), times, right(with_keys));
	}

	/* The keys are a copy, which the sort overwrites.  Without sorted keys, a
	 * sort that knows the varying bits gets these alone, as a job's does. */
	void run_engine(const char *algorithm, gsort_engine engine, bool with_keys)
	{
		gsort_pairs pairs = {};
		bool		told = !with_keys && (engine == GSORT_ENGINE_AUTO || short_keys);
		int			shift = told ? lowest_bit : 0;
		device_array<Key> used_up(n);

		pairs.key_bits = 8 * sizeof(Key);
		pairs.bits = told ? significant_bits : pairs.key_bits;
		pairs.n = n;
		pairs.d_keys = used_up.data;
		pairs.d_keys_out = with_keys ? keys_out.data : NULL;
		pairs.d_rows_out = rows_out.data;
		pairs.engine = engine;

		const gsort_engine chosen = cuda_pairs_engine(&pairs);
		size_t		bytes = cuda_engine_scratch_bytes(chosen, &pairs);
		device_array<char> scratch(bytes);

		measure(algorithm, with_keys, [&] {
			shift_keys_kernel<<<GRID_BLOCKS, GRID_THREADS>>>(used_up.data, keys.data, n, shift);
			CHECK(cudaGetLastError());
		}, [&] {
			CHECK(cuda_engine_sort(chosen, &pairs, scratch.data, bytes, NULL));
		});
	}

	void run_cub_radix(const char *algorithm, int begin_bit, int end_bit)
	{
		size_t		bytes = 0;

		CHECK(cub::DeviceRadixSort::SortPairs(NULL, bytes, keys.data, keys_out.data, rows.data,
											  rows_out.data, (uint32_t) n, begin_bit, end_bit));
		device_array<char> scratch(bytes);

		measure(algorithm, true, [] {}, [&] {
			CHECK(cub::DeviceRadixSort::SortPairs(scratch.data, bytes, keys.data, keys_out.data,
												  rows.data, rows_out.data, (uint32_t) n, begin_bit,
												  end_bit));
		});
	}

	void copy_in()
	{
		CHECK(cudaMemcpyAsync(keys_out.data, keys.data, n * sizeof(Key), cudaMemcpyDeviceToDevice));
		CHECK(cudaMemcpyAsync(rows_out.data, rows.data, n * sizeof(uint32_t),
							  cudaMemcpyDeviceToDevice));
	}

	void run_cub_merge()
	{
		size_t		bytes = 0;

		CHECK(cub::DeviceMergeSort::StableSortPairs(NULL, bytes, keys_out.data, rows_out.data,
													(uint32_t) n, less_than()));
		device_array<char> scratch(bytes);

		measure("cub_merge", true, [&] { copy_in(); }, [&] {
			CHECK(cub::DeviceMergeSort::StableSortPairs(scratch.data, bytes, keys_out.data,
														rows_out.data, (uint32_t) n, less_than()));
		});
	}

#ifdef WITH_MODERNGPU
	/* The timed call allocates its scratch, because the interface offers no
	 * other way. */
	void run_moderngpu()
	{
		static mgpu::standard_context_t context(false);

		measure("moderngpu", true, [&] { copy_in(); CHECK(cudaDeviceSynchronize()); }, [&] {
			mgpu::mergesort(keys_out.data, rows_out.data, (int) n, mgpu::less_t<Key>(), context);
			CHECK(cudaStreamSynchronize(context.stream()));
		});
	}
#endif

	void run_all()
	{
		const std::string &algorithms = the_options.algorithms;

		if (listed(algorithms, "auto"))
			run_engine("auto", GSORT_ENGINE_AUTO, false);
		if (listed(algorithms, "partition"))
			run_engine("partition", GSORT_ENGINE_PARTITION, false);
		if (listed(algorithms, "partition_keys"))
			run_engine("partition_keys", GSORT_ENGINE_PARTITION, true);
		if (listed(algorithms, "radix"))
			run_engine("radix", GSORT_ENGINE_RADIX, false);
		if (listed(algorithms, "radix_keys"))
			run_engine("radix_keys", GSORT_ENGINE_RADIX, true);
		if (listed(algorithms, "merge"))
			run_engine("merge", GSORT_ENGINE_MERGE, false);
		if (listed(algorithms, "merge_keys"))
			run_engine("merge_keys", GSORT_ENGINE_MERGE, true);
		if (listed(algorithms, "cub_radix"))
			run_cub_radix("cub_radix", 0, 8 * sizeof(Key));
		if (listed(algorithms, "cub_radix_bits") && significant_bits < (int) (8 * sizeof(Key)))
			run_cub_radix("cub_radix_bits", lowest_bit, lowest_bit + significant_bits);
		if (listed(algorithms, "cub_merge"))
			run_cub_merge();
#ifdef WITH_MODERNGPU
		if (listed(algorithms, "moderngpu") && n < 500000000)
			run_moderngpu();
#endif
	}
};

#include "merge_bench.cuh"
#include "peers/peer_bench.cuh"
#include "gather_bench.cuh"
#include "job_bench.cuh"

/* Runs all selected algorithms, for keys of this type, on all inputs. */
template<typename Key>
static void
run_key_width(int bits)
{
	for (uint64_t n : the_options.rows)
	{
		for (int d = 0; d < ALL_DISTRIBUTIONS; d++)
		{
			if (wanted((distribution) d))
			{
				input<Key>	in(n, (distribution) d, bits);

				in.run_all();
				bench_merges(in);
				bench_peers(in);
				if constexpr (sizeof(Key) == sizeof(uint64_t))
				{
					if (d == UNIFORM)
					{
						bench_gather(in);
						bench_jobs(in);
					}
				}
			}
		}
	}
}

static std::vector<uint64_t>
parse_rows(const char *list)
{
	std::vector<uint64_t> rows;
	char	   *end;

	for (const char *at = list; *at != '\0'; at = *end == ',' ? end + 1 : end)
	{
		rows.push_back((uint64_t) strtod(at, &end));
		if (end == at)
			break;
	}
	return rows;
}

/* Parses the command line.  Ends the program on an error. */
static void
parse_options(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i += 2)
	{
		std::string name = argv[i];
		const char *value = argv[i + 1];

		if (name == "--rows")
			the_options.rows = parse_rows(value);
		else if (name == "--bits")
			the_options.bits = value;
		else if (name == "--distributions")
			the_options.distributions = value;
		else if (name == "--algorithms")
			the_options.algorithms = value;
		else if (name == "--repeat")
			the_options.repeat = std::max(1, atoi(value));
		else if (name == "--csv")
			the_options.csv = fopen(value, "w");
		else
		{
			fprintf(stderr, "gsort_bench: unknown option %s\n", argv[i]);
			exit(2);
		}
	}
}

int
main(int argc, char **argv)
{
	cudaDeviceProp properties;

	parse_options(argc, argv);
	CHECK(cudaGetDeviceProperties(&properties, 0));
	printf("%s, %d multiprocessors, CUB %d\n", properties.name, properties.multiProcessorCount,
		   CUB_VERSION);
	if (the_options.csv != NULL)
		fprintf(the_options.csv,
				"algorithm,key_bits,rows,distribution,ms_median,ms_min,ms_max,gpairs_s,checked\n");
	if (the_options.bits == "64" || the_options.bits == "both")
		run_key_width<uint64_t>(64);
	if (the_options.bits == "32" || the_options.bits == "both")
		run_key_width<uint32_t>(32);
	if (the_options.bits == "32_of_64")
		run_key_width<uint64_t>(32);
	if (the_options.csv != NULL)
		fclose(the_options.csv);
	printf("wrong results: %d\n", failures);
	return failures != 0;
}
