/*
 * host_run.c
 *	  The memory of a run, its incoming chunks, and its blocks (see host_run.h).
 */
#include "host/host_run.h"
#include "rows/extents.h"
#include "rows/ties.h"

#include <stdlib.h>
#include <string.h>

/* --- memory --------------------------------------------------------------- */

int
host_run_init(host_run *run, host_memory *memory, const gsort_job_options *options)
{
	*run = (host_run) {
		.memory = memory,
		.columns = options->key_columns,
		.null_mask = options->null_mask,
		.block_bytes = options->block_bytes,
		.with_ties = tie_bits_wanted(options),
	};
	run->extents = calloc(GSORT_RUN_EXTENTS_MAX, sizeof(*run->extents));
	run->key_extents = calloc(GSORT_RUN_KEY_EXTENTS_MAX, sizeof(*run->key_extents));
	if (run->extents != NULL && run->key_extents != NULL)
		return 1;
	free(run->extents);
	free(run->key_extents);
	return 0;
}

static int
key_kind(const host_run *run)
{
	return host_key_extent_kind(run->columns, run->null_mask != 0);
}

int
host_run_reserve(host_run *run, uint64_t rows, uint64_t units, uint64_t limit_bytes)
{
	while (run->n_extents < arena_extents_for(units))
	{
		uint64_t   *extent = host_extent_take(run->memory, &run->account, HOST_EXTENT_ROWS,
											  limit_bytes);

		if (extent == NULL)
			return 0;
		run->extents[run->n_extents++] = extent;
	}
	while (run->n_key_extents < key_extents_of_rows(rows))
	{
		char	   *extent = host_extent_take(run->memory, &run->account, key_kind(run),
											  limit_bytes);

		if (extent == NULL)
			return 0;
		run->key_extents[run->n_key_extents++] = extent;
	}
	return 1;
}

void
host_run_drop_keys(host_run *run)
{
	while (run->n_key_extents > 0)
		host_extent_give(run->memory, &run->account, key_kind(run),
						 run->key_extents[--run->n_key_extents]);
}

static void
drop_extents(host_run *run, uint64_t kept)
{
	while (run->n_extents > kept)
		host_extent_give(run->memory, &run->account, HOST_EXTENT_ROWS,
						 run->extents[--run->n_extents]);
}

void
host_run_keep_output(host_run *run, uint64_t units)
{
	host_run_drop_keys(run);
	drop_extents(run, arena_extents_for(units));
}

static void
drop_blocks(host_run *run)
{
	host_block_give(run->memory, &run->account, run->row_words, 8 * run->rows);
	host_block_give(run->memory, &run->account, run->ties, tie_bits_bytes(run->rows));
	run->row_words = NULL;
	run->ties = NULL;
}

void
host_run_drop_order(host_run *run)
{
	drop_blocks(run);
	host_block_give(run->memory, &run->account, run->order, 4 * run->rows);
	run->order = NULL;
}

void
host_run_drop_rows(host_run *run)
{
	drop_blocks(run);
	drop_extents(run, 0);
}

void
host_run_clear(host_run *run)
{
	host_run_drop_rows(run);
	host_run_drop_keys(run);
	host_run_drop_order(run);
	run->rows = 0;
}

void
host_run_free(host_run *run)
{
	host_run_clear(run);
	free(run->extents);
	free(run->key_extents);
	run->extents = NULL;
	run->key_extents = NULL;
}

/* --- incoming chunks ------------------------------------------------------ */

static void
copy_to_arena(host_run *run, uint64_t unit, const uint64_t *from, uint64_t units)
{
	while (units > 0)
	{
		uint64_t	now = arena_stretch(unit, units);

		memcpy(arena_unit(run->extents, unit), from, now * 8);
		unit += now;
		from += now;
		units -= now;
	}
}

/*
 * Makes row words from the chunk's offsets.  0 if the offsets do not begin at
 * 0, do not rise, or are out of range.  Other processes may write to the
 * chunk's memory, so each offset is read only once.
 */
static int
make_row_words(host_run *run, const host_chunk *placed)
{
	const gsort_chunk *chunk = &placed->chunk;
	const volatile uint32_t *row_start = chunk->row_start;
	uint64_t	row = placed->first_row;
	uint64_t	data_units = chunk->data_bytes / 8;
	uint64_t	start = row_start[0];

	if (start != 0)
		return 0;
	for (uint32_t i = 1; i <= chunk->rows; i++, row++)
	{
		int			is_last = i == chunk->rows;
		uint64_t	end = is_last ? data_units + chunk->more_bytes / 8 : row_start[i];
		uint64_t	word = row_word_checked(placed->first_unit, data_units, start, end, is_last);

		if (word == 0)
			return 0;
		*host_run_row_word(run, row) = word;
		start = end;
	}
	return 1;
}

