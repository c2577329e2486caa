/*
 * stage_emit_test.cpp
 *	  The last stage of the partition sort, in the emulator: functors receive
 *	  rows with known places.
 *
 * Usage: stage_emit_test [seed]
 *
 * In:  places and rows; random keys of several kinds; a functor of the test,
 *	    which writes a word of each row to its place.
 * Out: a line for each failure, the number of failures, and the exit status.
 *
 * The library's functor must write rows and keys as a gsort_pairs requests.
 * The sequence of stages, presorted keys included, must give the test's functor
 * the order of std::stable_sort.  No array's guard may change.
 */
#include "sort/stage_emit.cuh"
#include "sort/stage_segments.cuh"
#include "sort/stage_splitters.cuh"

#include "level2_memory.h"
#include "stage_memory.h"

static void
test_emit_pairs()
{
	const words keys = {0x30f, 0x10e, 0x20d};
	const numbers rows_in = {70, 80, 90};
	numbers		rows(3);
	words		keys_out(3);

	emit_pairs{{keys.data(), 0xff, 64}, rows_in.data(), rows.data(), keys_out.data()}(1, 2);
	expect(rows == numbers({0, 90, 0}) && keys_out == words({0, 0x20d, 0}), "emit: rows of the caller's, and keys");
	emit_pairs{{keys.data(), 0xff, 64}, NULL, rows.data(), NULL}(0, 1);
	expect(rows == numbers({1, 90, 0}) && keys_out == words({0, 0x20d, 0}), "emit: the rows' own numbers, no keys");
}

/* Writes a row's word to its place. */
struct emit_words
{
	key_view	keys;			/* for presorted keys */
	const uint64_t *words_in;
	uint64_t   *words_out;

	void operator()(uint32_t place, uint32_t row) const
	{
		words_out[place] = words_in[row];
	}
};

template<typename Row, bool MayBeWide>
static cudaError_t
sort_to_words(const key_view &keys, uint32_t n, stage_memory<Row> &memory, const emit_words &emit, const launch_target &target)
{
	partition_plan *plan = memory.plan.data();
	guarded_array<uint64_t> sample_keys(SAMPLE_KEYS);
	guarded_array<uint32_t> sample_rows(SAMPLE_KEYS);
	guarded_array<key_extremes> extremes(SAMPLE_BLOCKS);
	level2_memory<Row> level2(n);

	CUDA_TRY(choose_splitters<Row>({keys, n, row_bits_for(n), false}, {sample_keys.data(), sample_rows.data(), extremes.data()}, plan, target));
	CUDA_TRY(pass_presorted(n, plan, emit, target));
	CUDA_TRY((partition_keys<Row, MayBeWide>({keys, n}, plan, level2.arrays(), memory.items(), target)));
	return sort_segments<Row, MayBeWide>({memory.items(), keys, row_bits_for(n), n}, plan, memory.crowded.data(), emit, target);
}

template<typename Row, bool MayBeWide, typename Key>
static void
test_row_of_stages(key_kind kind, uint32_t n, uint32_t bits, const launch_target &target)
{
	const std::string name = "stages in a row: keys " + std::to_string(kind) + " of " + std::to_string(sizeof(Key)) + " bytes, n " +
		std::to_string(n) + ", bits " + std::to_string(bits);
	uint64_t	key_max = low_bits(bits);
	words		keys = make_keys(kind, n, key_max);
	const std::vector<Key> typed_keys(keys.begin(), keys.end());
	const key_view view = view_of(typed_keys, key_max);
	numbers		order = stable_order(keys);
	words		words_in(n);
	guarded_array<uint64_t> words_out(n);
	stage_memory<Row> memory(n);
	const emit_words emit = {view, words_in.data(), words_out.data()};
	bool		right = true;

	for (uint64_t &word : words_in)
		word = dice();
	expect(sort_to_words<Row, MayBeWide>(view, n, memory, emit, target) == cudaSuccess &&
		   memory.intact() && words_out.intact(), name);
	for (uint32_t place = 0; place < n; place++)
		right = right && words_out.data()[place] == words_in[order[place]];
	expect(right, name + ", words");
}

template<typename Row>
static void
test_row(int shared_bytes)
{
	const launch_target target = target_of(shared_bytes);

	for (int kind = 0; kind < KEY_KINDS; kind++)
	{
		uint32_t	n = 3 * Row::SORT_TILE + (uint32_t) below(20 * Row::SORT_TILE);

		test_row_of_stages<Row, true, uint64_t>((key_kind) kind, n, 64, target);
		test_row_of_stages<Row, false, uint64_t>((key_kind) kind, n, 40, target);
		test_row_of_stages<Row, false, uint32_t>((key_kind) kind, n, 32, target);
	}
	for (uint32_t n : {1u, 2u, (uint32_t) Row::SORT_TILE})
	{
		test_row_of_stages<Row, true, uint64_t>(KEYS_FEW, n, 64, target);
		test_row_of_stages<Row, false, uint32_t>(KEYS_FEW, n, 32, target);
	}
}

int
main(int argc, char **argv)
{
	begin_test("stage_emit_test", argc, argv);
	test_emit_pairs();
	/* few bins, which leave segments of each kind */
	test_row<TUNING_MEDIUM>(110 << 10);
	return end_test();
}
