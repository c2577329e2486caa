/*
 * stage_partition_test.cpp
 *	  The second stage of the partition sort alone, in the emulator: divides
 *	  keys into segments by the test's splitters.
 *
 * Usage: stage_partition_test [seed]
 *
 * In:  random keys of several kinds; random splitters, few and many, of present
 *	    and absent keys, and by row.
 * Out: a line for each failure, the number of failures, and the exit status.
 *
 * The segments must cover everything and fit their tiles.  The segments must
 * hold, as correct items, the rows that std::stable_sort puts at their places.
 * No array's guard may change.  Splitters of equal ranges claim that any keys
 * are even.
 */
#include "sort/stage_partition.cuh"

#include "level2_memory.h"
#include "stage_memory.h"

/* Inputs whose items went uncounted to buckets or to a bucket's bins, and those
 * that had to be counted after all. */
static uint32_t rooms_seen;
static uint32_t rooms_overflowed_seen;
static uint32_t uncounted_bins_seen;
static uint32_t overflowed_bins_seen;

/* Lower ends of buckets, except the first: of present keys, of absent ones, and
 * several of one key. */
static std::vector<key_and_row>
make_edges(const words &keys, uint64_t key_max, uint32_t wanted)
{
	std::vector<key_and_row> edges;

	for (uint32_t e = 0; e < wanted; e++)
	{
		uint32_t	n = (uint32_t) keys.size();
		uint64_t	key = below(8) == 0 ? dice() & key_max : keys[below(n)];

		edges.push_back({key, below(3) == 0 ? (uint32_t) below(n) : 0});
		if (below(4) == 0)
			edges.push_back({key, (uint32_t) below(n)});
	}
	edges.push_back({0, 0});
	std::sort(edges.begin(), edges.end());
	edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
	edges.resize(std::min<size_t>(edges.size(), BUCKETS_MAX));
	return edges;
}

/* Fills the splitters like choose_splitters, from edges and the assumed minimum
 * and range of the keys. */
static void
give_splitters(partition_plan *plan, const std::vector<key_and_row> &edges, uint64_t sample_min, uint64_t sample_range, uint64_t key_max,
			   uint32_t row_bits, bool wide)
{
	bucket_splitters &splitters = plan->splitters;
	numbers		places;

	memset(plan, 0, sizeof(*plan));
	splitters.buckets = (uint32_t) edges.size();
	splitters.row_bits = row_bits;
	splitters.wide = wide;
	splitters.sample_min = sample_min;
	splitters.sample_range = sample_range;
	splitters.sample_map = make_linear_map(splitters.sample_range, BUCKET_TABLE);
	for (uint32_t b = 0; b < BUCKETS_MAX; b++)
	{
		splitters.lowest_key[b] = b < edges.size() ? edges[b].first : key_max;
		splitters.lowest_row[b] = b < edges.size() ? edges[b].second : 0;
		if (b > 0 && b < edges.size())
			places.push_back(clamped_part(splitters.sample_map, splitters.sample_min, splitters.sample_range, edges[b].first));
	}
	for (uint32_t b = 0; b < splitters.buckets; b++)
		splitters.shift[b] = bits_to_lose(edges[b].first, highest_key(splitters.lowest_key, splitters.lowest_row, b,
																	  splitters.buckets, key_max), row_bits);
	for (uint32_t p = 0; p < BUCKET_TABLE; p++)
	{
		auto		before = std::lower_bound(places.begin(), places.end(), p) - places.begin();
		auto		up_to = std::upper_bound(places.begin(), places.end(), p) - places.begin();

		splitters.table[p] = (uint16_t) (before | up_to << 8);
	}
}

/* Fills them from random edges, with a table map that need not fit the keys. */
static void
give_random_splitters(partition_plan *plan, const words &keys, uint32_t edges, uint64_t key_max, bool wide)
{
	const std::vector<key_and_row> made = make_edges(keys, key_max, edges);
	uint64_t	sample_min = made[below(made.size())].first;
	uint64_t	sample_range = below(2) == 0 ? made.back().first - sample_min : dice() & key_max;

	give_splitters(plan, made, sample_min, sample_range, key_max, row_bits_for((uint32_t) keys.size()), wide);
}

