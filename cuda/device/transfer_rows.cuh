/*
 * transfer_rows.cuh
 *	  The kernels of appends and fetches: one checks a chunk's row offsets and
 *	  files its rows, the others copy the rows of one output block from the
 *	  arena to a contiguous buffer.
 *
 * In:  a chunk's row_start, keys and nulls, in device memory, so that no
 *	    process can change them between the check and the use; or a sorted run's
 *	    order, low offsets and tie bits, the rows' words, the arena.
 * Out: row words in the word extents, keys by column and NULL bits in the key
 *	    extents, and the extremes of the rows' lengths in the run's header, or
 *	    its bad_data flag; or the output block's bytes in a staging buffer.
 *
 * A chunk with wrong offsets fails its own job only, because no row word points
 * outside its chunk.  The finish checks the keys (run_keys.cuh), when the
 * statistics of all chunks are known.
 *
 * A row that shares its output block is at most a quarter of an output block
 * long, and lies in one extent.  Only longer rows may cross the end of an
 * extent, and they have output blocks of their own.  Therefore rows are copied
 * by address, and pieces of long rows unit by unit.
 */
#ifndef GSORT_TRANSFER_ROWS_CUH
#define GSORT_TRANSFER_ROWS_CUH

#include "device/arena.cuh"
#include "rows/ties.h"

/* --- appends ------------------------------------------------------------- */

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

/* --- fetches ------------------------------------------------------------- */

/* rounds that a row's own lanes copy; the warp copies the rest */
#define GATHER_OWN_ROUNDS		8

typedef struct sorted_run
{
	/* indexed by row number; the following arrays are in sorted order */
	extent_table	words;
	const uint32_t *order;		/* [rows]; NULL: the order as fed */
	const uint32_t *low_offsets;	/* [rows] */
	const uint32_t *ties;		/* [rows / 32, rounded up] or NULL */
	uint64_t	rows;
} sorted_run;

/* log2 of the lanes that copy one row: the smallest power of two that covers
 * the average row, up to a warp. */
static inline GSORT_HD uint32_t
gather_lanes_log2(uint64_t units, uint64_t rows)
{
	uint32_t	log2 = 0;

	while (log2 < 5 && (rows << log2) < units)
		log2++;
	return log2;
}

static inline GSORT_HD uint64_t
sorted_run_word(const sorted_run *run, uint64_t i)
{
	return *word_at(run->words, sorted_row(run->order, i));
}

#ifdef __CUDACC__

/*
 * Packs rows first_row to first_row + rows of the sorted run into out.  Grid: 1
 * << lanes_log2 threads per row.  The whole warp completes a row that is much
 * longer than the others.
 */
static __global__ void
gather_rows_kernel(sorted_run run, extent_table table, uint64_t first_row, uint32_t rows,
				   uint32_t lanes_log2, uint64_t *out)
{
	uint32_t	thread = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t	lanes = 1u << lanes_log2;
	uint32_t	lane = thread & (lanes - 1);
	uint32_t	row = thread >> lanes_log2;
	uint32_t	units = 0;
	uint32_t	own_units;
	uint32_t	unfinished;
	const uint64_t *from = NULL;
	uint64_t   *to = NULL;

	if (row < rows)
	{
		uint64_t	word = sorted_run_word(&run, first_row + row);

		units = (uint32_t) row_word_units(word);
		from = arena_unit(table, row_word_offset(word));
		to = out + (uint32_t) (run.low_offsets[first_row + row] - run.low_offsets[first_row]);
	}
	own_units = min(units, lanes * GATHER_OWN_ROUNDS);
	for (uint32_t u = lane; u < own_units; u += lanes)
		to[u] = from[u];

	unfinished = __ballot_sync(0xffffffffu, lane == 0 && units > own_units);
	while (unfinished != 0)
	{
		int			source = __ffs(unfinished) - 1;
		const uint64_t *row_from =
			(const uint64_t *) __shfl_sync(0xffffffffu, (unsigned long long) from, source);
		uint64_t   *row_to = (uint64_t *) __shfl_sync(0xffffffffu, (unsigned long long) to, source);
		uint32_t	row_units = __shfl_sync(0xffffffffu, units, source);
		uint32_t	done_units = __shfl_sync(0xffffffffu, own_units, source);

#pragma unroll 4
		for (uint32_t u = done_units + threadIdx.x % 32; u < row_units; u += 32)
			row_to[u] = row_from[u];
		unfinished &= unfinished - 1;
	}
}

/* Copies units skip_units to skip_units + units of one row, which may span
 * several extents.  Grid: one thread per unit. */
static __global__ void
gather_piece_kernel(sorted_run run, extent_table table, uint64_t row, uint64_t skip_units,
					uint32_t units, uint64_t *out)
{
	uint32_t	u = blockIdx.x * blockDim.x + threadIdx.x;

	if (u < units)
		out[u] = *arena_unit(table, row_word_offset(sorted_run_word(&run, row)) + skip_units +
								 u);
}

/* Writes the output block's tie words.  Grid: one thread per word. */
static __global__ void
gather_ties_kernel(sorted_run run, uint64_t first_row, uint32_t rows, uint64_t *out)
{
	uint32_t	word = blockIdx.x * blockDim.x + threadIdx.x;

	if (word < tie_words_of_block(rows))
		out[word] = tie_word_of_block(run.ties, run.rows, first_row, rows, word);
}

#endif							/* __CUDACC__ */

#endif							/* GSORT_TRANSFER_ROWS_CUH */
