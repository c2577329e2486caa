/*
 * test_rules.c
 *	  The rules shared by all devices, without a device: key_plan.h,
 *	  block_cut.h, extents.h.
 */
#include "rig.h"

#define PLAN_ROWS	60

/* --- key plans ------------------------------------------------------------ */

static void
stats_of(const input *in, gsort_column_stats *stats)
{
	for (uint32_t c = 0; c < in->columns; c++)
	{
		key_stats_init(&stats[c]);
		for (uint32_t i = 0; i < in->n; i++)
		{
			uint64_t	key = in->keys[(uint64_t) i * in->columns + c];
			gsort_column_stats one = {key, key, key, key, 0};

			if (in->nulls[i] >> c & 1)
				stats[c].nulls++;
			else
				key_stats_fold(&stats[c], &one);
		}
	}
}

static uint64_t
word_of(const key_plan *plan, const input *in, uint32_t word, uint32_t row)
{
	return key_plan_word(plan, word, in->keys + (uint64_t) row * in->columns, 1, in->nulls[row]);
}

static int
compare_words(const key_plan *plan, const input *in, uint32_t a, uint32_t b)
{
	for (uint32_t word = 0; word < plan->words; word++)
	{
		uint64_t	word_a = word_of(plan, in, word, a);
		uint64_t	word_b = word_of(plan, in, word, b);

		if (word_a != word_b)
			return word_a < word_b ? -1 : 1;
	}
	return 0;
}

/* Words order rows as their columns do, and use only their own bits. */
static void
check_plan(const input *in)
{
	gsort_column_stats stats[GSORT_MAX_KEY_COLUMNS];
	key_plan	plan;
	int			same_order = 1;
	int			in_bits = 1;

	stats_of(in, stats);
	plan = key_plan_make(in->columns, in->null_first_mask, stats);
	for (uint32_t a = 0; a < in->n; a++)
	{
		for (uint32_t word = 0; word < plan.words; word++)
			in_bits &= word_of(&plan, in, word, a) <= key_low_bits(plan.word_bits[word]);
		for (uint32_t b = 0; b < a; b++)
			same_order &= compare_words(&plan, in, a, b) == input_compare(in, a, b);
	}
	CHECK(same_order);
	CHECK(in_bits);
	CHECK(plan.words <= KEY_PLAN_MAX_WORDS);
}

/* Random bits under a random mask, from constants to isolated bits. */
static void
scatter_bits(input *in, uint32_t column)
{
	uint64_t	mask = random64();
	uint64_t	constant = random64();

	for (uint64_t thinner = random_below(6); thinner > 0; thinner--)
		mask &= random64();
	for (uint32_t i = 0; i < in->n; i++)
		in->keys[(uint64_t) i * in->columns + column] = (random64() & mask) | (constant & ~mask);
}

static void
all_null(input *in, uint32_t column)
{
	for (uint32_t i = 0; i < in->n; i++)
		in->nulls[i] |= 1u << column;
	in->null_mask |= 1u << column;
}

/* For values with any bits of the mask, checks the numbers of bits and words,
 * and that codes are those bits moved together. */
static void
check_squeezed(uint32_t columns, uint64_t mask, uint32_t words)
{
	uint32_t	bits = 0;
	gsort_column_stats stats[GSORT_MAX_KEY_COLUMNS];
	key_plan	plan;

	for (int bit = 0; bit < 64; bit++)
		bits += mask >> bit & 1;
	for (uint32_t c = 0; c < columns; c++)
		stats[c] = (gsort_column_stats) {0, mask, mask, 0, 0};
	plan = key_plan_make(columns, 0, stats);
	CHECK(plan.bits == columns * bits);
	CHECK(plan.words == words);
	for (int round = 0; round < 100; round++)
	{
		uint64_t	value = random64() & mask;
		uint64_t	code = 0;
		int			to = 0;

		for (int bit = 0; bit < 64; bit++)
		{
			if (mask >> bit & 1)
				code |= (value >> bit & 1) << to++;
		}
		CHECK(key_field_value(&plan.fields[0], value) == code);
	}
}

