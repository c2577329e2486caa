/*
 * partition.cuh
 *	  Moving items to their buckets, and the items of a bucket to its bins.
 *
 * In:  the caller's keys; the plan.
 * Out: level 1: items in an array, bucket after bucket.  Level 2: items in a second
 *	    array, bin after bin; each bin is a group for the tile sort.
 *
 * After Kozawa, Amagasa, Kitagawa ("GPU-accelerated scalable sample sort"): count
 * first, then every bin's place is exact, and a tile's items are reordered in
 * shared memory so that each bin's are written side by side.  Unlike there, a tile
 * takes its places by an atomic add on the bin, so the order inside a bin is the
 * blocks' order of arrival; it does not matter, as no two items are equal and each
 * bin is sorted by (key, row) afterwards.  That spares a count for each tile and bin,
 * and all blocks write at one place in a bin, where the cache joins their writes.
 *
 * No block ever waits for another.
 */
#ifndef GSORT_PARTITION_CUH
#define GSORT_PARTITION_CUH

#include "gsort.h"
#include "sort/partition_split.cuh"

/* --- one tile -------------------------------------------------------------------- */

#define NO_BIN 0xffffffffu

template<int Threads, int Items, int Bins, bool Wide>
struct tile_memory
{
	uint64_t	first[Threads * Items];
	uint32_t	second[Wide ? Threads * Items : 4];
	uint32_t	begin[Bins];	/* counts, then where each bin begins in the tile */
	uint32_t	move[Bins];		/* from there to its place in the output */
	uint32_t	warp_sums[WARP_THREADS];
	uint16_t	bin[Threads * Items];
};

/*
 * Places of the tile's bins, in it and in the output.  The whole block calls, all counts
 * behind a barrier; the results want a barrier after it.
 */
template<int Threads, int Items, int Bins, bool Wide>
SORT_DEVICE void
place_bins(tile_memory<Threads, Items, Bins, Wide> &shared, uint32_t *next)
{
	constexpr int PER_THREAD = (Bins + Threads - 1) / Threads;
	uint32_t	counts[PER_THREAD];
	uint32_t	places[PER_THREAD];
	uint32_t	sum = 0;
	uint32_t	begin;

#pragma unroll
	for (int i = 0; i < PER_THREAD; i++)
	{
		uint32_t	bin = threadIdx.x * PER_THREAD + i;

		counts[i] = bin < Bins ? shared.begin[bin] : 0;
		places[i] = counts[i] > 0 ? atomicAdd(&next[bin], counts[i]) : 0;
		sum += counts[i];
	}
	begin = block_exclusive_sum<Threads>(sum, shared.warp_sums, NULL);
#pragma unroll
	for (int i = 0; i < PER_THREAD; i++)
	{
		uint32_t	bin = threadIdx.x * PER_THREAD + i;

		if (bin < Bins)
		{
			shared.begin[bin] = begin;
			shared.move[bin] = places[i] - begin;
		}
		begin += counts[i];
	}
}

template<int Threads, int Items, int Bins, bool Wide>
SORT_DEVICE void
clear_bins(tile_memory<Threads, Items, Bins, Wide> &shared)
{
	for (uint32_t bin = threadIdx.x; bin < Bins; bin += Threads)
		shared.begin[bin] = 0;
}

/* places: bin and rank of each item by count_into, bin << 16 | rank, NO_BIN for none. */
template<int Threads, int Items, int Bins, bool Wide>
SORT_DEVICE void
reorder_tile(tile_memory<Threads, Items, Bins, Wide> &shared, const item<Wide> (&x)[Items],
			 const uint32_t (&places)[Items])
{
#pragma unroll
	for (int i = 0; i < Items; i++)
	{
		if (places[i] != NO_BIN)
		{
			uint32_t	bin = places[i] >> 16;
			uint32_t	at = shared.begin[bin] + (places[i] & 0xffff);

			shared.first[at] = x[i].first;
			if (Wide)
				shared.second[at] = x[i].second;
			shared.bin[at] = (uint16_t) bin;
		}
	}
}

