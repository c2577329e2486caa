/*
 * test_cuda_rules.c
 *	  The decisions of the CUDA device, compiled for the CPU: transfer_rows.cuh
 *	  and run_keys.cuh of its kernels; block_map.h of the host.
 *	  Needs neither a device nor CUDA.
 */
#include "rig.h"

#include <string.h>

#include "device/block_map.h"
#include "device/transfer_rows.cuh"
#include "device/run_keys.cuh"

#define CHUNK_ROWS	8
#define TIE_ROWS		200
#define RUN_ROWS		2000
#define CHECKED_ROWS	20
#define MAP_BLOCKS		100
#define MAP_OWNERS		20

/* --- append --------------------------------------------------------------- */

static appended_chunk
chunk_of(const uint32_t *row_start, uint32_t rows, uint64_t data_units, uint64_t more_units)
{
	appended_chunk chunk = {
		.row_start = row_start,
		.rows = rows,
		.data_units = data_units,
		.end_units = data_units + more_units,
		.first_unit = 1000,
	};

	return chunk;
}

static int
is_word(uint64_t word, uint64_t offset, uint64_t units)
{
	return row_word_offset(word) == offset && row_word_units(word) == units;
}

static void
test_append_words(void)
{
	uint32_t	starts[] = {0, 3, 4, 9};
	appended_chunk chunk = chunk_of(starts, 4, 10, 0);

	current_test = "append words";
	CHECK(is_word(append_row_word(&chunk, 0), 1000, 3));
	CHECK(is_word(append_row_word(&chunk, 1), 1003, 1));
	CHECK(is_word(append_row_word(&chunk, 3), 1009, 1));

	/* a chunk begins at 0 */
	chunk = chunk_of(starts + 1, 3, 10, 0);
	CHECK(append_row_word(&chunk, 0) == 0);

	/* a long row ends beyond its chunk */
	chunk = chunk_of(starts, 1, 10, 90);
	CHECK(is_word(append_row_word(&chunk, 0), 1000, 100));
	CHECK(is_word(append_refused_word(&chunk), 1000, 1));
}

/* For any offsets, a word is refused or lies inside its chunk. */
static void
test_append_range(void)
{
	current_test = "append range";
	for (int round = 0; round < 20000; round++)
	{
		uint32_t	starts[CHUNK_ROWS];
		uint32_t	rows = 1 + (uint32_t) random_below(CHUNK_ROWS);
		appended_chunk chunk = chunk_of(starts, rows, 16, 0);
		uint64_t	sum = 0;
		int			refused = 0;

		for (uint32_t i = 0; i < rows; i++)
			starts[i] = random_below(20) == 0 ? (uint32_t) random64() :
				i == 0 ? 0 : starts[i - 1] + (uint32_t) random_below(5);
		for (uint32_t i = 0; i < rows; i++)
		{
			uint64_t	word = append_row_word(&chunk, i);
			uint64_t	place = row_word_offset(word) - 1000;

			refused |= word == 0;
			sum += row_word_units(word);
			CHECK(word == 0 || (place < 16 && place + row_word_units(word) <= 16));
		}
		CHECK(refused || sum == 16);
	}
}

/* --- before the sort ------------------------------------------------------ */

/* Makes statistics of a column, some of which do not hold for its keys. */
static gsort_column_stats
random_claim(const uint64_t *keys, uint32_t rows, uint32_t nullable)
{
	gsort_column_stats claim;

	key_stats_init(&claim);
	for (uint32_t i = 0; i < rows; i++)
	{
		gsort_column_stats one = {keys[i], keys[i], keys[i], keys[i], 0};

		if (random_below(rows) > 0)
			key_stats_fold(&claim, &one);
	}
	claim.nulls = nullable ? random_below(2) : 0;
	return claim;
}

static int
is_true_of(const gsort_column_stats *claim, uint64_t key, int is_null)
{
	if (is_null)
		return claim->nulls > 0;
	return key >= claim->min && key <= claim->max && (key | claim->any) == claim->any &&
		(key & claim->all) == claim->all;
}

