/*
 * place_rows.cuh
 *	  From the order of a run to its sorted stream: the offset of each row, and
 *	  the begins of output blocks.
 *
 * In:  the order; the rows' words; the header with the extremes of the lengths.
 * Out: for each row in sorted order the low 32 bits of its offset in the sorted
 *	    stream; the list of rows that begin an output block, with their offsets,
 *	    and their number, in order unless some row is long; bad_data, if the
 *	    lengths do not add up to the fed total.
 *
 * If no row is long, one pass over the order suffices; otherwise a second read
 * of the lengths finds the output blocks.  Thread blocks take tiles in turn and
 * obtain the offset of their first row by look-back (look_back.cuh).
 *
 * The reads of the lengths, in random order, take most of the time.  If all
 * rows have one length, even the order is not read.  transfer_rows.cuh finds
 * the place of a row before the sort later, for one output block at a time.
 */
#ifndef GSORT_PLACE_ROWS_CUH
#define GSORT_PLACE_ROWS_CUH

#include "device/arena.cuh"
#include "sort/warps.cuh"
#include "device/run_keys.cuh"
#include "rows/block_cut.h"
#include "sort/look_back.cuh"

/* --- packed lengths ------------------------------------------------------ */

/*
 * The lengths of a run's rows by row number, in the fewest bits that their
 * range needs: 32-bit words, each full of packed lengths.  If all rows have one
 * length, there is no word.
 *
 * Reading the lengths in sorted order means random access, which is cheaper the
 * more of the array fits the L2 cache.  Rows of 20 to 200 bytes have lengths of
 * 5 bits, while their words have 64.
 */

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
 * word per thread.  Resets the header's count of output blocks for the next
 * kernel. */