template<int Threads, int Items, int Bins, bool Wide>
SORT_DEVICE void
write_tile(const tile_memory<Threads, Items, Bins, Wide> &shared, uint32_t count, item_arrays<Wide> out)
{
#pragma unroll
	for (int i = 0; i < Items; i++)
	{
		uint32_t	at = i * Threads + threadIdx.x;

		if (at < count)
		{
			uint32_t	to = shared.move[shared.bin[at]] + at;

			out.first[to] = shared.first[at];
			if (Wide)
				out.second[to] = shared.second[at];
		}
	}
}

/* --- level 1 ------------------------------------------------------------------------ */

struct bucket_search_memory
{
	uint64_t	lowest_key[BUCKETS_MAX];
	uint32_t	lowest_row[BUCKETS_MAX];
	uint32_t	counts[BUCKETS_MAX];
	uint16_t	cells[BUCKET_CELLS];
};

#define HISTOGRAM_THREADS	512
#define HISTOGRAM_ITEMS		8

SORT_DEVICE void
load_bucket_search(bucket_search_memory &shared, const partition_plan *plan)
{
	for (uint32_t b = threadIdx.x; b < BUCKETS_MAX; b += HISTOGRAM_THREADS)
	{
		shared.lowest_key[b] = plan->lowest_key[b];
		shared.lowest_row[b] = plan->lowest_row[b];
		shared.counts[b] = 0;
	}
	for (uint32_t c = threadIdx.x; c < BUCKET_CELLS / 2; c += HISTOGRAM_THREADS)
		((uint32_t *) shared.cells)[c] = ((const uint32_t *) plan->cells)[c];
}

/*
 * Finds each key's bucket and counts the buckets' items.  Grid: any; each block takes tiles
 * in turn.
 */
template<typename Key>
static __global__ void
__launch_bounds__(HISTOGRAM_THREADS)
partition_count_buckets_kernel(key_view<Key> keys, uint32_t n, partition_plan *plan, uint8_t *bucket_of_row)
{
	constexpr uint32_t TILE = HISTOGRAM_THREADS * HISTOGRAM_ITEMS;

	SHARED_MEMORY(raw);
	bucket_search_memory &shared = *(bucket_search_memory *) raw;
	Key			sample_min = (Key) plan->sample_min;
	Key			sample_range = (Key) plan->sample_range;
	linear_map	map = plan->sample_map;

	/* no bucket has any items then, so later stages find nothing to do, but the scatter, which goes by n */
	if (plan->handed_over)
		return;
	load_bucket_search(shared, plan);
	__syncthreads();
	for (uint32_t tile = blockIdx.x * TILE; tile < n; tile += gridDim.x * TILE)
	{
		Key			key[HISTOGRAM_ITEMS];

#pragma unroll
		for (int i = 0; i < HISTOGRAM_ITEMS; i++)
		{
			uint32_t	row = tile + i * HISTOGRAM_THREADS + threadIdx.x;

			key[i] = row < n ? keys[row] : 0;
		}
#pragma unroll
		for (int i = 0; i < HISTOGRAM_ITEMS; i++)
		{
			uint32_t	row = tile + i * HISTOGRAM_THREADS + threadIdx.x;
			uint32_t	entry = shared.cells[clamped_part<Key>(map, sample_min, sample_range, key[i])];
			uint32_t	bucket = search_bucket<Key>(shared.lowest_key, shared.lowest_row, entry & 0xff, entry >> 8,
													key[i], row);

			if (row < n)
				bucket_of_row[row] = (uint8_t) bucket;
			count_into(shared.counts, bucket, row < n);
		}
	}
	__syncthreads();
	for (uint32_t b = threadIdx.x; b < BUCKETS_MAX; b += HISTOGRAM_THREADS)
	{
		if (shared.counts[b] > 0)
			atomicAdd(&plan->counts[b], shared.counts[b]);
	}
}

