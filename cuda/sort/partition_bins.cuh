/*
 * partition_bins.cuh
 *	  The second half of level 2 of the partition: joins cells to bins, and
 *	  scatters items to the bins.
 *
 * In:  the level 1 array; the item counts of the cells.
 * Out: the level 2 array, bin after bin, with gaps behind bins that have spare
 *	    room; a segment for each bin, a long one for each that exceeds a tile.
 *
 * Cells are finer than a tile, so that joined neighbours fill tiles well.
 *
 * With even keys, bins need no counts: each has the room of a tile and is
 * normally filled to less.  Items are scattered before they are counted, and a
 * bucket with an overflowing bin is counted and scattered again, because its
 * items are still in level 1.
 */
#ifndef GSORT_PARTITION_BINS_CUH
#define GSORT_PARTITION_BINS_CUH

#include "gsort.h"
#include "sort/partition_cells.cuh"

template<typename Row>
struct plan_bins_memory
{
	uint32_t	before[Row::CELLS + 1]; /* items before each cell */
	uint16_t	following[Row::CELLS];	/* the end of a bin that begins at the cell */
	uint16_t	first_cell[Row::BINS + 1];
	uint32_t	bins;
	uint32_t	warp_sums[WARP_THREADS];
};

/* The end of the longest range of cells from cell on that fits a tile. */
template<typename Row>
SORT_DEVICE uint32_t
end_of_bin(const uint32_t *before, uint32_t cell)
{
	return partition_point(cell + 1, Row::CELLS, [&](uint32_t end) {
		return before[end + 1] - before[cell] <= Row::SORT_TILE;
	});
}

/* The least coordinate of a cell, or the row if the keys on both sides are
 * equal. */
template<typename Row>
SORT_DEVICE uint64_t
cell_lowest(const bucket_plan *bucket, const level2_arrays &level2, uint32_t b, uint32_t cell)
{
	if (cell == 0)
		return bucket->lowest;
	if (bucket->by_splitters)
		return level2.splitters[b * Row::CELLS + cell - 1];
	return bucket->lowest + lowest_of_part(bucket->map, cell);
}

/* The segment of cells [cell, end), with bounds as narrow as the cells
 * allow. */
template<typename Row, bool Wide>
SORT_DEVICE sort_segment
describe_segment(const bucket_plan *bucket, const level2_arrays &level2, uint32_t b, uint32_t cell,
				 uint32_t end)
{
	sort_segment segment;
	uint64_t	bucket_end = bucket->lowest + bucket->range;
	uint64_t	highest = end < Row::CELLS ? cell_lowest<Row>(bucket, level2, b, end) : bucket_end;

	segment.flags = bucket->flags;
	segment.lowest = cell_lowest<Row>(bucket, level2, b, cell);
	if (Wide && bucket->by_splitters && !(bucket->flags & ITEMS_BY_ROW) &&
		segment.lowest == highest)
	{
		segment.flags |= ITEMS_BY_ROW;
		segment.lowest = cell > 0 ? level2.splitter_rows[b * Row::CELLS + cell - 1] : 0;
		highest = end < Row::CELLS ? level2.splitter_rows[b * Row::CELLS + end - 1] :
			GSORT_RUN_ROWS_MAX;
	}
	if (highest > bucket_end && !(segment.flags & ITEMS_BY_ROW))
		highest = bucket_end;
	segment.map = make_linear_map(highest - segment.lowest, Row::SORT_BINS);
	return segment;
}

/* Counts the items before each cell of the bucket; requires a barrier
 * afterwards. */
template<typename Row>
SORT_DEVICE void
count_before_cells(plan_bins_memory<Row> &shared, const bucket_plan *bucket, const uint32_t *counts)
{
	constexpr int PER_THREAD = Row::CELLS / CUT_THREADS;
	uint32_t	sum = 0;
	uint32_t	before;

	counts += threadIdx.x * PER_THREAD;
	for (int i = 0; i < PER_THREAD; i++)
		sum += counts[i];
	before = block_exclusive_sum<CUT_THREADS>(sum, shared.warp_sums, NULL);
	for (int i = 0; i < PER_THREAD; i++)
	{
		shared.before[threadIdx.x * PER_THREAD + i] = before;
		before += counts[i];
	}
	if (threadIdx.x == 0)
		shared.before[Row::CELLS] = bucket->count;
}

/* Makes bins of equally many cells; false: one of them exceeds a tile.
 * Requires a barrier before and after. */
template<typename Row>
SORT_DEVICE bool
join_cells_evenly(plan_bins_memory<Row> &shared, const bucket_plan *bucket)
{
	uint32_t	bins = bucket->by_splitters ? 0 : bucket->even_bins;
	bool		full = false;

	if (bins == 0)
		return false;
	for (uint32_t bin = threadIdx.x; bin < bins; bin += CUT_THREADS)
	{
		uint32_t	cell = bin * (Row::CELLS / bins);
		uint32_t	end = bin + 1 < bins ? cell + Row::CELLS / bins : Row::CELLS;

		full |= shared.before[end] - shared.before[cell] > Row::SORT_TILE;
		shared.first_cell[bin] = (uint16_t) cell;
	}
	if (threadIdx.x == 0)
	{
		shared.first_cell[bins] = Row::CELLS;
		shared.bins = bins;
	}
	return !__syncthreads_or(full);
}

