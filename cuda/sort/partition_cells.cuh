/*
 * partition_cells.cuh
 *	  The first half of level 2 of the partition: divides each bucket into cells
 *	  and counts their items.
 *
 * In:  the level 1 array; the buckets' plans.
 * Out: for each divided bucket, the lookup of an item's cell: a linear map, or
 *	    sorted splitters with a table that narrows their search; the item
 *	    count of each cell, unless the bucket's bins have a tile's room each.
 *
 * A linear map separates even items.  If a sample shows uneven items, sorted
 * splitters from that sample divide the bucket.  Splitters are (coordinate,
 * row), so that equal keys are divided too.
 */
#ifndef GSORT_PARTITION_CELLS_CUH
#define GSORT_PARTITION_CELLS_CUH

#include "sort/partition_buckets.cuh"
#include "sort/tile_sort.cuh"

#define CUT_THREADS			512		/* block size, one block per bucket */
#define SAMPLES_A_CELL		2

/* A cell with more samples is uneven. */
#define EVEN_SAMPLES_MAX	14

/* A bucket is even if the chi-square of its sample, over this many parts of its
 * range, stays below the limit.  By chance, one of 80,000 even buckets exceeds
 * it. */
#define EVEN_PARTS			16
#define EVEN_CHI_SQUARE		50
/* Additional resolution of the map to parts, because maps to few parts make
 * them unequal. */
#define PART_FINENESS		12

/* --- cutting -------------------------------------------------------------- */

/* Arrays of level 2 per bucket, of BUCKETS_MAX times the row's CELLS or BINS,
 * except for the last. */
struct level2_arrays
{
	uint32_t   *counts;			/* [cells] item counts */
	uint16_t   *bin_of_cell;	/* [cells] */
	uint32_t   *next;			/* [bins] place of the next item of the bin */
	uint64_t   *splitters;		/* [cells], sorted; the last one is unused */
	uint32_t   *splitter_rows;	/* [cells], wide only */
	uint32_t   *table;			/* [cells] first cell, and last cell << 16 */
	uint16_t   *cell_of_item;	/* [items] for buckets with splitters */
};

template<typename Row, bool Wide>
struct cut_memory
{
	static constexpr int SAMPLES = SAMPLES_A_CELL * Row::CELLS;

	uint64_t	first[SAMPLES];
	uint32_t	second[Wide ? SAMPLES : 4];
	uint32_t	counts[Row::CELLS];
	uint32_t	in_part[EVEN_PARTS];
	uint32_t	warp_sums[WARP_THREADS];
};

/* Divides the bucket at quantiles of its sorted sample, and makes a table that
 * narrows the search. */
template<typename Row, bool Wide>
SORT_DEVICE void
cut_by_splitters(cut_memory<Row, Wide> &shared, bucket_plan *bucket, level2_arrays level2,
				 uint32_t b)
{
	typedef cut_memory<Row, Wide> memory;
	item_arrays<Wide> sample = {shared.first, shared.second};
	uint64_t	lowest;
	uint64_t	range;
	linear_map	map;

	/* by coordinate, then by row, as items in level 2 that are not shortened */
	merge_sort_tile<CUT_THREADS, memory::SAMPLES / CUT_THREADS, Wide>(sample, memory::SAMPLES,
																	  item_order<Wide>{});
	lowest = shared.first[0];
	range = shared.first[memory::SAMPLES - 1] - lowest;
	map = make_linear_map(range, Row::CELLS);
	for (uint32_t c = threadIdx.x; c < Row::CELLS; c += CUT_THREADS)
		shared.counts[c] = 0;
	__syncthreads();
	for (uint32_t c = threadIdx.x; c < Row::CELLS; c += CUT_THREADS)
	{
		bool		last = c + 1 == Row::CELLS;
		uint32_t	at = last ? memory::SAMPLES - 1 : (c + 1) * SAMPLES_A_CELL;

		level2.splitters[b * Row::CELLS + c] = shared.first[at];
		if (Wide)
			level2.splitter_rows[b * Row::CELLS + c] = shared.second[at];
		if (!last)
			atomicAdd(&shared.counts[linear_part(map, shared.first[at] - lowest)], 1u);
	}
	__syncthreads();
	make_search_table<CUT_THREADS, Row::CELLS>(shared.counts, shared.warp_sums,
											   level2.table + b * Row::CELLS);
	if (threadIdx.x == 0)
	{
		bucket->by_splitters = 1;
		bucket->map = map;
		bucket->map_lowest = lowest;
		bucket->map_range = range;
	}
}

