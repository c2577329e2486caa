/*
 * rig_expect.c
 *	  The expected answers of a device to a run (see rig.h): directories and the
 *	  blocks' bytes, computed from the reference order and the lengths alone.
 */
#include "rig_run.h"

#include <stdlib.h>

static uint64_t
expected_blocks_of_row(expected_block *blocks, const input *in, uint64_t i, uint64_t piece_units)
{
	uint32_t	row = in->order[i];
	uint64_t	unit = 0;
	uint64_t	n = 0;

	while (unit < in->units[row])
	{
		uint64_t	units = in->units[row] - unit;
		expected_block *block = &blocks[n];

		block->block.first_row = n == 0 ? i : i + 1;
		block->block.rows = n == 0;
		block->block.flags = n > 0 ? GSORT_BLOCK_CONTINUED : 0;
		if (units > piece_units)
		{
			units = piece_units;
			block->block.flags |= GSORT_BLOCK_CONTINUES;
		}
		block->block.row_bytes = (uint32_t) units * 8;
		block->row = row;
		block->from_unit = unit;
		unit += units;
		n++;
	}
	return n;
}

/* One bit per row, and one for the row after. */
static uint64_t
tie_words(const gsort_block *block)
{
	return block->rows > 0 ? block->rows / 64 + 1 : 0;
}

static int
run_has_ties(const run *r)
{
	return r->options.ties || r->options.inexact_mask != 0;
}

/* Computes the directory by the rule of block_cut.h, row by row. */
void
run_expect_sorted(run *r)
{
	const input *in = r->in;
	uint64_t	units = r->options.block_bytes / 8;
	uint64_t	piece_units = units - (run_has_ties(r) ? 1 : 0);
	uint64_t	longest = 0;
	uint64_t	offset = 0;
	uint64_t	previous = 0;
	block_cut	cut;

	for (uint32_t i = 0; i < in->n; i++)
	{
		if (in->units[i] <= units / 4 && in->units[i] > longest)
			longest = in->units[i];
	}
	cut = block_cut_make(r->options.block_bytes, run_has_ties(r), longest);
	r->blocks = calloc(in->n + in->total_units / piece_units + 1, sizeof(*r->blocks));
	r->n_blocks = 0;
	for (uint32_t i = 0; i < in->n; i++)
	{
		uint64_t	row_units = in->units[in->order[i]];

		if (block_cut_begins(&cut, offset, row_units, previous))
			r->n_blocks += expected_blocks_of_row(&r->blocks[r->n_blocks], in, i, piece_units);
		else
		{
			r->blocks[r->n_blocks - 1].block.rows++;
			r->blocks[r->n_blocks - 1].block.row_bytes += (uint32_t) row_units * 8;
		}
		offset += row_units;
		previous = row_units;
	}
	for (uint64_t i = 0; i < r->n_blocks; i++)
	{
		gsort_block *block = &r->blocks[i].block;

		block->bytes = block->row_bytes;
		if (run_has_ties(r))
			block->bytes += tie_words(block) * 8;
	}
}

static int
blocks_equal(const gsort_block *a, const gsort_block *b)
{
	return a->first_row == b->first_row && a->rows == b->rows && a->flags == b->flags &&
		a->row_bytes == b->row_bytes && a->bytes == b->bytes;
}

void
run_check_directory(run *r)
{
	const gsort_block *blocks;
	uint64_t	n;
	int			equal = 1;

	if (!CHECK(gsort_job_blocks(r->job, &blocks, &n) == GSORT_OK) ||
		!CHECK(n == r->n_blocks))
	{
		r->n_blocks = 0;
		return;
	}
	for (uint64_t i = 0; i < n && equal; i++)
		equal = blocks_equal(&blocks[i], &r->blocks[i].block) &&
			blocks[i].bytes <= r->options.block_bytes;
	CHECK(equal);
}

