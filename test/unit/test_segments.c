/*
 * test_segments.c
 *	  Keys of several sort words, whose first word leaves no row tied, a few,
 *	  half, or all.
 *
 * The devices sort by the first word and its ties by the other words; CUDA also
 * sorts all rows by all words.  The order and the tie bits must match the
 * columns in both cases.
 */
#include "rig.h"

typedef enum first_columns
{
	DISTINCT,					/* 64 random bits in the first column */
	FEW_TIED,					/* one in a hundred rows has one of a few values */
	PAIRS,						/* each value twice */
	HALF_TIED,					/* half of the rows have one value */
	/* seven in forty rows have one value; with many rows the host device sorts
	 * them alone */
	LONG_SEGMENT,
	SEGMENTS,					/* as many values as rows per value */
	ALL_TIED,					/* two values far apart */
	NULLS,						/* one in three rows has no value */
	FIRST_COLUMNS
} first_columns;

static uint64_t
first_key(first_columns how, uint32_t i, uint32_t n, uint32_t root)
{
	switch (how)
	{
		case FEW_TIED:
			return random_below(100) == 0 ? mix64(random_below(20)) : random64();
		case PAIRS:
			return mix64(i % (n / 2 + 1));
		case HALF_TIED:
			return i % 2 == 0 ? 0x123456789abcdef0ull : random64();
		case LONG_SEGMENT:
			return random_below(40) < 7 ? 0x123456789abcdef0ull : random64();
		case SEGMENTS:
			return mix64(random_below(root));
		case ALL_TIED:
			return random_below(2) ? UINT64_MAX : 1;
		default:
			return random64();
	}
}

/* Value of the other columns: any bits, or few values, so that rows tie in all
 * columns. */
static uint64_t
other_key(int kind)
{
	return kind == 0 ? random64() : kind == 1 ? mix64(random_below(3)) : random_below(2);
}

static input *
input_with(first_columns how, uint32_t n, uint32_t columns, int other_kinds)
{
	input	   *in = input_make(n, columns,
								how == NULLS ? 1 | (uint32_t) random_below(1ull << columns) : 0,
								KEYS_EQUAL, 1, 3, 0, 0);
	uint32_t	root = 1;

	while (root * root < n)
		root++;
	for (uint32_t i = 0; i < n; i++)
	{
		for (uint32_t c = 0; c < columns; c++)
			in->keys[(uint64_t) i * columns + c] = c == 0 ?
				first_key(how, i, n, root) : other_key((other_kinds + (int) c) % 3);
		if (how == NULLS)
			in->nulls[i] = random_below(3) == 0 ? in->null_mask & (uint32_t) (random64() | 1) : 0;
	}
	return input_reordered(in);
}

static void
run_segments(rig *rig, input *in, int ties)
{
	run_options options = {
		.block_bytes = 65536, .ties = ties & 1, .inexact_mask = ties & 2, .in_flight = 3,
			.feeders = 2
	};
	uint32_t	run_rows[2] = {in->n / 3, in->n - in->n / 3};

	CHECK(run_one(rig, in, &options) == 0);
	if (ties == 3)
	{
		options.run_rows = run_rows;
		options.run_count = 2;
		CHECK(run_one(rig, in, &options) == 0);
	}
	input_free(in);
}

void
test_segments(rig *rig)
{
	static const uint32_t counts[] = {2, 300, 4095, 4096, 4097, 20000, 150000};

	current_test = "words that tie";
	for (int how = 0; how < FIRST_COLUMNS; how++)
	{
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		{
			uint32_t	columns = 2 + (uint32_t) random_below(GSORT_MAX_KEY_COLUMNS - 1);

			run_segments(rig, input_with(how, limited_rows(counts[i]), columns,
										 (int) random_below(3)), (int) i % 4);
		}
		run_segments(rig, input_with(how, limited_rows(30000), 2, 0), 3);
		run_segments(rig,
					 input_with(how, limited_rows(30000), GSORT_MAX_KEY_COLUMNS, how), how % 4);
	}
	run_segments(rig, input_with(LONG_SEGMENT, limited_rows(400000), 3, 1), 3);
}
