/*
 * run_keys.cuh
 *	  The kernels before and after the pairs sort of a run: they make the sort
 *	  words, check keys, mark ties, and gather the sorted keys.  place_rows.cuh
 *	  computes the offsets of rows and the begins of output blocks.
 *
 * In:  a job's key extents, its key plan, and the order that the sort found.
 * Out: bad_data, if a key contradicts the statistics of the plan; a bit for
 *	    each row that ties with its predecessor.
 *
 * The callers (cuda_order.cu, cuda_runs.cu) own all arrays, in device memory.
 * Every kernel here runs one thread per element of its output, in one
 * dimension.
 */
#ifndef GSORT_RUN_KEYS_CUH
#define GSORT_RUN_KEYS_CUH

#include "device/arena.cuh"
#include "rows/ties.h"

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

static inline GSORT_HD uint64_t
compact_row(const key_plan *plan, uint32_t word, const key_table *table, uint64_t row)
{
	return key_plan_word(plan, word, key_table_key(table, row, 0), GSORT_KEY_EXTENT_ROWS,
						 nulls_of_row(table, row));
}

/* Sets bad_data if the row's keys contradict the statistics of the plan. */
static inline GSORT_HD void
check_row_keys(const key_plan *plan, const key_table *table, uint64_t row, run_header *header)
{
	if (!key_plan_holds(plan, key_table_key(table, row, 0), GSORT_KEY_EXTENT_ROWS,
						nulls_of_row(table, row)))
		header->bad_data = GSORT_BAD_KEYS;
}

#ifdef __CUDACC__

/* out[i]: the sort word of row order[i], or of row i if order is NULL.  Also
 * checks the keys if header is not NULL. */
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

/*
 * Sets bit i % 32 of ties[i / 32] if row i of the order ties with its
 * predecessor.  words: the sorted first words.  Blocks are whole warps.
 */
template<typename Word>
static __global__ void
mark_ties_kernel(tie_rule rule, key_table table, const Word *words, const uint32_t *order,
				 uint64_t n, uint32_t *ties)
{
	uint64_t	i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;
	int			tie = 0;
	uint32_t	bits;

	if (i > 0 && i < n)
	{
		uint64_t	difference = words[i] ^ words[i - 1];

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

/*
 * Gathers the raw keys of the run in sorted order, column by column.  Also
 * gathers nulls if not NULL, with one bit per column.
 */
static __global__ void
gather_keys_kernel(key_table table, const uint32_t *order, uint64_t n, uint64_t *keys,
				   uint8_t *nulls)
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

#endif							/* __CUDACC__ */

#endif							/* GSORT_RUN_KEYS_CUH */
