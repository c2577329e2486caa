/*
 * place_test.cpp
 *	  The kernels that pack a run's row lengths and place the rows in sorted
 *	  order, in the emulator.
 *
 * In:  runs whose rows have one length, any length, or the maximum length, or
 *	    mix long and short rows; output blocks of several sizes; random orders;
 *	    lists of output blocks with enough room, or too little.
 * Out: the seed, a line for each failure, the number of failures, and the exit
 *	    status.
 *
 * Lengths, offsets and output block begins must equal those of a serial walk
 * over the rows.
 */
#include "device/place_rows.cuh"

#include <algorithm>
#include <numeric>
#include <time.h>
#include <vector>

#include "distributions.h"

#define PACK_BLOCKS		3
#define BEGINS_BEHIND	4		/* entries behind the list's room, which must stay unchanged */

typedef enum row_lengths
{
	ONE_LENGTH, ANY_LENGTH, TWO_LENGTHS, UP_TO_LONG, SOME_LONG, ALL_LONG, JUST_LONG, EVEN_STRIDE,
		ALL_LONGEST, ANY_UP_TO_LONGEST, LENGTH_KINDS
} row_lengths;

static const uint32_t blocks_bytes[] = {4096, 64 << 10, GSORT_BLOCK_BYTES_MAX};

static int	failures;
static uint64_t random_state;

static uint64_t
random_below(uint64_t limit)
{
	return mix_bits(random_state++) % limit;
}

/* A run in the form that appends produce. */
struct filed_run
{
	uint32_t	block_bytes;
	std::vector<std::vector<uint64_t>> extents;
	std::vector<uint64_t *> table;
	std::vector<uint64_t> words;
	uint64_t	total_units = 0;
	run_header	header = {};
};

static uint64_t
length_of_row(row_lengths kind, uint64_t one_length, uint64_t block_units)
{
	switch (kind)
	{
		case ONE_LENGTH:
			return one_length;
		case ANY_LENGTH:
			return 1 + random_below(30);
		case TWO_LENGTHS:
			return one_length + random_below(2);
		case UP_TO_LONG:
			return 1 + random_below(block_units / 4);
		case SOME_LONG:
			return random_below(50) == 0 ? 1 + random_below(8 * block_units) : 1 + random_below(30);
		case ALL_LONG:
			return block_units / 4 + one_length;
		case JUST_LONG:
			return block_units / 4 + 1;
		case EVEN_STRIDE:
			return std::max<uint64_t>(1, block_units / 8192 * 15);
		case ALL_LONGEST:
			return ROW_UNITS_LIMIT - 1;
		default:
			return 1 + random_below(ROW_UNITS_LIMIT - 1);
	}
}

/* EVEN_STRIDE: without tie bits, one row of this length makes strides hold 512
 * of the other rows.  Warps thus end where strides do. */
static uint64_t
length_of_last_row(uint64_t block_units)
{
	return block_units / 16;
}

static void
file_rows(filed_run &run, uint32_t n, row_lengths kind)
{
	uint64_t	one_length = 1 + random_below(std::min(200u, run.block_bytes / 8 / 4));

	for (uint32_t row = 0; row < n; row++)
	{
		uint64_t	units = kind == EVEN_STRIDE && row + 1 == n ?
			length_of_last_row(run.block_bytes / 8) :
			length_of_row(kind, one_length, run.block_bytes / 8);

		run.words.push_back(row_word_make(run.total_units, units));
		run.total_units += units;
		run.header.longest_units = std::max(run.header.longest_units, (uint32_t) units);
		run.header.shortest_below_limit = std::max(run.header.shortest_below_limit,
												   (uint32_t) (ROW_UNITS_LIMIT - units));
		if (units <= block_cut_long_units(run.block_bytes))
			run.header.longest_short_units = std::max(run.header.longest_short_units,
													  (uint32_t) units);
	}
	for (uint32_t first = 0; first < n; first += GSORT_KEY_EXTENT_ROWS)
	{
		run.extents.emplace_back(run.words.begin() + first,
								 run.words.begin() + std::min(n, first + GSORT_KEY_EXTENT_ROWS));
		run.table.push_back(run.extents.back().data());
	}
}

struct placed_run
{
	std::vector<uint32_t> lengths;	/* by row number */
	std::vector<uint32_t> low_offsets;
	std::vector<block_begin> begins;
};

static placed_run
expected_run(const filed_run &run, const std::vector<uint32_t> &order, bool with_ties)
{
	block_cut	cut = block_cut_make(run.block_bytes, with_ties, run.header.longest_short_units);
	placed_run	placed;
	uint64_t	offset = 0;
	uint64_t	before = 0;

	for (uint64_t word : run.words)
		placed.lengths.push_back((uint32_t) row_word_units(word));
	for (uint32_t row : order)
	{
		uint64_t	units = placed.lengths[row];

		if (block_cut_begins(&cut, offset, units, before))
			placed.begins.push_back({placed.low_offsets.size(), offset});
		placed.low_offsets.push_back((uint32_t) offset);
		offset += units;
		before = units;
	}
	return placed;
}

