/*
 * pivot_merge.cu
 *	  The merge of the parts between pivots.
 *
 * In:  sorted runs, scratch of the caller.
 * Out: the run of each row.
 *
 *	  runs --sample--> sampled keys, ranked in every run
 *	       --choose--> pivots: begins of parts in runs and output
 *	       --merge---> order
 *
 * The product's kernel samples, and its functions load and merge a tile
 * (cuda/sort/multiway_merge.cuh).  Enqueues a few kernels; reads nothing back.
 */
#include "peers/pivot_merge.h"

#include "sort/multiway_merge.cuh"

#define CHOOSE_THREADS	256

/* --- how many ------------------------------------------------------------- */

/*
 * Two neighbouring pivots enclose as many samples as there are runs.  A run
 * with s samples there has less than s + 1 strides of items.  In total this is
 * less than twice as many strides as runs, which must fit the tile.
 */
typedef struct pivot_counts
{
	uint32_t	stride;			/* distance between samples of a run */
	uint32_t	samples;
	uint32_t	parts;
} pivot_counts;

static inline GSORT_HD uint32_t
parts_for(uint32_t samples, uint32_t n_runs)
{
	return (samples + n_runs - 1) / n_runs;
}

/* The upper limits before the runs are known. */
static pivot_counts
most_pivots(uint64_t total, uint32_t n_runs)
{
	pivot_counts counts;

	static_assert(MERGE_ROW::TILE >= 2 * PIVOT_RUNS_MAX, "a stride is at least one item");
	counts.stride = MERGE_ROW::TILE / (2 * n_runs);
	counts.samples = (uint32_t) (total / counts.stride) + n_runs;
	counts.parts = parts_for(counts.samples, n_runs);
	return counts;
}

/* --- kernels -------------------------------------------------------------- */

/*
 * Every n_runs-th of the sorted samples is a pivot, from the first on.  For
 * each part and the end, writes the number of preceding places of each run,
 * splits[part][run], and their sum.  Grid: a thread for each.
 */
static __global__ void
__launch_bounds__(CHOOSE_THREADS)
choose_pivots_kernel(const merge_run *runs, uint32_t n_runs, uint64_t total, uint32_t n_samples,
					 const uint64_t *ranks, const uint32_t *places, uint64_t *begins,
					 uint32_t *splits)
{
	uint64_t	i = (uint64_t) blockIdx.x * CHOOSE_THREADS + threadIdx.x;
	uint32_t	parts = parts_for(n_samples, n_runs);
	uint32_t	part = (uint32_t) (i / n_runs);
	uint32_t	run = (uint32_t) (i % n_runs);

	if (part > parts)
		return;
	splits[i] = part < parts ? places[(uint64_t) part * n_runs * n_runs + run] : runs[run].count;
	if (run == 0)
		begins[part] = part < parts ? ranks[part * n_runs] : total;
}

/* Grid: a block of THREADS for each part; shared: multiway_memory. */
template<typename Key, typename Row>
static __global__ void
__launch_bounds__(Row::THREADS, Row::BLOCKS)
merge_parts_kernel(key_source<Key> source, const merge_run *runs, uint32_t n_runs,
				   const uint64_t *begins, const uint32_t *splits, uint8_t *order)
{
	SHARED_MEMORY(raw);
	multiway_memory<Key, Row> &shared = *(multiway_memory<Key, Row> *) raw;
	uint64_t	first = begins[blockIdx.x];
	uint32_t	count = (uint32_t) (begins[blockIdx.x + 1] - first);

	begin_stretches(shared, splits + (size_t) blockIdx.x * n_runs, n_runs);
	__syncthreads();
	load_stretches(shared, source, runs, n_runs, count);
	__syncthreads();
	for (uint32_t width = 1; width < n_runs; width *= 2)
		merge_round(shared, n_runs, width, count);
	for (uint32_t i = threadIdx.x; i < count; i += Row::THREADS)
		order[first + i] = shared.runs[i];
}

/* --- launches ------------------------------------------------------------- */