/* Fills them like choose_splitters for even keys: parts of equal ranges, and
 * the keys on either side. */
static void
give_even_splitters(partition_plan *plan, uint64_t lowest, uint64_t range, uint32_t parts, uint64_t key_max, uint32_t row_bits,
					bool wide)
{
	const linear_map map = make_linear_map(range, parts);
	std::vector<key_and_row> edges = {{0, 0}};

	for (uint32_t b = lowest == 0; b < parts; b++)
		edges.push_back({lowest + (b > 0 ? lowest_of_part(map, b) : 0), 0});
	if (lowest + range < key_max)
		edges.push_back({lowest + range + 1, 0});
	give_splitters(plan, edges, lowest, range, key_max, row_bits, wide);
	plan->splitters.even = 1;
	plan->splitters.first_even = lowest > 0;
	plan->splitters.even_least = lowest;
	plan->splitters.even_range = range;
	plan->splitters.even_map = map;
}

static void
count_seen(const partition_plan *plan)
{
	rooms_seen += plan->rooms_given && !plan->rooms_overflowed;
	rooms_overflowed_seen += plan->rooms_overflowed;
	for (uint32_t b = 0; b < plan->splitters.buckets; b++)
	{
		uncounted_bins_seen += plan->bucket_plans[b].tile_a_bin && !plan->bucket_plans[b].overflowed;
		overflowed_bins_seen += plan->bucket_plans[b].overflowed;
	}
}

/* A range of items: a segment or a long one. */
struct listed_stretch
{
	uint32_t	begin;
	uint32_t	place;
	uint32_t	count;
	bool		in_level1;
	bool		shortened;
	const sort_segment *segment;	/* NULL: long */
};

static std::vector<listed_stretch>
list_stretches(const partition_plan *plan, const segmented_items &items)
{
	std::vector<listed_stretch> stretches;

	for (uint32_t s = 0; s < plan->listed.segments; s++)
		stretches.push_back({items.segments[s].begin, items.segments[s].place, items.segments[s].count, (items.segments[s].flags & ITEMS_IN_LEVEL1) != 0,
			(items.segments[s].flags & ITEMS_SHORTENED) != 0, &items.segments[s]});
	for (uint32_t s = 0; s < plan->listed.long_segments; s++)
		stretches.push_back({items.long_segments[s].begin, items.long_segments[s].place, items.long_segments[s].count, false,
			items.long_segments[s].shortened != 0, NULL});
	std::sort(stretches.begin(), stretches.end(), [](const listed_stretch &a, const listed_stretch &b) { return a.place < b.place; });
	return stretches;
}

template<bool Wide>
static bool
is_item_of(item<Wide> x, const bucket_splitters &splitters, uint64_t key, uint32_t row, bool shortened)
{
	uint32_t	b = bucket_of(splitters, key, row);
	uint32_t	shift = splitters.shift[b];
	uint32_t	base = base_of_words(splitters.lowest_key[b], shift, splitters.row_bits);

	if (Wide)
		return x.first == key && x.second == row && !shortened;
	return x.first == (word_of_key(key, shift, base, splitters.row_bits) | row) && shortened == (shift > 0);
}

/* True if the segment's map takes the item to an existing bin. */
template<typename Row, bool Wide>
static bool
has_bin(const sort_segment &segment, item<Wide> x, uint32_t row_bits)
{
	uint64_t	mask = segment.flags & ITEMS_SHORTENED ? ~0ull << row_bits : ~0ull;
	uint64_t	coordinate = item_coordinate<Wide>(x, mask, (segment.flags & ITEMS_BY_ROW) != 0);

	return coordinate >= segment.lowest && linear_part(segment.map, coordinate - segment.lowest) < Row::SORT_BINS;
}

/* True if the range holds exactly the items that the order has at its
 * places. */