static void
test_squeezed_plans(void)
{
	current_test = "squeezed bits";
	check_squeezed(1, 0x5555555555555555ull, 1);
	check_squeezed(2, 0x5555555555555555ull, 1);
	check_squeezed(3, 0x1f1f1f1f1f1f1f1full, 2);
	check_squeezed(8, 0x3f3f3f3f3f3f3f3full, 6);
	check_squeezed(8, 0x8000000000000001ull, 1);
	for (int round = 0; round < 300; round++)
	{
		uint64_t	mask = random64() & random64() & (round % 2 ? random64() : UINT64_MAX);
		uint64_t	bits = 0;

		for (int bit = 0; bit < 64; bit++)
			bits += mask >> bit & 1;
		if (bits > 1 && mask >> 63 == 1 && bits < 60)
			check_squeezed(8, mask, (uint32_t) (8 * bits + 63) / 64);
	}
}

void
test_key_plan(void)
{
	current_test = "key_plan.h";
	for (int round = 0; round < 800; round++)
	{
		uint32_t	columns = 1 + (uint32_t) random_below(GSORT_MAX_KEY_COLUMNS);
		uint32_t	null_mask = (uint32_t) random_below(1ull << columns);
		input	   *in = input_make(PLAN_ROWS, columns, null_mask, round % KEY_SHAPES, 1, 1, 0, 0);

		if (round % 2 == 0)
			scatter_bits(in, (uint32_t) random_below(columns));
		if (round % 16 == 1)
			all_null(in, (uint32_t) random_below(columns));
		check_plan(in);
		input_free(in);
	}
	test_squeezed_plans();
}

/* Known plans: codes become as short as expected. */
static void
check_plan_bits(uint64_t a, uint64_t b, int nulls, uint32_t bits, uint32_t words)
{
	gsort_column_stats stats = {a < b ? a : b, a < b ? b : a, a | b, a & b, (uint64_t) nulls};
	key_plan	plan = key_plan_make(1, 0, &stats);

	CHECK(plan.bits == bits);
	CHECK(plan.words == words);
}

/* --- blocks -------------------------------------------------------------- */

static void
check_cut(uint32_t block_bytes, int ties, uint64_t longest, uint64_t rows)
{
	block_cut	cut = block_cut_make(block_bytes, ties, longest);
	uint64_t	offset = 0;
	uint64_t	previous = 0;
	uint64_t	units = 0;
	uint64_t	rows_in_block = 0;
	int			fits = 1;

	for (uint64_t i = 0; i < rows; i++)
	{
		uint64_t	row_units = 1 + random_below(longest);

		if (random_below(50) == 0)
			row_units = cut.long_units + 1 + random_below(4 * cut.long_units);
		if (block_cut_begins(&cut, offset, row_units, previous))
			units = rows_in_block = 0;
		else
			fits &= row_units <= cut.long_units && previous <= cut.long_units;
		units += row_units;
		rows_in_block++;
		if (row_units <= cut.long_units)
			fits &= units + (ties ? rows_in_block / 64 + 1 : 0) <= block_bytes / 8;
		offset += row_units;
		previous = row_units;
	}
	CHECK(fits);
	CHECK(cut.piece_units + (ties ? 1 : 0) == block_bytes / 8);
}

void
test_block_cut(void)
{
	current_test = "block_cut.h";
	for (int round = 0; round < 300; round++)
	{
		uint32_t	block_bytes = 4096 + 8 * (uint32_t) random_below(4096);
		uint64_t	longest = 1 + random_below(block_cut_long_units(block_bytes));

		check_cut(block_bytes, round % 2, round % 3 == 0 ? 1 : longest, 5000);
	}
}

void
test_row_word(void)
{
	current_test = "row words";
	for (int round = 0; round < 1000; round++)
	{
		uint64_t	offset = random_below(GSORT_RUN_BYTES_MAX / 8);
		uint64_t	units = 1 + random_below(GSORT_ROW_BYTES_MAX / 8);
		uint64_t	word = row_word_make(offset, units);

		CHECK(row_word_offset(word) == offset && row_word_units(word) == units);
	}
	current_test = "known key plans";
	check_plan_bits(5, 5, 0, 0, 0);
	check_plan_bits(5, 5, 1, 1, 1);
	check_plan_bits(0, UINT64_MAX, 0, 64, 1);
	check_plan_bits(0, UINT64_MAX, 1, 65, 2);
	check_plan_bits(1024, 1279, 0, 8, 1);
	check_plan_bits(1024, 1279, 1, 9, 1);
	check_plan_bits(1ull << 40, 1ull << 41, 0, 2, 1);
}
