/*
 * stage_segments_test.cpp
 *	  The third stage of the partition sort alone, in the emulator: sorts the
 *	  test's segments.
 *
 * Usage: stage_segments_test [seed]
 *
 * In:  segments of one item up to some tiles: even, crowded, tied and with
 *	    shortened words, narrow and wide, in both arrays.
 * Out: a line for each failure, the number of failures, and the exit status.
 *
 * Each segment's rows must be emitted at its own places, in order and exactly
 * once.  Rows of a segment in no list must not be emitted.  No array's guard
 * may change.
 */
#include "sort/stage_segments.cuh"

#include "stage_memory.h"

static uint32_t crowded_seen;	/* crowded segments */

/* Records the row of each place, and the number of calls. */
struct emit_tags
{
	uint32_t   *rows;
	uint32_t   *times;

	void operator()(uint32_t place, uint32_t row) const
	{
		rows[place] = row;
		times[place]++;
	}
};

typedef enum segment_kind
{
	SEGMENT_EVEN,
	SEGMENT_CROWDED,			/* two values far apart, and some between */
	/* all keys equal: by row, or, where items can be shortened, equal in the
	 * lost bits */
	SEGMENT_TIED,
	SEGMENT_SHORTENED,			/* words have lost bits; wide items: like SEGMENT_EVEN */
	SEGMENT_KINDS
} segment_kind;

struct given_segment
{
	uint32_t	begin;			/* in the output, and in level 1 */
	uint32_t	count;
	segment_kind kind;
	bool		left_out;		/* in no list */
};

#define LOST_BITS	9			/* bits that shortened words lose */

static uint64_t
key_in_segment(segment_kind kind, uint64_t lowest, uint64_t range)
{
	switch (kind)
	{
		case SEGMENT_CROWDED:
			return lowest + (below(9) == 0 ? below(range + 1) : below(2) * range);
		case SEGMENT_TIED:
			return lowest;
		default:
			return lowest + below(range + 1);
	}
}

/* Segments of the wanted sizes, one behind the other, with all their items and
 * keys. */
template<typename Row, bool Wide>
struct given_items
{
	uint32_t	n;
	uint32_t	row_bits;
	words		keys;			/* by row */
	numbers		rows;			/* by place, before the sort */
	std::vector<given_segment> segments;
	uint32_t	level2_behind;	/* segments in level 2 lie this many items behind their places */
	stage_memory<Row> memory;

	explicit given_items(const std::vector<given_segment> &wanted): n(wanted.back().begin + wanted.back().count),
		row_bits(row_bits_for(n)), keys(n), rows(n), segments(wanted), level2_behind(Wide ? 0 : (uint32_t) (level2_items_max(n) - n)), memory(n)
	{
		partition_plan *plan = memory.plan.data();

		memset(plan, 0, sizeof(*plan));
		plan->splitters.wide = Wide;
		std::iota(rows.begin(), rows.end(), 0u);
		std::shuffle(rows.begin(), rows.end(), dice);
		std::shuffle(segments.begin(), segments.end(), dice);
		for (const given_segment &segment : segments)
			give(segment);
	}

	static uint32_t shift_of(const given_segment &segment)
	{
		return !Wide && (segment.kind == SEGMENT_SHORTENED || (segment.kind == SEGMENT_TIED && segment.count % 2 == 0)) ? LOST_BITS : 0;
	}

	item<Wide> item_of(uint32_t row, uint32_t shift) const
	{
		if (Wide)
			return {keys[row], row};
		return {word_of_key(keys[row], shift, 0, row_bits) | row, 0};
	}

	void give(const given_segment &segment)
	{
		uint32_t	shift = shift_of(segment);
		uint64_t	range = low_bits((uint32_t) below(40));
		uint64_t	lowest = below(low_bits(Wide ? 63 : 64 - row_bits + shift) - range);
		bool		is_long = segment.count > Row::SORT_TILE;
		bool		in_level1 = !is_long && below(2) == 0;
		item_arrays<Wide> level = in_level1 ? items_as<Wide>(memory.items().level1) :
			items_as<Wide>(memory.items().level2).from(level2_behind);

		for (uint32_t at = segment.begin; at < segment.begin + segment.count; at++)
		{
			keys[rows[at]] = key_in_segment(segment.kind, lowest, range);
			level.put(at, item_of(rows[at], shift));
		}
		if (segment.left_out)
			return;
		if (is_long)
		{
			segment_counts &listed = memory.plan.data()->listed;

			memory.long_segments.data()[listed.long_segments++] = {segment.begin + level2_behind, segment.begin,
				segment.begin, segment.count, shift > 0, listed.long_tiles};
			listed.long_tiles += tiles_for(segment.count, Row::SORT_TILE);
		}
		else
			memory.segments.data()[memory.plan.data()->listed.segments++] = describe(segment, level, shift, in_level1);
	}