/* Computes the directory of the merge order: plain bytes, in full blocks. */
void
run_expect_order(run *r)
{
	uint64_t	each = r->options.block_bytes;

	r->n_blocks = (r->whole->n + each - 1) / each;
	r->blocks = calloc(r->n_blocks + 1, sizeof(*r->blocks));
	for (uint64_t i = 0; i < r->n_blocks; i++)
	{
		gsort_block *block = &r->blocks[i].block;

		block->first_row = i * each;
		block->rows = (uint32_t) (r->whole->n - i * each < each ? r->whole->n - i * each : each);
		block->row_bytes = (block->rows + 7) / 8 * 8;
		block->bytes = block->row_bytes;
	}
}

static int
check_row_bytes(const run *r, const expected_block *expected, const uint64_t *data)
{
	uint64_t	units = expected->block.row_bytes / 8;
	uint64_t	unit = expected->from_unit;
	uint64_t	i = expected->block.first_row;
	uint32_t	row = expected->row;

	for (uint64_t at = 0; at < units; at++, unit++)
	{
		if (unit == r->in->units[row])
		{
			row = r->in->order[++i];
			unit = 0;
		}
		if (data[at] != input_unit(r->in, row, unit))
			return 0;
	}
	return 1;
}

/* True if two rows agree in column c. */
static int
agree(const input *in, uint32_t a, uint32_t b, uint32_t c)
{
	int			a_null = in->nulls[a] >> c & 1;
	int			b_null = in->nulls[b] >> c & 1;

	return a_null && b_null ? 1 : a_null == b_null &&
		in->keys[(uint64_t) a * in->columns + c] == in->keys[(uint64_t) b * in->columns + c];
}

/* Applies the rule of gsort_block: the rows agree up to and including an
 * inexact value, or in all columns. */
static int
rows_tie(const run *r, uint32_t a, uint32_t b)
{
	const input *in = r->in;

	for (uint32_t end = 1; end <= in->columns; end++)
	{
		uint32_t	c = end - 1;
		uint64_t	value = in->keys[(uint64_t) a * in->columns + c];
		int			all_agree = 1;

		for (uint32_t i = 0; i < end; i++)
			all_agree &= agree(in, a, b, i);
		if (all_agree && (r->options.inexact_mask >> c & 1) && !(in->nulls[a] >> c & 1) &&
			(value & r->options.inexact_bits[c]) == r->options.inexact_code[c])
			return 1;
		if (all_agree && end == in->columns && r->options.ties)
			return 1;
	}
	return 0;
}

static int
check_ties(const run *r, const gsort_block *block, const uint64_t *bits)
{
	for (uint64_t i = 0; i < tie_words(block) * 64; i++)
	{
		uint64_t	at = block->first_row + i;
		int			tie = i <= block->rows && at > 0 && at < r->in->n &&
			rows_tie(r, r->in->order[at], r->in->order[at - 1]);

		if ((int) (bits[i / 64] >> (i % 64) & 1) != tie)
			return 0;
	}
	return 1;
}

static int
run_of_row(const run *r, uint32_t row)
{
	int			number = 0;

	for (; row >= r->options.run_rows[number]; number++)
		row -= r->options.run_rows[number];
	return number;
}

static int
check_order_bytes(const run *r, const gsort_block *block, const unsigned char *order)
{
	for (uint32_t i = 0; i < block->bytes; i++)
	{
		int			expected = i < block->rows ?
			run_of_row(r, r->whole->order[block->first_row + i]) : 0;

		if (order[i] != expected)
			return 0;
	}
	return 1;
}

void
run_check_block(run *r, uint64_t number, const uint64_t *data)
{
	const expected_block *expected = &r->blocks[number];
	const gsort_block *block = &expected->block;
	const unsigned char *bytes = (const unsigned char *) data;
	int			untouched = 1;

	if (r->phase == RUN_FETCHING_ORDER)
		CHECK(check_order_bytes(r, block, bytes));
	else
		CHECK(check_row_bytes(r, expected, data));
	if (block->bytes > block->row_bytes)
		CHECK(check_ties(r, block, data + block->row_bytes / 8));
	for (uint64_t i = block->bytes; i < r->options.block_bytes; i++)
		untouched &= bytes[i] == PATTERN;
	CHECK(untouched);
}
