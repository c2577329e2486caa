/*
 * merge_test.cpp
 *	  The multiway merge in the emulator, against std::stable_sort.
 *
 * Usage: merge_test [-q] [-s] [distribution number]
 *
 * Merges 1 to 255 sorted runs, some of them empty, of all distributions.  The
 * output is a merge order of raw key columns with NULLs, by words of both
 * widths.  The stable order is unique, so everything is compared place by
 * place.  The scratch has guard gaps between its arrays, and every output has a
 * guard behind it; all must stay intact.  -q: prints failures only; -s: small
 * inputs only.  Exit status 0: no failure.
 */
#include "sort/multiway_merge.cu"

#include <algorithm>
#include <numeric>
#include <string>

#include "distributions.h"
#include "guarded_array.h"

#define COLUMNS		2

#define SMALL_MERGE	5003u

#ifndef LARGEST_MERGE
#define LARGEST_MERGE 120001u
#endif

/* The assignment of rows to runs. */
typedef enum dealing
{
	EVENLY,						/* row i to run i % runs */
	UNEVENLY,					/* most rows to a few runs, none to many */
	/* Neighbouring keys to one run, so that runs hardly overlap; the last runs
	 * come first in the order. */
	BY_VALUE,
	DEALINGS
} dealing;

static const char *const dealing_names[] = {"evenly", "unevenly", "by_value"};
static int	failures;
static bool quiet;
static bool small;

static void
report(bool ok, const std::string &what, const char *name, dealing how, uint32_t n, uint32_t runs)
{
	if (!ok || !quiet)
	{
		printf("%-10s %-13s %-8s n=%-7u runs=%-3u  %s\n", what.c_str(), name, dealing_names[how], n, runs, ok ? "ok" : "BAD");
		fflush(stdout);
	}
	failures += !ok;
}

/* The run of each row. */
static std::vector<uint32_t>
deal(distribution which, dealing how, uint32_t n, uint32_t runs)
{
	std::vector<uint32_t> run_of(n);

	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	random = mix_bits(i + 77);

		if (how == EVENLY)
			run_of[i] = i % runs;
		else if (how == UNEVENLY)
			run_of[i] = (uint32_t) (random % runs * (random >> 32 & 0xff) / 255) / 3 * 3 % runs;
		else
			run_of[i] = runs - 1 - (uint32_t) ((distribution_key(which, i, n, 9, 32) + (random & 0xfff)) % 0xffffffff * runs >> 32);
	}
	return run_of;
}

/* True if every gap behind a scratch array still holds the pattern. */
static bool
scratch_intact(uint64_t n, uint32_t runs, void *d_scratch)
{
	merge_scratch s = merge_lay_out(n, runs, d_scratch);
	uint64_t	samples = n / (SAMPLE_TILES * MERGE_ROW::TILE) + runs;
	const std::pair<void *, size_t> ends[] = {
		{s.runs, runs * sizeof(merge_run)}, {s.ranks, samples * 8}, {s.places, samples * runs * 4},
		{s.splits, (tiles_for(n, MERGE_ROW::TILE) + 1ull) * runs * 4}
	};

	return gaps_intact(ends, std::size(ends));
}

/* --- orders --------------------------------------------------------------- */

struct raw_row
{
	uint64_t	keys[COLUMNS];
	uint32_t	nulls;
};

/* Statistics of rows, as feeders make them; the keys of NULLs do not count. */
static void
fold_rows(const std::vector<raw_row> &rows, gsort_column_stats *stats)
{
	for (int c = 0; c < COLUMNS; c++)
		key_stats_init(&stats[c]);
	for (const raw_row &row : rows)
	{
		for (int c = 0; c < COLUMNS; c++)
		{
			gsort_column_stats one = {row.keys[c], row.keys[c], row.keys[c], row.keys[c], 0};

			if (row.nulls >> c & 1)
			{
				key_stats_init(&one);
				one.nulls = 1;
			}
			key_stats_fold(&stats[c], &one);
		}
	}
}

/* Compares by value, without a plan; column 0 has NULLs first, column 1
 * last. */
static bool
raw_less(const raw_row &a, const raw_row &b)
{
	for (int c = 0; c < COLUMNS; c++)
	{
		bool		null_a = a.nulls >> c & 1;
		bool		null_b = b.nulls >> c & 1;

		if (null_a != null_b)
			return (c == 0) == null_a;
		if (!null_a && a.keys[c] != b.keys[c])
			return a.keys[c] < b.keys[c];
	}
	return false;
}

/* The keys of NULLs are garbage.  Early runs have no NULL, and retain no NULL
 * bits. */