/* The map from a cell of even bins to its bin. */
template<typename Row>
static inline GSORT_HD linear_map
map_to_even_bins(uint32_t bins)
{
	return {0xffffffffu / (Row::CELLS / bins) + 1, 0};
}

template<typename Row>
SORT_DEVICE void
place_uncounted_bins(bucket_plan *bucket, level2_arrays level2, uint32_t b)
{
	for (uint32_t bin = threadIdx.x; bin < bucket->even_bins; bin += CUT_THREADS)
		level2.next[b * Row::BINS + bin] = bucket->level2_begin + bin * Row::SORT_TILE;
	if (threadIdx.x == 0)
		bucket->cell_to_bin = map_to_even_bins<Row>(bucket->even_bins);
}

/* True if the samples are as even over the parts of the bucket as chance
 * allows. */
template<typename Row, bool Wide>
SORT_DEVICE bool
is_sample_even(const cut_memory<Row, Wide> &shared)
{
	constexpr int expected = cut_memory<Row, Wide>::SAMPLES / EVEN_PARTS;
	uint32_t	squares = 0;

	for (uint32_t p = 0; p < EVEN_PARTS; p++)
	{
		int			more = (int) shared.in_part[p] - expected;

		squares += (uint32_t) (more * more);
	}
	return squares <= EVEN_CHI_SQUARE * expected;
}

/* Samples the bucket's items and chooses its division: by its linear map, by
 * splitters where the map crowds, or into uncounted bins if the sample is
 * even. */
template<typename Row, bool Wide>
SORT_DEVICE void
cut_bucket(unsigned char *raw, item_arrays<Wide> level1, uint32_t salt, partition_plan *plan,
		   level2_arrays level2)
{
	typedef cut_memory<Row, Wide> memory;

	memory	   &shared = *(memory *) raw;
	bucket_plan *bucket = &plan->bucket_plans[blockIdx.x];
	uint32_t	count = bucket->count;
	bool		may_be_uncounted;
	linear_map	parts;
	bool		crowded = false;

	/* the plan of an empty bucket has no other valid field */
	if (count <= Row::SORT_TILE)
		return;
	may_be_uncounted = bucket->tile_a_bin != 0;
	parts = make_linear_map(bucket->range, EVEN_PARTS << PART_FINENESS);
	for (uint32_t c = threadIdx.x; c < Row::CELLS; c += CUT_THREADS)
	{
		level2.counts[blockIdx.x * Row::CELLS + c] = 0;
		shared.counts[c] = 0;
	}
	if (threadIdx.x < EVEN_PARTS)
		shared.in_part[threadIdx.x] = 0;
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < memory::SAMPLES; i += CUT_THREADS)
	{
		uint64_t	mask = bucket->flags & ITEMS_SHORTENED ? ~0ull << plan->splitters.row_bits :
			~0ull;
		item<Wide>	x = level1.get(bucket->level1_begin +
								   sample_position(i, memory::SAMPLES, count, salt));
		uint64_t	coordinate = item_coordinate<Wide>(x, mask,
													   (bucket->flags & ITEMS_BY_ROW) != 0);

		shared.first[i] = coordinate;
		if (Wide)
			shared.second[i] = x.second;
		if (atomicAdd(&shared.counts[linear_part(bucket->map, coordinate - bucket->lowest)],
					  1u) >= EVEN_SAMPLES_MAX)
			crowded = true;
		if (may_be_uncounted)
			atomicAdd(&shared.in_part[linear_part(parts, coordinate - bucket->lowest) >>
									  PART_FINENESS], 1u);
	}
	if (__syncthreads_or(crowded))
		cut_by_splitters<Row, Wide>(shared, bucket, level2, blockIdx.x);
	else if (may_be_uncounted && is_sample_even(shared))
	{
		place_uncounted_bins<Row>(bucket, level2, blockIdx.x);
		return;
	}
	if (threadIdx.x == 0)
	{
		bucket->tile_a_bin = 0;
		plan->any_counted = 1;
	}
}

