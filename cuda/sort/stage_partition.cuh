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
 * Level 1 (partition_buckets.cuh) takes keys to buckets, level 2
 * (partition_cells.cuh, partition_bins.cuh) takes the items of buckets that
 * exceed a tile to bins.  The splitters decide on the device whether items are
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

	/* The number of blocks of a kernel that takes tiles of keys in turn. */
	uint32_t blocks_of(uint32_t tile, int a_processor) const
	{
		return tiles_up_to(in.n, tile, target.device.processors * a_processor);
	}

	bool has_short_keys() const
	{
		return in.keys.key_bits == 32;
	}

	cudaError_t plan_rooms() const
	{
		CUDA_TRY(launch(has_short_keys() ? partition_estimate_kernel<uint32_t> :
						partition_estimate_kernel<uint64_t>,
						blocks_of(ESTIMATE_THREADS, GRID_BLOCKS_A_PROCESSOR), ESTIMATE_THREADS, 0,
						target.stream, in.keys, in.n, target.salt, plan));
		return launch(partition_plan_rooms_kernel, 1, BUCKETS_MAX, 0, target.stream, plan, in.n);
	}

	cudaError_t count_buckets() const
	{
		CUDA_TRY(launch(has_short_keys() ? partition_count_buckets_kernel<uint32_t> :
						partition_count_buckets_kernel<uint64_t>,
						blocks_of(HISTOGRAM_THREADS * HISTOGRAM_ITEMS, GRID_BLOCKS_A_PROCESSOR),
						HISTOGRAM_THREADS, has_short_keys() ?
						sizeof(bucket_search_memory<uint32_t>) :
						sizeof(bucket_search_memory<uint64_t>), target.stream, in.keys, in.n, plan,
						bucket_of_row()));
		return launch(partition_plan_buckets_kernel<Row>, 1, BUCKETS_MAX, 0, target.stream, plan,
					  out.segments, in.keys.mask, in.n, batch);
	}

	template<bool Wide, bool Counted>
	cudaError_t scatter_buckets() const
	{
		auto		kernel = partition_scatter_buckets_kernel<Row, Wide, uint64_t, Counted>;

		/* items of short keys are never wide */
		if constexpr (!Wide)
			kernel = has_short_keys() ?
				partition_scatter_buckets_kernel<Row, Wide, uint32_t, Counted> : kernel;
		return launch(kernel, blocks_of(Row::SCATTER_TILE, Row::SCATTER_BLOCKS),
					  Row::SCATTER_THREADS, sizeof(scatter_buckets_memory<Row, Wide>),
					  target.stream, in.keys, in.n, plan, bucket_of_row(),
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
						target.stream, out.level1, plan, level2, batch));
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
