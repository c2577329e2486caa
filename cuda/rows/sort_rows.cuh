/*
 * sort_rows.cuh
 *	  The kernels around the pairs sort of a run: sort words before it; row words,
 *	  ties, offsets and window begins after it; the sorted keys when the run ends.
 *
 * In:  a job's key extents, its key plan, and the order that the sort found.
 * Out: bad_data, if a key is beyond the statistics that the plan was made from;
 *	    for each row in sorted order its row word and the low 32 bits of its
 *	    offset in the sorted stream; a bit for each row that ties with the one
 *	    before; the list of rows that begin a window.
 *
 * All arrays are the caller's (cuda_sort.cu), in device memory.  Every kernel here
 * runs a thread for each element of its output, in one dimension.
 */
#ifndef GSORT_SORT_ROWS_CUH
#define GSORT_SORT_ROWS_CUH

#include "rows/arena.cuh"
#include "rows/tie_rule.h"

/* Two uint64, so that no padding is copied to the host. */
typedef struct window_begin
{
	uint64_t	row;
	uint64_t	units;			/* its offset in the sorted stream */
} window_begin;

/*
 * How many windows can begin in a run: a cut of short rows each stride, which is
 * at least 0.73 windows wide, and two for each long row, which is more than a
 * quarter of a window.
 */
static inline GSORT_HD uint64_t
window_begins_at_most(uint64_t rows, uint64_t units, uint32_t window_bytes)
{
	uint64_t	begins = 10 * units / (window_bytes / 8) + 2;

	return begins < rows ? begins : rows;
}

static inline GSORT_HD uint64_t
sorted_row(const uint32_t *order, uint64_t i)
{
	return order == NULL ? i : order[i];
}

static inline GSORT_HD uint32_t
nulls_of_row(const key_table *table, uint64_t row)
{
	return table->null_mask != 0 ? *key_table_nulls(table, row) : 0;
}

static inline GSORT_HD row_keys
keys_of_row(const key_table *table, uint64_t row)
{
	row_keys	keys = {
		key_table_key(table, row, 0), GSORT_KEY_EXTENT_ROWS,
		table->null_mask != 0 ? key_table_nulls(table, row) : NULL
	};

	return keys;
}

/* Sort word number word of one row. */
static inline GSORT_HD uint64_t
compact_row(const key_plan *plan, uint32_t word, const key_table *table, uint64_t row)
{
	return key_plan_word(plan, word, key_table_key(table, row, 0), GSORT_KEY_EXTENT_ROWS,
						 nulls_of_row(table, row));
}

/* Sets bad_data if the row's keys do not keep to the statistics of the plan. */
static inline GSORT_HD void
check_row_keys(const key_plan *plan, const key_table *table, uint64_t row, run_header *header)
{
	if (!key_plan_holds(plan, key_table_key(table, row, 0), GSORT_KEY_EXTENT_ROWS,
						nulls_of_row(table, row)))
		header->bad_data = GSORT_BAD_KEYS;
}

#ifdef __CUDACC__

/* out[i]: the sort word of row order[i], or of row i where order is NULL.  The keys are
 * checked on the way where header is not NULL. */
template<typename Word>
static __global__ void
compact_keys_kernel(key_plan plan, uint32_t word, key_table table, const uint32_t *order,
					uint64_t n, run_header *header, Word *out)
{
	uint64_t	i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;
	uint64_t	row;

	if (i >= n)
		return;
	row = sorted_row(order, i);
	out[i] = (Word) compact_row(&plan, word, &table, row);
	if (header != NULL)
		check_row_keys(&plan, &table, row, header);
}

/* The check alone, for plans of no word. */
static __global__ void
check_keys_kernel(key_plan plan, key_table table, uint64_t n, run_header *header)
{
	uint64_t	i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		check_row_keys(&plan, &table, i, header);
}

/*
 * Bit i % 32 of ties[i / 32]: row i of the order ties with the row before.  words: the first sort
 * words in this order, NULL where all keys are equal.  Blocks are whole warps.
 */