template<typename Row, bool Wide>
static bool
holds_its_items(const listed_stretch &stretch, const segmented_items &items, const bucket_splitters &splitters,
				const words &keys, const numbers &order)
{
	item_arrays<Wide> level = items_as<Wide>(stretch.in_level1 ? items.level1 : items.level2);
	numbers		rows;
	numbers		expected(order.begin() + stretch.place, order.begin() + stretch.place + stretch.count);

	for (uint32_t at = stretch.begin; at < stretch.begin + stretch.count; at++)
	{
		item<Wide>	x = level.get(at);
		uint32_t	row = Wide ? x.second : (uint32_t) (x.first & low_bits(splitters.row_bits));

		if (row >= keys.size() || !is_item_of<Wide>(x, splitters, keys[row], row, stretch.shortened) ||
			(stretch.segment != NULL && !has_bin<Row, Wide>(*stretch.segment, x, splitters.row_bits)))
			return false;
		rows.push_back(row);
	}
	std::sort(rows.begin(), rows.end());
	std::sort(expected.begin(), expected.end());
	return rows == expected;
}

/* True if the ranges cover everything, and no long one fits a tile. */
template<typename Row>
static bool
covers_all(const std::vector<listed_stretch> &stretches, uint32_t n)
{
	uint32_t	at = 0;

	for (const listed_stretch &stretch : stretches)
	{
		if (stretch.place != at || stretch.count == 0 || (stretch.count > Row::SORT_TILE) != (stretch.segment == NULL))
			return false;
		at += stretch.count;
	}
	return at == n;
}

/* Keys that are even at the places of the rooms' sample, and nowhere else. */
static words
make_misleading_keys(uint32_t n, uint64_t key_max)
{
	words		keys(n, key_max / 3);
	uint32_t	groups = estimate_groups(n);

	for (uint32_t g = 0; g < groups; g++)
	{
		for (uint32_t i = 0; i < ESTIMATED_AT_ONCE; i++)
			keys[sample_position(g, groups, n / ESTIMATED_AT_ONCE, 0) * ESTIMATED_AT_ONCE + i] = dice() & key_max;
	}
	return keys;
}

/* edges: number of random buckets; with even_parts, the number of buckets of
 * equal ranges instead. */
template<typename Row, bool MayBeWide, bool Wide, typename Key>
static void
test_partition_of(const words &keys, const std::string &kind, uint32_t n, uint32_t bits, uint32_t edges,
				  const launch_target &target, uint32_t even_parts)
{
	const std::string name = "partition: keys " + kind + " of " + std::to_string(sizeof(Key)) + " bytes, n " + std::to_string(n) + ", bits " + std::to_string(bits) +
		", edges " + std::to_string(edges) + ", even parts " + std::to_string(even_parts) + (Wide ? ", wide" : MayBeWide ? ", maybe wide" : ", narrow");
	uint64_t	key_max = low_bits(bits);
	const std::vector<Key> typed_keys(keys.begin(), keys.end());
	numbers		order = stable_order(keys);
	stage_memory<Row> memory(n);
	level2_memory<Row> level2(n);
	partition_plan *plan = memory.plan.data();
	segmented_items items = memory.items();
	std::vector<listed_stretch> stretches;
	bool		all = true;

	if (even_parts == 0)
		give_random_splitters(plan, keys, edges, key_max, Wide);
	else
	{
		/* some keys lie outside the ends, because a sample's extremes are not
		 * the minimum and the maximum */
		uint64_t	lowest = *std::min_element(keys.begin(), keys.end()) + below(2) * (key_max >> 10);
		uint64_t	highest = *std::max_element(keys.begin(), keys.end()) - below(2) * (key_max >> 10);

		give_even_splitters(plan, lowest, highest - lowest, even_parts, key_max, row_bits_for(n), Wide);
	}
	expect(partition_keys<Row, MayBeWide>({view_of(typed_keys, key_max), n}, plan, level2.arrays(), items, target) ==
		   cudaSuccess && memory.intact() && level2.intact(), name);
	count_seen(plan);
	stretches = list_stretches(plan, items);
	if (!covers_all<Row>(stretches, n))
	{
		expect(false, name + ", cover");
		return;
	}
	for (const listed_stretch &stretch : stretches)
		all = all && holds_its_items<Row, Wide>(stretch, items, plan->splitters, keys, order);
	expect(all, name + ", items");
}

