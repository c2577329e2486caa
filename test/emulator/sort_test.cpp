/*
 * sort_test.cpp
 *	  The partition-and-merge sort and the radix sort in the emulator, against
 *	  std::stable_sort.
 *
 * Usage: sort_test [-q] [-s] [-r] [distribution number]
 *
 * Sorts small inputs of all distributions, on emulated chips of both
 * tuning rows (each enforces its own shared memory), and compares row by row.
 * The scratch has guard gaps between its arrays, which must stay intact.  -q:
 * prints failures only; -s: small inputs, and few others; -r: the radix sort
 * only.  Exit status 0: no failure.
 */
#include "sort/pairs_partition.cu"
#include "sort/pairs_radix.cu"

#include <algorithm>

#include "distributions.h"
#include "stable_order.h"

#define PATTERN 0xa5
#define CROWDED_SHARE 16		/* with even keys, at most one in this many segments is crowded */

#ifndef LARGEST_TEST
#define LARGEST_TEST 300007u
#endif

struct test_case
{
	gsort_engine engine;
	distribution which;
	uint32_t	n;
	uint32_t	begin_bit;
	uint32_t	end_bit;
	bool		with_rows;
	bool		with_keys_out;
	int			handed_over = -1;	/* to the radix sort: 1 required, 0 forbidden */
	bool		lies_evenly = false;	/* few segments are crowded */
	int			presorted = -1;		/* 1: must be detected, 0: must not be detected */
};

static int	failures;
static uint32_t rooms_seen;		/* sorts whose keys went to rooms of buckets */
static uint32_t uncounted_bins_seen;	/* buckets whose items went to rooms of bins */
static bool quiet;
static bool small;
static bool radix_only;

/* Shared memory of a block on the chips of both tuning rows. */
static const int chip_bytes[] = {110 << 10, 227 << 10};

template<typename T>
static T *
aligned_array(size_t length)
{
	size_t		bytes = (length * sizeof(T) + 511) / 256 * 256;
	T		   *array = (T *) aligned_alloc(256, bytes);

	memset(array, PATTERN, bytes);
	return array;
}

typedef std::vector<std::pair<const void *, size_t>> scratch_arrays;

/* True if every gap behind an array holds the expected bytes. */
static bool
gaps_intact(const scratch_arrays &arrays, unsigned char content)
{
	for (const auto &array : arrays)
	{
		const unsigned char *gap = (const unsigned char *) array.first + array.second;

		for (size_t i = 0; i < GSORT_GUARD_BYTES; i++)
		{
			if (gap[i] != content)
				return false;
		}
	}
	return true;
}

/* The arrays of the radix sort's scratch that it does not zero. */
static scratch_arrays
radix_item_arrays(const gsort_pairs &pairs, void *d_scratch)
{
	radix_scratch s = lay_out_radix(&pairs, d_scratch);
	radix_shape shape = shape_of(&pairs);
	uint64_t	n = pairs.n;
	scratch_arrays items;

	if (shape.passes > 1)
		items.push_back({s.first[0], n * 8});
	if (shape.passes > 2 && s.first[1] != pairs.d_keys)
		items.push_back({s.first[1], n * 8});
	if (reads_long(shape, 1) && s.second[0] != pairs.d_rows_out)
		items.push_back({s.second[0], n * 4});
	if (reads_long(shape, 2))
		items.push_back({s.second[1], n * 4});
	return items;
}

/* True if all gaps are intact.  Arrays that are zeroed are zeroed with their
 * gaps, as one piece. */
static bool
radix_gaps_intact(const gsort_pairs &pairs, void *d_scratch)
{
	radix_scratch s = lay_out_radix(&pairs, d_scratch);
	radix_shape shape = shape_of(&pairs);
	uint64_t	n = pairs.n;
	uint32_t	tile = shape.long_keys ? RADIX_TILE<RADIX_ROW, uint64_t> : RADIX_TILE<RADIX_ROW, uint32_t>;

	return gaps_intact(radix_item_arrays(pairs, d_scratch), PATTERN) &&
		gaps_intact({{s.next_tile, RADIX_PASSES_MAX * 4}, {s.counts, shape.passes * RADIX_BINS * 4},
			{s.states, (size_t) tiles_for(n, tile) * RADIX_BINS * 4}}, 0);
}

