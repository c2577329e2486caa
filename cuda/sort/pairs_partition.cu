/*
 * pairs_partition.cu
 *	  The launches of the partition-and-merge sort.
 *
 * In:  a gsort_pairs, scratch of the caller.
 * Out: the sorted rows and keys at the places that were named.
 *
 *	  keys --sample, split, count, scatter--> level 1: buckets
 *	       --cells, count, plan, scatter----> level 2: bins of at most a tile
 *	       --tile sort----------------------> rows
 *
 * Keys that are in order already are passed through (presorted.cuh), and all later stages find nothing to do.
 *
 * Where the sample shows too many keys that words cannot tell apart, or that lie so unevenly that linear maps would not,
 * all of these leave the sort to pairs_radix.cu, whose kernels look at the plan too.
 *
 * Input of one tile takes one kernel.  Segments too crowded for the tile sort go to
 * tile_crowded.cuh, long ones to merge.cuh.  partition_plan.cuh says what these words mean.
 *
 * Keys have 64 bits: with up to 32 significant ones the radix sort is faster whatever the keys are
 * (pairs_choice.h), and kernels for keys of 32 bits would be a third more to build and load.
 *
 * Every kernel reads from the plan in the scratch what there is to do, so the host
 * enqueues the same launches whatever the keys are, and stages with nothing to do
 * end at once.  Keys of at most 64 - (bits of n - 1) significant bits always fit
 * narrow items; for longer ones the sample decides on the device, so the kernels of
 * both kinds of items are enqueued, and one kind's end at once.
 */
#include "sort/pairs_partition.h"

#include "sort/launch_plan.cuh"
#include "sort/merge.cuh"
#include "sort/pairs_radix.h"
#include "sort/partition_bins.cuh"
#include "sort/presorted.cuh"
#include "sort/stage_emit.cuh"
#include "sort/tile_counting.cuh"
#include "sort/tile_crowded.cuh"

#define GRID_BLOCKS_A_PROCESSOR	4	/* for kernels that take tiles in turn */
#define BATCHES_A_BLOCK		8	/* wanted batches of level 2 for each block that runs at once */
#define BATCH_TILES_MAX		16
#define HANDED_OVER_BITS	32		/* keys that have more may be handed over to the radix sort */
#define SMALL_SAMPLE_PAIRS	1000000u	/* a quarter of the sample serves up to these */

/* Where everything lies in the scratch. */
typedef struct sort_scratch
{
	partition_plan *plan;
	uint64_t   *sample_keys;
	uint32_t   *sample_rows;
	sort_segment *segments;
	uint32_t   *crowded;
	long_segment *long_segments;
	level2_arrays level2;
	uint64_t   *first[2];		/* of the items of level 1 and 2 */
	uint32_t   *second;			/* of level 2; level 1 has its rows in the output */
	void	   *radix;			/* of the radix sort, in place of all behind the plan */
	size_t		radix_bytes;	/* 0: nothing is handed over */
	size_t		bytes;
} sort_scratch;

static uint32_t
row_bits_of(uint64_t n)
{
	uint32_t	bits = significant_bits(n - 1);

	return bits > 0 ? bits : 1;
}

static bool
may_be_wide(const gsort_pairs *pairs)
{
	return pairs->end_bit - pairs->begin_bit + row_bits_of(pairs->n) > 64;
}

/* With fewer bits the radix sort is chosen before, unless the caller wants it otherwise. */
static bool
may_be_handed_over(const gsort_pairs *pairs)
{
	return pairs->end_bit - pairs->begin_bit > HANDED_OVER_BITS;
}

/* Of two neighbouring bins of a bucket, both together exceed a tile, or the bins are even and hold nearly a tile each. */
template<typename Row>
static size_t
segments_max(uint64_t n)
{
	return 2 * n / Row::SORT_TILE + 2 * BUCKETS_MAX;
}