/* Makes bins of as many cells as a tile holds.  Requires a barrier before and
 * after. */
template<typename Row>
SORT_DEVICE void
join_cells_up_to_tile(plan_bins_memory<Row> &shared)
{
	for (uint32_t c = threadIdx.x; c < Row::CELLS; c += CUT_THREADS)
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
}

template<typename Row, bool MayBeWide>
SORT_DEVICE void
list_segments(const plan_bins_memory<Row> &shared, const bucket_plan *bucket, uint32_t b,
			  partition_plan *plan, const level2_arrays &level2, sort_segment *segments,
			  long_segment *long_segments)
{
	for (uint32_t bin = threadIdx.x; bin < shared.bins; bin += CUT_THREADS)
	{
		uint32_t	cell = shared.first_cell[bin];
		uint32_t	end = shared.first_cell[bin + 1];
		uint32_t	place = bucket->begin + shared.before[cell];
		uint32_t	begin = bucket->level2_begin +
			(is_counted(bucket) ? shared.before[cell] : bin * Row::SORT_TILE);
		uint32_t	count = shared.before[end] - shared.before[cell];

		level2.next[b * Row::BINS + bin] = begin;
		if (count > Row::SORT_TILE)
		{
			/* numbers the segment and its tiles together */
			unsigned long long listed = atomicAdd((unsigned long long *) &plan->listed.long_tiles,
												  1ull << 32 | (count + Row::SORT_TILE - 1) /
												  Row::SORT_TILE);

			long_segments[listed >> 32] = {begin, bucket->level1_begin + shared.before[cell], place,
				count, bucket->flags & ITEMS_SHORTENED, (uint32_t) listed};
		}
		else if (count > 0)
		{
			sort_segment segment = MayBeWide && plan->splitters.wide ?
				describe_segment<Row, true>(bucket, level2, b, cell, end) :
				describe_segment<Row, false>(bucket, level2, b, cell, end);

			segment.begin = begin;
			segment.place = place;
			segment.count = count;
			segments[atomicAdd(&plan->listed.segments, 1u)] = segment;
		}
	}
}

/* Takes the item counts of bins that have a tile's room as counts of their
 * first cells; requires a barrier afterwards. */
template<typename Row>
SORT_DEVICE void
count_filled_rooms(const bucket_plan *bucket, const level2_arrays &level2, uint32_t b)
{
	for (uint32_t bin = threadIdx.x; bin < bucket->even_bins; bin += CUT_THREADS)
		level2.counts[b * Row::CELLS + bin * (Row::CELLS / bucket->even_bins)] =
			level2.next[b * Row::BINS + bin] - (bucket->level2_begin + bin * Row::SORT_TILE);
}

/*
 * Joins neighbouring cells to bins that fit a tile, places the bins and lists
 * them as segments.  A cell that exceeds a tile becomes a long segment, for
 * cooperative merging.  If bins of equally many cells suffice, a multiplication
 * maps a cell to its bin, otherwise a table does.  Bins that are already
 * filled, each in a tile's room, are listed as they are.  Grid: BUCKETS_MAX, a
 * block of CUT_THREADS for each bucket; shared: plan_bins_memory.
 */
template<typename Row, bool MayBeWide>
static __global__ void
__launch_bounds__(CUT_THREADS)
partition_plan_bins_kernel(partition_plan *plan, level2_arrays level2, sort_segment *segments,
						   long_segment *long_segments)
{
	await_kernel_ahead();
	SHARED_MEMORY(raw);
	plan_bins_memory<Row> &shared = *(plan_bins_memory<Row> *) raw;
	uint32_t	b = blockIdx.x;
	bucket_plan *bucket = &plan->bucket_plans[b];

	if (bucket->count <= Row::SORT_TILE)
		return;
	if (!is_counted(bucket))
	{
		count_filled_rooms<Row>(bucket, level2, b);
		__syncthreads();
	}
	count_before_cells<Row>(shared, bucket, level2.counts + b * Row::CELLS);
	__syncthreads();
	if (join_cells_evenly<Row>(shared, bucket))
	{
		if (threadIdx.x == 0)
			bucket->cell_to_bin = map_to_even_bins<Row>(shared.bins);
	}
	else
	{
		if (threadIdx.x == 0)
			bucket->cell_to_bin = {0, 0};
		join_cells_up_to_tile<Row>(shared);
		__syncthreads();
		for (uint32_t c = threadIdx.x; c < Row::CELLS; c += CUT_THREADS)
			level2.bin_of_cell[b * Row::CELLS + c] = (uint16_t)
				partition_point(0, shared.bins - 1,
								[&](uint32_t i) { return shared.first_cell[i + 1] <= c; });
	}
	list_segments<Row, MayBeWide>(shared, bucket, b, plan, level2, segments, long_segments);
}