template<typename Row>
static bool
partition_gaps_intact(const gsort_pairs &pairs, void *d_scratch)
{
	sort_scratch s = lay_out<Row>(&pairs, d_scratch);
	bool		wide = may_be_wide(&pairs);
	uint64_t	n = pairs.n;

	return gaps_intact({
		{s.plan, sizeof(partition_plan)}, {s.sample.keys, SAMPLE_KEYS * 8}, {s.sample.rows, SAMPLE_KEYS * 4},
		{s.sample.extremes, SAMPLE_BLOCKS * sizeof(key_extremes)},
		{s.items.segments, segments_max<Row>(n) * sizeof(sort_segment)}, {s.crowded, segments_max<Row>(n) * 4},
		{s.items.long_segments, long_segments_max<Row>(n) * sizeof(long_segment)}, {s.level2.counts, BUCKETS_MAX * Row::CELLS * 4},
		{s.level2.bin_of_cell, BUCKETS_MAX * Row::CELLS * 2}, {s.level2.next, BUCKETS_MAX * Row::BINS * 4},
		{s.level2.splitters, BUCKETS_MAX * Row::CELLS * 8},
		{s.level2.splitter_rows, wide ? BUCKETS_MAX * Row::CELLS * 4 : 0}, {s.level2.table, BUCKETS_MAX * Row::CELLS * 4},
		{s.level2.cell_of_item, n * 2},
		{s.items.level1.first, level1_items_max(n) * 8}, {s.items.level2.first, level2_items_max(n) * 8}, {s.items.level2.second, wide ? n * 4 : 0}}, PATTERN);
}

static bool
partition_gaps_intact(const gsort_pairs &pairs, void *d_scratch)
{
	switch (sort_tuning_row(pairs.n, emulator::the_chip.shared_bytes))
	{
		case TUNING_CHOICE_MEDIUM:
			return partition_gaps_intact<TUNING_MEDIUM>(pairs, d_scratch);
		default:
			return partition_gaps_intact<TUNING_LARGE>(pairs, d_scratch);
	}
}

static void
count_rooms(const partition_plan *plan)
{
	if (plan->verdict.handed_over || !plan->splitters.even)
		return;
	rooms_seen += !buckets_are_counted(plan);
	for (uint32_t b = 0; b < plan->splitters.buckets; b++)
		uncounted_bins_seen += plan->bucket_plans[b].count > 0 && !is_counted(&plan->bucket_plans[b]);
}

/* Checks the partition's gaps before the radix sort zeroes its scratch, which
 * overlaps them.  Its own gaps hold the partition's leftovers. */
struct gap_check
{
	const gsort_pairs &pairs;
	void	   *d_scratch;
	bool		zeroed = false;
	bool		intact = true;

	gap_check(const gsort_pairs &of, void *scratch): pairs(of), d_scratch(scratch)
	{
		if (pairs.engine == GSORT_ENGINE_PARTITION)
			emulator::before_launch = [this](const void *kernel) {
				if (kernel != (const void *) radix_clear_kernel)
					return;
				intact = partition_gaps_intact(pairs, d_scratch);
				for (const auto &array : radix_item_arrays(pairs, radix_scratch_of_partition()))
					memset((unsigned char *) array.first + array.second, PATTERN, GSORT_GUARD_BYTES);
				zeroed = true;
			};
	}

	bool sorted()
	{
		const partition_plan *plan = (const partition_plan *) d_scratch;

		emulator::before_launch = nullptr;
		if (pairs.engine == GSORT_ENGINE_RADIX)
			return radix_gaps_intact(pairs, d_scratch);
		if (may_have_rooms((uint32_t) pairs.n))
			count_rooms(plan);
		if (!zeroed)
			return partition_gaps_intact(pairs, d_scratch);
		return intact && (!plan->verdict.handed_over || radix_gaps_intact(pairs, radix_scratch_of_partition()));
	}

