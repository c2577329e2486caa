/*
 * host_run.c
 *	  The memory of a run, and its incoming chunks (see host_run.h).
 */
#include "host/host_run.h"

#include <stdlib.h>
#include <string.h>

#include "rows/extents.h"
#include "rows/ties.h"

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

/* Releases the lookup data of blocks. */
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
	while (run->n_extents > 0)
		host_extent_give(run->memory, &run->account, HOST_EXTENT_ROWS,
						 run->extents[--run->n_extents]);
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
make_row_words(host_run *run, const host_chunk *chunk)
{
	const volatile uint32_t *row_start = chunk->row_start;
	uint64_t	row = chunk->first_row;
	uint64_t	start = row_start[0];

	if (start != 0)
		return 0;
	for (uint32_t i = 1; i <= chunk->rows; i++, row++)
	{
		uint64_t   *words = (uint64_t *) run->key_extents[row / GSORT_KEY_EXTENT_ROWS];
		int			is_last = i == chunk->rows;
		uint64_t	end = is_last ? chunk->data_units + chunk->more_units : row_start[i];
		uint64_t	word = row_word_checked(chunk->first_unit, chunk->data_units, start, end,
											is_last);

		if (word == 0)
			return 0;
		words[row % GSORT_KEY_EXTENT_ROWS] = word;
		start = end;
	}
	return 1;
}

static void
copy_keys(host_run *run, const host_chunk *chunk)
{
	uint64_t	row = chunk->first_row;
	uint64_t	done = 0;

	while (done < chunk->rows)
	{
		char	   *extent = run->key_extents[row / GSORT_KEY_EXTENT_ROWS];
		uint64_t	place = row % GSORT_KEY_EXTENT_ROWS;
		uint64_t	rows = GSORT_KEY_EXTENT_ROWS - place;
		uint64_t   *keys = (uint64_t *) extent + GSORT_KEY_EXTENT_ROWS;
		uint32_t   *nulls = (uint32_t *) (keys + GSORT_KEY_EXTENT_ROWS * (uint64_t) run->columns);

		if (rows > chunk->rows - done)
			rows = chunk->rows - done;
		memcpy(keys + place * run->columns, chunk->keys + done * run->columns,
			   rows * run->columns * sizeof(uint64_t));
		if (run->null_mask != 0)
			memcpy(nulls + place, chunk->nulls + done, rows * sizeof(uint32_t));
		row += rows;
		done += rows;
	}
}

void
host_run_append(host_run *run, const host_chunk *chunk)
{
	if (run->bad_data)
		return;
	if (chunk->rows > 0)
	{
		if (!make_row_words(run, chunk))
		{
			run->bad_data = GSORT_BAD_OFFSETS;
			return;
		}
		copy_keys(run, chunk);
	}
	copy_to_arena(run, chunk->first_unit, chunk->data, chunk->data_units);
}