/* Where the coordinates of a bucket's items lie. */
template<bool Wide>
SORT_DEVICE void
describe_segment(sort_segment *segment, const partition_plan *plan, uint32_t b, uint64_t key_max, uint32_t n)
{
	uint64_t	lowest = plan->lowest_key[b];
	uint64_t	highest = highest_key(plan->lowest_key, plan->lowest_row, b, plan->buckets, key_max);
	uint32_t	shift = plan->shift[b];
	bool		one_key = lowest == highest;
	uint32_t	row_end = b + 1 < plan->buckets && plan->lowest_row[b + 1] > 0 ? plan->lowest_row[b + 1] : n;

	segment->flags = (one_key && Wide ? GROUP_BY_ROW : 0) | (shift > 0 && !Wide ? GROUP_SHORTENED : 0);
	if (one_key)
	{
		segment->lowest = plan->lowest_row[b];
		segment->range = row_end - 1 - plan->lowest_row[b];
	}
	else if (Wide)
	{
		segment->lowest = lowest;
		segment->range = highest - lowest;
	}
	else
	{
		segment->lowest = 0;
		segment->range = ((highest - lowest) >> shift) << plan->row_bits;
		if (shift == 0)
			segment->range |= (1ull << plan->row_bits) - 1;
	}
}

/*
 * Places the buckets, makes segments of those to divide and groups of the others.
 * Grid: one block of BUCKETS_MAX threads.
 */
template<typename Row>
static __global__ void
__launch_bounds__(BUCKETS_MAX)
partition_plan_buckets_kernel(partition_plan *plan, sort_group *groups, uint64_t key_max, uint32_t n,
							  uint32_t chunk)
{
	__shared__ uint32_t warp_sums[3][WARP_THREADS];
	uint32_t	b = threadIdx.x;
	uint32_t	count = b < plan->buckets ? plan->counts[b] : 0;
	bool		divided = count > Row::SORT_TILE;
	sort_segment segment;
	uint32_t	total;
	uint32_t	group;

	segment.count = count;
	segment.by_splitters = 0;
	segment.begin = block_exclusive_sum<BUCKETS_MAX>(count, warp_sums[0], NULL);
	segment.first_chunk = block_exclusive_sum<BUCKETS_MAX>(divided ? (count + chunk - 1) / chunk : 0, warp_sums[1], &total);
	plan->first_chunk[b] = segment.first_chunk;
	if (b == 0)
		plan->first_chunk[BUCKETS_MAX] = plan->chunks = total;
	if (b < plan->buckets)
	{
		if (plan->wide)
			describe_segment<true>(&segment, plan, b, key_max, n);
		else
			describe_segment<false>(&segment, plan, b, key_max, n);
		segment.map = make_linear_map(segment.range, Row::CELLS);
		segment.map_lowest = segment.lowest;
		segment.map_range = segment.range;
	}
	plan->segments[b] = segment;
	plan->next[b] = segment.begin;
	group = block_exclusive_sum<BUCKETS_MAX>(count > 0 && !divided, warp_sums[2], &total);
	if (count > 0 && !divided)
	{
		sort_group	whole;

		whole.begin = segment.begin;
		whole.count = count;
		whole.flags = segment.flags | GROUP_IN_LEVEL1;
		whole.map = make_linear_map(segment.range, Row::SORT_BINS);
		whole.lowest = segment.lowest;
		groups[group] = whole;
	}
	if (b == 0)
		plan->groups = total;
}

template<typename Row, bool Wide>
struct scatter_buckets_memory
{
	tile_memory<Row::SCATTER_THREADS, Row::template SCATTER_ITEMS<Wide>, BUCKETS_MAX, Wide> tile;
	uint64_t	lowest_key[BUCKETS_MAX];
	uint8_t		shift[BUCKETS_MAX];
};