template<typename Word>
static __global__ void
mark_ties_kernel(tie_rule rule, key_table table, const Word *words, const uint32_t *order, uint64_t n, uint32_t *ties)
{
	uint64_t	i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;
	int			tie = 0;
	uint32_t	bits;

	if (i > 0 && i < n)
	{
		uint64_t	difference = words == NULL ? 0 : words[i] ^ words[i - 1];

		if ((difference & rule.decisive_bits) == 0)
		{
			row_keys	row = keys_of_row(&table, sorted_row(order, i));
			row_keys	before = keys_of_row(&table, sorted_row(order, i - 1));

			tie = tie_rule_ties(&rule, difference, &row, &before);
		}
	}
	bits = __ballot_sync(0xffffffffu, tie);
	if (i % 32 == 0 && i < n)
		ties[i / 32] = bits;
}

/* Row words and lengths in sorted order, and the longest of the short rows. */
static __global__ void
permute_row_words_kernel(key_table table, const uint32_t *order, uint64_t n, uint64_t long_units,
						 uint64_t *words, uint64_t *units, run_header *header)
{
	uint64_t	i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;
	uint64_t	short_units = 0;

	if (i < n)
	{
		words[i] = *key_table_row_word(&table, sorted_row(order, i));
		units[i] = row_word_units(words[i]);
		if (units[i] <= long_units)
			short_units = units[i];
	}
	for (int distance = 16; distance > 0; distance /= 2)
	{
		uint64_t	other = __shfl_xor_sync(0xffffffffu, short_units, distance);

		short_units = other > short_units ? other : short_units;
	}
	/* the read saves nearly all atomics: it may be stale, never too large */
	if (threadIdx.x % 32 == 0 &&
		short_units > *(volatile uint64_t *) &header->longest_short_units)
		atomicMax((unsigned long long *) &header->longest_short_units,
				  (unsigned long long) short_units);
}

/* One thread.  The list of window begins has room for a stream of total_units; a
 * run whose rows do not add up to that is refused. */
static __global__ void
check_total_kernel(const uint64_t *words, const uint64_t *offsets, uint64_t n,
				   uint64_t total_units, run_header *header)
{
	if (offsets[n - 1] + row_word_units(words[n - 1]) != total_units)
		header->bad_data = GSORT_BAD_OFFSETS;
}

/* Does row i of the sorted order begin a window?  A predicate for a selection. */
struct begins_window
{
	const uint64_t *words;
	const uint64_t *offsets;
	const run_header *header;
	uint32_t	window_bytes;
	int			with_ties;

	__device__ __forceinline__ bool
	operator()(uint32_t i) const
	{
		window_cut	cut = window_cut_make(window_bytes, with_ties, header->longest_short_units);

		return header->bad_data == 0 &&
			window_cut_begins(&cut, offsets[i], row_word_units(words[i]),
							  i == 0 ? 0 : row_word_units(words[i - 1]));
	}
};

/* At most room threads find work. */
static __global__ void
list_begins_kernel(const uint32_t *rows, const uint64_t *offsets, const run_header *header,
				   uint64_t room, window_begin *begins)
{
	uint64_t	i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;

	if (i < room && i < header->n_begins)
	{
		begins[i].row = rows[i];
		begins[i].units = offsets[rows[i]];
	}
}

/*
 * The raw keys of the run in sorted order, column by column; nulls, where not NULL, likewise, a
 * bit for each column.
 */
static __global__ void
keep_keys_kernel(key_table table, const uint32_t *order, uint64_t n, uint64_t *keys, uint8_t *nulls)
{
	uint64_t	i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;
	uint64_t	row;

	if (i >= n)
		return;
	row = sorted_row(order, i);
	for (uint32_t c = 0; c < table.columns; c++)
		keys[c * n + i] = *key_table_key(&table, row, c);
	if (nulls != NULL)
		nulls[i] = (uint8_t) *key_table_nulls(&table, row);
}

/* A window spans less than 2^32 units, so the low halves tell places inside it. */
static __global__ void
narrow_offsets_kernel(const uint64_t *offsets, uint64_t n, uint32_t *low_offsets)
{
	uint64_t	i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		low_offsets[i] = (uint32_t) offsets[i];
}

#endif							/* __CUDACC__ */

#endif							/* GSORT_SORT_ROWS_CUH */
