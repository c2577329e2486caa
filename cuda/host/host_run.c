/*
 * host_run.c
 *	  Extents, chunks and windows of a run.  Its sort, and what memory that
 *	  takes, are in host_sort.c.
 *
 * Rows are read in random order when a window is written, so their cache lines
 * are asked for some rows ahead.
 */
#include "host/host_run.h"

#include <stdlib.h>
#include <string.h>

/* Rows asked for ahead of the one being copied, and the bytes of each. */
#define ROWS_AHEAD			16
#define ROW_BYTES_AHEAD		256
#define CACHE_LINE_UNITS	8
#define SHORT_ROW_UNITS		32

/* --- memory ----------------------------------------------------------------- */

int
host_run_init(host_run *run, host_memory *memory, const gsort_job_options *options)
{
	*run = (host_run) {
		.memory = memory,
		.columns = options->key_columns,
		.null_mask = options->null_mask,
		.window_bytes = options->window_bytes,
		.with_ties = (options->flags & GSORT_TIES) != 0,
	};
	run->extents = calloc(HOST_EXTENTS_MAX, sizeof(*run->extents));
	run->key_extents = calloc(HOST_KEY_EXTENTS_MAX, sizeof(*run->key_extents));
	if (run->extents != NULL && run->key_extents != NULL)
		return 1;
	free(run->extents);
	free(run->key_extents);
	return 0;
}

static uint64_t
extents_for(uint64_t units)
{
	uint64_t	extents = (units + GSORT_EXTENT_UNITS - 1) / GSORT_EXTENT_UNITS;

	return extents < HOST_EXTENTS_MAX ? extents : HOST_EXTENTS_MAX;
}

static uint64_t
key_extents_for(uint64_t rows)
{
	return (rows + GSORT_KEY_EXTENT_ROWS - 1) / GSORT_KEY_EXTENT_ROWS;
}

static int
key_kind(const host_run *run)
{
	return host_key_extent_kind(run->columns, run->null_mask != 0);
}

int
host_run_reserve(host_run *run, uint64_t rows, uint64_t units, uint64_t limit_bytes)
{
	while (run->n_extents < extents_for(units))
	{
		uint64_t   *extent = host_extent_take(run->memory, &run->account, HOST_EXTENT_ROWS,
											  limit_bytes);

		if (extent == NULL)
			return 0;
		run->extents[run->n_extents++] = extent;
	}
	while (run->n_key_extents < key_extents_for(rows))
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

void
host_run_drop_rows(host_run *run)
{
	host_run_drop_windows(run);
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

/* --- taking chunks in --------------------------------------------------------- */

/* The arena between two units, as far as it lies in one extent. */
static uint64_t
units_in_extent(uint64_t unit, uint64_t units)
{
	uint64_t	left = GSORT_EXTENT_UNITS - unit % GSORT_EXTENT_UNITS;

	return units < left ? units : left;
}

static uint64_t *
arena_at(const host_run *run, uint64_t unit)
{
	return run->extents[unit / GSORT_EXTENT_UNITS] + unit % GSORT_EXTENT_UNITS;
}

static void
copy_to_arena(host_run *run, uint64_t unit, const uint64_t *from, uint64_t units)
{
	while (units > 0)
	{
		uint64_t	now = units_in_extent(unit, units);

		memcpy(arena_at(run, unit), from, now * 8);
		unit += now;
		from += now;
		units -= now;
	}
}

static void
copy_from_arena(const host_run *run, uint64_t *to, uint64_t unit, uint64_t units)
{
	while (units > 0)
	{
		uint64_t	now = units_in_extent(unit, units);

		memcpy(to, arena_at(run, unit), now * 8);
		unit += now;
		to += now;
		units -= now;
	}
}

/*
 * Row words from the chunk's offsets; 0 if these are not 0, then rising, and in
 * range.  The chunk lies in memory that others may write to, so every offset is
 * read once.
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
		uint64_t	next = i < chunk->rows ? row_start[i] : chunk->data_units;
		uint64_t	more = i < chunk->rows ? 0 : chunk->more_units;

		if (next <= start || next > chunk->data_units)
			return 0;
		words[row % GSORT_KEY_EXTENT_ROWS] =
			row_word_make(chunk->first_unit + start, next - start + more);
		start = next;
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
			run->bad_data = 1;
			return;
		}
		copy_keys(run, chunk);
	}
	copy_to_arena(run, chunk->first_unit, chunk->data, chunk->data_units);
}

/* --- writing windows ---------------------------------------------------------- */

static void
ask_for_row(const host_run *run, uint64_t word)
{
	const uint64_t *row = arena_at(run, row_word_offset(word));
	uint64_t	units = row_word_units(word);

	if (units > ROW_BYTES_AHEAD / 8)
		units = ROW_BYTES_AHEAD / 8;
	__builtin_prefetch(row);
	for (uint64_t unit = CACHE_LINE_UNITS; unit < units; unit += CACHE_LINE_UNITS)
		__builtin_prefetch(row + unit);
	/* rows begin anywhere in a line, so the last byte may lie in one line more */
	__builtin_prefetch(row + units - 1);
}

/* Copies of fixed sizes are inlined: calling memcpy costs more than a short row. */
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

	if (units > SHORT_ROW_UNITS || units_in_extent(unit, units) < units)
		copy_from_arena(run, to, unit, units);
	else
		copy_short_row(arena_at(run, unit), to, units);
	return to + units;
}

static uint64_t *
write_rows(const host_run *run, const host_window *window, uint64_t *to)
{
	const uint64_t *words = run->row_words + window->first_row;

	for (uint32_t i = 0; i < window->rows && i < ROWS_AHEAD; i++)
		ask_for_row(run, words[i]);
	for (uint32_t i = 0; i < window->rows; i++)
	{
		if (i + ROWS_AHEAD < window->rows)
			ask_for_row(run, words[i + ROWS_AHEAD]);
		to = copy_row(run, words[i], to);
	}
	return to;
}

static uint64_t *
write_stretch(const host_run *run, const host_window *window, uint64_t *to)
{
	uint64_t	unit = window->first_unit;

	if (window->of_row)
		unit += row_word_offset(run->row_words[window->first_row]);
	copy_from_arena(run, to, unit, window->units);
	return to + window->units;
}

static void
write_ties(const host_run *run, const host_window *window, uint64_t *to)
{
	const uint64_t *bits = run->tie_bits + window->first_row / 64;
	uint32_t	shift = window->first_row % 64;
	uint32_t	rows = window->rows;

	for (; rows > 0; bits++, to++)
	{
		uint32_t	here = rows < 64 ? rows : 64;
		uint64_t	word = bits[0] >> shift;

		if (shift > 0)
			word |= bits[1] << (64 - shift);
		*to = word & key_low_bits(here);
		rows -= here;
	}
}

void
host_run_fetch(const host_run *run, const host_window *window, uint64_t *to)
{
	if (window->is_stretch)
		to = write_stretch(run, window, to);
	else
		to = write_rows(run, window, to);
	if (run->tie_bits != NULL)
		write_ties(run, window, to);
}
