/*
 * append_rows.cuh
 *	  The append kernel: checks a chunk's row offsets and files its rows.
 *
 * In:  a chunk's row_start, keys and nulls, in device memory, so that no process
 *	    can change them between the check and the use.
 * Out: its row words in the word extents, keys by column and NULL bits in the
 *	    key extents, and the extremes of the rows' lengths in the run's header;
 *	    or its bad_data flag.
 *
 * A chunk with wrong offsets fails its own job only, because no row word points
 * outside its chunk.  The finish checks the keys (run_keys.cuh), when the
 * statistics of all chunks are known.
 */
#ifndef GSORT_APPEND_ROWS_CUH
#define GSORT_APPEND_ROWS_CUH

#include "device/arena.cuh"

typedef struct appended_chunk
{
	const uint32_t *row_start;	/* [rows] */
	const uint64_t *keys;		/* [rows][columns] */
	const uint32_t *nulls;		/* [rows], unused if null_mask is 0 */
	uint32_t	rows;
	uint64_t	data_units;		/* length of the chunk */
	uint64_t	end_units;		/* end of its last row, from the chunk's begin */
	uint64_t	first_unit;		/* place of the chunk in the arena */
	uint64_t	first_row;		/* number of its first row in the run */
} appended_chunk;

/* The word of row i of the chunk; 0, which no row has, if its offsets are
 * wrong. */
static inline GSORT_HD uint64_t
append_row_word(const appended_chunk *chunk, uint32_t i)
{
	int			is_last = i + 1 == chunk->rows;
	uint64_t	start = chunk->row_start[i];
	uint64_t	end = is_last ? chunk->end_units : chunk->row_start[i + 1];

	if (i == 0 && start != 0)
		return 0;
	return row_word_checked(chunk->first_unit, chunk->data_units, start, end, is_last);
}

/* A safe word for rows of a refused chunk: one unit of the chunk itself. */
static inline GSORT_HD uint64_t
append_refused_word(const appended_chunk *chunk)
{
	return row_word_make(chunk->first_unit, 1);
}

#ifdef __CUDACC__

/* The maximum over the warp.  The whole warp calls. */
static __device__ __forceinline__ uint32_t
largest_of_warp(uint32_t x)
{
	for (int distance = 16; distance > 0; distance /= 2)
	{
		uint32_t	other = __shfl_xor_sync(0xffffffffu, x, distance);

		x = other > x ? other : x;
	}
	return x;
}

/* Raises *most to x.  The preceding read saves nearly all atomics: it may be
 * stale, but never too large. */
static __device__ __forceinline__ void
raise_to(uint32_t *most, uint32_t x)
{
	if (x > *(volatile uint32_t *) most)
		atomicMax(most, x);
}

/* units: 0 if the thread has no row.  The whole warp calls. */
static __device__ __forceinline__ void
record_lengths(uint32_t units, uint32_t long_units, run_header *header)
{
	uint32_t	longest = largest_of_warp(units);
	uint32_t	longest_short = largest_of_warp(units <= long_units ? units : 0);
	uint32_t	shortest_below = largest_of_warp(units == 0 ? 0 : ROW_UNITS_LIMIT - units);

	if (threadIdx.x % 32 != 0)
		return;
	raise_to(&header->longest_units, longest);
	raise_to(&header->longest_short_units, longest_short);
	raise_to(&header->shortest_below_limit, shortest_below);
}

static __device__ __forceinline__ uint64_t
file_row(const appended_chunk *chunk, uint32_t i, extent_table words, const key_table *table,
		 run_header *header)
{
	uint64_t	row = chunk->first_row + i;
	uint64_t	word = append_row_word(chunk, i);

	if (word == 0)
	{
		header->bad_data = GSORT_BAD_OFFSETS;
		word = append_refused_word(chunk);
	}
	*word_at(words, row) = word;
	for (uint32_t c = 0; c < table->columns; c++)
		*key_table_key(table, row, c) = chunk->keys[(size_t) i * table->columns + c];
	if (table->null_mask != 0)
		*key_table_nulls(table, row) = chunk->nulls[i] & table->null_mask;
	return word;
}

/* long_units: the longest row that may share an output block.  Grid: a thread
 * for each row of the chunk, in whole warps. */
static __global__ void
append_rows_kernel(appended_chunk chunk, extent_table words, key_table table, uint32_t long_units,
				   run_header *header)
{
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;
	uint64_t	word = i < chunk.rows ? file_row(&chunk, i, words, &table, header) : 0;

	record_lengths((uint32_t) row_word_units(word), long_units, header);
}

#endif							/* __CUDACC__ */

#endif							/* GSORT_APPEND_ROWS_CUH */