/*
 * Samples a bucket to determine whether its items are even in the cells of a
 * linear map.  If not, splitters from the sorted sample divide it.  Grid:
 * BUCKETS_MAX, a block of CUT_THREADS for each bucket; shared: cut_memory.
 */
template<typename Row, bool MayBeWide>
static __global__ void
__launch_bounds__(CUT_THREADS, BLOCKS_UNLESS_MEASURED(0, 1))
partition_cells_kernel(item_arrays<true> level1, uint32_t salt, partition_plan *plan,
					   level2_arrays level2)
{
	await_kernel_ahead();
	SHARED_MEMORY(raw);
	for_items_of_plan<MayBeWide>(plan, [&](auto wide) {
		cut_bucket<Row, wide.value>(raw, items_as<wide.value>(level1), salt, plan, level2);
	});
}

/* --- the cell of an item -------------------------------------------------- */

template<typename Row, bool Wide>
struct cell_memory
{
	uint64_t	splitters[Row::CELLS];
	uint32_t	splitter_rows[Wide ? Row::CELLS : 4];
	uint32_t	table[Row::CELLS];
};

/* The bucket of a batch; the whole block calls. found is in shared memory. */
template<int Threads>
SORT_DEVICE const bucket_plan *
bucket_of_batch(const partition_plan *plan, uint32_t batch, uint32_t *found)
{
	for (uint32_t b = threadIdx.x; b < BUCKETS_MAX; b += Threads)
	{
		if (plan->first_batch[b] <= batch && batch < plan->first_batch[b + 1])
			*found = b;
	}
	__syncthreads();
	return &plan->bucket_plans[*found];
}

template<int Threads, typename Row, bool Wide>
SORT_DEVICE void
load_cells(cell_memory<Row, Wide> &shared, const level2_arrays &level2, uint32_t b)
{
	for (uint32_t c = threadIdx.x; c < Row::CELLS; c += Threads)
	{
		shared.splitters[c] = level2.splitters[b * Row::CELLS + c];
		if (Wide)
			shared.splitter_rows[c] = level2.splitter_rows[b * Row::CELLS + c];
		shared.table[c] = level2.table[b * Row::CELLS + c];
	}
}

/* A thread's data of a bucket for the lookup of cells. */
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
	__device__ __forceinline__ uint32_t find_by_splitters(const cell_memory<Row, Wide> &shared,
														  item<Wide> x) const
	{
		uint64_t	coordinate = item_coordinate<Wide>(x, mask, by_row);
		uint32_t	entry = shared.table[clamped_part(map, lowest, range, coordinate)];

		return search_splitters(shared.splitters, Wide ? shared.splitter_rows : NULL,
								entry & 0xffff, entry >> 16, coordinate, x.second);
	}
};