template<typename Row>
static sort_scratch
lay_out(const gsort_pairs *pairs, void *d_scratch)
{
	scratch_cursor cursor = {(uintptr_t) d_scratch};
	sort_scratch scratch;
	uint64_t	n = pairs->n;
	bool		wide = may_be_wide(pairs);

	take(&cursor, &scratch.plan, 1);
	scratch.radix = (void *) cursor.at;
	scratch.radix_bytes = may_be_handed_over(pairs) ? pairs_radix_scratch_bytes(pairs) : 0;
	take(&cursor, &scratch.sample_keys, SAMPLE_KEYS);
	take(&cursor, &scratch.sample_rows, SAMPLE_KEYS);
	take(&cursor, &scratch.segments, segments_max<Row>(n));
	take(&cursor, &scratch.crowded, segments_max<Row>(n));
	take(&cursor, &scratch.long_segments, n / Row::SORT_TILE + 1);
	take(&cursor, &scratch.level2.counts, BUCKETS_MAX * Row::CELLS);
	take(&cursor, &scratch.level2.bin_of_cell, BUCKETS_MAX * Row::CELLS);
	take(&cursor, &scratch.level2.next, BUCKETS_MAX * Row::BINS);
	take(&cursor, &scratch.level2.splitters, BUCKETS_MAX * Row::CELLS);
	take(&cursor, &scratch.level2.splitter_rows, wide ? BUCKETS_MAX * Row::CELLS : 0);
	take(&cursor, &scratch.level2.table, BUCKETS_MAX * Row::CELLS);
	take(&cursor, &scratch.level2.cell_of_item, n);
	take(&cursor, &scratch.first[0], n);
	take(&cursor, &scratch.first[1], n);
	take(&cursor, &scratch.second, wide ? n : 0);
	if (cursor.at < (uintptr_t) scratch.radix + scratch.radix_bytes)
		cursor.at = (uintptr_t) scratch.radix + scratch.radix_bytes;
	scratch.bytes = cursor.at - (uintptr_t) d_scratch;
	return scratch;
}

static key_view
view_keys(const gsort_pairs *pairs)
{
	key_view	keys;
	uint32_t	bits = pairs->end_bit - pairs->begin_bit;

	keys.keys = (const uint64_t *) pairs->d_keys;
	keys.shift = pairs->begin_bit;
	keys.mask = bits >= 64 ? ~0ull : (1ull << bits) - 1;
	return keys;
}

/* Everything that the launches of one sort share. */
struct sort_job
{
	sort_device device;
	sort_scratch scratch;
	key_view	keys;
	emit_pairs	emit;
	uint64_t	key_max;
	uint32_t	n;
	uint32_t	row_bits;
	uint32_t	batch;			/* items of a batch of level 2 */
	early_stream stream;
};

template<bool Wide>
static item_arrays<Wide>
level_items(const sort_job &job, int level)
{
	item_arrays<Wide> items = {job.scratch.first[level], level == 0 ? job.emit.rows_out : job.scratch.second};

	return items;
}

/* One byte a row, until level 2 needs its array. */
static uint8_t *
bucket_of_row(const sort_job &job)
{
	return (uint8_t *) job.scratch.first[1];
}

template<bool Wide>
static item_order<Wide>
order_of(const sort_job &job)
{
	item_order<Wide> order = {job.keys, job.row_bits, false};

	return order;
}

static uint32_t
batches_max(const sort_job &job)
{
	return job.n / job.batch + BUCKETS_MAX;
}

template<typename Row>
static uint32_t
sort_blocks(const sort_job &job)
{
	return job.device.processors * Row::SORT_BLOCKS;
}

/* Nothing is handed over if the radix sort does not take it. */
static radix_signs
signs_for_radix(uint32_t n, uint32_t samples, const sort_scratch &scratch)
{
	if (scratch.radix_bytes == 0)
		return {samples, samples, samples, samples};
	return {samples / TIED_FOR_RADIX, n <= MOSTLY_TIED_PAIRS ? samples : samples / MOSTLY_TIED,
		samples / UNEVEN_FOR_RADIX, LONE_PAIRS_FOR_RADIX};
}