/* Keys to items, bucket after bucket.  Grid: any; each block takes tiles in turn. */
template<typename Key, typename Row, bool Wide>
static __global__ void
__launch_bounds__(Row::SCATTER_THREADS, Row::SCATTER_BLOCKS)
partition_scatter_buckets_kernel(key_view<Key> keys, uint32_t n, partition_plan *plan, const uint8_t *bucket_of_row,
								 item_arrays<Wide> out)
{
	typedef scatter_buckets_memory<Row, Wide> memory;
	constexpr int THREADS = Row::SCATTER_THREADS;
	constexpr int ITEMS = Row::template SCATTER_ITEMS<Wide>;
	constexpr uint32_t TILE = THREADS * ITEMS;

	SHARED_MEMORY(raw);
	memory	   &shared = *(memory *) raw;
	uint32_t	row_bits = plan->row_bits;
	uint32_t	tile = blockIdx.x * TILE;

	if (plan->handed_over || plan->wide != (Wide ? 1u : 0u))
		return;
	for (uint32_t b = threadIdx.x; b < BUCKETS_MAX; b += THREADS)
	{
		shared.lowest_key[b] = plan->lowest_key[b];
		shared.shift[b] = (uint8_t) plan->shift[b];
	}
	for (; tile < n; tile += gridDim.x * TILE)
	{
		uint32_t	count = n - tile < TILE ? n - tile : TILE;
		item<Wide>	x[ITEMS];
		uint32_t	places[ITEMS];

#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			uint32_t	row = tile + i * THREADS + threadIdx.x;

			if (row < n)
			{
				x[i].first = keys[row];
				places[i] = bucket_of_row[row];
			}
		}
		clear_bins(shared.tile);
		__syncthreads();
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			uint32_t	at = i * THREADS + threadIdx.x;
			uint32_t	row = tile + at;
			uint32_t	bucket = at < count ? places[i] : 0;
			uint32_t	rank = count_into(shared.tile.begin, bucket, at < count);

			places[i] = at < count ? bucket << 16 | rank : NO_BIN;
			if (Wide)
				x[i].second = row;
			else
				x[i].first = (x[i].first - shared.lowest_key[bucket]) >> shared.shift[bucket] << row_bits | row;
		}
		__syncthreads();
		place_bins(shared.tile, plan->next);
		__syncthreads();
		reorder_tile(shared.tile, x, places);
		__syncthreads();
		write_tile(shared.tile, count, out);
	}
}

/* --- level 2 ------------------------------------------------------------------------ */

template<typename Row, bool Wide>
struct cell_memory
{
	uint64_t	splitters[Row::CELLS];
	uint32_t	splitter_rows[Wide ? Row::CELLS : 4];
	uint32_t	table[Row::CELLS];
};

/* The segment of a chunk; the whole block calls.  found is in shared memory. */
template<int Threads>
SORT_DEVICE const sort_segment *
find_segment(const partition_plan *plan, uint32_t chunk, uint32_t *found)
{
	for (uint32_t s = threadIdx.x; s < BUCKETS_MAX; s += Threads)
	{
		if (plan->first_chunk[s] <= chunk && chunk < plan->first_chunk[s + 1])
			*found = s;
	}
	__syncthreads();
	return &plan->segments[*found];
}

template<int Threads, typename Row, bool Wide>
SORT_DEVICE void
load_cells(cell_memory<Row, Wide> &shared, const level2_arrays &level2, uint32_t s)
{
	for (uint32_t c = threadIdx.x; c < Row::CELLS; c += Threads)
	{
		shared.splitters[c] = level2.splitters[s * Row::CELLS + c];
		if (Wide)
			shared.splitter_rows[c] = level2.splitter_rows[s * Row::CELLS + c];
		shared.table[c] = level2.table[s * Row::CELLS + c];
	}
}

/* What each thread keeps of a segment to find cells. */
template<bool Wide>
struct cell_finder
{
	uint64_t	lowest;
	uint64_t	range;
	uint64_t	mask;
	linear_map	map;
	bool		by_row;
	bool		by_splitters;

	__device__ __forceinline__ uint32_t find_by_map(item<Wide> x) const
	{
		return linear_part(map, item_coordinate<Wide>(x, mask, by_row) - lowest);
	}

	template<typename Row>
	__device__ __forceinline__ uint32_t find_by_splitters(const cell_memory<Row, Wide> &shared, item<Wide> x) const
	{
		uint64_t	coordinate = item_coordinate<Wide>(x, mask, by_row);
		uint32_t	entry = shared.table[clamped_part(map, lowest, range, coordinate)];

		return search_splitters(shared.splitters, Wide ? shared.splitter_rows : NULL, entry & 0xffff, entry >> 16,
								coordinate, x.second);
	}
};

template<bool Wide>
SORT_DEVICE cell_finder<Wide>
make_cell_finder(const sort_segment *segment, uint32_t row_bits)
{
	cell_finder<Wide> finder;

	finder.lowest = segment->map_lowest;
	finder.range = segment->map_range;
	finder.mask = segment->flags & GROUP_SHORTENED ? ~0ull << row_bits : ~0ull;
	finder.map = segment->map;
	finder.by_row = (segment->flags & GROUP_BY_ROW) != 0;
	finder.by_splitters = segment->by_splitters != 0;
	return finder;
}