template<typename Row, bool MayBeWide, bool Wide, typename Key>
static void
test_partition(key_kind kind, uint32_t n, uint32_t bits, uint32_t edges, const launch_target &target, uint32_t even_parts = 0)
{
	test_partition_of<Row, MayBeWide, Wide, Key>(make_keys(kind, n, low_bits(bits)), std::to_string(kind), n, bits, edges, target, even_parts);
}

/* Input of another engine yields no segment. */
template<typename Row>
static void
test_partition_of_others(const launch_target &target)
{
	for (sample_verdict verdict : {sample_verdict{1, SEEN_UNORDERED, 0}, sample_verdict{0, SEEN_RISING, 0}, sample_verdict{1, SEEN_FALLING, 0}})
	{
		uint32_t	n = 3000;
		words		keys = make_keys(KEYS_EVEN, n, ~0ull);
		stage_memory<Row> memory(n);
		level2_memory<Row> level2(n);
		partition_plan *plan = memory.plan.data();

		give_random_splitters(plan, keys, 50, ~0ull, false);
		plan->verdict = verdict;
		expect(partition_keys<Row, true>({view_of(keys, ~0ull), n}, plan, level2.arrays(), memory.items(), target) ==
			   cudaSuccess && memory.intact() && level2.intact() && plan->listed.segments == 0 && plan->listed.long_segments == 0 &&
			   plan->verdict.handed_over == (verdict.seen_order == SEEN_UNORDERED), "partition of what others sort");
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

		test_partition<Row, false, false, uint64_t>((key_kind) kind, n, 40, (uint32_t) below(300), target);
		test_partition<Row, false, false, uint32_t>((key_kind) kind, n, 32, (uint32_t) below(300), target);
		test_partition<Row, true, false, uint64_t>((key_kind) kind, n, 64, (uint32_t) below(30), target);
		test_partition<Row, true, true, uint64_t>((key_kind) kind, n, 64, (uint32_t) below(30), target);
	}
	/* the rooms of rising keys are filled as expected; some rooms of other keys
	 * are not */
	for (key_kind kind : {KEYS_EVEN, KEYS_RISING, KEYS_FALLING, KEYS_IN_CLUSTERS})
	{
		test_partition<Row, false, false, uint64_t>(kind, Row::SORT_TILE * 40, 40, 0, target, 2);
		test_partition<Row, false, false, uint32_t>(kind, Row::SORT_TILE * 60, 30, 0, target, 1 + (uint32_t) below(4));
		test_partition<Row, true, false, uint64_t>(kind, Row::SORT_TILE * 60, 64, 0, target, 1 + (uint32_t) below(30));
		test_partition<Row, true, true, uint64_t>(kind, Row::SORT_TILE * 60, 64, 0, target, 1 + (uint32_t) below(4));
	}
	test_partition_of<Row, false, false, uint64_t>(make_misleading_keys(Row::SORT_TILE * 40, low_bits(40)), "that mislead",
												   Row::SORT_TILE * 40, 40, 0, target, 2);
	test_partition_of<Row, false, false, uint32_t>(make_misleading_keys(Row::SORT_TILE * 40, low_bits(32)), "that mislead",
												   Row::SORT_TILE * 40, 32, 0, target, 2);
	test_partition<Row, true, true, uint64_t>(KEYS_EVEN, 1, 64, 0, target);
	test_partition<Row, false, false, uint64_t>(KEYS_EVEN, Row::SORT_TILE * 3, 30, 0, target);
	test_partition<Row, false, false, uint32_t>(KEYS_EVEN, Row::SORT_TILE * 3, 30, 0, target);
	test_partition_of_others<Row>(target);
}

int
main(int argc, char **argv)
{
	begin_test("stage_partition_test", argc, argv);
	test_row<TUNING_MEDIUM>(110 << 10);
	test_row<TUNING_LARGE>(227 << 10);
	expect(rooms_seen > 0 && rooms_overflowed_seen > 0, "partition: no items went to rooms of buckets, or none overflowed them");
	expect(uncounted_bins_seen > 0 && overflowed_bins_seen > 0, "partition: no items went to bins uncounted, or none overflowed them");
	return end_test();
}