/*
 * A row is refused if and only if one of its keys contradicts the statistics.
 * For any keys, a sort word has the plan's bits only.
 */
static void
test_checked_keys(void)
{
	static uint64_t extent[GSORT_KEY_EXTENT_ROWS * (1 + GSORT_MAX_KEY_COLUMNS) +
						   GSORT_KEY_EXTENT_ROWS / 2];
	uint64_t   *extents[] = {extent};
	int			refused = 0;

	current_test = "keys beyond their statistics";
	for (int round = 0; round < 2000; round++)
	{
		uint32_t	columns = 1 + (uint32_t) random_below(GSORT_MAX_KEY_COLUMNS);
		uint32_t	null_mask = (uint32_t) random_below(1ull << columns);
		key_table	table = {extents, columns, null_mask};
		gsort_column_stats claims[GSORT_MAX_KEY_COLUMNS];
		key_plan	plan;

		for (uint32_t c = 0; c < columns; c++)
		{
			uint64_t	mask = random64() & (round % 2 ? random64() & random64() : UINT64_MAX);

			for (uint32_t row = 0; row < CHECKED_ROWS; row++)
				*key_table_key(&table, row, c) = random64() & mask;
			claims[c] = random_claim(key_table_key(&table, 0, c), CHECKED_ROWS, null_mask >> c & 1);
		}
		plan = key_plan_make(columns, (uint32_t) random64() & null_mask, claims);
		for (uint32_t row = 0; row < CHECKED_ROWS; row++)
		{
			uint32_t	nulls = random_below(8) == 0 ? (uint32_t) random64() & null_mask : 0;
			run_header	header = {0};
			int			good = 1;

			if (null_mask != 0)
				*key_table_nulls(&table, row) = nulls;
			for (uint32_t c = 0; c < columns; c++)
				good &= is_true_of(&claims[c], *key_table_key(&table, row, c), nulls >> c & 1);
			check_row_keys(&plan, &table, row, &header);
			CHECK(header.bad_data == (good ? 0 : GSORT_BAD_KEYS));
			refused += !good;
			for (uint32_t word = 0; word < plan.words; word++)
				CHECK(compact_row(&plan, word, &table, row) <= key_low_bits(plan.word_bits[word]));
		}
	}
	CHECK(refused > 0 && refused < 2000 * CHECKED_ROWS);
}

/* --- after the sort ------------------------------------------------------- */

/* The rule of gsort_block for rows 0 and 1 of a table. */
static int
naive_tie(const gsort_job_options *options, const key_table *table)
{
	for (uint32_t c = 0; c < options->key_columns; c++)
	{
		uint64_t	value = *key_table_key(table, 0, c);
		int			is_null = options->null_mask != 0 && (*key_table_nulls(table, 0) >> c & 1);
		int			before_is_null = options->null_mask != 0 &&
			(*key_table_nulls(table, 1) >> c & 1);

		if (is_null != before_is_null || (!is_null && value != *key_table_key(table, 1, c)))
			return 0;
		if (!is_null && (options->inexact_mask >> c & 1) &&
			(value & options->inexact_bits[c]) == options->inexact_code[c])
			return 1;
	}
	return (options->flags & GSORT_TIES) != 0;
}

/*
 * The first sort word and few keys give the same ties as all keys.  The rule
 * never reads the keys that it leaves out.
 */