template<typename Row, bool Wide>
struct count_cells_memory
{
	cell_memory<Row, Wide> cells;
	uint32_t	counts[Row::CELLS];
	uint32_t	found;
};

template<typename Row, bool Wide>
SORT_DEVICE void
count_chunk(unsigned char *raw, item_arrays<Wide> level1, const partition_plan *plan, level2_arrays level2,
			uint32_t chunk)
{
	typedef count_cells_memory<Row, Wide> memory;

	memory	   &shared = *(memory *) raw;
	const sort_segment *segment;
	cell_finder<Wide> finder;
	uint32_t	begin;
	uint32_t	count;
	uint16_t   *cell_of_item;

	segment = find_segment<HISTOGRAM_THREADS>(plan, blockIdx.x, &shared.found);
	finder = make_cell_finder<Wide>(segment, plan->row_bits);
	begin = (blockIdx.x - segment->first_chunk) * chunk;
	count = segment->count - begin < chunk ? segment->count - begin : chunk;
	level1 = level1.from(segment->begin + begin);
	cell_of_item = level2.cell_of_item + segment->begin + begin;
	if (finder.by_splitters)
		load_cells<HISTOGRAM_THREADS, Row, Wide>(shared.cells, level2, shared.found);
	for (uint32_t c = threadIdx.x; c < Row::CELLS; c += HISTOGRAM_THREADS)
		shared.counts[c] = 0;
	__syncthreads();
	for (uint32_t tile = 0; tile < count; tile += HISTOGRAM_THREADS * HISTOGRAM_ITEMS)
	{
		item<Wide>	x[HISTOGRAM_ITEMS];

#pragma unroll
		for (int i = 0; i < HISTOGRAM_ITEMS; i++)
		{
			uint32_t	at = tile + i * HISTOGRAM_THREADS + threadIdx.x;

			if (at < count)
				x[i] = level1.get(at);
		}
#pragma unroll
		for (int i = 0; i < HISTOGRAM_ITEMS; i++)
		{
			uint32_t	at = tile + i * HISTOGRAM_THREADS + threadIdx.x;
			uint32_t	cell = 0;

			if (at < count && !finder.by_splitters)
				cell = finder.find_by_map(x[i]);
			else if (at < count)
			{
				cell = finder.template find_by_splitters<Row>(shared.cells, x[i]);
				cell_of_item[at] = (uint16_t) cell;
			}
			count_into(shared.counts, cell, at < count);
		}
	}
	__syncthreads();
	for (uint32_t c = threadIdx.x; c < Row::CELLS; c += HISTOGRAM_THREADS)
	{
		if (shared.counts[c] > 0)
			atomicAdd(&level2.counts[shared.found * Row::CELLS + c], shared.counts[c]);
	}
}

/*
 * Items of each cell; where splitters divide, also the cell of each item, as the search costs
 * more than to write and read it.  Grid: a block for each chunk there can be.
 */
template<typename Row, bool MayBeWide>
static __global__ void
__launch_bounds__(HISTOGRAM_THREADS, 2)
partition_count_cells_kernel(item_arrays<true> level1, const partition_plan *plan, level2_arrays level2,
							 uint32_t chunk)
{
	SHARED_MEMORY(raw);
	if (blockIdx.x >= plan->chunks)
		return;
	if constexpr (MayBeWide)
	{
		if (plan->wide)
		{
			count_chunk<Row, true>(raw, level1, plan, level2, chunk);
			return;
		}
	}
	count_chunk<Row, false>(raw, narrow_items(level1), plan, level2, chunk);
}

template<typename Row>
struct plan_bins_memory
{
	uint32_t	before[Row::CELLS + 1]; /* items before each cell */
	uint16_t	following[Row::CELLS];	/* where a bin that begins at the cell ends */
	uint16_t	first_cell[Row::BINS + 1];
	uint32_t	bins;
	uint32_t	warp_sums[WARP_THREADS];
};

/* The cell behind the last that still fits a tile together with those from cell on. */
template<typename Row>
SORT_DEVICE uint32_t
end_of_bin(const uint32_t *before, uint32_t cell)
{
	return partition_point(cell + 2, Row::CELLS + 1, [&](uint32_t end) {
		return before[end] - before[cell] <= Row::SORT_TILE;
	}) - 1;
}

