/*
 * stage_partition.cuh
 *	  The second stage of the sort: turns keys into items, and divides these by
 *	  given splitters into segments that fit a tile.
 *
 * In:  the caller's keys; a plan with splitters from any source, the verdict on
 *	    the input, and all counters at 0.
 * Out: the items in two arrays; the unsorted segments of items, in sorted order
 *	    among each other; in the plan, their number.  If the verdict is that
 *	    another engine sorts: no segment.
 *
 *	  keys --count, plan, scatter--> level 1: buckets
 *	       --cells, count, plan, scatter--> level 2: bins
 *
 * and for even keys, with two passes less over the data,
 *
 *	  keys --rooms, scatter, plan--> level 1: buckets
 *	       --cells, scatter, plan--> level 2: bins
 *
 * Items of a bucket that fits a tile stay in level 1.  Kernels:
 * partition_rooms.cuh, partition_buckets.cuh, partition_cells.cuh,
 * partition_bins.cuh.  The splitters decide on the device whether items are
 * wide.  If they may be, the kernels of both kinds are enqueued, and one kind
 * ends at once.
 *
 * Host code: neither allocates nor reads back.
 */
#ifndef GSORT_STAGE_PARTITION_CUH
#define GSORT_STAGE_PARTITION_CUH

#include "sort/launch_plan.cuh"
#include "sort/partition_bins.cuh"

#define BATCHES_A_BLOCK		8	/* desired batches of level 2 per concurrent block */
#define BATCH_TILES_MAX		16

struct partition_input
{
	key_view	keys;			/* [n], in device memory */
	uint32_t	n;				/* at least 1 */
};

/* For n pairs; may_be_wide as for partition_keys. */
template<typename Row>
static level2_arrays
take_level2(scratch_cursor *cursor, uint64_t n, bool may_be_wide)
{
	level2_arrays level2;

	take(cursor, &level2.counts, BUCKETS_MAX * Row::CELLS);
	take(cursor, &level2.bin_of_cell, BUCKETS_MAX * Row::CELLS);
	take(cursor, &level2.next, BUCKETS_MAX * Row::BINS);
	take(cursor, &level2.splitters, BUCKETS_MAX * Row::CELLS);
	take(cursor, &level2.splitter_rows, may_be_wide ? BUCKETS_MAX * Row::CELLS : 0);
	take(cursor, &level2.table, BUCKETS_MAX * Row::CELLS);
	take(cursor, &level2.cell_of_item, n);
	return level2;
}

/* Batch size: short enough to keep all blocks busy, long enough to amortize the
 * tables that a batch loads. */
template<typename Row>
static uint32_t
batch_items(uint64_t n, const sort_device &device)
{
	uint64_t	wanted = (uint64_t) device.processors * Row::SCATTER_BLOCKS * BATCHES_A_BLOCK;
	uint64_t	tiles = n / (wanted * Row::SCATTER_TILE);

	return (uint32_t) (tiles < 1 ? 1 : tiles > BATCH_TILES_MAX ? BATCH_TILES_MAX : tiles) *
		Row::SCATTER_TILE;
}

template<typename Row, bool MayBeWide>
struct partition_launches
{
	static_assert(fits_row<Row, scatter_buckets_memory<Row, MayBeWide>, cut_memory<Row, MayBeWide>,
				  count_cells_memory<Row, MayBeWide>, plan_bins_memory<Row>,
				  scatter_bins_memory<Row, MayBeWide>>, "shared memory of the row");

	const partition_input &in;
	partition_plan *plan;
	const level2_arrays &level2;
	const segmented_items &out;
	const launch_target &target;
	uint32_t	batch;			/* items per batch of level 2 */

	uint32_t batches_max() const
	{
		return in.n / batch + BUCKETS_MAX;
	}

	/* One byte per row, until level 2 needs its array. */
	uint8_t *bucket_of_row() const
	{
		return (uint8_t *) out.level2.first;
	}

	template<typename Key>
	cudaError_t estimate_buckets() const
	{
		return launch(partition_estimate_kernel<Key>,
					  tiles_up_to(in.n, ESTIMATE_THREADS,
								  target.device.processors * GRID_BLOCKS_A_PROCESSOR),
					  ESTIMATE_THREADS, 0, target.stream, in.keys, in.n, target.salt, plan);
	}

	cudaError_t plan_rooms() const
	{
		CUDA_TRY(in.keys.key_bits == 32 ? estimate_buckets<uint32_t>() :
				 estimate_buckets<uint64_t>());
		return launch(partition_plan_rooms_kernel, 1, BUCKETS_MAX, 0, target.stream, plan, in.n);
	}

