/*
 * packed_lengths.cuh
 *	  The lengths of a run's rows by row number, in the fewest bits that their
 *	  range needs.
 *
 * In:  the rows' words; the header with the shortest and the longest row.
 * Out: an array of 32-bit words, each full of packed lengths.  If all rows have
 *	    one length, the array is empty.
 *
 * Reading the lengths in sorted order means random access, which is cheaper the
 * more of the array fits the L2 cache.  Rows of 20 to 200 bytes have lengths of
 * 5 bits, while their words have 64.
 */
#ifndef GSORT_PACKED_LENGTHS_CUH
#define GSORT_PACKED_LENGTHS_CUH

#include "device/arena.cuh"
#include "sort/warps.cuh"

#define LENGTHS_WORD_BITS	32
#define PACK_THREADS		256

typedef struct packed_lengths
{
	uint32_t   *words;			/* [packed_lengths_words] */
	uint32_t	shortest;		/* in units; a packed length is the excess over the shortest row */
	/* Width of a packed length; 0: all rows have one length, and words is not
	 * read. */
	uint32_t	bits;
	uint32_t	a_word;			/* packed lengths per word, at least 1 */
} packed_lengths;

/* Layout of the packed lengths for the extremes in the header.  words: room for
 * rows * sizeof(uint32_t), the maximum. */
static inline GSORT_HD packed_lengths
packed_lengths_make(const run_header *header, uint32_t *words)
{
	uint32_t	shortest = ROW_UNITS_LIMIT - header->shortest_below_limit;
	uint32_t	bits = significant_bits(header->longest_units - shortest);
	packed_lengths lengths = {words, shortest, bits, bits == 0 ? LENGTHS_WORD_BITS :
		LENGTHS_WORD_BITS / bits};

	return lengths;
}

static inline GSORT_HD uint32_t
packed_lengths_words(const packed_lengths *lengths, uint64_t rows)
{
	return lengths->bits == 0 ? 0 : (uint32_t) ((rows + lengths->a_word - 1) / lengths->a_word);
}

static inline GSORT_HD uint32_t
packed_lengths_of_row(const packed_lengths *lengths, uint32_t row)
{
	uint32_t	word = row / lengths->a_word;
	uint32_t	place = row - word * lengths->a_word;

	if (lengths->bits == 0)
		return lengths->shortest;
	return lengths->shortest + (lengths->words[word] >> place *
								lengths->bits & ((1u << lengths->bits) - 1));
}

/* Place of the i-th length of a stretch in shared memory.  Threads that are
 * a_word lengths apart rarely meet in one bank. */
SORT_DEVICE uint32_t
stretch_place(uint32_t i)
{
	return i + i / WARP_THREADS;
}

/* Grid: any number of blocks of PACK_THREADS.  A block packs stretches of one
 * word per thread. */
static __global__ void
pack_lengths_kernel(extent_table table, uint64_t rows, const run_header *header, uint32_t *words)
{
	__shared__ uint32_t stretch[PACK_THREADS * (LENGTHS_WORD_BITS + 1)];
	packed_lengths lengths = packed_lengths_make(header, words);
	uint32_t	n = packed_lengths_words(&lengths, rows);

	for (uint64_t first = blockIdx.x * PACK_THREADS; first < n; first += gridDim.x * PACK_THREADS)
	{
		uint64_t	first_row = first * lengths.a_word;
		uint32_t	packed = 0;

		for (uint32_t i = threadIdx.x; i < PACK_THREADS * lengths.a_word; i += PACK_THREADS)
			stretch[stretch_place(i)] = first_row + i < rows ?
				(uint32_t) row_word_units(*word_at(table, first_row + i)) -
				lengths.shortest : 0;
		__syncthreads();
		for (uint32_t i = 0; i < lengths.a_word; i++)
			packed |= stretch[stretch_place(threadIdx.x * lengths.a_word + i)] << i * lengths.bits;
		if (first + threadIdx.x < n)
			words[first + threadIdx.x] = packed;
		__syncthreads();
	}
}

#endif							/* GSORT_PACKED_LENGTHS_CUH */
