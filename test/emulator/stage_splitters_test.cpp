/*
 * stage_splitters_test.cpp
 *	  The first stage of the partition sort alone, in the emulator: splitters
 *	  from a sample.
 *
 * Usage: stage_splitters_test [seed]
 *
 * In:  random keys of several kinds.
 * Out: a line for each failure, the number of failures, and the exit status.
 *
 * Splitters must be in order, leave room in words, and map each key to its
 * bucket; the map of even keys must agree.  With even keys, no bucket may far
 * exceed its share.  All counters must be 0.  No array's guard may change.
 */
#include "sort/stage_splitters.cuh"

#include "stage_memory.h"

static uint32_t even_seen;		/* inputs found even */

static bool
table_leads_to_bucket(const bucket_splitters &splitters, uint64_t key, uint32_t row)
{
	uint32_t	entry = splitters.table[clamped_part(splitters.sample_map, splitters.sample_min, splitters.sample_range, key)];

	return search_bucket(splitters.lowest_key, splitters.lowest_row, entry & 0xff, entry >> 8, key, row) ==
		bucket_of(splitters, key, row);
}

template<typename Key>
static bool
map_leads_to_bucket(const bucket_splitters &splitters, Key key)
{
	return !splitters.even || make_even_bucket_finder<Key>(splitters).find(key) == bucket_of(splitters, key, 0);
}

/* True if the blocks' extremes are those of all keys, as with so few keys all
 * have been read. */
static bool
are_extremes(const key_extremes *extremes, const words &keys)
{
	key_extremes joined = extremes[0];

	for (uint32_t block = 1; block < SAMPLE_BLOCKS; block++)
		joined = join_extremes(joined, extremes[block]);
	return joined.least == *std::min_element(keys.begin(), keys.end()) && joined.greatest == *std::max_element(keys.begin(), keys.end());
}

/* True if the range of even keys holds all keys except those far from the
 * sample. */
static bool
is_range_of_even(const bucket_splitters &splitters, uint64_t sample_least, uint64_t sample_greatest, const words &keys)
{
	uint64_t	least = *std::min_element(keys.begin(), keys.end());
	uint64_t	greatest = *std::max_element(keys.begin(), keys.end());
	uint64_t	farthest = (sample_greatest - sample_least) / (SAMPLE_KEYS / 4 / GAPS_BEYOND_SAMPLE);

	return splitters.even_least == (sample_least - least <= farthest ? least : sample_least) &&
		splitters.even_least + splitters.even_range == (greatest - sample_greatest <= farthest ? greatest : sample_greatest);
}

static bool
lower_ends_rise(const bucket_splitters &splitters, uint64_t key_max)
{
	for (uint32_t b = 1; b < splitters.buckets; b++)
	{
		if (key_and_row(splitters.lowest_key[b - 1], splitters.lowest_row[b - 1]) >
			key_and_row(splitters.lowest_key[b], splitters.lowest_row[b]))
			return false;
	}
	for (uint32_t b = splitters.buckets; b < BUCKETS_MAX; b++)
	{
		if (splitters.lowest_key[b] != key_max || splitters.lowest_row[b] != 0)
			return false;
	}
	return splitters.lowest_key[0] == 0 && splitters.lowest_row[0] == 0 && splitters.lowest_key[splitters.buckets - 1] <= key_max;
}

static bool
shifts_make_room(const bucket_splitters &splitters, uint64_t key_max)
{
	for (uint32_t b = 0; b < splitters.buckets; b++)
	{
		uint64_t	highest = highest_key(splitters.lowest_key, splitters.lowest_row, b, splitters.buckets, key_max);

		if (splitters.shift[b] < bits_to_lose(splitters.lowest_key[b], highest, splitters.row_bits))
			return false;
	}
	return true;
}

static bool
nothing_is_counted(const partition_plan *plan)
{
	return std::all_of(plan->counts, plan->counts + BUCKETS_MAX, [](uint32_t count) { return count == 0; }) &&
		plan->listed.segments + plan->listed.long_segments + plan->listed.crowded + plan->listed.arrived == 0;
}

/* True if the order may be seen.  A sample of fewer keys contains some twice,
 * and does not rise. */
static bool
may_be_seen(key_kind kind, uint32_t n, uint32_t seen_order)
{
	if (n < SAMPLE_KEYS / 4)
		return true;
	if (kind == KEYS_RISING || kind == KEYS_EQUAL)
		return seen_order == SEEN_RISING;
	return kind == KEYS_FALLING ? seen_order == SEEN_FALLING : kind == KEYS_RISING_BUT_ONE || seen_order == SEEN_UNORDERED;
}

/* True if the sample is sorted, and each key is the one at its place in the
 * input. */
static bool
is_sorted_sample(const uint64_t *sample_keys, const uint32_t *sample_rows, uint32_t samples, const words &keys)
{
	for (uint32_t i = 0; i < samples; i++)
	{
		if (sample_rows[i] >= keys.size() || sample_keys[i] != keys[sample_rows[i]] || (i > 0 && sample_keys[i] < sample_keys[i - 1]))
			return false;
	}
	return true;
}