static placed_run
place(filed_run &run, const std::vector<uint32_t> &order, bool with_ties, bool as_fed,
	  uint64_t total_units, uint64_t room)
{
	uint64_t	n = order.size();
	placed_run	placed =
		{{}, std::vector<uint32_t>(n, 7),
		 std::vector<block_begin>(room + BEGINS_BEHIND, block_begin{7, 7})};
	std::vector<uint64_t> scratch(place_scratch_bytes(n) / sizeof(uint64_t), 0);
	std::vector<uint32_t> words(n, 0xa5a5a5a5);
	packed_lengths lengths = packed_lengths_make(&run.header, words.data());
	bool		one_length = lengths.bits == 0;
	place_input input = {one_length ? NULL : words.data(), as_fed || one_length ? NULL :
						 order.data(), (uint32_t) n, total_units, run.block_bytes, with_ties};
	place_output output = {placed.low_offsets.data(), placed.begins.data(), room, &run.header};

	failures += launch(pack_lengths_kernel, PACK_BLOCKS, PACK_THREADS, 0, NULL,
					   (extent_table) run.table.data(), n, &run.header,
					   words.data()) != cudaSuccess;
	failures += launch(place_rows_kernel, (unsigned) place_tiles(n), PLACE_THREADS, 0, NULL, input,
					   place_states_in(scratch.data()), output) != cudaSuccess;
	for (uint32_t row = 0; row < n; row++)
		placed.lengths.push_back(packed_lengths_of_row(&lengths, row));
	for (uint64_t i = room; i < placed.begins.size(); i++)
		failures += placed.begins[i].row != 7 || placed.begins[i].units != 7;
	placed.begins.resize(std::min((uint64_t) run.header.n_begins, room));
	return placed;
}

/* True if the list has the first begins, or as many of them in any order if
 * some row is long. */
static bool
are_begins(const filed_run &run, std::vector<block_begin> listed, std::vector<block_begin> expected)
{
	const auto	precedes = [](const block_begin &x, const block_begin &y) {
		return x.row != y.row ? x.row < y.row : x.units < y.units;
	};
	const auto	repeats = [](const block_begin &x, const block_begin &y) {
		return x.row == y.row;
	};

	if (run.header.longest_units > block_cut_long_units(run.block_bytes))
		std::sort(listed.begin(), listed.end(), precedes);
	else
		expected.resize(listed.size());
	return std::adjacent_find(listed.begin(), listed.end(), repeats) == listed.end() &&
		std::includes(expected.begin(), expected.end(), listed.begin(), listed.end(), precedes);
}

static void
run_case(uint32_t n, row_lengths kind)
{
	filed_run	run;
	std::vector<uint32_t> order(n);
	bool		with_ties = random_below(2) == 0;
	bool		as_fed = random_below(4) == 0;
	bool		lies = random_below(5) == 0;
	bool		crowded = random_below(4) == 0;
	uint64_t	room;

	run.block_bytes = blocks_bytes[random_below(3)];
	run.header.n_begins = 7;
	file_rows(run, n, kind);
	std::iota(order.begin(), order.end(), 0u);
	for (uint32_t i = n; !as_fed && i > 1; i--)
		std::swap(order[i - 1], order[random_below(i)]);

	placed_run	expected = expected_run(run, order, with_ties);
	uint64_t	n_begins = expected.begins.size();

	room = block_cut_begins_at_most(n, run.total_units, run.block_bytes);
	failures += n_begins > room;
	if (crowded)
		room = 1 + random_below(n_begins);

	placed_run	placed = place(run, order, with_ties, as_fed, run.total_units + lies, room);

	bool		ok = placed.lengths == expected.lengths &&
		placed.low_offsets == expected.low_offsets &&
		are_begins(run, placed.begins, expected.begins) && run.header.n_begins == n_begins &&
		run.header.bad_data == (lies ? (uint32_t) GSORT_BAD_OFFSETS : 0);

	if (!ok)
		printf("place: n=%u lengths %d blocks of %u ties %d as fed %d room %llu of %llu: BAD\n", n,
			   kind, run.block_bytes, with_ties, as_fed, (unsigned long long) room,
			   (unsigned long long) n_begins);
	failures += !ok;
}

int
main(int argc, char **argv)
{
	random_state = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t) time(NULL);
	printf("seed %llu\n", (unsigned long long) random_state);
	for (int kind = 0; kind < LENGTH_KINDS; kind++)
	{
		for (uint32_t n : {1u, 2u, 31u, 32u, 33u, 255u, 256u, 257u, 2047u, 2048u, 2049u, 4096u,
						   20000u, 100000u, 140000u})
		{
			for (int again = 0; again < (n < 10000 ? 6 : 1); again++)
				run_case(n, (row_lengths) kind);
		}
	}
	printf("failures: %d\n", failures);
	return failures != 0;
}
