/*
 * tied_rows.cuh
 *	  The kernels of a sort by the first word alone: they find the rows that it
 *	  leaves tied, and move them through the sorts by the other words.
 *
 * In:  the sorted first words, and the order of the rows by them.
 * Out: the rows that share their first word with a neighbour, in that order;
 *	    and, once these rows are sorted, their places in the order.
 *
 * The caller (cuda_order.cu) owns all arrays, in device memory.  Every kernel
 * here runs one thread per element, in one dimension.
 */
#ifndef GSORT_TIED_ROWS_CUH
#define GSORT_TIED_ROWS_CUH

#include "device/arena.cuh"

/* The first of several words has 64 bits. */
typedef uint64_t first_word;

/* True if the row shares its first word with a neighbour.  A predicate for a
 * selection. */
struct is_tied
{
	const first_word *words;
	uint64_t	n;

	GSORT_HD bool
	operator()(uint32_t i) const
	{
		return (i + 1ull < n && words[i] == words[i + 1ull]) || (i > 0 && words[i - 1] == words[i]);
	}
};

/* places: the tied rows' places in the order, rising. */
static __global__ void
list_tied_rows_kernel(const uint32_t *order, const uint32_t *places, uint64_t tied, uint32_t *rows)
{
	uint64_t	i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;

	if (i < tied)
		rows[i] = order[places[i]];
}

static __global__ void
put_tied_rows_kernel(const uint32_t *places, const uint32_t *rows, uint64_t tied, uint32_t *order)
{
	uint64_t	i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;

	if (i < tied)
		order[places[i]] = rows[i];
}

#endif							/* GSORT_TIED_ROWS_CUH */
