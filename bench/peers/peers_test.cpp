/*
 * peers_test.cpp
 *	  The bench's peers in the emulator, against std::stable_sort.
 *
 * Usage: peers_test [-q] [-s] [seed]
 *
 * Each case sorts, or merges runs, of random lengths and keys.  Lengths lie
 * around the edges of tiles, samples and segments, and keys have few or many
 * values.  Runs may be empty, much longer than others, or disjoint.  Both key
 * widths are tested.  The stable order is unique, so everything is compared
 * place by place.  The scratch has guard gaps between its arrays, and every
 * output has a guard behind it; all must stay intact.  -q: prints failures
 * only; -s: few cases.  The seed, which is printed, repeats the cases.  Exit
 * status 0: no failure.
 */
#include "peers/pivot_merge.cu"
#include "peers/rank_merge.cu"
#include "peers/tile_merge_sort.cu"

#include <numeric>
#include <random>
#include <string>

#include <time.h>

#include "guarded_array.h"

#define CASES		400
#define FEW_CASES	40

static int	failures;
static bool quiet;
static std::mt19937_64 random_bits;

static uint64_t
random_below(uint64_t end)
{
	return random_bits() % end;
}

/* A multiple of unit, or one less or more. */
static uint32_t
near_multiple(uint32_t unit, uint32_t most)
{
	return (uint32_t) random_below(most + 1) * unit + 1 - (uint32_t) random_below(3);
}

static uint32_t
random_length()
{
	const uint32_t units[] = {MERGE_SORT_ROW::SORT_TILE, RANK_MERGE_ROW::STRIDE,
		RANK_MERGE_ROW::TILE, MERGE_ROW::TILE, RANK_THREADS};
	uint32_t	length;

	switch (random_below(4))
	{
		case 0:
			return (uint32_t) random_below(4);
		case 1:
			return (uint32_t) random_below(200);
		case 2:
			return (uint32_t) random_below(12000);
		default:
			length = near_multiple(units[random_below(5)], 9);
			return length == UINT32_MAX ? 0 : length;
	}
}

/* Few values or many, depending on the case.  The largest key is included,
 * because absent places may count as it. */
template<typename Key>
struct key_maker
{
	uint64_t	values = random_below(3) == 0 ? 1 + random_below(3) : random_below(2) == 0 ?
		1 + random_below(500) : 0;
	uint32_t	ascending = (uint32_t) random_below(6);

	Key make(uint64_t at, uint64_t n) const
	{
		if (ascending == 0)
			return (Key) (values > 0 ? at * values / n : at);
		if (ascending == 1)
			return (Key) (values > 0 ? (n - at) * values / n : ~(uint64_t) 0 - at);
		if (values == 0)
			return (Key) random_bits();
		return (Key) ~(random_below(values) * (random_below(2) ? 1 : 0x100000001ull));
	}
};

template<typename Key>
using pair_list = std::vector<std::pair<Key, uint32_t>>;

template<typename Key>
static void
stable_sort(pair_list<Key> &pairs)
{
	std::stable_sort(pairs.begin(), pairs.end(),
					 [](const auto &a, const auto &b) { return a.first < b.first; });
}

/* The outputs of one call, and their check. */
template<typename Key>
struct outputs
{
	guarded_array<Key> keys;
	guarded_array<uint32_t> rows;

	explicit outputs(size_t n): keys(n), rows(n) {}

	bool right(const pair_list<Key> &expected)
	{
		for (size_t i = 0; i < expected.size(); i++)
		{
			if (keys.data()[i] != expected[i].first || rows.data()[i] != expected[i].second)
				return false;
		}
		return keys.intact() && rows.intact();
	}
};

static void
report(bool ok, const char *what, size_t key_bytes, uint64_t n, size_t runs, int number)
{
	if (!ok || !quiet)
	{
		printf("%-22s u%-2zu case %-4d n=%-7llu runs=%-3zu chip %3d KiB  %s\n", what, 8 * key_bytes,
			   number, (unsigned long long) n, runs, emulator::the_chip.shared_bytes >> 10, ok ?
			   "ok" : "BAD");
		fflush(stdout);
	}
	failures += !ok;
}

/* --- sorts ---------------------------------------------------------------- */

template<bool Wide>
static bool
sort_gaps_intact(uint64_t n, void *d_scratch)
{
	const tile_merge_scratch<Wide> s = tile_merge_lay_out<Wide>(n, d_scratch);
	std::vector<std::pair<void *, size_t>> stretches;

	for (const item_arrays<Wide> &items : s.items)
	{
		stretches.push_back({items.first, n * 8});
		if (Wide)
			stretches.push_back({items.second, n * 4});
	}
	return gaps_intact(stretches.data(), stretches.size());
}

typedef gsort_status (*pair_sorter) (const unsorted_pairs *pairs, void *d_keys_out,
									 uint32_t *d_rows_out, void *d_scratch, size_t scratch_bytes,
									 cudaStream_t stream);