	/* The radix sort's scratch, behind the plan. */
	void *radix_scratch_of_partition() const
	{
		scratch_cursor cursor = {(uintptr_t) d_scratch};
		partition_plan *plan;

		take(&cursor, &plan, 1);
		return (void *) cursor.at;
	}
};

static cudaError_t
sort_pairs(const gsort_pairs &pairs, void *d_scratch, size_t bytes)
{
	return pairs.engine == GSORT_ENGINE_RADIX ? pairs_radix_sort(&pairs, d_scratch, bytes, NULL) :
		pairs_partition_sort(&pairs, d_scratch, bytes, NULL);
}

template<typename Key>
static void
run_case(test_case test)
{
	Key		   *keys = aligned_array<Key>(test.n);
	Key		   *keys_in = aligned_array<Key>(test.n);
	uint32_t   *rows_in = aligned_array<uint32_t>(test.n);
	uint32_t   *rows = aligned_array<uint32_t>(test.n);
	Key		   *keys_out = aligned_array<Key>(test.n);
	unsigned char *scratch;
	gsort_pairs pairs = {};
	size_t		bytes;
	uint64_t	bad = 0;
	cudaError_t status;

	/* the partition supports no other case */
	test.with_keys_out &= test.engine == GSORT_ENGINE_RADIX || sizeof(Key) == 8;
	for (uint32_t i = 0; i < test.n; i++)
	{
		keys_in[i] = keys[i] = (Key) (test.begin_bit >= 8 * sizeof(Key) ? 0 :
			(Key) distribution_key(test.which, i, test.n, 12345 + test.n, 8 * sizeof(Key)) >> test.begin_bit);
		rows_in[i] = (uint32_t) mix_bits(i);
	}
	pairs.key_bits = 8 * sizeof(Key);
	pairs.bits = test.end_bit - test.begin_bit;
	pairs.n = test.n;
	pairs.d_keys = keys_in;
	pairs.engine = test.engine;
	pairs.d_keys_out = test.with_keys_out ? keys_out : NULL;
	pairs.d_rows = test.with_rows ? rows_in : NULL;
	pairs.d_rows_out = rows;
	bytes = test.engine == GSORT_ENGINE_RADIX ? pairs_radix_scratch_bytes(&pairs) : pairs_partition_scratch_bytes(&pairs);
	scratch = aligned_array<unsigned char>(bytes);
	gap_check	gaps(pairs, scratch);

	status = sort_pairs(pairs, scratch, bytes);

	std::vector<uint32_t> order = stable_order_of_bits(keys, test.n, pairs.bits);

	for (uint32_t i = 0; i < test.n; i++)
	{
		bad += rows[i] != (test.with_rows ? rows_in[order[i]] : order[i]);
		bad += test.with_keys_out && keys_out[i] != keys[order[i]];
	}

	const partition_plan *plan = (const partition_plan *) scratch;
	bool		intact = gaps.sorted();
	bool		as_expected = (test.handed_over < 0 || (int) plan->verdict.handed_over == test.handed_over) &&
		(test.presorted < 0 || (int) is_presorted(plan) == test.presorted) &&
		(!test.lies_evenly || plan->listed.crowded * CROWDED_SHARE <= plan->listed.segments);
	bool		ok = status == cudaSuccess && bad == 0 && intact && as_expected;

	if (!ok || !quiet)
	{
		printf("%s u%zu n=%-7u %-13s bits %u-%u chip %3d KiB", test.engine == GSORT_ENGINE_RADIX ? "radix" : "partition",
			   8 * sizeof(Key), test.n, distribution_names[test.which], test.begin_bit, test.end_bit,
			   emulator::the_chip.shared_bytes >> 10);
		if (test.engine == GSORT_ENGINE_PARTITION)
			printf(": buckets %u wide %u handed over %u segments %u crowded %u long %u", plan->splitters.buckets, plan->splitters.wide,
				   plan->verdict.handed_over, plan->listed.segments, plan->listed.crowded, plan->listed.long_segments);
		printf("  %s\n", ok ? "ok" : !intact ? "GAP WRITTEN" : status != cudaSuccess ? "BAD STATUS" :
			   !as_expected ? "BAD CHOICE" : "BAD");
		fflush(stdout);
	}
	failures += !ok;
	free(keys);
	free(keys_in);
	free(rows_in);
	free(rows);
	free(keys_out);
	free(scratch);
}