template<typename Row, typename Key>
static void
test_splitters(key_kind kind, uint32_t n, uint32_t bits, const launch_target &target)
{
	const std::string name = "splitters: keys " + std::to_string(kind) + " of " + std::to_string(sizeof(Key)) + " bytes, n " + std::to_string(n) + ", bits " + std::to_string(bits);
	uint64_t	key_max = low_bits(bits);
	words		keys = make_keys(kind, n, key_max);
	const std::vector<Key> typed_keys(keys.begin(), keys.end());
	guarded_array<partition_plan> memory(1);
	guarded_array<uint64_t> sample_keys(SAMPLE_KEYS);
	guarded_array<uint32_t> sample_rows(SAMPLE_KEYS);
	guarded_array<key_extremes> extremes(SAMPLE_BLOCKS);
	const splitters_input in = {view_of(typed_keys, key_max), n, row_bits_for(n), false};
	const partition_plan *plan = memory.data();
	const bucket_splitters &splitters = plan->splitters;
	std::vector<uint32_t> counts(BUCKETS_MAX);
	bool		led = true;

	expect(choose_splitters<Row>(in, {sample_keys.data(), sample_rows.data(), extremes.data()}, memory.data(), target) == cudaSuccess &&
		   memory.intact() && sample_keys.intact() && sample_rows.intact() && extremes.intact(), name);
	expect(is_sorted_sample(sample_keys.data(), sample_rows.data(), SAMPLE_KEYS / 4, keys), name + ", sample");
	expect(splitters.buckets >= 1 && splitters.buckets <= BUCKETS_MAX && lower_ends_rise(splitters, key_max), name + ", lower ends");
	expect(splitters.row_bits == in.row_bits && shifts_make_room(splitters, key_max), name + ", shifts");
	for (uint32_t row = 0; row < n; row++)
	{
		uint64_t	other = dice() & key_max;

		led = led && table_leads_to_bucket(splitters, keys[row], row) && map_leads_to_bucket<Key>(splitters, (Key) keys[row]) &&
			table_leads_to_bucket(splitters, other, (uint32_t) below(n)) && map_leads_to_bucket<Key>(splitters, (Key) other);
		counts[bucket_of(splitters, keys[row], row)]++;
	}
	expect(led, name + ", table");
	/* clusters leave gaps, so their buckets are unbalanced */
	expect(*std::max_element(counts.begin(), counts.end()) <= 4 * n / QUANTILES_MIN || n < 64 * QUANTILES_MIN ||
		   kind == KEYS_IN_CLUSTERS, name + ", balance");
	expect(!may_have_rooms(n) || are_extremes(extremes.data(), keys), name + ", extremes");
	expect(!splitters.even || is_range_of_even(splitters, sample_keys.data()[0], sample_keys.data()[SAMPLE_KEYS / 4 - 1], keys),
		   name + ", range of even keys");
	even_seen += splitters.even;
	expect(plan->verdict.handed_over == 0 && nothing_is_counted(plan) && may_be_seen(kind, n, plan->verdict.seen_order),
		   name + ", verdict");
}

/* Number of items in the largest bucket. */
template<typename Row>
static uint32_t
largest_bucket(const words &keys, const launch_target &target)
{
	const uint32_t n = (uint32_t) keys.size();
	std::vector<uint64_t> sample_keys(SAMPLE_KEYS);
	std::vector<uint32_t> sample_rows(SAMPLE_KEYS);
	std::vector<key_extremes> extremes(SAMPLE_BLOCKS);
	std::vector<partition_plan> plan(1);
	std::vector<uint32_t> counts(BUCKETS_MAX);

	expect(choose_splitters<Row>({view_of(keys, ~0ull), n, row_bits_for(n), false},
								 {sample_keys.data(), sample_rows.data(), extremes.data()}, plan.data(), target) == cudaSuccess,
		   "splitters: a salt");
	for (uint32_t row = 0; row < n; row++)
		counts[bucket_of(plan[0].splitters, keys[row], row)]++;
	return *std::max_element(counts.begin(), counts.end());
}

/* Keys that are equal at the sampled places for salt 0, and nowhere else. */
template<typename Row>
static void
test_salt(launch_target target)
{
	const uint32_t n = 40000;
	words		keys(n);

	for (uint64_t &key : keys)
		key = dice();
	for (uint32_t i = 0; i < SAMPLE_KEYS / 4; i++)
		keys[sample_position(i, SAMPLE_KEYS / 4, n, 0)] = 5;
	expect(largest_bucket<Row>(keys, target) > n / 2, "splitters: keys for one salt");
	for (uint32_t salt : {1u, 0x12345678u, 0xffffffffu})
	{
		target.salt = salt;
		expect(largest_bucket<Row>(keys, target) <= 4 * n / QUANTILES_MIN, "splitters: another salt");
	}
}

template<typename Row>
static void
test_row(int shared_bytes)
{
	const launch_target target = target_of(shared_bytes);

	for (int kind = 0; kind < KEY_KINDS; kind++)
	{
		uint32_t	n = 3 * Row::SORT_TILE + (uint32_t) below(20 * Row::SORT_TILE);

		test_splitters<Row, uint64_t>((key_kind) kind, n, kind % 2 == 0 ? 64 : 40, target);
		test_splitters<Row, uint32_t>((key_kind) kind, n, kind % 2 == 0 ? 32 : 27, target);
	}
	test_splitters<Row, uint64_t>(KEYS_EVEN, 2, 64, target);
	test_salt<Row>(target);
}

int
main(int argc, char **argv)
{
	begin_test("stage_splitters_test", argc, argv);
	test_row<TUNING_MEDIUM>(110 << 10);
	test_row<TUNING_LARGE>(227 << 10);
	expect(even_seen > 0, "splitters: no keys were even");
	return end_test();
}