typedef struct pivot_scratch
{
	merge_run  *runs;			/* [runs] */
	uint64_t   *ranks;			/* [samples] */
	uint32_t   *places;			/* [samples][runs] */
	uint64_t   *begins;			/* [parts + 1] */
	uint32_t   *splits;			/* [parts + 1][runs] */
	size_t		bytes;
} pivot_scratch;

/* With NULL, only counts. */
static pivot_scratch
pivot_lay_out(uint64_t total, uint32_t n_runs, void *d_scratch)
{
	const pivot_counts most = most_pivots(total, n_runs);
	scratch_cursor cursor = {(uintptr_t) d_scratch};
	pivot_scratch scratch;

	take(&cursor, &scratch.runs, n_runs);
	take(&cursor, &scratch.ranks, most.samples);
	take(&cursor, &scratch.places, (size_t) most.samples * n_runs);
	take(&cursor, &scratch.begins, (size_t) most.parts + 1);
	take(&cursor, &scratch.splits, ((size_t) most.parts + 1) * n_runs);
	scratch.bytes = cursor.at - (uintptr_t) d_scratch;
	return scratch;
}

size_t
pivot_merge_scratch_bytes(uint64_t rows, uint32_t n_runs)
{
	return pivot_lay_out(rows, n_runs, NULL).bytes;
}

/* Enqueues the merge: the runs, their samples, the pivots, the parts
 * between. */
template<typename Key>
static cudaError_t
merge_between_pivots(const key_source<Key> &source, const merge_run *runs, uint32_t n_runs,
					 void *d_scratch, uint8_t *d_order, cudaStream_t stream)
{
	typedef MERGE_ROW Row;
	uint64_t	total = rows_of_runs(runs, n_runs);
	uint32_t	stride = most_pivots(total, n_runs).stride;
	pivot_scratch scratch = pivot_lay_out(total, n_runs, d_scratch);
	const merge_run *d_runs = scratch.runs;
	uint32_t	n_samples;
	uint32_t	parts;

	static_assert(sizeof(multiway_memory<Key, Row>) <= Row::SHARED_BYTES,
				  "shared memory of the row");
	CUDA_TRY(record_runs(runs, n_runs, stride, scratch.runs, &n_samples, stream));
	parts = parts_for(n_samples, n_runs);
	CUDA_TRY(launch(multiway_sample_kernel<Key>, tiles_for(n_samples, SELECT_WARPS),
					SELECT_WARPS * WARP_THREADS, SELECT_WARPS * RUN_SLOTS * sizeof(uint32_t),
					stream, source, d_runs, n_runs, stride, n_samples, scratch.ranks,
					scratch.places));
	CUDA_TRY(launch(choose_pivots_kernel,
					tiles_for(((uint64_t) parts + 1) * n_runs, CHOOSE_THREADS), CHOOSE_THREADS, 0,
					stream, d_runs, n_runs, total, n_samples, (const uint64_t *) scratch.ranks,
					(const uint32_t *) scratch.places, scratch.begins, scratch.splits));
	return launch(merge_parts_kernel<Key, Row>, parts, Row::THREADS,
				  sizeof(multiway_memory<Key, Row>), stream, source, d_runs, n_runs,
				  (const uint64_t *) scratch.begins, (const uint32_t *) scratch.splits, d_order);
}

cudaError_t
pivot_merge(const key_plan *plan, const merge_run *runs, uint32_t n_runs, void *d_scratch,
			uint8_t *d_order, cudaStream_t stream)
{
	uint64_t	total;

	if (n_runs == 0 || n_runs > PIVOT_RUNS_MAX)
		return cudaErrorInvalidValue;
	total = rows_of_runs(runs, n_runs);
	if (total > UINT32_MAX)
		return cudaErrorInvalidValue;
	if (total == 0)
		return cudaSuccess;
	if (plan->bits <= 32)
		return merge_between_pivots(key_source<uint32_t>{*plan}, runs, n_runs, d_scratch, d_order,
									stream);
	return merge_between_pivots(key_source<uint64_t>{*plan}, runs, n_runs, d_scratch, d_order,
								stream);
}
