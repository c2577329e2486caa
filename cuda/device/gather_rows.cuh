/*
 * gather_rows.cuh
 *	  The gather: copies the rows of one output block from the arena to a
 *	  contiguous buffer.
 *
 * In:  a sorted run's order, low offsets and tie bits; the rows' words; the
 *	    arena.
 * Out: the output block's bytes in a staging buffer of device memory.
 *
 * A row that shares its output block is at most a quarter of an output block
 * long, and lies in one extent.  Only longer rows may cross the end of an
 * extent, and they have output blocks of their own.  Therefore rows are copied
 * by address, and pieces of long rows unit by unit.
 */
#ifndef GSORT_GATHER_ROWS_CUH
#define GSORT_GATHER_ROWS_CUH

#include "device/arena.cuh"
#include "rows/ties.h"

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

#endif							/* GSORT_GATHER_ROWS_CUH */