template<typename Row, bool Wide>
struct scatter_bins_memory
{
	tile_memory<Row::SCATTER_THREADS, Row::template SCATTER_ITEMS<Wide>, Row::BINS, Wide> tile;
	uint16_t	bin_of_cell[Row::CELLS];
	uint32_t	found;
	uint32_t	level2_begin;	/* the bucket's room, if each of its bins has a tile's room */
};

/* Items of level 1 with their cells, which map to bins. */
template<typename Row, bool Wide>
struct items_to_scatter
{
	typedef item<Wide> loaded;

	const scatter_bins_memory<Row, Wide> &shared;
	item_arrays<Wide> items;
	const uint16_t *cell_of_item;
	cell_finder<Wide> finder;
	linear_map	cell_to_bin;
	partition_plan *plan;
	bool		counted;

	__device__ __forceinline__ void load(uint32_t at, item<Wide> &x, uint32_t &cell) const
	{
		x = items.get(at);
		if (finder.by_splitters)
			cell = cell_of_item[at];
	}

	__device__ __forceinline__ uint32_t bin_of(const item<Wide> &x, uint32_t cell) const
	{
		if (!finder.by_splitters)
			cell = finder.find_by_map(x);
		return cell_to_bin.factor != 0 ? part_of_residue(cell_to_bin, cell) :
			shared.bin_of_cell[cell];
	}

	/* Items that overflow a bin may go anywhere in the bucket: the counted path
	 * rewrites the whole bucket. */
	__device__ __forceinline__ uint32_t take_places(uint32_t *next, uint32_t bin,
													uint32_t count) const
	{
		uint32_t	place = atomicAdd(&next[bin], count);

		if (!Wide && !counted && place + count > shared.level2_begin + (bin + 1) * Row::SORT_TILE)
		{
			plan->bucket_plans[shared.found].overflowed = 1;
			plan->any_counted = 1;
			place = shared.level2_begin;
		}
		return place;
	}

	__device__ __forceinline__ uint32_t tag_of_bin(uint32_t) const
	{
		return 0;
	}

	__device__ __forceinline__ item<Wide> finish(const item<Wide> &x, uint32_t, uint32_t) const
	{
		return x;
	}
};

/*
 * Scatters the items of a bucket to its bins, for the counted buckets or for
 * all others.  Grid: a block of SCATTER_THREADS for each possible batch;
 * shared: scatter_bins_memory.
 */
template<typename Row, bool Wide>
static __global__ void
__launch_bounds__(Row::SCATTER_THREADS, (blocks_that_fit<scatter_bins_memory<Row,
	Wide>>(Row::SCATTER_BLOCKS)))
partition_scatter_bins_kernel(item_arrays<Wide> level1, partition_plan *plan, level2_arrays level2,
							  uint32_t batch, bool counted, item_arrays<Wide> out)
{
	await_kernel_ahead();
	typedef scatter_bins_memory<Row, Wide> memory;
	constexpr int THREADS = Row::SCATTER_THREADS;

	SHARED_MEMORY(raw);
	memory	   &shared = *(memory *) raw;
	const bucket_plan *bucket;
	uint32_t	begin;
	uint32_t	count;
	uint32_t	batches = plan->batches;
	uint32_t	wide = plan->splitters.wide;
	uint32_t	any = Wide || counted ? plan->any_counted : plan->splitters.even;

	if (wide != (Wide ? 1u : 0u) || !any || blockIdx.x >= batches)
		return;
	bucket = bucket_of_batch<THREADS>(plan, blockIdx.x, &shared.found);
	begin = (blockIdx.x - bucket->first_batch) * batch;
	count = bucket->count - begin < batch ? bucket->count - begin : batch;
	/* loaded before any dependent use, so that all reads of the plan are in
	 * flight together */
	const items_to_scatter<Row, Wide> source =
		{shared, level1.from(bucket->level1_begin + begin),
		level2.cell_of_item + bucket->begin + begin,
		make_cell_finder<Wide>(bucket, plan->splitters.row_bits), bucket->cell_to_bin, plan,
		counted};
	uint32_t	level2_begin = bucket->level2_begin;

	/* depends only on data that stays constant during the scatter */
	if (Wide || counted ? !is_counted(bucket) : !bucket->tile_a_bin)
		return;
	if (!Wide && threadIdx.x == 0)
		shared.level2_begin = level2_begin;
	for (uint32_t c = threadIdx.x; c < Row::CELLS && bucket->cell_to_bin.factor == 0; c += THREADS)
		shared.bin_of_cell[c] = level2.bin_of_cell[shared.found * Row::CELLS + c];
	scatter_tiles(shared.tile, source, 0, count, THREADS * Row::template SCATTER_ITEMS<Wide>,
				  level2.next + shared.found * Row::BINS, out);
}

#endif							/* GSORT_PARTITION_BINS_CUH */
