/*
 * host_fetch.c
 *	  Writes the bytes of blocks (see host_run.h).
 *
 * Rows are read in random order, so their cache lines are prefetched some rows
 * ahead.
 */
#include "host/host_run.h"

#include <string.h>

#include "rows/extents.h"
#include "rows/ties.h"

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
