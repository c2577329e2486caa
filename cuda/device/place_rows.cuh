/*
 * place_rows.cuh
 *	  From the order of a run to its sorted stream: where each row goes, and
 *	  where windows begin.
 *
 * In:  the order; the packed lengths of the rows; the header, which knows the
 *	    lengths' extremes.
 * Out: for each row in sorted order the low 32 bits of its offset in the sorted
 *	    stream; the list of rows that begin a window, with their offsets, and
 *	    their number; bad_data, if the rows do not add up to what was fed.
 *
 * One reading of the order does all of it where no row is long; else the
 * lengths are read again to find the windows.  Blocks take tiles in turn and
 * learn from those before where their first row goes (look_back.cuh).
 *
 * The lengths are gathered, at random places, which takes most of the time.
 * Where all rows have one length, the order is not even read.  Where a row
 * comes from only the gather asks for (gather_rows.cuh), window by window.
 */
#ifndef GSORT_PLACE_ROWS_CUH
#define GSORT_PLACE_ROWS_CUH

#include "device/packed_lengths.cuh"
#include "device/sort_rows.cuh"
#include "rows/window_cut.h"
#include "sort/look_back.cuh"

#define PLACE_THREADS		256
#define PLACE_ITEMS			8
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define PLACE_BLOCKS		4		/* a multiprocessor: it has 1024 threads */
#else
#define PLACE_BLOCKS		5		/* six leave a thread too few registers */
#endif
#define PLACE_TILE			(PLACE_THREADS * PLACE_ITEMS)
#define PLACE_WARPS			(PLACE_THREADS / WARP_THREADS)
/* Neighbouring rows that one warp places. */
#define WARP_STRETCH		(WARP_THREADS * PLACE_ITEMS)

typedef struct place_states
{
	uint32_t   *next_tile;		/* zero */
	uint64_t   *units;			/* [tiles] */
	uint64_t   *begins;			/* [tiles] */
} place_states;

typedef struct place_input
{
	uint32_t   *lengths;		/* the words of packed_lengths */
	const uint32_t *order;		/* NULL: as fed */
	uint32_t	n;				/* at least 1, below 2^31 */
	uint64_t	total_units;
	uint32_t	window_bytes;
	int			with_ties;
} place_input;

typedef struct place_output
{
	uint32_t   *low_offsets;	/* [n] */
	/* [begins_room]; what the header counts beyond that is not written */
	window_begin *begins;
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
	return (1 + 2 * place_tiles(n)) * sizeof(uint64_t);
}

/* In scratch of place_scratch_bytes. */
static inline GSORT_HD place_states
place_states_in(void *scratch, uint64_t n)
{
	uint64_t   *words = (uint64_t *) scratch;
	place_states states = {(uint32_t *) words, words + 1, words + 1 + place_tiles(n)};

	return states;
}

struct place_memory
{
	uint64_t	warp_units[PLACE_WARPS];
	uint32_t	warp_begins[PLACE_WARPS];
	uint64_t	first_offset;
	uint64_t	first_begin;
	uint32_t	tile;
};

/* What streams through leaves the L2 cache first, so that the lengths stay. */
SORT_DEVICE uint32_t
load_once(const uint32_t *x)
{
#ifdef GSORT_EMULATE
	return *x;
#else
	return __ldcs(x);
#endif
}

SORT_DEVICE void
store_once(uint32_t *to, uint32_t x)
{
#ifdef GSORT_EMULATE
	*to = x;
#else
	__stcs(to, x);
#endif
}

/* What the kernel goes by. */
struct placed_rows
{
	const place_input &input;
	packed_lengths lengths;
	uint32_t	longest_units;
	window_cut	cut;

	__device__ __forceinline__ bool have_one_length() const
	{
		return lengths.bits == 0;
	}

	/* Of row i of the order. */
	__device__ __forceinline__ uint32_t units(uint32_t i) const
	{
		if (have_one_length())
			return lengths.shortest;
		return packed_lengths_of_row(&lengths, input.order == NULL ? i :
									 load_once(&input.order[i]));
	}

