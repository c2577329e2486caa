/*
 * arena.cuh
 *	  The path of kernels to a row, its word and its keys: a job's three tables
 *	  of extents.
 *
 * In:  unit numbers of the arena (row words), row numbers.
 * Out: addresses in device memory.
 *
 * The job (cuda/device) owns the extents and the tables.  While kernels run,
 * the job only adds entries behind those that they may read.  The job frees
 * extents and restarts a table only when no kernel reads it any more.
 */
#ifndef GSORT_ARENA_CUH
#define GSORT_ARENA_CUH

#include "rows/extents.h"
#include "rows/key_stats.h"

/* Addresses of extents: of rows, or of the row words of GSORT_KEY_EXTENT_ROWS
 * rows each. */
typedef uint64_t *const *extent_table;

/* One extent holds each key column's values of GSORT_KEY_EXTENT_ROWS rows.  In
 * jobs with nullable columns, their NULL bits follow as uint32. */
typedef struct key_table
{
	extent_table extents;
	uint32_t	columns;
	uint32_t	null_mask;
} key_table;

#define ROW_UNITS_LIMIT		(1u << GSORT_ROW_UNITS_BITS)	/* every row is shorter */

/* Data that the kernels of one run share with each other and the host; zeroed
 * for each run. */
typedef struct run_header
{
	uint32_t	bad_data;		/* gsort_bad_data: a chunk contradicted itself */
	uint32_t	n_begins;		/* number of output block begins found */
	uint32_t	longest_short_units;	/* longest row that shares output blocks with others */
	uint32_t	longest_units;	/* longest row */
	uint32_t	shortest_below_limit;	/* ROW_UNITS_LIMIT minus the units of the shortest row */
	uint32_t	tied;			/* number of rows that share their first sort word with others */
	uint32_t	segments;		/* number of stretches of such rows */
	uint32_t	unused;			/* block begins, which follow, are aligned to 8 bytes */
} run_header;

static inline GSORT_HD uint64_t
sorted_row(const uint32_t *order, uint64_t i)
{
	return order == NULL ? i : order[i];
}

static inline GSORT_HD size_t
word_extent_bytes(void)
{
	return GSORT_KEY_EXTENT_ROWS * sizeof(uint64_t);
}

static inline GSORT_HD size_t
key_extent_bytes(uint32_t columns, uint32_t null_mask)
{
	return (size_t) GSORT_KEY_EXTENT_ROWS *
		(sizeof(uint64_t) * columns + (null_mask != 0 ? sizeof(uint32_t) : 0));
}

static inline GSORT_HD uint64_t *
word_at(extent_table words, uint64_t row)
{
	return words[row / GSORT_KEY_EXTENT_ROWS] + row % GSORT_KEY_EXTENT_ROWS;
}

static inline GSORT_HD uint64_t *
key_table_key(const key_table *table, uint64_t row, uint32_t column)
{
	return table->extents[row / GSORT_KEY_EXTENT_ROWS] +
		(size_t) column * GSORT_KEY_EXTENT_ROWS + row % GSORT_KEY_EXTENT_ROWS;
}

/* Requires a null_mask other than 0. */
static inline GSORT_HD uint32_t *
key_table_nulls(const key_table *table, uint64_t row)
{
	return (uint32_t *) (table->extents[row / GSORT_KEY_EXTENT_ROWS] +
						 (size_t) table->columns * GSORT_KEY_EXTENT_ROWS) +
		row % GSORT_KEY_EXTENT_ROWS;
}

#endif							/* GSORT_ARENA_CUH */