template<typename Row>
static cudaError_t
launch_split(const sort_job &job)
{
	uint32_t	samples = job.n <= SMALL_SAMPLE_PAIRS ? SAMPLE_KEYS / 4 : SAMPLE_KEYS;
	const sort_scratch &scratch = job.scratch;
	const split_input sample = {scratch.sample_keys, scratch.sample_rows, samples, job.row_bits, job.key_max};

	CUDA_TRY(launch(partition_sample_kernel, SAMPLE_BLOCKS, SPLIT_THREADS,
					SAMPLE_KEYS * sizeof(uint64_t) + SAMPLE_KEYS / SAMPLE_BLOCKS * sizeof(uint32_t), job.stream,
					job.keys, (uint64_t) job.n, samples, scratch.sample_keys, scratch.sample_rows));
	CUDA_TRY(launch(partition_split_kernel, 1, SPLIT_THREADS, sizeof(split_memory), job.stream, sample,
					quantiles_of(job.n, Row::SORT_TILE), signs_for_radix(job.n, samples, scratch), scratch.plan));
	CUDA_TRY(launch(presorted_kernel<emit_pairs>, tiles_up_to(job.n, PRESORTED_TILE, job.device.processors * GRID_BLOCKS_A_PROCESSOR),
					PRESORTED_THREADS, 0, job.stream, job.keys, job.n, scratch.plan, job.emit));
	CUDA_TRY(launch(partition_count_buckets_kernel,
					tiles_up_to(job.n, HISTOGRAM_THREADS * HISTOGRAM_ITEMS, job.device.processors * GRID_BLOCKS_A_PROCESSOR),
					HISTOGRAM_THREADS, sizeof(bucket_search_memory), job.stream, job.keys, job.n, scratch.plan, bucket_of_row(job)));
	CUDA_TRY(launch(partition_plan_buckets_kernel<Row>, 1, BUCKETS_MAX, 0, job.stream,
					scratch.plan, scratch.segments, job.key_max, job.n, job.batch));
	return cudaSuccess;
}

template<typename Row, bool Wide>
static cudaError_t
launch_scatter_buckets(const sort_job &job)
{
	CUDA_TRY(launch(partition_scatter_buckets_kernel<Row, Wide>,
					tiles_up_to(job.n, Row::SCATTER_TILE, job.device.processors * Row::SCATTER_BLOCKS), Row::SCATTER_THREADS,
					sizeof(scatter_buckets_memory<Row, Wide>), job.stream, job.keys, job.n, job.scratch.plan,
					(const uint8_t *) bucket_of_row(job), level_items<Wide>(job, 0)));
	return cudaSuccess;
}

template<typename Row, bool MayBeWide>
static cudaError_t
launch_cut(const sort_job &job)
{
	const sort_scratch &scratch = job.scratch;
	item_arrays<true> level1 = level_items<true>(job, 0);

	CUDA_TRY(launch(partition_cells_kernel<Row, MayBeWide>, BUCKETS_MAX, CUT_THREADS,
					sizeof(cut_memory<Row, MayBeWide>), job.stream, level1, scratch.plan, scratch.level2));
	CUDA_TRY(launch(partition_count_cells_kernel<Row, MayBeWide>, batches_max(job), HISTOGRAM_THREADS,
					sizeof(count_cells_memory<Row, MayBeWide>), job.stream, level1,
					(const partition_plan *) scratch.plan, scratch.level2, job.batch));
	CUDA_TRY(launch(partition_plan_bins_kernel<Row, MayBeWide>, BUCKETS_MAX, CUT_THREADS,
					sizeof(plan_bins_memory<Row>), job.stream, scratch.plan, scratch.level2, scratch.segments,
					scratch.long_segments));
	return cudaSuccess;
}

template<typename Row, bool Wide>
static cudaError_t
launch_scatter_bins_and_sort(const sort_job &job)
{
	typedef sort_row<Row, Wide> SortRow;
	const sort_scratch &scratch = job.scratch;
	item_arrays<Wide> level1 = level_items<Wide>(job, 0);
	item_arrays<Wide> level2 = level_items<Wide>(job, 1);

	CUDA_TRY(launch(partition_scatter_bins_kernel<Row, Wide>, batches_max(job), Row::SCATTER_THREADS,
					sizeof(scatter_bins_memory<Row, Wide>), job.stream, level1, (const partition_plan *) scratch.plan,
					scratch.level2, job.batch, level2));
	CUDA_TRY(launch(tile_counting_sort_kernel<SortRow, Wide, emit_pairs>, sort_blocks<SortRow>(job), SortRow::SORT_THREADS,
					sizeof(counting_memory<SortRow, Wide>), job.stream, level1, level2, scratch.plan,
					(const sort_segment *) scratch.segments, scratch.crowded, order_of<Wide>(job), job.emit));
	return cudaSuccess;
}