	/* 0 behind the last row. */
	__device__ __forceinline__ uint32_t units_or_none(uint32_t i) const
	{
		return i < input.n ? units(i) : 0;
	}
};

/* In place: what the warps before a warp add up to; all of them, returned.
 * Thread 0's warp calls, between barriers. */
template<typename Number>
SORT_DEVICE uint64_t
sum_up_warps(Number *of_warps)
{
	uint64_t	mine = lane_id() < PLACE_WARPS ? of_warps[lane_id()] : 0;
	uint64_t	inclusive = warp_inclusive_sum(mine);

	if (lane_id() < PLACE_WARPS)
		of_warps[lane_id()] = (Number) (inclusive - mine);
	return __shfl_sync(WHOLE_WARP, inclusive, PLACE_WARPS - 1);
}

/*
 * A warp's rows, and what they tell each other.  Offsets are from the first
 * row's, and of them the low 32 bits: all of an offset where no row is long.
 */
struct warp_rows
{
	uint32_t	first;			/* of the order */
	/* Of row first + k * WARP_THREADS + lane; 0 behind the last row. */
	uint32_t	units[PLACE_ITEMS];
	uint32_t	low_offsets[PLACE_ITEMS];
	uint64_t	sum;			/* of all their units */

	__device__ __forceinline__ uint32_t row(int k) const
	{
		return first + k * WARP_THREADS + lane_id();
	}
};

/* The rows' offsets from the warp's first row, and the sum of all units, where
 * lengths differ. */
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

/* Reads the lengths of the warp's rows and finds their offsets. */
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
 * Where no row is long, a row begins a window if its offset passes a multiple
 * of the stride, and of these there is one window each: the list's places are
 * known.  Who has a row tells whether the next one begins a window.
 */
SORT_DEVICE void
list_shared_windows(const placed_rows &placed, const warp_rows &rows, uint64_t first_offset,
					const place_output &out)
{
	uint32_t	n = placed.input.n;
	uint32_t	stride = (uint32_t) placed.cut.stride_units;
	uint64_t	first_window = first_offset / stride;
	uint32_t	into_window = (uint32_t) (first_offset - first_window * stride);

	if (rows.row(0) == 0)
		out.begins[0] = {0, 0};
	if (into_window + rows.sum < stride && rows.first + WARP_STRETCH < n)
		return;
#pragma unroll
	for (int k = 0; k < PLACE_ITEMS; k++)
	{
		uint32_t	begin = into_window + rows.low_offsets[k];
		uint32_t	end = begin + rows.units[k];
		uint64_t	window = first_window + end / stride;

		if (rows.row(k) + 1 == n)
			out.header->n_begins = (uint32_t) (first_window + begin / stride) + 1;
		else if (rows.row(k) < n && end / stride != begin / stride && window < out.begins_room)
			out.begins[window] = {rows.row(k) + 1,
				first_offset + rows.low_offsets[k] + rows.units[k]};
	}
}

/*
 * Where some rows are long, what a thread keeps of its rows does not tell
 * enough, and registers are too dear to keep more: the lengths are read again,
 * row by row.  This is one row, its neighbours' in the lanes beside it.
 */
struct window_row
{
	uint32_t	row;
	uint64_t	offset;
	bool		begins;			/* a window */
};

/* Goes from row to row, 32 apart: the whole warp calls. */
struct window_walk
{
	uint32_t	row;			/* the thread's next one */
	/* Units of the row before the warp's next ones, 0 if there is none. */
	uint32_t	before;
	uint64_t	offset;			/* of the warp's next ones */

	__device__ __forceinline__ window_walk(const placed_rows &placed, uint32_t first,
										   uint64_t first_offset)
		: row(first + lane_id()), before(first == 0 ? 0 : placed.units_or_none(first - 1)),
			offset(first_offset)
	{
	}