static void
run_radix(distribution which, uint32_t n)
{
	const gsort_engine radix = GSORT_ENGINE_RADIX;

	emulator::the_chip.shared_bytes = chip_bytes[0];
	run_case<uint64_t>({radix, which, n, 0, 64, false, false});
	run_case<uint64_t>({radix, which, n, 0, 64, true, true});
	run_case<uint64_t>({radix, which, n, 3, 50, true, false});
	run_case<uint64_t>({radix, which, n, 20, 47, false, true});
	run_case<uint64_t>({radix, which, n, 17, 23, true, false});
	run_case<uint32_t>({radix, which, n, 0, 32, false, false});
	run_case<uint32_t>({radix, which, n, 3, 17, true, true});
	run_case<uint32_t>({radix, which, n, 9, 9, true, true});
}

static void
run_distribution(distribution which)
{
	const gsort_engine partition = GSORT_ENGINE_PARTITION;

	for (uint32_t n : {1u, 31u, 8193u, 100003u})
		run_radix(which, n);
	if (radix_only)
		return;
	for (int bytes : chip_bytes)
	{
		emulator::the_chip.shared_bytes = bytes;
		for (uint32_t n : {1u, 31u, 2048u, 4097u, 8193u, 100003u, LARGEST_TEST})
		{
			if (sort_tuning_row(n, bytes) == TUNING_CHOICE_NONE)
				continue;
			run_case<uint64_t>({partition, which, n, 0, 64, n % 2 == 0, n < 50000});
			run_case<uint64_t>({partition, which, n, 32, 64, n % 2 == 0, n < 50000});
			run_case<uint32_t>({partition, which, n, 0, 32, n % 2 != 0, n < 50000});
		}
		run_case<uint64_t>({partition, which, 20011, 3, 50, true, true});
		run_case<uint64_t>({partition, which, 20011, 35, 49, true, true});
		run_case<uint32_t>({partition, which, 20011, 3, 31, true, true});
		run_case<uint32_t>({partition, which, 20011, 20, 28, true, true});
	}
}

/* Tiny tiles with enough pairs for level 2, crowded segments, long segments,
 * and hand-overs. */
static void
run_every_stage()
{
	const gsort_engine partition = GSORT_ENGINE_PARTITION;

	/* sorts of one pass are never handed over, whatever the distribution */
	for (distribution which : {HOLES, MANY_CLUSTERS, NAMES, DECIMAL_DIGITS})
	{
		emulator::the_chip.shared_bytes = chip_bytes[which % 2];
		run_case<uint64_t>({partition, which, 100003, 32, 40, false, false, 0});
		run_case<uint32_t>({partition, which, 100003, 24, 32, false, false, 0});
	}
	for (distribution which : {CLUSTERS, EXPONENTIAL, FEW_TIED})
	{
		emulator::the_chip.shared_bytes = chip_bytes[which % 2];
		run_case<uint64_t>({partition, which, 100003, 0, 64, false, false, 0});
	}
	/* mostly tied */
	run_case<uint64_t>({partition, THOUSAND_HASHED, 100003, 0, 64, false, false, 0});
	run_case<uint64_t>({partition, ZIPF_HASHED, 100003, 0, 64, false, false, 1});
	run_case<uint64_t>({partition, ZIPF_HASHED, 100003, 0, 64, true, true, 1});
}

/* Even keys with many bins, and nearly even ones: with rooms from the sample to
 * the emitted rows. */