/* What even input has none of: crowded segments, and long ones. */
template<typename Row, bool MayBeWide>
static cudaError_t
launch_rest(const sort_job &job)
{
	typedef sort_row<Row, true> CrowdedRow;
	const sort_scratch &scratch = job.scratch;
	const partition_plan *plan = scratch.plan;
	const long_segment *long_segments = scratch.long_segments;
	item_arrays<true> level1 = level_items<true>(job, 0);
	item_arrays<true> level2 = level_items<true>(job, 1);
	item_order<true> order = order_of<true>(job);
	uint32_t	levels = merge_levels(job.n, Row::SORT_TILE);

	CUDA_TRY(launch(tile_crowded_sort_kernel<CrowdedRow, MayBeWide, emit_pairs>, sort_blocks<CrowdedRow>(job),
					CrowdedRow::SORT_THREADS, sizeof(crowded_sort_memory<CrowdedRow, MayBeWide>), job.stream, level1, level2, plan,
					(const sort_segment *) scratch.segments, (const uint32_t *) scratch.crowded, order, job.emit));
	CUDA_TRY(launch(merge_plan_kernel<Row::SORT_TILE>, 1, MERGE_PLAN_THREADS, 0, job.stream, scratch.plan,
					scratch.long_segments));
	CUDA_TRY(launch(merge_sort_tiles_kernel<Row, MayBeWide>, job.device.processors, Row::SORT_THREADS,
					sizeof(merge_sort_memory<Row::SORT_TILE, MayBeWide>), job.stream, level1, level2, plan, long_segments, order));
	CUDA_TRY(launch_together(merge_levels_kernel<Row, MayBeWide, emit_pairs>, job.device.processors, Row::SORT_THREADS,
							 sizeof(merge_level_memory<Row::SORT_TILE, MayBeWide>), job.stream.stream, level1, level2,
							 scratch.plan, long_segments, levels, order, job.emit));
	return cudaSuccess;
}

template<typename Row, bool MayBeWide>
static cudaError_t
launch_items(const sort_job &job)
{
	CUDA_TRY((launch_scatter_buckets<Row, false>(job)));
	if (MayBeWide)
		CUDA_TRY((launch_scatter_buckets<Row, MayBeWide>(job)));
	CUDA_TRY((launch_cut<Row, MayBeWide>(job)));
	CUDA_TRY((launch_scatter_bins_and_sort<Row, false>(job)));
	if (MayBeWide)
		CUDA_TRY((launch_scatter_bins_and_sort<Row, MayBeWide>(job)));
	return launch_rest<Row, MayBeWide>(job);
}

template<typename Row>
static cudaError_t
launch_one_tile(const sort_job &job)
{
	typedef sort_row<Row, true> TileRow;

	if (job.n > 0)
		CUDA_TRY(launch(tile_sort_keys_kernel<TileRow, emit_pairs>, 1, TileRow::SORT_THREADS,
						sizeof(merge_sort_memory<TileRow::SORT_TILE, true>), job.stream.stream, job.n, order_of<true>(job),
						job.emit));
	return cudaSuccess;
}

/* Batches short enough to keep all blocks busy, long enough to pay for the tables they load. */
template<typename Row>
static uint32_t
batch_items(uint64_t n, const sort_device &device)
{
	uint64_t	wanted = (uint64_t) device.processors * Row::SCATTER_BLOCKS * BATCHES_A_BLOCK;
	uint64_t	tiles = n / (wanted * Row::SCATTER_TILE);

	return (uint32_t) (tiles < 1 ? 1 : tiles > BATCH_TILES_MAX ? BATCH_TILES_MAX : tiles) * Row::SCATTER_TILE;
}

