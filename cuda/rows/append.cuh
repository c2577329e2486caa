/*
 * append.cuh
 *	  The append kernel: checks a chunk's row offsets and files its rows.
 *
 * In:  a slice of one chunk's row_start, keys and nulls, copied to device memory
 *	    (so that nobody can change them between the check and the use).
 * Out: the slice's row words, keys by column and NULL bits in the key extents, or
 *	    the run's bad_data flag.
 *
 * A chunk whose offsets are wrong costs its own job and nothing else: no row word is
 * written that leads out of its chunk.  Keys are checked by the cut (sort_rows.cuh), when
 * the statistics of all chunks are known.
 */
#ifndef GSORT_APPEND_CUH
#define GSORT_APPEND_CUH

#include "rows/arena.cuh"

typedef struct append_slice
{
	const uint32_t *row_start;	/* [rows], and one more unless ends_chunk */
	const uint64_t *keys;		/* [rows][columns] */
	const uint32_t *nulls;		/* [rows], unused where null_mask is 0 */
	uint32_t	rows;
	int			begins_chunk;	/* the slice's first row is the chunk's */
	int			ends_chunk;		/* its last row is the chunk's */
	uint64_t	data_units;		/* of the chunk */
	uint64_t	end_units;		/* where its last row ends, counted from the chunk's begin */
	uint64_t	first_unit;		/* where the chunk lies in the arena */
	uint64_t	first_row;		/* the slice's first row number in the run */
} append_slice;

/* The word of row i of the slice; 0 (no row is empty) if its offsets are wrong. */
static inline GSORT_HD uint64_t
append_row_word(const append_slice *slice, uint32_t i)
{
	int			is_last = slice->ends_chunk && i + 1 == slice->rows;
	uint64_t	start = slice->row_start[i];
	uint64_t	end = is_last ? slice->end_units : slice->row_start[i + 1];

	if (slice->begins_chunk && i == 0 && start != 0)
		return 0;
	return row_word_checked(slice->first_unit, slice->data_units, start, end, is_last);
}

/* Where a chunk is refused its rows still get a word that is safe to follow: one
 * unit of the chunk itself. */
static inline GSORT_HD uint64_t
append_refused_word(const append_slice *slice)
{
	return row_word_make(slice->first_unit, 1);
}

#ifdef __CUDACC__

/* Grid: a thread for each row of the slice. */
static __global__ void
append_rows_kernel(append_slice slice, key_table table, run_header *header)
{
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;
	uint64_t	row = slice.first_row + i;
	uint64_t	word;

	if (i >= slice.rows)
		return;
	word = append_row_word(&slice, i);
	if (word == 0)
	{
		header->bad_data = GSORT_BAD_OFFSETS;
		word = append_refused_word(&slice);
	}
	*key_table_row_word(&table, row) = word;
	for (uint32_t c = 0; c < table.columns; c++)
		*key_table_key(&table, row, c) = slice.keys[(size_t) i * table.columns + c];
	if (table.null_mask != 0)
		*key_table_nulls(&table, row) = slice.nulls[i] & table.null_mask;
}

#endif							/* __CUDACC__ */

#endif							/* GSORT_APPEND_CUH */