static void
run_rooms()
{
	const gsort_engine partition = GSORT_ENGINE_PARTITION;

	for (int chip : {0, 1})
	{
		emulator::the_chip.shared_bytes = chip_bytes[chip];
		for (distribution which : {UNIFORM, FEW_TIED, ONE_SWAPPED, BIT_REVERSED})
		{
			run_case<uint64_t>({partition, which, 100003, 0, 64, false, false, 0});
			run_case<uint32_t>({partition, which, 100003, 0, 32, true, true, 0});
		}
	}
	if (rooms_seen == 0 || uncounted_bins_seen == 0)
	{
		printf("no keys went to rooms of buckets, or none to rooms of bins: BAD\n");
		failures++;
	}
}

/*
 * Tests the choice between the two sorts.  The partition sorts keys that are
 * even at every scale, and mostly tied ones.  The radix sort takes clusters of
 * clusters, like text, and clusters too numerous for the sample.
 */
static void
run_choices()
{
	const gsort_engine partition = GSORT_ENGINE_PARTITION;

	emulator::the_chip.shared_bytes = chip_bytes[1];
	for (distribution which : {SORTED, REVERSED, ALL_EQUAL})
	{
		run_case<uint64_t>({partition, which, 100003, 0, 64, false, false, 0, false, 1});
		run_case<uint64_t>({partition, which, 100003, 3, 64, true, true, 0, false, 1});
	}
	/* falling, with ties that the sample does not show: their rows must stay in
	 * order */
	run_case<uint64_t>({partition, REVERSED, 100003, 48, 64, false, true, 0, false, 0});
	/* only the sample suggests that these are in order */
	run_case<uint64_t>({partition, ONE_SWAPPED, 100003, 0, 64, true, true, 0, false, 0});
	run_case<uint64_t>({partition, ONE_SWAPPED, 100003, 0, 64, false, false, 0, true, 0});
	for (distribution which : {UNIFORM, ZIPF, NORMAL, DOUBLES, LOGNORMAL, RARE_CLUSTERS,
			SNOWFLAKE, BIT_REVERSED, MORTON, NEAR_SORTED, SAWTOOTH, ALTERNATING_ENDS})
		run_case<uint64_t>({partition, which, 100003, 0, 64, false, false, 0, which != ZIPF && which != RARE_CLUSTERS});
	for (distribution which : {SIXTEEN, SIXTEEN_HASHED, RANGE_2_20, OUTLIER, HALF_EQUAL, ZIPF_FEW_HASHED, WHOLE_URLS,
			PATHS, DEVANAGARI})
		run_case<uint64_t>({partition, which, 100003, 0, 64, false, false, 0});
	for (distribution which : {HOLES, DAYS, MANY_CLUSTERS, URLS, NAMES, HEX_DIGITS, DECIMAL_DIGITS, CYRILLIC, GREEK, CJK})
		run_case<uint64_t>({partition, which, 100003, 0, 64, false, false, 1});
	/* more clusters than any sample covers */
	run_case<uint64_t>({partition, MANY_DAYS, 100003, 0, 64, false, false, 1});
}

/* Short keys also go to the radix sort if they are uneven, or if rows share
 * them.  Their words lose nothing, so they never tie. */
static void
run_choices_of_short_keys()
{
	const gsort_engine partition = GSORT_ENGINE_PARTITION;

	emulator::the_chip.shared_bytes = chip_bytes[1];
	for (distribution which : {SORTED, REVERSED, ALL_EQUAL})
	{
		run_case<uint32_t>({partition, which, 100003, 0, 32, false, false, 0, false, 1});
		run_case<uint32_t>({partition, which, 100003, 3, 32, true, true, 0, false, 1});
	}
	for (distribution which : {UNIFORM, NORMAL, DOUBLES, BIT_REVERSED, MORTON, ONE_SWAPPED})
	{
		run_case<uint32_t>({partition, which, 100003, 0, 32, false, false, 0, true, 0});
		run_case<uint32_t>({partition, which, 100003, 0, 32, true, true, 0, true, 0});
	}
	run_case<uint64_t>({partition, UNIFORM, 100003, 32, 64, false, false, 0, true, 0});
	for (distribution which : {ZIPF_HASHED, SIXTEEN_HASHED, THOUSAND_HASHED, EXPONENTIAL, HALF_EQUAL, MANY_CLUSTERS, HOLES,
			HEX_DIGITS, DECIMAL_DIGITS})
	{
		run_case<uint32_t>({partition, which, 100003, 0, 32, false, false, 1});
		run_case<uint32_t>({partition, which, 100003, 0, 32, true, true, 1});
		run_case<uint64_t>({partition, which, 100003, 32, 64, false, false, 1});
		run_case<uint64_t>({partition, which, 100003, 32, 64, true, true, 1});
	}
}