template<typename Row>
static cudaError_t
sort_with(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes, const sort_device &device,
		  cudaStream_t stream)
{
	sort_job job;

	static_assert(sizeof(scatter_bins_memory<Row, true>) <= Row::SHARED_BYTES, "shared memory of the row");
	static_assert(sizeof(scatter_buckets_memory<Row, true>) <= Row::SHARED_BYTES, "shared memory of the row");
	static_assert(sizeof(counting_memory<sort_row<Row, true>, true>) <= Row::SHARED_BYTES, "shared memory of the row");
	static_assert(sizeof(counting_memory<Row, false>) <= Row::SHARED_BYTES, "shared memory of the row");
	static_assert(sizeof(crowded_sort_memory<Row, true>) <= Row::SHARED_BYTES, "shared memory of the row");
	static_assert(sizeof(cut_memory<Row, true>) <= Row::SHARED_BYTES, "shared memory of the row");
	static_assert(sizeof(count_cells_memory<Row, true>) <= Row::SHARED_BYTES, "shared memory of the row");
	static_assert(sizeof(plan_bins_memory<Row>) <= Row::SHARED_BYTES, "shared memory of the row");
	static_assert(sizeof(merge_level_memory<Row::SORT_TILE, true>) <= Row::SHARED_BYTES, "shared memory of the row");
	job.device = device;
	job.scratch = lay_out<Row>(pairs, d_scratch);
	if (scratch_bytes < job.scratch.bytes || (uintptr_t) d_scratch % SCRATCH_ALIGNMENT != 0)
		return cudaErrorInvalidValue;
	job.keys = view_keys(pairs);
	job.emit.keys = job.keys;
	job.emit.rows_in = pairs->d_rows;
	job.emit.rows_out = pairs->d_rows_out;
	job.emit.keys_out = (uint64_t *) pairs->d_keys_out;
	job.key_max = job.keys.mask;
	job.n = (uint32_t) pairs->n;
	job.stream.stream = stream;
	CUDA_TRY(find_early_launches((const void *) partition_sample_kernel, &job.stream.early));
	if (job.n <= Row::SORT_TILE)
	{
		job.row_bits = 1;
		return launch_one_tile<Row>(job);
	}
	job.row_bits = row_bits_of(pairs->n);
	job.batch = batch_items<Row>(pairs->n, device);
	CUDA_TRY((launch_split<Row>(job)));
	CUDA_TRY((may_be_wide(pairs) ? launch_items<Row, true>(job) : launch_items<Row, false>(job)));
	/* behind all else, as its scratch lies where the partition's does */
	return job.scratch.radix_bytes == 0 ? cudaSuccess :
		pairs_radix_sort_if(&job.scratch.plan->verdict.handed_over, pairs, job.scratch.radix, job.scratch.radix_bytes, stream);
}

static tuning_choice
choose_row(const gsort_pairs *pairs, const sort_device &device)
{
	if (pairs->n > GSORT_RUN_ROWS_MAX || pairs->key_bits != PARTITION_KEY_BITS ||
		pairs->begin_bit >= pairs->end_bit || pairs->end_bit > pairs->key_bits)
		return TUNING_CHOICE_NONE;
	return sort_tuning_row(pairs->n, device.shared_bytes);
}

size_t
pairs_partition_scratch_bytes(const gsort_pairs *pairs)
{
	sort_device device;

	if (describe_device(&device) != cudaSuccess)
		return 0;
	switch (choose_row(pairs, device))
	{
		case TUNING_CHOICE_SMALL:
			return lay_out<TUNING_SMALL>(pairs, NULL).bytes;
		case TUNING_CHOICE_MEDIUM:
			return lay_out<TUNING_MEDIUM>(pairs, NULL).bytes;
		case TUNING_CHOICE_LARGE:
			return lay_out<TUNING_LARGE>(pairs, NULL).bytes;
		default:
			return 0;
	}
}

cudaError_t
pairs_partition_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes, cudaStream_t stream)
{
	sort_device device;

	CUDA_TRY(describe_device(&device));
	switch (choose_row(pairs, device))
	{
		case TUNING_CHOICE_SMALL:
			return sort_with<TUNING_SMALL>(pairs, d_scratch, scratch_bytes, device, stream);
		case TUNING_CHOICE_MEDIUM:
			return sort_with<TUNING_MEDIUM>(pairs, d_scratch, scratch_bytes, device, stream);
		case TUNING_CHOICE_LARGE:
			return sort_with<TUNING_LARGE>(pairs, d_scratch, scratch_bytes, device, stream);
		default:
			return cudaErrorInvalidValue;
	}
}