template<typename Key>
static void
sort_case(const char *name, pair_sorter sort, int number)
{
	uint32_t	n = random_length();
	key_maker<Key> maker;
	pair_list<Key> expected;
	std::vector<Key> keys(n);
	std::vector<uint32_t> rows(n);
	const unsorted_pairs pairs = {keys.data(), rows.data(), n, 8 * sizeof(Key)};
	guarded_array<unsigned char> scratch(tile_merge_sort_scratch_bytes(&pairs));
	outputs<Key> out(n);
	gsort_status status;

	for (uint32_t i = 0; i < n; i++)
	{
		keys[i] = maker.make(i, n);
		rows[i] = (i > 0 ? rows[i - 1] + 1 : 0) + (uint32_t) random_below(3);
		expected.push_back({keys[i], rows[i]});
	}
	stable_sort(expected);
	status = sort(&pairs, out.keys.data(), out.rows.data(), scratch.data(), scratch.used, NULL);
	report(status == GSORT_OK && out.right(expected) && scratch.intact() &&
		   sort_gaps_intact<sizeof(Key) == 8>(n, scratch.data()), name, sizeof(Key), n, 1, number);
}

/* --- merges --------------------------------------------------------------- */

/* Sorted runs of random lengths, and their stable merge.  Rows are in random
 * order. */
template<typename Key>
struct random_runs
{
	std::vector<std::vector<Key>> keys;
	std::vector<std::vector<uint32_t>> rows;
	std::vector<pair_run> described;
	pair_list<Key> expected;

	explicit random_runs(uint32_t n_runs): keys(n_runs), rows(n_runs), described(n_runs)
	{
		key_maker<Key> maker;
		bool		apart = random_below(4) == 0;

		for (uint32_t r = 0; r < n_runs; r++)
		{
			pair_list<Key> pairs = make_run(maker, random_below(5) == 0 ? 0 :
											random_length() / (n_runs > 4 ? 4 : 1));

			/* disjoint runs, with the least keys in the last one */
			for (auto &pair : pairs)
				pair.first = apart ? (Key) (pair.first / n_runs + (Key) ~(Key) 0 / n_runs *
											(n_runs - 1 - r)) : pair.first;
			stable_sort(pairs);
			for (const auto &pair : pairs)
			{
				keys[r].push_back(pair.first);
				rows[r].push_back(pair.second);
			}
			expected.insert(expected.end(), pairs.begin(), pairs.end());
			described[r] = {keys[r].data(), rows[r].data(), (uint32_t) pairs.size()};
		}
		stable_sort(expected);
	}

	static pair_list<Key> make_run(const key_maker<Key> &maker, uint32_t n)
	{
		pair_list<Key> pairs;

		for (uint32_t i = 0; i < n; i++)
			pairs.push_back({maker.make(i, n), (uint32_t) random_bits()});
		return pairs;
	}
};

template<typename Key>
static void
rank_merge_case(int number)
{
	random_runs<Key> runs(2);
	uint64_t	n = runs.expected.size();
	const pair_run *a = &runs.described[0];
	const pair_run *b = &runs.described[1];
	guarded_array<unsigned char> scratch(segmented_rank_merge_scratch_bytes(n));
	const std::pair<void *, size_t> cuts = {rank_merge_lay_out(n, scratch.data()).cuts,
		(n / RANK_MERGE_ROW::STRIDE + 3) * sizeof(segment_cut)};
	outputs<Key> direct(n);
	outputs<Key> segmented(n);
	gsort_status status;

	status = rank_merge(a, b, 8 * sizeof(Key), direct.keys.data(), direct.rows.data(), NULL);
	report(status == GSORT_OK && direct.right(runs.expected), "rank_merge", sizeof(Key), n, 2,
		   number);
	status = segmented_rank_merge(a, b, 8 * sizeof(Key), segmented.keys.data(),
								  segmented.rows.data(), scratch.data(), scratch.used, NULL);
	report(status == GSORT_OK && segmented.right(runs.expected) && scratch.intact() &&
		   gaps_intact(&cuts, 1), "segmented_rank_merge", sizeof(Key), n, 2, number);
}

static bool
pivot_gaps_intact(uint64_t n, uint32_t n_runs, void *d_scratch)
{
	const pivot_counts most = most_pivots(n, n_runs);
	const pivot_scratch s = pivot_lay_out(n, n_runs, d_scratch);
	const std::pair<void *, size_t> stretches[] = {
		{s.runs, n_runs * sizeof(merge_run)}, {s.ranks, most.samples * 8ull},
			{s.places, most.samples * n_runs * 4ull},
		{s.begins, (most.parts + 1) * 8ull}, {s.splits, (most.parts + 1) * n_runs * 4ull}
	};

	return gaps_intact(stretches, std::size(stretches));
}