	sort_segment describe(const given_segment &segment, const item_arrays<Wide> &level, uint32_t shift, bool in_level1) const
	{
		bool		by_row = Wide && segment.kind == SEGMENT_TIED;
		uint64_t	mask = shift > 0 ? ~0ull << row_bits : ~0ull;
		uint64_t	lowest = ~0ull;
		uint64_t	highest = 0;

		for (uint32_t at = segment.begin; at < segment.begin + segment.count; at++)
		{
			uint64_t	coordinate = item_coordinate<Wide>(level.get(at), mask, by_row);

			lowest = std::min(lowest, coordinate);
			highest = std::max(highest, coordinate);
		}
		return {segment.begin + (in_level1 ? 0 : level2_behind), segment.begin, segment.count, in_level1 * (uint32_t) ITEMS_IN_LEVEL1 | (shift > 0) * (uint32_t) ITEMS_SHORTENED |
			by_row * (uint32_t) ITEMS_BY_ROW, make_linear_map(highest - lowest, Row::SORT_BINS), lowest};
	}

	/* True if its rows were emitted at its places, in order and exactly once;
	 * or never, if it is in no list. */
	bool is_sorted(const given_segment &segment, const uint32_t *emitted, const uint32_t *times) const
	{
		numbers		expected(rows.begin() + segment.begin, rows.begin() + segment.begin + segment.count);

		std::sort(expected.begin(), expected.end(), [&](uint32_t a, uint32_t b) {
			return key_and_row(keys[a], a) < key_and_row(keys[b], b);
		});
		return std::all_of(times + segment.begin, times + segment.begin + segment.count,
						   [&](uint32_t n_times) { return n_times == (segment.left_out ? 0 : 1); }) &&
			(segment.left_out || std::equal(expected.begin(), expected.end(), emitted + segment.begin));
	}
};

template<typename Row>
static std::vector<given_segment>
segments_of_all_sizes(segment_kind kind)
{
	const uint32_t tile = Row::SORT_TILE;
	std::vector<given_segment> segments;
	uint32_t	begin = 0;

	for (uint32_t count : {1u, 2u, 33u, tile - 1, tile, tile + 1, 2 * tile, 5 * tile + 7, (uint32_t) (1 + below(tile)), 8 * tile})
	{
		segments.push_back({begin, count, kind, below(6) == 0});
		begin += count;
	}
	return segments;
}

template<typename Row, bool MayBeWide, bool Wide>
static void
test_segments(segment_kind kind, const std::vector<given_segment> &wanted, const launch_target &target)
{
	const std::string name = "segments: kind " + std::to_string(kind) + (Wide ? ", wide" : MayBeWide ? ", maybe wide" : ", narrow") +
		", tile " + std::to_string(Row::SORT_TILE);
	given_items<Row, Wide> given(wanted);
	stage_memory<Row> &memory = given.memory;
	guarded_array<uint32_t> rows(given.n);
	guarded_array<uint32_t> times(given.n);
	const segments_input in = {memory.items(), view_of(given.keys, ~0ull), given.row_bits, given.n};

	memset(times.data(), 0, given.n * sizeof(uint32_t));
	expect(sort_segments<Row, MayBeWide>(in, memory.plan.data(), memory.crowded.data(), emit_tags{rows.data(), times.data()},
										 target) == cudaSuccess && memory.intact() && rows.intact() && times.intact(), name);
	crowded_seen += memory.plan.data()->listed.crowded;
	for (const given_segment &segment : given.segments)
		expect(given.is_sorted(segment, rows.data(), times.data()), name + ", of " + std::to_string(segment.count) + " items");
}

template<typename Row, bool MayBeWide, bool Wide>
static void
test_all_segments(const launch_target &target)
{
	for (int kind = 0; kind < SEGMENT_KINDS; kind++)
		test_segments<Row, MayBeWide, Wide>((segment_kind) kind, segments_of_all_sizes<Row>((segment_kind) kind), target);
	test_segments<Row, MayBeWide, Wide>(SEGMENT_EVEN, {{0, 1, SEGMENT_EVEN, false}}, target);
}

template<typename Row>
static void
test_row(int shared_bytes)
{
	const launch_target target = target_of(shared_bytes);

	test_all_segments<Row, false, false>(target);
	test_all_segments<Row, true, false>(target);
	test_all_segments<Row, true, true>(target);
}

int
main(int argc, char **argv)
{
	begin_test("stage_segments_test", argc, argv);
	test_row<TUNING_MEDIUM>(110 << 10);
	test_row<TUNING_LARGE>(227 << 10);
	expect(crowded_seen > 0, "segments: none was crowded");
	return end_test();
}