template<bool Wide>
SORT_DEVICE cell_finder<Wide>
make_cell_finder(const bucket_plan *bucket, uint32_t row_bits)
{
	cell_finder<Wide> finder;

	finder.lowest = bucket->map_lowest;
	finder.range = bucket->map_range;
	finder.mask = bucket->flags & ITEMS_SHORTENED ? ~0ull << row_bits : ~0ull;
	finder.map = bucket->map;
	finder.by_row = (bucket->flags & ITEMS_BY_ROW) != 0;
	finder.by_splitters = bucket->by_splitters != 0;
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
count_batch(unsigned char *raw, item_arrays<Wide> level1, const partition_plan *plan,
			level2_arrays level2, uint32_t batch)
{
	typedef count_cells_memory<Row, Wide> memory;
	constexpr uint32_t TILE = HISTOGRAM_THREADS * HISTOGRAM_ITEMS;

	memory	   &shared = *(memory *) raw;
	item<Wide>	x[HISTOGRAM_ITEMS];
	const bucket_plan *bucket;
	cell_finder<Wide> finder;
	uint32_t	begin;
	uint32_t	count;
	uint16_t   *cell_of_item;

	bucket = bucket_of_batch<HISTOGRAM_THREADS>(plan, blockIdx.x, &shared.found);
	finder = make_cell_finder<Wide>(bucket, plan->splitters.row_bits);
	begin = (blockIdx.x - bucket->first_batch) * batch;
	count = bucket->count - begin < batch ? bucket->count - begin : batch;
	level1 = level1.from(bucket->level1_begin + begin);
	cell_of_item = level2.cell_of_item + bucket->begin + begin;
	/* behind the other reads of the plan, so that all are in flight together */
	if (!is_counted(bucket))
		return;
	if (finder.by_splitters)
		load_cells<HISTOGRAM_THREADS, Row, Wide>(shared.cells, level2, shared.found);
	for (uint32_t c = threadIdx.x; c < Row::CELLS; c += HISTOGRAM_THREADS)
		shared.counts[c] = 0;
	__syncthreads();
#pragma unroll
	for (int i = 0; i < HISTOGRAM_ITEMS; i++)
	{
		uint32_t	at = i * HISTOGRAM_THREADS + threadIdx.x;

		if (at < count)
			x[i] = level1.get(at);
	}
	for (uint32_t tile = 0; tile < count; tile += TILE)
	{
#pragma unroll
		for (int i = 0; i < HISTOGRAM_ITEMS; i++)
		{
			uint32_t	at = tile + i * HISTOGRAM_THREADS + threadIdx.x;
			item<Wide>	mine = x[i];
			uint32_t	cell;

			/* prefetches the next tile while this tile's items are counted */
			if (at + TILE < count)
				x[i] = level1.get(at + TILE);
			if (at >= count)
				continue;
			if (finder.by_splitters)
			{
				cell = finder.template find_by_splitters<Row>(shared.cells, mine);
				cell_of_item[at] = (uint16_t) cell;
			}
			else
				cell = finder.find_by_map(mine);
			atomicAdd(&shared.counts[cell], 1u);
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
 * Counts the items in each cell of the counted buckets.  With splitters, also
 * stores the cell of each item, because its search costs more than writing and
 * reading it.  Grid: a block of HISTOGRAM_THREADS for each possible batch;
 * shared: count_cells_memory.
 */
template<typename Row, bool MayBeWide>
static __global__ void
__launch_bounds__(HISTOGRAM_THREADS, (blocks_that_fit<count_cells_memory<Row,
	MayBeWide>>(BLOCKS_UNLESS_MEASURED(3, 2))))
partition_count_cells_kernel(item_arrays<true> level1, const partition_plan *plan,
							 level2_arrays level2, uint32_t batch)
{
	await_kernel_ahead();
	SHARED_MEMORY(raw);
	uint32_t	batches = plan->batches;
	uint32_t	any_counted = plan->any_counted;

	if (blockIdx.x >= batches || !any_counted)
		return;
	for_items_of_plan<MayBeWide>(plan, [&](auto wide) {
		count_batch<Row, wide.value>(raw, items_as<wide.value>(level1), plan, level2, batch);
	});
}

#endif							/* GSORT_PARTITION_CELLS_CUH */
