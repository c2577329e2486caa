/*
 * few_test.cpp
 *	  The merge sort of few pairs in the emulator, against std::stable_sort.
 *
 * Usage: few_test [-q] [-s] [distribution number]
 *
 * Covers all distributions, both key widths, narrow and wide items, and
 * emulated chips of few and many multiprocessors.  The numbers of pairs include
 * the edges of tiles, and a chip's maximum; one more is refused.  Special keys
 * fill a bucket up to its bound, less one tile's gap.  Everything is compared
 * row by row.  The scratch has guard gaps between its arrays, and every output
 * has a guard behind it; all must stay intact.  -q: prints failures only; -s:
 * few cases.  Exit status 0: no failure.
 */
#include "sort/pairs_few.cu"

#include <functional>

#include "distributions.h"
#include "guarded_array.h"
#include "stable_order.h"

#define SHARED_BYTES_LEAST	(64 << 10)
#define SHARED_BYTES_MOST	(227 << 10)

struct test_case
{
	uint32_t	n;
	uint32_t	begin_bit;
	uint32_t	end_bit;
	bool		with_rows;
	bool		with_keys_out;
};

typedef std::function<uint64_t(uint32_t)> key_maker;

static int	failures;
static bool quiet;

static void
report(bool ok, const char *name, size_t key_bits, const test_case &test)
{
	failures += !ok;
	if (ok && quiet)
		return;
	printf("few u%zu n=%-6u %-13s bits %u-%u processors %d chip %d KiB  %s\n", key_bits, test.n, name, test.begin_bit,
		   test.end_bit, emulator::the_chip.processors, emulator::the_chip.shared_bytes >> 10, ok ? "ok" : "BAD");
	fflush(stdout);
}

static bool
scratch_intact(const gsort_pairs &pairs, void *d_scratch)
{
	few_scratch s = lay_out_few(&pairs, d_scratch);
	std::pair<void *, size_t> stretches[] = {{s.first, pairs.n * 8}, {s.second, pairs.key_bits == 64 ? pairs.n * 4 : 0},
		{s.samples, FEW_ROW::SAMPLES_MAX * FEW_ROW::TILES_MAX * 8}, {s.splitters.keys, FEW_ROW::TILES_MAX * 8},
		{s.splitters.tiles, FEW_ROW::TILES_MAX * 4}, {s.splitters.before, FEW_ROW::TILES_MAX * FEW_ROW::TILES_MAX}};

	return gaps_intact(stretches, 6);
}

template<typename Key>
static void
run_case(const char *name, const key_maker &make_key, const test_case &test)
{
	guarded_array<Key> keys(test.n);
	guarded_array<Key> keys_out(test.n);
	guarded_array<uint32_t> rows_in(test.n);
	guarded_array<uint32_t> rows(test.n);
	gsort_pairs pairs = {};

	for (uint32_t i = 0; i < test.n; i++)
	{
		keys.data()[i] = (Key) make_key(i);
		rows_in.data()[i] = (uint32_t) mix_bits(i);
	}
	pairs.key_bits = 8 * sizeof(Key);
	pairs.begin_bit = test.begin_bit;
	pairs.end_bit = test.end_bit;
	pairs.n = test.n;
	pairs.d_keys = keys.data();
	pairs.d_keys_out = test.with_keys_out ? keys_out.data() : NULL;
	pairs.d_rows = test.with_rows ? rows_in.data() : NULL;
	pairs.d_rows_out = rows.data();

	std::vector<uint32_t> order = stable_order_of_bits(keys.data(), test.n, test.begin_bit, test.end_bit);
	size_t		bytes = pairs_few_scratch_bytes(&pairs);
	guarded_array<unsigned char> scratch(bytes);
	bool		ok = pairs_few_sort(&pairs, scratch.data(), bytes, NULL) == cudaSuccess && keys.intact() && keys_out.intact() &&
		rows.intact() && scratch.intact() && scratch_intact(pairs, scratch.data());

	for (uint32_t i = 0; i < test.n; i++)
	{
		ok &= rows.data()[i] == (test.with_rows ? rows_in.data()[order[i]] : order[i]);
		ok &= keys.data()[i] == (Key) make_key(i);
		ok &= !test.with_keys_out || keys_out.data()[i] == keys.data()[order[i]];
	}
	report(ok, name, 8 * sizeof(Key), test);
}

template<typename Key>
static void
run_case(distribution which, const test_case &test)
{
	run_case<Key>(distribution_names[which], [&](uint32_t i) {
		return distribution_key(which, i, test.n, 12345 + test.n, 8 * sizeof(Key));
	}, test);
}

/* The maximum number of pairs for the emulated chip. */
static uint32_t
pairs_max()
{
	sort_device device = {};
	uint32_t	n = FEW_ROW::PAIRS_MAX;

	(void) describe_device(&device);
	while (!pairs_few_serves(n, &device))
		n--;
	return n;
}