static __global__ void
pack_lengths_kernel(extent_table table, uint64_t rows, run_header *header, uint32_t *words)
{
	__shared__ uint32_t stretch[PACK_THREADS * (LENGTHS_WORD_BITS + 1)];
	packed_lengths lengths = packed_lengths_make(header, words);
	uint32_t	n = packed_lengths_words(&lengths, rows);

	if (blockIdx.x == 0 && threadIdx.x == 0)
		header->n_begins = 0;
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

/* --- offsets and begins -------------------------------------------------- */

#define PLACE_THREADS		256
#define PLACE_ITEMS			8
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define PLACE_BLOCKS		4		/* blocks per multiprocessor, which has 1024 threads */
#else
/* blocks per multiprocessor; six leave a thread too few registers */
#define PLACE_BLOCKS		5
#endif
#define PLACE_TILE			(PLACE_THREADS * PLACE_ITEMS)
#define PLACE_WARPS			(PLACE_THREADS / WARP_THREADS)
#define WARP_STRETCH		(WARP_THREADS * PLACE_ITEMS)

typedef struct place_states
{
	uint32_t   *next_tile;		/* must be zero */
	uint64_t   *units;			/* [tiles] */
} place_states;

typedef struct place_input
{
	uint32_t   *lengths;		/* the words of packed_lengths */
	const uint32_t *order;		/* NULL: the order as fed */
	uint32_t	n;				/* 1 to 2^31 - 1 */
	uint64_t	total_units;
	uint32_t	block_bytes;
	int			with_ties;
} place_input;

typedef struct place_output
{
	uint32_t   *low_offsets;	/* [n] */
	/* [begins_room]; further begins are counted in the header only */
	block_begin *begins;
	uint64_t	begins_room;
	run_header *header;
} place_output;

static inline GSORT_HD uint64_t
place_tiles(uint64_t n)
{
	return (n + PLACE_TILE - 1) / PLACE_TILE;
}

static inline GSORT_HD uint64_t
place_scratch_bytes(uint64_t n)
{
	return (1 + place_tiles(n)) * sizeof(uint64_t);
}

static inline GSORT_HD place_states
place_states_in(void *scratch)
{
	place_states states = {(uint32_t *) scratch, (uint64_t *) scratch + 1};

	return states;
}

struct place_memory
{
	uint64_t	warp_units[PLACE_WARPS];
	uint64_t	first_offset;
	uint32_t	tile;
};

struct placed_rows
{
	const place_input &input;
	packed_lengths lengths;
	uint32_t	longest_units;
	block_cut	cut;

	__device__ __forceinline__ bool have_one_length() const
	{
		return lengths.bits == 0;
	}

	__device__ __forceinline__ uint32_t units(uint32_t i) const
	{
		if (have_one_length())
			return lengths.shortest;
		return packed_lengths_of_row(&lengths, input.order == NULL ? i :
									 __ldcs(&input.order[i]));
	}

	/* The same; 0 behind the last row. */
	__device__ __forceinline__ uint32_t units_or_none(uint32_t i) const
	{
		return i < input.n ? units(i) : 0;
	}
};

/* Turns the warps' values into exclusive prefix sums in place; returns the
 * total.  The warp of thread 0 calls, between barriers. */
SORT_DEVICE uint64_t
sum_up_warps(uint64_t *of_warps)
{
	uint64_t	mine = lane_id() < PLACE_WARPS ? of_warps[lane_id()] : 0;
	uint64_t	inclusive = warp_inclusive_sum(mine);

	if (lane_id() < PLACE_WARPS)
		of_warps[lane_id()] = inclusive - mine;
	return __shfl_sync(WHOLE_WARP, inclusive, PLACE_WARPS - 1);
}

/*
 * A warp's rows, and the values its lanes share.  Offsets count from the first
 * row's offset, and keep their low 32 bits only, which is exact if no row is
 * long.
 */
struct warp_rows
{
	uint32_t	first;			/* place in the order */
	/* Length of row first + k * WARP_THREADS + lane; 0 behind the last row. */
	uint32_t	units[PLACE_ITEMS];
	uint32_t	low_offsets[PLACE_ITEMS];
	uint64_t	sum;			/* total units */

	__device__ __forceinline__ uint32_t row(int k) const
	{
		return first + k * WARP_THREADS + lane_id();
	}
};

SORT_DEVICE void
sum_up_rows(warp_rows &rows)
{
	uint32_t	low_sum = 0;
	uint64_t	of_lane = 0;

#pragma unroll
	for (int k = 0; k < PLACE_ITEMS; k++)
	{
		uint32_t	inclusive = warp_inclusive_sum(rows.units[k]);

		rows.low_offsets[k] = low_sum + inclusive - rows.units[k];
		low_sum += __shfl_sync(WHOLE_WARP, inclusive, WARP_THREADS - 1);
		of_lane += rows.units[k];
	}
	rows.sum = __shfl_sync(WHOLE_WARP, warp_inclusive_sum(of_lane), WARP_THREADS - 1);
}

/* Reads the lengths of the warp's rows and computes their offsets. */
SORT_DEVICE void
find_rows(const placed_rows &placed, warp_rows &rows)
{
	uint32_t	n = placed.input.n;
	uint32_t	left = rows.first < n ? n - rows.first : 0;

#pragma unroll
	for (int k = 0; k < PLACE_ITEMS; k++)
		rows.units[k] = placed.units_or_none(rows.row(k));
	if (!placed.have_one_length())
		sum_up_rows(rows);
	else
	{
#pragma unroll
		for (int k = 0; k < PLACE_ITEMS; k++)
			rows.low_offsets[k] = (rows.row(k) - rows.first) * placed.longest_units;
		rows.sum = (uint64_t) (left < WARP_STRETCH ? left : WARP_STRETCH) * placed.longest_units;
	}
}

/*
 * Writes output block begins if no row is long.  A row then begins an output
 * block if its offset passes a multiple of the stride, and each multiple has
 * exactly one output block, which gives its place in the list.  The thread of a
 * row decides whether the next row begins an output block.
 */
SORT_DEVICE void
list_shared_output_blocks(const placed_rows &placed, const warp_rows &rows, uint64_t first_offset,
						  const place_output &out)
{
	uint32_t	n = placed.input.n;
	uint32_t	stride = (uint32_t) placed.cut.stride_units;
	uint64_t	first_output_block = first_offset / stride;
	uint32_t	into_output_block = (uint32_t) (first_offset - first_output_block * stride);

	if (rows.row(0) == 0)
		out.begins[0] = {0, 0};
	if (into_output_block + rows.sum < stride && rows.first + WARP_STRETCH < n)
		return;
#pragma unroll
	for (int k = 0; k < PLACE_ITEMS; k++)
	{
		uint32_t	begin = into_output_block + rows.low_offsets[k];
		uint32_t	end = begin + rows.units[k];
		uint64_t	output_block = first_output_block + end / stride;

		if (rows.row(k) + 1 == n)
			out.header->n_begins = (uint32_t) (first_output_block + begin / stride) + 1;
		else if (rows.row(k) < n && end / stride != begin / stride &&
				 output_block < out.begins_room)
			out.begins[output_block] = {rows.row(k) + 1,
				first_offset + rows.low_offsets[k] + rows.units[k]};
	}
}

/*
 * Writes output block begins if some row is long, in any order.  The thread's
 * own data does not suffice then, and registers for more are too expensive.
 * Therefore the lengths are read again, row by row.  first: the warp's first
 * row, at offset.
 */
SORT_DEVICE void
list_output_blocks(const placed_rows &placed, uint32_t first, uint64_t offset,
				   const place_output &out)
{
	uint32_t	row = first + lane_id();
	/* length of the row before the warp's next rows; 0 if there is none */
	uint32_t	before = first == 0 ? 0 : placed.units_or_none(first - 1);

#pragma unroll 1
	for (int k = 0; k < PLACE_ITEMS; k++, row += WARP_THREADS)
	{
		uint32_t	units = placed.units_or_none(row);
		uint32_t	previous = __shfl_up_sync(WHOLE_WARP, units, 1);
		uint64_t	inclusive = warp_inclusive_sum((uint64_t) units);
		uint64_t	begin = offset + inclusive - units;

		if (lane_id() == 0)
			previous = before;
		if (row < placed.input.n && block_cut_begins(&placed.cut, begin, units, previous))
		{
			uint32_t	at = atomicAdd(&out.header->n_begins, 1u);

			if (at < out.begins_room)
				out.begins[at] = {row, begin};
		}
		before = __shfl_sync(WHOLE_WARP, units, WARP_THREADS - 1);
		offset += __shfl_sync(WHOLE_WARP, inclusive, WARP_THREADS - 1);
	}
}

/* Computes the begin of the tile's rows in the stream: by look-back, or
 * directly if all rows have one length. */
SORT_DEVICE void
find_first_offset(place_memory &shared, const placed_rows &placed, const place_states &states,
				  run_header *header)
{
	uint32_t	tile_begin = shared.tile * PLACE_TILE;
	uint64_t	sum = sum_up_warps(shared.warp_units);

	if (!placed.have_one_length())
		publish_and_look_back(states.units, shared.tile, sum, &shared.first_offset);
	else if (lane_id() == 0)
		shared.first_offset = (uint64_t) tile_begin * placed.longest_units;
	if (lane_id() == 0 && tile_begin + PLACE_TILE >= placed.input.n &&
		shared.first_offset + sum != placed.input.total_units)
		header->bad_data = GSORT_BAD_OFFSETS;
}

/* Warps sum their rows; then one warp sums the warps and looks back at earlier
 * tiles. */
SORT_DEVICE void
place_tile(place_memory &shared, const placed_rows &placed, const place_states &states,
		   const place_output &out)
{
	uint64_t	first_offset;
	warp_rows	rows;

	rows.first = shared.tile * PLACE_TILE + warp_id() * WARP_STRETCH;
	find_rows(placed, rows);
	if (lane_id() == WARP_THREADS - 1)
		shared.warp_units[warp_id()] = rows.sum;
	__syncthreads();
	if (warp_id() == 0)
		find_first_offset(shared, placed, states, out.header);
	__syncthreads();
	first_offset = shared.first_offset + shared.warp_units[warp_id()];
#pragma unroll
	for (int k = 0; k < PLACE_ITEMS; k++)
	{
		if (rows.row(k) < placed.input.n)
			__stcs(&out.low_offsets[rows.row(k)],
					   (uint32_t) first_offset + rows.low_offsets[k]);
	}
	if (placed.longest_units <= placed.cut.long_units)
		list_shared_output_blocks(placed, rows, first_offset, out);
	else
		list_output_blocks(placed, rows.first, first_offset, out);
}

/* Grid: place_tiles(n) blocks of PLACE_THREADS. */
static __global__ void
__launch_bounds__(PLACE_THREADS, PLACE_BLOCKS)
place_rows_kernel(place_input input, place_states states, place_output out)
{
	__shared__ place_memory shared;
	const run_header *header = out.header;
	placed_rows placed = {input, packed_lengths_make(header, input.lengths), header->longest_units,
	block_cut_make(input.block_bytes, input.with_ties, header->longest_short_units)};

	if (threadIdx.x == 0)
		shared.tile = atomicAdd(states.next_tile, 1u);
	__syncthreads();
	place_tile(shared, placed, states, out);
}

#endif							/* GSORT_PLACE_ROWS_CUH */