static void
copy_keys(host_run *run, const gsort_chunk *chunk, uint64_t row)
{
	uint64_t	done = 0;

	while (done < chunk->rows)
	{
		uint64_t	rows = gsort_min_u64(GSORT_KEY_EXTENT_ROWS - row % GSORT_KEY_EXTENT_ROWS,
										 chunk->rows - done);

		memcpy(host_run_keys(run, row), chunk->keys + done * run->columns,
			   rows * run->columns * sizeof(uint64_t));
		if (run->null_mask != 0)
			memcpy(host_run_null_bits(run, row), chunk->nulls + done, rows * sizeof(uint32_t));
		row += rows;
		done += rows;
	}
}

void
host_run_append(host_run *run, const host_chunk *placed)
{
	const gsort_chunk *chunk = &placed->chunk;

	if (run->bad_data)
		return;
	if (chunk->rows > 0)
	{
		if (!make_row_words(run, placed))
		{
			run->bad_data = GSORT_BAD_OFFSETS;
			return;
		}
		copy_keys(run, chunk, placed->first_row);
	}
	copy_to_arena(run, placed->first_unit, chunk->data, chunk->data_bytes / 8);
}

/* --- blocks -------------------------------------------------------------- */

/* Distance of prefetches in rows, and the bytes prefetched of each row. */
#define COPIES_AHEAD		16
#define ROW_BYTES_AHEAD		256
#define CACHE_LINE_UNITS	8
#define SHORT_ROW_UNITS		32

static void
copy_from_arena(const host_run *run, uint64_t *to, uint64_t unit, uint64_t units)
{
	while (units > 0)
	{
		uint64_t	now = arena_stretch(unit, units);

		memcpy(to, arena_unit(run->extents, unit), now * 8);
		unit += now;
		to += now;
		units -= now;
	}
}

static void
ask_for_row(const host_run *run, uint64_t word)
{
	const uint64_t *row = arena_unit(run->extents, row_word_offset(word));
	uint64_t	units = row_word_units(word);

	if (units > ROW_BYTES_AHEAD / 8)
		units = ROW_BYTES_AHEAD / 8;
	__builtin_prefetch(row);
	for (uint64_t unit = CACHE_LINE_UNITS; unit < units; unit += CACHE_LINE_UNITS)
		__builtin_prefetch(row + unit);
	/* a row may begin anywhere in a line, so its last byte may lie one line
	 * further */
	__builtin_prefetch(row + units - 1);
}

/* Copies short rows by inlined fixed sizes, since a call of memcpy costs more
 * than the row. */
static inline void
copy_short_row(const uint64_t *from, uint64_t *to, uint64_t units)
{
	for (; units >= 4; units -= 4, from += 4, to += 4)
		memcpy(to, from, 32);
	if (units & 2)
	{
		memcpy(to, from, 16);
		from += 2;
		to += 2;
	}
	if (units & 1)
		*to = *from;
}

static uint64_t *
copy_row(const host_run *run, uint64_t word, uint64_t *to)
{
	uint64_t	unit = row_word_offset(word);
	uint64_t	units = row_word_units(word);

	if (units > SHORT_ROW_UNITS || arena_stretch(unit, units) < units)
		copy_from_arena(run, to, unit, units);
	else
		copy_short_row(arena_unit(run->extents, unit), to, units);
	return to + units;
}

/* Copies a block's rows with prefetches, since the rows are scattered.  Returns
 * the end of the output. */
static uint64_t *
write_rows(const host_run *run, const gsort_block *block, uint64_t *to)
{
	const uint64_t *words = run->row_words + block->first_row;

	for (uint32_t i = 0; i < block->rows && i < COPIES_AHEAD; i++)
		ask_for_row(run, words[i]);
	for (uint32_t i = 0; i < block->rows; i++)
	{
		if (i + COPIES_AHEAD < block->rows)
			ask_for_row(run, words[i + COPIES_AHEAD]);
		to = copy_row(run, words[i], to);
	}
	return to;
}

/* Copies a piece of a split row.  In a continued block, first_row is the row
 * behind it. */
static uint64_t *
write_piece(const host_run *run, const gsort_block *block, uint64_t units_before, uint64_t *to)
{
	uint64_t	row = block->first_row - (block->flags & GSORT_BLOCK_CONTINUED ? 1 : 0);

	copy_from_arena(run, to, row_word_offset(run->row_words[row]) + units_before,
					block->row_bytes / 8);
	return to + block->row_bytes / 8;
}

static void
write_ties(const host_run *run, const gsort_block *block, uint64_t *to)
{
	for (uint32_t word = 0; word < tie_words_of_block(block->rows); word++)
		*to++ = tie_word_of_block(run->ties, run->rows, block->first_row, block->rows, word);
}

void
host_run_fetch(const host_run *run, const gsort_block *block, uint64_t units_before, uint64_t *to)
{
	if (block->flags & (GSORT_BLOCK_CONTINUED | GSORT_BLOCK_CONTINUES))
		to = write_piece(run, block, units_before, to);
	else
		to = write_rows(run, block, to);
	if (run->ties != NULL)
		write_ties(run, block, to);
}