static void
order_case(distribution which, dealing how, uint32_t n, uint32_t runs, int bits)
{
	std::vector<uint32_t> run_of = deal(which, how, n, runs);
	std::vector<std::vector<raw_row>> parts(runs);
	std::vector<raw_row> all;
	std::vector<uint32_t> numbers;
	std::vector<std::vector<uint64_t>> keys(runs);
	std::vector<std::vector<uint8_t>> nulls(runs);
	std::vector<merge_run> described(runs);
	gsort_column_stats stats[COLUMNS];
	guarded_array<uint8_t> order((n + 7) / 8 * 8);
	guarded_array<unsigned char> scratch(order_merge_scratch_bytes(n, runs));
	uint64_t	bad = 0;
	key_plan	plan;
	cudaError_t error;

	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	key = distribution_key(which, i, n, 9, 32);
		uint32_t	r = run_of[i];
		raw_row		row = {{bits > 32 ? key << 9 : key >> 16, mix_bits(i) & 0xfff}, 0};

		if (r >= runs / 2 && mix_bits(i + 5) % 8 == 0)
			row.nulls = 1 + (uint32_t) (mix_bits(i + 6) % 3);
		for (int c = 0; c < COLUMNS; c++)
		{
			if (row.nulls >> c & 1)
				row.keys[c] = mix_bits(i + 7 + c);
		}
		parts[r].push_back(row);
	}
	for (uint32_t r = 0; r < runs; r++)
	{
		uint32_t	count = (uint32_t) parts[r].size();

		std::stable_sort(parts[r].begin(), parts[r].end(), raw_less);
		for (int c = 0; c < COLUMNS; c++)
		{
			for (const raw_row &row : parts[r])
				keys[r].push_back(row.keys[c]);
		}
		for (const raw_row &row : parts[r])
			nulls[r].push_back((uint8_t) row.nulls);
		for (uint32_t i = 0; i < count; i++)
		{
			all.push_back(parts[r][i]);
			numbers.push_back(r);
		}
		described[r] = {keys[r].data(), r < runs / 2 ? NULL : nulls[r].data(), count, 0};
	}
	fold_rows(all, stats);
	plan = key_plan_make(COLUMNS, 1, stats);
	if (plan.words > 1)
		return;

	std::vector<uint32_t> expected(n);

	std::iota(expected.begin(), expected.end(), 0u);
	std::stable_sort(expected.begin(), expected.end(), [&](uint32_t a, uint32_t b) { return raw_less(all[a], all[b]); });
	error = order_merge(&plan, described.data(), runs, scratch.data(), order.data(), NULL);
	for (uint32_t i = 0; i < (n + 7) / 8 * 8; i++)
		bad += order.data()[i] != (i < n ? numbers[expected[i]] : 0);
	report(error == cudaSuccess && bad == 0 && order.intact() && scratch.intact() &&
		   (n == 0 || scratch_intact(n, runs, scratch.data())),
		   "order u" + std::to_string(plan.bits), distribution_names[which], how, n, runs);
}

/* --- all ------------------------------------------------------------------ */

static void
run_distribution(distribution which)
{
	for (uint32_t n : {0u, 1u, 95u, 2881u, 20011u, LARGEST_MERGE})
	{
		for (uint32_t runs : {1u, 2u, 3u, 16u, 33u, 255u})
		{
			dealing		how = (dealing) ((n + runs + which) % DEALINGS);

			/* large inputs are slow: one number of runs for each */
			if (n == LARGEST_MERGE && runs != (which % 3 == 0 ? 255u : which % 3 == 1 ? 16u : 33u))
				continue;
			if (small && (n > SMALL_MERGE || (runs + which) % 2 != 0))
				continue;
			order_case(which, how, n, runs, 32);
			order_case(which, how, n, runs, 64);
		}
	}
	for (int how = 0; how < DEALINGS; how++)
	{
		order_case(which, (dealing) how, SMALL_MERGE, 21, 32);
		order_case(which, (dealing) how, SMALL_MERGE, 64, 64);
	}
}

static void
refusals()
{
	merge_run	run = {};
	guarded_array<unsigned char> scratch(1024);
	key_plan	plan = {};
	bool		ok = order_merge(&plan, &run, 0, scratch.data(), NULL, NULL) != cudaSuccess &&
		order_merge(&plan, &run, 256, scratch.data(), NULL, NULL) != cudaSuccess;

	report(ok, "refusals", "", EVENLY, 0, 0);
}

int
main(int argc, char **argv)
{
	int			only = -1;

	for (int i = 1; i < argc; i++)
	{
		if (strcmp(argv[i], "-q") == 0)
			quiet = true;
		else if (strcmp(argv[i], "-s") == 0)
			small = true;
		else
			only = atoi(argv[i]);
	}
	emulator::the_chip.shared_bytes = 64 << 10;	/* the minimum of all chips */
	refusals();
	for (int d = 0; d < ALL_DISTRIBUTIONS; d++)
	{
		if (only < 0 || d == only)
			run_distribution((distribution) d);
	}
	printf("failures: %d\n", failures);
	return failures != 0;
}
