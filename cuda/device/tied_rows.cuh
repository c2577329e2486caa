/*
 * tied_rows.cuh
 *	  The kernels of a sort by the first word alone: they find the rows that it
 *	  leaves tied, and move them through the sorts by the other words.
 *
 * In:  the sorted first words, and the order of the rows by them.
 * Out: the rows that share their first word with a neighbour, in that order;
 *	    the number of each one's segment, the stretch of rows that share the
 *	    word; and, once these rows are sorted, their places in the order.
 *
 * The caller (cuda_order.cu) owns all arrays, in device memory.  Every kernel
 * here runs one thread per element, in one dimension.
 */
#ifndef GSORT_TIED_ROWS_CUH
#define GSORT_TIED_ROWS_CUH

#include "device/arena.cuh"

/* The first of several words has 64 bits. */
typedef uint64_t first_word;

/* True if row i of the order begins a segment of more than one row. */
static inline GSORT_HD bool
begins_segment(const first_word *words, uint64_t n, uint64_t i)
{
	return i + 1 < n && words[i] == words[i + 1] && (i == 0 || words[i - 1] != words[i]);
}

/* True if the row shares its first word with a neighbour.  A predicate for a
 * selection. */
struct is_in_segment
{
	const first_word *words;
	uint64_t	n;

	GSORT_HD bool
	operator()(uint32_t i) const
	{
		return (i + 1ull < n && words[i] == words[i + 1ull]) || (i > 0 && words[i - 1] == words[i]);
	}
};

/* Adds the segments to the header's count. */
static __global__ void
count_segments_kernel(const first_word *words, uint64_t n, run_header *header)
{
	__shared__ uint32_t begins;
	uint64_t	i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;

	if (threadIdx.x == 0)
		begins = 0;
	__syncthreads();
	if (i < n && begins_segment(words, n, i))
		atomicAdd(&begins, 1u);
	__syncthreads();
	if (threadIdx.x == 0 && begins > 0)
		atomicAdd(&header->segments, begins);
}

/* places: the tied rows' places in the order, rising.  Writes their rows, and
 * begins: 1 for the first of a segment. */
static __global__ void
list_tied_rows_kernel(const first_word *words, uint64_t n, const uint32_t *order,
					  const uint32_t *places, uint64_t tied, uint32_t *rows, uint32_t *begins)
{
	uint64_t	i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= tied)
		return;
	rows[i] = order[places[i]];
	begins[i] = begins_segment(words, n, places[i]);
}

/* begins_so_far: inclusive prefix sum of begins over the tied rows. */
static __global__ void
number_segments_kernel(const uint32_t *rows, const uint32_t *begins_so_far, uint64_t tied,
					   uint32_t *segment_of_row)
{
	uint64_t	i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;

	if (i < tied)
		segment_of_row[rows[i]] = begins_so_far[i] - 1;
}

/* Makes the words that sort rows back into their segments. */
static __global__ void
segment_words_kernel(const uint32_t *segment_of_row, const uint32_t *rows, uint64_t tied,
					 uint32_t *out)
{
	uint64_t	i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;

	if (i < tied)
		out[i] = segment_of_row[rows[i]];
}

static __global__ void
put_tied_rows_kernel(const uint32_t *places, const uint32_t *rows, uint64_t tied, uint32_t *order)
{
	uint64_t	i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;

	if (i < tied)
		order[places[i]] = rows[i];
}

#endif							/* GSORT_TIED_ROWS_CUH */