/* The plan of one column whose keys have key_bits. */
static key_plan
plan_of_bits(int key_bits)
{
	gsort_column_stats stats = {0, key_bits == 32 ? UINT32_MAX : UINT64_MAX,
		UINT64_MAX >> (64 - key_bits), 0, 0};

	return key_plan_make(1, 0, &stats);
}

/* Keys of 32 bits lie in columns of 64 bits, like all keys. */
template<typename Key>
static void
pivot_merge_case(int number)
{
	uint32_t	n_runs = random_below(2) ? 16 : 1 + (uint32_t) random_below(PIVOT_RUNS_MAX);
	random_runs<Key> runs(n_runs);
	uint64_t	n = runs.expected.size();
	key_plan	plan = plan_of_bits(8 * sizeof(Key));
	std::vector<std::vector<uint64_t>> columns(n_runs);
	std::vector<merge_run> described(n_runs);
	pair_list<Key> by_run;
	guarded_array<unsigned char> scratch(pivot_merge_scratch_bytes(n, n_runs));
	guarded_array<uint8_t> order(n);
	cudaError_t error;
	bool		right = true;

	for (uint32_t r = 0; r < n_runs; r++)
	{
		columns[r].assign(runs.keys[r].begin(), runs.keys[r].end());
		described[r] = {columns[r].data(), NULL, (uint32_t) columns[r].size(), 0};
		for (Key key : runs.keys[r])
			by_run.push_back({key, r});
	}
	stable_sort(by_run);
	error = pivot_merge(&plan, described.data(), n_runs, scratch.data(), order.data(), NULL);
	for (uint64_t i = 0; i < n; i++)
		right = right && order.data()[i] == by_run[i].second;
	report(error == cudaSuccess && right && order.intact() && scratch.intact() &&
		   pivot_gaps_intact(n, n_runs, scratch.data()), "pivot_merge", sizeof(Key), n, n_runs,
		   number);
}

/* --- all ------------------------------------------------------------------ */

template<typename Key>
static void
run_case(int number)
{
	emulator::the_chip.shared_bytes = 64 << 10;	/* the minimum of all chips */
	sort_case<Key>("bitonic_merge_sort", bitonic_merge_sort, number);
	sort_case<Key>("cooperative_merge_sort", cooperative_merge_sort, number);
	rank_merge_case<Key>(number);
	pivot_merge_case<Key>(number);
}

static void
refusals()
{
	unsorted_pairs pairs = {NULL, NULL, 100, 64};
	unsorted_pairs wrong_bits = {NULL, NULL, 0, 16};
	pair_run	run = {NULL, NULL, 100};
	merge_run	keys = {NULL, NULL, 100, 0};
	key_plan	plan = plan_of_bits(64);
	guarded_array<unsigned char> scratch(1 << 16);
	unsigned char *at = scratch.data();
	bool		ok = bitonic_merge_sort(&pairs, NULL, NULL, at, 8, NULL) == GSORT_BAD_ARG &&
		cooperative_merge_sort(&pairs, NULL, NULL, at + 8, 1 << 15, NULL) == GSORT_BAD_ARG &&
		bitonic_merge_sort(&wrong_bits, NULL, NULL, at, 1 << 16, NULL) == GSORT_BAD_ARG &&
		rank_merge(&run, &run, 16, NULL, NULL, NULL) == GSORT_BAD_ARG &&
		segmented_rank_merge(&run, &run, 64, NULL, NULL, at, 8, NULL) == GSORT_BAD_ARG &&
		segmented_rank_merge(&run, &run, 64, NULL, NULL, NULL, 1 << 16, NULL) == GSORT_BAD_ARG &&
		pivot_merge(&plan, &keys, 0, at, NULL, NULL) == cudaErrorInvalidValue &&
		pivot_merge(&plan, std::vector<merge_run>(PIVOT_RUNS_MAX + 1, keys).data(),
					PIVOT_RUNS_MAX + 1, at, NULL, NULL) ==
		cudaErrorInvalidValue;

	report(ok, "refusals", 0, 0, 0, 0);
}

int
main(int argc, char **argv)
{
	uint64_t	seed = (uint64_t) time(NULL);
	int			cases = CASES;

	for (int i = 1; i < argc; i++)
	{
		if (strcmp(argv[i], "-q") == 0)
			quiet = true;
		else if (strcmp(argv[i], "-s") == 0)
			cases = FEW_CASES;
		else
			seed = strtoull(argv[i], NULL, 10);
	}
	printf("seed %llu\n", (unsigned long long) seed);
	random_bits.seed(seed);
	emulator::random_state ^= seed << 1;
	refusals();
	for (int number = 0; number < cases; number++)
	{
		run_case<uint64_t>(number);
		run_case<uint32_t>(number);
	}
	printf("failures: %d\n", failures);
	return failures != 0;
}