static void
test_tie_rule(void)
{
	static uint64_t extent[GSORT_KEY_EXTENT_ROWS * (1 + GSORT_MAX_KEY_COLUMNS) +
						   GSORT_KEY_EXTENT_ROWS / 2];
	uint64_t   *extents[] = {extent};
	int			ties = 0;

	current_test = "tie rule";
	for (int round = 0; round < 20000; round++)
	{
		gsort_job_options options = {
			.key_columns = 1 + (uint32_t) random_below(GSORT_MAX_KEY_COLUMNS),
				.flags = (uint32_t) random_below(2)
		};
		key_table	table = {extents, options.key_columns, 0};
		gsort_column_stats stats[GSORT_MAX_KEY_COLUMNS];
		uint64_t	difference = 0;
		row_keys	row;
		row_keys	before;
		key_plan	plan;
		tie_rule	rule;
		int			tie;

		options.null_mask = table.null_mask =
			(uint32_t) (random64() & random_below(1ull << options.key_columns));
		options.inexact_mask = (uint32_t) (random64() & random_below(1ull << options.key_columns));
		for (uint32_t r = 0; r < CHECKED_ROWS && options.null_mask != 0; r++)
			*key_table_nulls(&table, r) = (uint32_t) (random64() & random64() & options.null_mask);
		for (uint32_t c = 0; c < options.key_columns; c++)
		{
			uint64_t	mask = random_below(3) == 0 ? random64() : 1ull << random_below(64);

			options.inexact_bits[c] = random_below(2) ? mask & 0xff : 0;
			options.inexact_code[c] = random64() & options.inexact_bits[c];
			key_stats_init(&stats[c]);
			for (uint32_t r = 0; r < CHECKED_ROWS; r++)
			{
				uint64_t	value = r == 1 && random_below(3) > 0 ?
					*key_table_key(&table, 0, c) : random64() & mask;
				gsort_column_stats one = {value, value, value, value, 0};

				*key_table_key(&table, r, c) = value;
				if (options.null_mask != 0 && (*key_table_nulls(&table, r) >> c & 1))
					stats[c].nulls++;
				else
					key_stats_fold(&stats[c], &one);
			}
		}
		plan = key_plan_make(options.key_columns, (uint32_t) random64() & options.null_mask, stats);
		rule = tie_rule_make(&options, &plan);
		if (plan.words > 0)
			difference = compact_row(&plan, 0, &table, 0) ^ compact_row(&plan, 0, &table, 1);
		row = keys_of_row(&table, 0);
		before = keys_of_row(&table, 1);
		tie = tie_rule_ties(&rule, difference, &row, &before);
		CHECK(tie == naive_tie(&options, &table));
		CHECK(!tie || (difference & rule.decisive_bits) == 0);
		ties += tie;
		/* irrelevant columns */
		for (uint32_t c = rule.columns; c < options.key_columns; c++)
			*key_table_key(&table, 0, c) = random64();
		CHECK(tie_rule_ties(&rule, difference, &row, &before) == tie);
	}
	CHECK(ties > 1000 && ties < 19000);
}

static void
test_begins_bound(void)
{
	current_test = "bound of block begins";
	for (int round = 0; round < 400; round++)
	{
		uint32_t	block_bytes = 4096 + 8 * (uint32_t) random_below(1024);
		int			with_ties = round % 2;
		uint64_t	long_units = block_cut_long_units(block_bytes);
		uint64_t	shortest = round % 3 == 0 ? long_units - 2 : 1;
		uint64_t	lengths[RUN_ROWS];
		uint64_t	longest_short = 0;
		uint64_t	offset = 0;
		uint64_t	begins = 0;
		block_cut	cut;

		for (int i = 0; i < RUN_ROWS; i++)
		{
			lengths[i] = shortest + random_below(round % 5 == 0 ? 4 : long_units);
			if (lengths[i] <= long_units && lengths[i] > longest_short)
				longest_short = lengths[i];
		}
		cut = block_cut_make(block_bytes, with_ties, longest_short);
		for (int i = 0; i < RUN_ROWS; i++)
		{
			begins += block_cut_begins(&cut, offset, lengths[i], i == 0 ? 0 : lengths[i - 1]);
			offset += lengths[i];
		}
		CHECK(begins <= block_cut_begins_at_most(RUN_ROWS, offset, block_bytes));
	}
}

/* --- fetches -------------------------------------------------------------- */

static void
test_tie_bits(void)
{
	current_test = "tie bits";
	for (int round = 0; round < 2000; round++)
	{
		uint32_t	ties[TIE_ROWS / 32 + 1];
		uint64_t	total = 1 + random_below(TIE_ROWS);
		uint64_t	first = random_below(total);
		uint64_t	count = total - first < 64 ? total - first : 64;
		uint64_t	expected = 0;

		for (int i = 0; i < TIE_ROWS / 32 + 1; i++)
			ties[i] = (uint32_t) random64();
		for (uint64_t r = 0; r < count; r++)
			expected |= (uint64_t) (ties[(first + r) / 32] >> (first + r) % 32 & 1) << r;
		CHECK(tie_bits_from(ties, total, first, total - first) == expected);
	}
}