/* The least coordinate of a cell (the row, where the keys before and behind it are equal). */
template<typename Row>
SORT_DEVICE uint64_t
cell_lowest(const sort_segment *segment, const level2_arrays &level2, uint32_t s, uint32_t cell)
{
	if (cell == 0)
		return segment->lowest;
	if (segment->by_splitters)
		return level2.splitters[s * Row::CELLS + cell - 1];
	return segment->lowest +
		((((uint64_t) cell << 32) + segment->map.factor - 1) / segment->map.factor << segment->map.shift);
}

/* The group of cells [cell, end): bounds as narrow as the cells allow. */
template<typename Row, bool Wide>
SORT_DEVICE sort_group
describe_group(const sort_segment *segment, const level2_arrays &level2, uint32_t s, uint32_t cell, uint32_t end)
{
	sort_group	group;
	uint64_t	segment_end = segment->lowest + segment->range;
	uint64_t	highest = end < Row::CELLS ? cell_lowest<Row>(segment, level2, s, end) : segment_end;

	group.flags = segment->flags;
	group.lowest = cell_lowest<Row>(segment, level2, s, cell);
	if (Wide && segment->by_splitters && !(segment->flags & GROUP_BY_ROW) && group.lowest == highest)
	{
		group.flags |= GROUP_BY_ROW;
		group.lowest = cell > 0 ? level2.splitter_rows[s * Row::CELLS + cell - 1] : 0;
		highest = end < Row::CELLS ? level2.splitter_rows[s * Row::CELLS + end - 1] : GSORT_RUN_ROWS_MAX;
	}
	if (highest > segment_end && !(group.flags & GROUP_BY_ROW))
		highest = segment_end;
	group.map = make_linear_map(highest - group.lowest, Row::SORT_BINS);
	return group;
}

/*
 * Joins neighbouring cells to bins that a tile holds, places the bins and lists them
 * as groups.  A cell that no tile holds becomes a range for cooperative merging.
 * Grid: BUCKETS_MAX, a block for each segment.
 */
template<typename Row, bool MayBeWide>
static __global__ void
__launch_bounds__(SEGMENT_THREADS)
partition_plan_bins_kernel(partition_plan *plan, level2_arrays level2, sort_group *groups, merge_range *ranges)
{
	typedef plan_bins_memory<Row> memory;
	constexpr int PER_THREAD = Row::CELLS / SEGMENT_THREADS;

	SHARED_MEMORY(raw);
	memory	   &shared = *(memory *) raw;
	uint32_t	s = blockIdx.x;
	const sort_segment *segment = &plan->segments[s];
	const uint32_t *counts = level2.counts + s * Row::CELLS + threadIdx.x * PER_THREAD;
	uint32_t	sum = 0;
	uint32_t	before;

	if (segment->count <= Row::SORT_TILE)
		return;
	for (int i = 0; i < PER_THREAD; i++)
		sum += counts[i];
	before = block_exclusive_sum<SEGMENT_THREADS>(sum, shared.warp_sums, NULL);
	for (int i = 0; i < PER_THREAD; i++)
	{
		shared.before[threadIdx.x * PER_THREAD + i] = before;
		before += counts[i];
	}
	if (threadIdx.x == 0)
		shared.before[Row::CELLS] = segment->count;
	__syncthreads();
	for (uint32_t c = threadIdx.x; c < Row::CELLS; c += SEGMENT_THREADS)
		shared.following[c] = (uint16_t) end_of_bin<Row>(shared.before, c);
	__syncthreads();
	if (threadIdx.x == 0)
	{
		uint32_t	bins = 0;

		for (uint32_t c = 0; c < Row::CELLS && bins < Row::BINS; c = shared.following[c])
			shared.first_cell[bins++] = (uint16_t) c;
		shared.first_cell[bins] = Row::CELLS;
		shared.bins = bins;
	}
	__syncthreads();
	for (uint32_t bin = threadIdx.x; bin < shared.bins; bin += SEGMENT_THREADS)
	{
		uint32_t	cell = shared.first_cell[bin];
		uint32_t	end = shared.first_cell[bin + 1];
		uint32_t	begin = segment->begin + shared.before[cell];
		uint32_t	count = shared.before[end] - shared.before[cell];

		level2.next[s * Row::BINS + bin] = begin;
		if (count > Row::SORT_TILE)
		{
			merge_range range = {begin, count, segment->flags & GROUP_SHORTENED, 0};

			ranges[atomicAdd(&plan->ranges, 1u)] = range;
		}
		else if (count > 0)
		{
			sort_group	group = MayBeWide && plan->wide ? describe_group<Row, true>(segment, level2, s, cell, end) :
				describe_group<Row, false>(segment, level2, s, cell, end);

			group.begin = begin;
			group.count = count;
			groups[atomicAdd(&plan->groups, 1u)] = group;
		}
	}
	for (uint32_t c = threadIdx.x; c < Row::CELLS; c += SEGMENT_THREADS)
	{
		uint32_t	bin = partition_point(1, shared.bins, [&](uint32_t b) { return shared.first_cell[b] <= c; }) - 1;

		level2.bin_of_cell[s * Row::CELLS + c] = (uint16_t) bin;
	}
}