static void
run_distribution(distribution which, const std::vector<uint32_t> &numbers)
{
	for (uint32_t n : numbers)
	{
		run_case<uint64_t>(which, {n, 0, 64, n % 2 == 0, n % 3 == 0});
		run_case<uint64_t>(which, {n, 20, 47, n % 2 == 1, n % 3 == 0});
		run_case<uint32_t>(which, {n, 0, 32, n % 2 == 0, n % 3 == 1});
		run_case<uint32_t>(which, {n, 3, 17, n % 2 == 1, n % 3 == 1});
	}
}

/* Begin and end of the sorted bits, empty ranges included. */
static void
run_all_bits()
{
	for (uint32_t begin : {0u, 1u, 31u, 32u, 63u, 64u})
	{
		for (uint32_t end = begin; end <= 64; end += 1 + end % 5)
		{
			run_case<uint64_t>(UNIFORM, {77 + end, begin, end, end % 2 == 0, end % 3 == 0});
			if (end <= 32)
				run_case<uint32_t>(ZIPF, {77 + end, begin, end, end % 2 == 1, end % 3 == 0});
		}
	}
}

/*
 * The fullest bucket, with one tile more than a tile has samples.  All items of
 * the additional tile lie between two splitters.  In every other tile, all
 * items between the first and the second sample do, too.
 */
static void
run_fullest_bucket()
{
	const uint32_t samples = FEW_ROW::SAMPLES;
	const uint32_t gap = std::min(FEW_ROW::BUCKET_MAX / (2 * samples + 1), FEW_ROW::TILE_MAX / samples);

	emulator::the_chip.processors = (int) samples + 1;
	run_case<uint64_t>("fullest bucket", [&](uint32_t i) {
		uint32_t	tile = i / (samples * gap);
		uint32_t	place = i % (samples * gap);

		if (tile == 0)
			return 1ull << 40 | place;
		return place <= gap / 2 ? (uint64_t) tile : place < gap + gap / 2 ? 1ull << 41 | tile : 1ull << 50 | place;
	}, {(samples + 1) * samples * gap, 0, 64, false, true});
}

/* Refuses one more than the maximum, and scratch that is too small or not
 * aligned; sorts an empty input. */
static void
run_refused()
{
	gsort_pairs pairs = {};
	guarded_array<unsigned char> scratch(1 << 12);
	bool		ok;

	pairs.key_bits = 32;
	pairs.n = pairs_max() + 1;
	ok = pairs_few_sort(&pairs, scratch.data(), SIZE_MAX, NULL) == cudaErrorInvalidValue;
	pairs.n = 1;
	ok &= pairs_few_sort(&pairs, scratch.data(), pairs_few_scratch_bytes(&pairs) - 1, NULL) == cudaErrorInvalidValue;
	ok &= pairs_few_sort(&pairs, scratch.data() + 8, SIZE_MAX, NULL) == cudaErrorInvalidValue;
	pairs.n = 0;
	ok &= pairs_few_sort(&pairs, scratch.data(), pairs_few_scratch_bytes(&pairs), NULL) == cudaSuccess;
	pairs.n = FEW_ROW::PAIRS_MAX + 1;
	ok &= pairs_few_scratch_bytes(&pairs) == 0;
	report(ok, "refused", 32, {});
}

/* Sizes around one and two tiles of the least gap, a larger size, and the
 * maximum. */
static std::vector<uint32_t>
numbers_of_pairs(bool few)
{
	const uint32_t tile = FEW_ROW::SAMPLES * FEW_ROW::LEAST_GAP;

	if (few)
		return {tile + 1, pairs_max()};
	return {1, 2, tile - 1, tile, tile + 1, 2 * tile + 1, 11 * tile + 3, pairs_max() / 3, pairs_max() - 1, pairs_max()};
}

int
main(int argc, char **argv)
{
	bool		few = false;
	int			only = -1;

	for (int i = 1; i < argc; i++)
	{
		if (strcmp(argv[i], "-q") == 0)
			quiet = true;
		else if (strcmp(argv[i], "-s") == 0)
			few = true;
		else
			only = atoi(argv[i]);
	}
	for (int d = 0; d < ALL_DISTRIBUTIONS; d++)
	{
		if (only >= 0 ? d != only : few && FEW_ROW::THREADS > 100 && d % 8 != 0)
			continue;
		emulator::the_chip.processors = d % 3 == 0 ? 5 : 132;
		emulator::the_chip.shared_bytes = d % 2 == 0 ? SHARED_BYTES_LEAST : SHARED_BYTES_MOST;
		run_distribution((distribution) d, numbers_of_pairs(few || FEW_ROW::THREADS > 100));
	}
	if (only < 0)
	{
		emulator::the_chip.shared_bytes = SHARED_BYTES_MOST;
		run_refused();
		run_fullest_bucket();
		if (FEW_ROW::THREADS < 100)
			run_all_bits();
	}
	printf("failures: %d\n", failures);
	return failures != 0;
}