	__device__ __forceinline__ window_row next(const placed_rows &placed)
	{
		uint32_t	units = placed.units_or_none(row);
		uint32_t	previous = __shfl_up_sync(WHOLE_WARP, units, 1);
		uint64_t	inclusive = warp_inclusive_sum((uint64_t) units);
		window_row	here = {row, offset + inclusive - units, false};

		if (lane_id() == 0)
			previous = before;
		here.begins = row < placed.input.n &&
			window_cut_begins(&placed.cut, here.offset, units, previous);
		row += WARP_THREADS;
		before = __shfl_sync(WHOLE_WARP, units, WARP_THREADS - 1);
		offset += __shfl_sync(WHOLE_WARP, inclusive, WARP_THREADS - 1);
		return here;
	}
};

/* How many of the warp's rows begin windows. */
SORT_DEVICE uint32_t
windows_begun(const placed_rows &placed, uint32_t first, uint64_t first_offset)
{
	window_walk walk(placed, first, first_offset);
	uint32_t	begun = 0;

#pragma unroll 1
	for (int k = 0; k < PLACE_ITEMS; k++)
		begun += __popc(__ballot_sync(WHOLE_WARP, walk.next(placed).begins));
	return begun;
}

/* The warp's rows that begin windows to their places in the list, from place
 * on. */
SORT_DEVICE void
list_begins(const placed_rows &placed, uint32_t first, uint64_t first_offset, uint64_t place,
			const place_output &out)
{
	window_walk walk(placed, first, first_offset);

#pragma unroll 1
	for (int k = 0; k < PLACE_ITEMS; k++)
	{
		window_row	here = walk.next(placed);
		uint32_t	all = __ballot_sync(WHOLE_WARP, here.begins);
		uint64_t	at = place + __popc(all & ((1u << lane_id()) - 1));

		if (here.begins && at < out.begins_room)
			out.begins[at] = {here.row, here.offset};
		place += __popc(all);
	}
}

/* To where the tile's rows begin in the stream: told by the tiles before it, or
 * known where rows have one length. */
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

/* To which place of the list the tile's first begin goes. */
SORT_DEVICE void
find_first_begin(place_memory &shared, uint32_t n, const place_states &states, run_header *header)
{
	uint64_t	sum = sum_up_warps(shared.warp_begins);

	publish_and_look_back(states.begins, shared.tile, sum, &shared.first_begin);
	if (lane_id() == 0 && (shared.tile + 1) * PLACE_TILE >= n)
		header->n_begins = (uint32_t) (shared.first_begin + sum);
}

/* Where some rows are long: each tile's begins are counted and told to the next
 * ones. */
SORT_DEVICE void
list_windows(place_memory &shared, const placed_rows &placed, uint32_t first, uint64_t first_offset,
			 const place_states &states, const place_output &out)
{
	uint32_t	begun = windows_begun(placed, first, first_offset);

	if (lane_id() == 0)
		shared.warp_begins[warp_id()] = begun;
	__syncthreads();
	if (warp_id() == 0)
		find_first_begin(shared, placed.input.n, states, out.header);
	__syncthreads();
	if (begun > 0)
		list_begins(placed, first, first_offset, shared.first_begin + shared.warp_begins[warp_id()],
					out);
}

/* Warps add up their rows, one warp adds up the warps and looks at the tiles
 * before. */
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
			store_once(&out.low_offsets[rows.row(k)],
					   (uint32_t) first_offset + rows.low_offsets[k]);
	}
	if (placed.longest_units <= placed.cut.long_units)
		list_shared_windows(placed, rows, first_offset, out);
	else
		list_windows(shared, placed, rows.first, first_offset, states, out);
}

/* Grid: place_tiles(n) blocks of PLACE_THREADS. */
static __global__ void
__launch_bounds__(PLACE_THREADS, PLACE_BLOCKS)
place_rows_kernel(place_input input, place_states states, place_output out)
{
	__shared__ place_memory shared;
	const run_header *header = out.header;
	placed_rows placed = {input, packed_lengths_make(header, input.lengths), header->longest_units,
	window_cut_make(input.window_bytes, input.with_ties, header->longest_short_units)};

	if (threadIdx.x == 0)
		shared.tile = atomicAdd(states.next_tile, 1u);
	__syncthreads();
	place_tile(shared, placed, states, out);
}

#endif							/* GSORT_PLACE_ROWS_CUH */
