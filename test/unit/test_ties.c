/*
 * test_ties.c
 *	  Tie bits: rows that agree in all columns, and rows that inexact values
 *	  leave undecided.
 *
 * rig_expect.c computes each bit from the raw keys, by the definition in
 * gsort.h.
 */
#include "rig.h"

#define ROUNDS		300

/* Text of 8 bytes per word.  The last word has seven, and the length or 0xff in
 * its lowest byte. */
static uint64_t
text_word(int is_last)
{
	uint64_t	word = 0;

	for (int byte = 0; byte < 8; byte++)
		word = word << 8 | ('a' + random_below(2));
	return is_last ? (word & ~0xffull) | (random_below(2) ? 0xff : 5) : word;
}

/* Few values, so that neighbours agree in the first columns and some in all. */
static uint64_t
tied_key(int kind)
{
	switch (kind)
	{
		case 0:
			return random_below(3);
		case 1:
			return text_word(0);
		case 2:
			return text_word(1);
		case 3:
			return UINT64_MAX - random_below(2);
		case 4:
			return random_below(4) << 60 | random_below(2);
		case 5:
			return 77;
		default:
			return random64();
	}
}

/* with_distinct: some columns may have another value in nearly every row. */
static void
make_keys_tie(input *in, int with_distinct)
{
	int			kinds[GSORT_MAX_KEY_COLUMNS];

	for (uint32_t c = 0; c < in->columns; c++)
		kinds[c] = (int) random_below(with_distinct ? 7 : 6);
	for (uint32_t i = 0; i < in->n; i++)
	{
		for (uint32_t c = 0; c < in->columns; c++)
			in->keys[(uint64_t) i * in->columns + c] = tied_key(kinds[c]);
	}
}

/* Chooses inexact values: every value, text that continues, none, or any
 * bits. */
static void
inexact_column(run_options *options, const input *in, uint32_t c)
{
	options->inexact_mask |= 1u << c;
	switch (random_below(5))
	{
		case 0:
			break;
		case 1:
			options->inexact_bits[c] = 0xff;
			options->inexact_code[c] = 0xff;
			break;
		case 2:
			options->inexact_bits[c] = 1;
			break;
		case 3:
			options->inexact_code[c] = 1;
			break;
		default:
			options->inexact_bits[c] = random64() & random64();
			options->inexact_code[c] = in->n == 0 ? 0 :
				in->keys[random_below(in->n) * in->columns + c] & options->inexact_bits[c];
			break;
	}
}

static run_options
random_options(const input *in)
{
	run_options options = {
		.block_bytes = 4096u << random_below(4),
		.ties = (int) random_below(2),
		.order = (fetch_order) random_below(3),
		.in_flight = 1 + (int) random_below(4),
		.feeders = 1 + (int) random_below(3),
	};
	uint32_t	wanted = (uint32_t) random64();

	for (uint32_t c = 0; c < in->columns; c++)
	{
		if (wanted >> c & 1)
			inexact_column(&options, in, c);
	}
	return options;
}

static input *
random_input(int round)
{
	uint32_t	columns = 1 + (uint32_t) round % GSORT_MAX_KEY_COLUMNS;
	uint32_t	nulls = random_below(2) ? (uint32_t) random_below(1ull << columns) : 0;
	input	   *in =
		input_make(limited_rows((uint32_t) random_below(random_below(8) == 0 ? 40000 : 3000)),
				   columns, nulls, KEYS_UNIFORM, 1, 6, random_below(4) == 0 ? 300 : 0, 3000);

	make_keys_tie(in, round % 3 == 0);
	return input_reordered(in);
}

static void
test_inexact_ties(rig *rig)
{
	current_test = "inexact ties";
	for (int round = 0; round < ROUNDS; round++)
	{
		input	   *in = random_input(round);
		run_options options = random_options(in);

		CHECK(run_one(rig, in, &options) == 0);
		input_free(in);
	}
}

/* Runs with random ends; with an inexact_mask none of them retains its keys. */
static void
test_inexact_ties_of_runs(rig *rig)
{
	current_test = "inexact ties of runs";
	for (int round = 0; round < ROUNDS / 8; round++)
	{
		input	   *in = random_input(round);
		run_options options = random_options(in);
		uint32_t	run_rows[5];
		uint32_t	left = in->n;

		for (int i = 0; i < 4; i++)
		{
			run_rows[i] = (uint32_t) random_below((uint64_t) left + 1);
			left -= run_rows[i];
		}
		run_rows[4] = left;
		options.run_rows = run_rows;
		options.run_count = 5;
		CHECK(run_one(rig, in, &options) == 0);
		input_free(in);
	}
}

static void
test_bad_masks(rig *rig)
{
	gsort_job_options options = {
		.key_columns = 3, .block_bytes = 4096, .inexact_mask = 8
	};
	gsort_job  *job;

	current_test = "inexact masks that are refused";
	CHECK(gsort_job_open(rig->device, &options, &job) == GSORT_BAD_ARG && job == NULL);
}

void
test_inexact_values(rig *rig)
{
	test_inexact_ties(rig);
	test_inexact_ties_of_runs(rig);
	test_bad_masks(rig);
}