static void
test_gather_lanes(void)
{
	current_test = "lanes of a row";
	CHECK(gather_lanes_log2(100, 100) == 0);
	CHECK(gather_lanes_log2(101, 100) == 1);
	CHECK(gather_lanes_log2(700, 100) == 3);
	CHECK(gather_lanes_log2(800, 100) == 3);
	CHECK(gather_lanes_log2(1 << 20, 2) == 5);
}

/* --- on the host ---------------------------------------------------------- */

static void
test_block_map_fit(void)
{
	block_map	map = {.blocks = 10};

	current_test = "block map";
	CHECK(block_map_take(&map, 0) == 10);
	CHECK(block_map_take(&map, 11) == 10);
	CHECK(block_map_take(&map, 10) == 0);
	CHECK(block_map_take(&map, 1) == 10);
	/* 3 are free at 1, 2 at 6: best fit selects the shorter stretch */
	block_map_give(&map, 1, 3);
	block_map_give(&map, 6, 2);
	CHECK(block_map_take(&map, 1) == 6);
	CHECK(block_map_take(&map, 2) == 1);
	CHECK(block_map_take(&map, 2) == 10);
	CHECK(block_map_take(&map, 1) == 3);
	CHECK(block_map_take(&map, 1) == 7);
	CHECK(block_map_take(&map, 1) == 10);
}

/* No block has two owners, and after all returns every block is free. */
static void
test_block_map_owners(void)
{
	block_map	map = {.blocks = MAP_BLOCKS};
	uint8_t		owner[MAP_BLOCKS] = {0};
	uint32_t	first[MAP_OWNERS + 1];
	uint32_t	length[MAP_OWNERS + 1] = {0};

	current_test = "owners of blocks";
	for (int round = 0; round < 20000; round++)
	{
		uint32_t	who = 1 + (uint32_t) random_below(MAP_OWNERS);

		if (length[who] > 0)
		{
			block_map_give(&map, first[who], length[who]);
			memset(owner + first[who], 0, length[who]);
			length[who] = 0;
			continue;
		}
		length[who] = 1 + (uint32_t) random_below(15);
		first[who] = block_map_take(&map, length[who]);
		if (first[who] == MAP_BLOCKS)
		{
			length[who] = 0;
			continue;
		}
		CHECK(first[who] + length[who] <= MAP_BLOCKS);
		for (uint32_t b = first[who]; b < first[who] + length[who]; b++)
		{
			CHECK(owner[b] == 0);
			owner[b] = (uint8_t) who;
		}
	}
	for (uint32_t who = 1; who <= MAP_OWNERS; who++)
		block_map_give(&map, first[who], length[who]);
	CHECK(block_map_take(&map, MAP_BLOCKS) == 0);
}

static void
test_arena_stretch(void)
{
	current_test = "stretches, extent by extent";
	for (int round = 0; round < 2000; round++)
	{
		uint64_t	unit = random_below(5ull * GSORT_EXTENT_UNITS);
		uint64_t	units = random_below(round % 2 ? 3 * GSORT_EXTENT_UNITS : 100);
		uint64_t	end = unit + units;

		while (units > 0)
		{
			uint64_t	now = arena_stretch(unit, units);
			uint64_t	place = unit % GSORT_EXTENT_UNITS;

			CHECK(now > 0 && now <= units);
			CHECK(place + now <= GSORT_EXTENT_UNITS);
			CHECK(now == units || place + now == GSORT_EXTENT_UNITS);
			unit += now;
			units -= now;
		}
		CHECK(unit == end);
	}
}

void
test_cuda_rules(void)
{
	test_block_map_fit();
	test_block_map_owners();
	test_arena_stretch();
	test_append_words();
	test_append_range();
	test_checked_keys();
	test_tie_rule();
	test_begins_bound();
	test_tie_bits();
	test_gather_lanes();
}