	template<typename Key>
	cudaError_t find_buckets() const
	{
		return launch(partition_count_buckets_kernel<Key>,
					  tiles_up_to(in.n, HISTOGRAM_THREADS * HISTOGRAM_ITEMS,
								  target.device.processors * GRID_BLOCKS_A_PROCESSOR),
					  HISTOGRAM_THREADS, sizeof(bucket_search_memory<Key>), target.stream, in.keys,
					  in.n, plan, bucket_of_row());
	}

	cudaError_t count_buckets() const
	{
		CUDA_TRY(in.keys.key_bits == 32 ? find_buckets<uint32_t>() : find_buckets<uint64_t>());
		return launch(partition_plan_buckets_kernel<Row>, 1, BUCKETS_MAX, 0, target.stream, plan,
					  out.segments, in.keys.mask, in.n, batch);
	}

	/* Items of 32-bit keys are never wide. */
	template<bool Wide, bool Counted>
	cudaError_t scatter_buckets() const
	{
		if constexpr (!Wide)
		{
			if (in.keys.key_bits == 32)
				return scatter_keys<Wide, uint32_t, Counted>();
		}
		return scatter_keys<Wide, uint64_t, Counted>();
	}

	template<bool Wide, typename Key, bool Counted>
	cudaError_t scatter_keys() const
	{
		return launch(partition_scatter_buckets_kernel<Row, Wide, Key, Counted>,
					  tiles_up_to(in.n, Row::SCATTER_TILE,
								  target.device.processors * Row::SCATTER_BLOCKS),
					  Row::SCATTER_THREADS, sizeof(scatter_buckets_memory<Row, Wide>),
					  target.stream, in.keys, in.n, plan, (const uint8_t *) bucket_of_row(),
					  items_as<Wide>(out.level1));
	}

	cudaError_t cut_buckets() const
	{
		return launch(partition_cells_kernel<Row, MayBeWide>, BUCKETS_MAX, CUT_THREADS,
					  sizeof(cut_memory<Row, MayBeWide>), target.stream, out.level1, target.salt,
					  plan, level2);
	}

	cudaError_t plan_bins() const
	{
		CUDA_TRY(launch(partition_count_cells_kernel<Row, MayBeWide>, batches_max(),
						HISTOGRAM_THREADS, sizeof(count_cells_memory<Row, MayBeWide>),
						target.stream, out.level1, (const partition_plan *) plan, level2, batch));
		return launch(partition_plan_bins_kernel<Row, MayBeWide>, BUCKETS_MAX, CUT_THREADS,
					  sizeof(plan_bins_memory<Row>), target.stream, plan, level2, out.segments,
					  out.long_segments);
	}

	template<bool Wide>
	cudaError_t scatter_bins(bool counted) const
	{
		return launch(partition_scatter_bins_kernel<Row, Wide>, batches_max(), Row::SCATTER_THREADS,
					  sizeof(scatter_bins_memory<Row, Wide>), target.stream,
					  items_as<Wide>(out.level1), plan, level2, batch, counted,
					  items_as<Wide>(out.level2));
	}
};

/* MayBeWide: false if the host knows that the items are narrow. */
template<typename Row, bool MayBeWide>
static cudaError_t
partition_keys(const partition_input &in, partition_plan *plan, const level2_arrays &level2,
			   const segmented_items &out, const launch_target &target)
{
	const partition_launches<Row, MayBeWide> launches =
		{in, plan, level2, out, target, batch_items<Row>(in.n, target.device)};
	const bool	rooms = may_have_rooms(in.n);

	/* wide items are always counted */
	if (rooms)
	{
		CUDA_TRY(launches.plan_rooms());
		CUDA_TRY((launches.template scatter_buckets<false, false>()));
	}
	CUDA_TRY(launches.count_buckets());
	CUDA_TRY((launches.template scatter_buckets<false, true>()));
	if constexpr (MayBeWide)
		CUDA_TRY((launches.template scatter_buckets<true, true>()));
	CUDA_TRY(launches.cut_buckets());
	if (rooms)
		CUDA_TRY(launches.template scatter_bins<false>(false));
	CUDA_TRY(launches.plan_bins());
	CUDA_TRY(launches.template scatter_bins<false>(true));
	if constexpr (MayBeWide)
		CUDA_TRY(launches.template scatter_bins<true>(true));
	return cudaSuccess;
}

#endif							/* GSORT_STAGE_PARTITION_CUH */