/* The radix sort with every kind of items and every number of passes. */
static void
run_all_bits()
{
	uint32_t	n = 700;

	emulator::the_chip.shared_bytes = chip_bytes[0];
	for (uint32_t begin : {0u, 1u, 7u, 24u, 31u, 32u, 33u, 63u, 64u})
	{
		for (uint32_t end = begin; end <= 64; end += 1 + end % 3)
		{
			for (int flags = 0; flags < 4; flags++)
				run_case<uint64_t>({GSORT_ENGINE_RADIX, n % 2 ? UNIFORM : ZIPF_HASHED, n++, begin, end, n % 3 == 0, (flags & 1) != 0});
		}
		for (uint32_t end = begin; end <= 32; end += 1 + end % 3)
		{
			for (int flags = 0; flags < 2; flags++)
				run_case<uint32_t>({GSORT_ENGINE_RADIX, UNIFORM, n++, begin, end, n % 3 == 0, flags != 0});
		}
	}
}

/* The order does not depend on the salt. */
static void
run_salts()
{
	emulator::the_chip.shared_bytes = chip_bytes[0];
	for (uint32_t salt : {1u, 0x12345678u, 0xffffffffu})
	{
		pairs_partition_salt = salt;
		for (distribution which : {UNIFORM, ZIPF_HASHED, HALF_EQUAL, MANY_CLUSTERS})
		{
			run_case<uint64_t>({GSORT_ENGINE_PARTITION, which, 20011, 0, 64, true, true});
			run_case<uint32_t>({GSORT_ENGINE_PARTITION, which, 20011, 0, 32, false, true});
		}
	}
	pairs_partition_salt = 0;
}

/* The largest chip's own row is for large inputs. */
static void
run_small_distribution(distribution which)
{
	const gsort_engine partition = GSORT_ENGINE_PARTITION;

	run_radix(which, which % 2 == 0 ? 31 : 4097);
	if (radix_only)
		return;
	for (int bytes : {chip_bytes[0], chip_bytes[1]})
	{
		emulator::the_chip.shared_bytes = bytes;
		run_case<uint64_t>({partition, which, 31, 0, 64, true, true});
		if (which % 2 == 0)
			run_case<uint64_t>({partition, which, 4097, 0, 64, false, true});
		else
			run_case<uint64_t>({partition, which, 4097, 35, 62, true, false});
		run_case<uint32_t>({partition, which, 4099, 0, 32, which % 2 == 0, which % 2 != 0});
	}
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
		else if (strcmp(argv[i], "-r") == 0)
			radix_only = true;
		else
			only = atoi(argv[i]);
	}
	for (int d = 0; d < (only < 0 ? HARD_DISTRIBUTIONS : ALL_DISTRIBUTIONS); d++)
	{
		if (only < 0 || d == only)
			(small ? run_small_distribution : run_distribution) ((distribution) d);
	}
	if (only < 0 && TUNING_MEDIUM::SORT_TILE < 1000)
		run_all_bits();
	if (only < 0 && !radix_only && TUNING_MEDIUM::SORT_TILE < 1000)
	{
		run_every_stage();
		run_salts();
		run_rooms();
		run_choices();
		run_choices_of_short_keys();
	}
	printf("failures: %d\n", failures);
	return failures != 0;
}
