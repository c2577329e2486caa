/*
 * merge_launch.cuh
 *	  The launches of a multiway merge.
 *
 * In:  the runs and the plan of their keys; scratch of the caller.
 * Out: the run of each row.
 *
 * Host code: enqueues a few kernels; neither reads back nor allocates.
 */
#ifndef GSORT_MERGE_LAUNCH_CUH
#define GSORT_MERGE_LAUNCH_CUH

#include "sort/launch_plan.cuh"
#include "sort/multiway_merge.cuh"

#define SAMPLE_TILES	4			/* output tiles per sample of a run */

typedef struct merge_scratch
{
	merge_run  *runs;			/* [runs] */
	uint64_t   *ranks;			/* [samples] */
	uint32_t   *places;			/* [samples][runs] */
	uint32_t   *splits;			/* [tiles + 1][runs] */
	size_t		bytes;
} merge_scratch;

static inline uint64_t
merge_tiles(uint64_t total)
{
	return (total + MERGE_ROW::TILE - 1) / MERGE_ROW::TILE;
}

/* Lays out the scratch; with NULL, only counts. */
static inline merge_scratch
merge_lay_out(uint64_t total, uint32_t n_runs, void *d_scratch)
{
	scratch_cursor cursor = {(uintptr_t) d_scratch};
	uint64_t	samples = total / (SAMPLE_TILES * MERGE_ROW::TILE) + n_runs;
	merge_scratch scratch;

	take(&cursor, &scratch.runs, n_runs);
	take(&cursor, &scratch.ranks, samples);
	take(&cursor, &scratch.places, samples * n_runs);
	take(&cursor, &scratch.splits, (merge_tiles(total) + 1) * n_runs);
	scratch.bytes = cursor.at - (uintptr_t) d_scratch;
	return scratch;
}

/* Numbers the runs' samples, and copies the run descriptions to the device. */
static inline cudaError_t
record_runs(const merge_run *runs, uint32_t n_runs, uint32_t stride, merge_run *d_runs,
			uint32_t *n_samples, cudaStream_t stream)
{
	uint32_t	samples = 0;

	for (uint32_t first = 0; first < n_runs; first += RUNS_RECORDED_AT_ONCE)
	{
		uint32_t	n = n_runs - first < RUNS_RECORDED_AT_ONCE ?
			n_runs - first : RUNS_RECORDED_AT_ONCE;
		merge_run_list list = {};

		for (uint32_t i = 0; i < n; i++)
		{
			list.runs[i] = runs[first + i];
			list.runs[i].first_sample = samples;
			samples += (uint32_t) (((uint64_t) runs[first + i].count + stride - 1) / stride);
		}
		CUDA_TRY(launch(multiway_record_runs_kernel, 1, RUNS_RECORDED_AT_ONCE, 0, stream, list,
						first, n, d_runs));
	}
	*n_samples = samples;
	return cudaSuccess;
}

static inline uint64_t
rows_of_runs(const merge_run *runs, uint32_t n_runs)
{
	uint64_t	total = 0;

	for (uint32_t r = 0; r < n_runs; r++)
		total += runs[r].count;
	return total;
}

/* Merges 1 to GSORT_MERGE_RUNS_MAX runs; equal keys come out by run. */
template<typename Key>
static cudaError_t
merge_runs(const key_source<Key> &source, const merge_run *runs, uint32_t n_runs, void *d_scratch,
		   uint8_t *d_order, cudaStream_t stream)
{
	typedef MERGE_ROW Row;
	uint64_t	total = rows_of_runs(runs, n_runs);
	uint64_t	tiles = merge_tiles(total);
	merge_scratch scratch = merge_lay_out(total, n_runs, d_scratch);
	const merge_run *d_runs = scratch.runs;
	const uint32_t stride = SAMPLE_TILES * Row::TILE;
	uint32_t	n_samples;

	static_assert(sizeof(multiway_memory<Key, Row>) <= Row::SHARED_BYTES,
				  "shared memory of the row");
	static_assert(Row::ITEMS % 2 == 1, "bank conflicts");
	if (total == 0)
		return cudaSuccess;
	CUDA_TRY(record_runs(runs, n_runs, stride, scratch.runs, &n_samples, stream));
	CUDA_TRY(launch(multiway_sample_kernel<Key>, (n_samples + SELECT_WARPS - 1) / SELECT_WARPS,
					SELECT_WARPS * WARP_THREADS, SELECT_WARPS * RUN_SLOTS * sizeof(uint32_t),
					stream, source, d_runs, n_runs, stride, n_samples, scratch.ranks,
					scratch.places));
	CUDA_TRY(launch(multiway_split_kernel<Key>,
					(unsigned) ((tiles + 1 + SELECT_WARPS - 1) / SELECT_WARPS),
					SELECT_WARPS * WARP_THREADS, SELECT_WARPS * sizeof(selection_memory), stream,
					source, d_runs, n_runs, total, (uint32_t) Row::TILE, n_samples,
					(const uint64_t *) scratch.ranks, (const uint32_t *) scratch.places,
					scratch.splits));
	return launch(multiway_merge_kernel<Key, Row>, (unsigned) tiles, Row::THREADS,
				  sizeof(multiway_memory<Key, Row>), stream, source, (uint64_t *) d_order, d_runs,
				  n_runs, total, (const uint32_t *) scratch.splits);
}

#endif							/* GSORT_MERGE_LAUNCH_CUH */