template<typename Row, bool Wide>
struct scatter_bins_memory
{
	tile_memory<Row::SCATTER_THREADS, Row::template SCATTER_ITEMS<Wide>, Row::BINS, Wide> tile;
	uint16_t	bin_of_cell[Row::CELLS];
	uint32_t	found;
};

/* Items of a bucket to its bins.  Grid: a block for each chunk there can be. */
template<typename Row, bool Wide>
static __global__ void
__launch_bounds__(Row::SCATTER_THREADS, Row::SCATTER_BLOCKS)
partition_scatter_bins_kernel(item_arrays<Wide> level1, const partition_plan *plan, level2_arrays level2,
							  uint32_t chunk, item_arrays<Wide> out)
{
	typedef scatter_bins_memory<Row, Wide> memory;
	constexpr int THREADS = Row::SCATTER_THREADS;
	constexpr int ITEMS = Row::template SCATTER_ITEMS<Wide>;

	SHARED_MEMORY(raw);
	memory	   &shared = *(memory *) raw;
	const sort_segment *segment;
	cell_finder<Wide> finder;
	const uint16_t *cell_of_item;
	uint32_t	begin;
	uint32_t	count;
	uint32_t   *next;

	if (plan->wide != (Wide ? 1u : 0u) || blockIdx.x >= plan->chunks)
		return;
	segment = find_segment<THREADS>(plan, blockIdx.x, &shared.found);
	finder = make_cell_finder<Wide>(segment, plan->row_bits);
	begin = (blockIdx.x - segment->first_chunk) * chunk;
	count = segment->count - begin < chunk ? segment->count - begin : chunk;
	level1 = level1.from(segment->begin + begin);
	cell_of_item = level2.cell_of_item + segment->begin + begin;
	next = level2.next + shared.found * Row::BINS;
	for (uint32_t c = threadIdx.x; c < Row::CELLS; c += THREADS)
		shared.bin_of_cell[c] = level2.bin_of_cell[shared.found * Row::CELLS + c];
	for (uint32_t tile = 0; tile < count; tile += THREADS * ITEMS)
	{
		item<Wide>	x[ITEMS];
		uint32_t	places[ITEMS];

#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			uint32_t	at = tile + i * THREADS + threadIdx.x;

			if (at < count)
			{
				x[i] = level1.get(at);
				if (finder.by_splitters)
					places[i] = cell_of_item[at];
			}
		}
		clear_bins(shared.tile);
		__syncthreads();
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			bool		valid = tile + i * THREADS + threadIdx.x < count;
			uint32_t	bin = valid ? shared.bin_of_cell[finder.by_splitters ? places[i] : finder.find_by_map(x[i])] : 0;
			uint32_t	rank = count_into(shared.tile.begin, bin, valid);

			places[i] = valid ? bin << 16 | rank : NO_BIN;
		}
		__syncthreads();
		place_bins(shared.tile, next);
		__syncthreads();
		reorder_tile(shared.tile, x, places);
		__syncthreads();
		write_tile(shared.tile, count - tile < THREADS * ITEMS ? count - tile : THREADS * ITEMS, out);
	}
}

#endif							/* GSORT_PARTITION_CUH */
