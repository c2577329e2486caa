/*
 * rank_merge.cu
 *	  Merges two runs of pairs by ranks, directly or in segments.
 *
 * In:  two sorted runs, scratch of the caller.
 * Out: the merged keys and rows.
 *
 *	  direct:    runs --rank--> keys, rows
 *	  segmented: runs --rank samples--> cuts --merge segments--> keys, rows
 *
 * Enqueues one or two kernels; reads nothing back.
 */
#include "peers/rank_merge.h"

#include "peers/peer_tuning.h"
#include "sort/launch_plan.cuh"
#include "sort/search.cuh"
#include "sort/warps.cuh"

#define RANK_THREADS	256
#define PLACES_END		(1ull << 31)	/* the sum of two places fits a word */

/* The two runs, with keys of their own type. */
template<typename Key>
struct run_pair
{
	const Key  *first_keys;
	const uint32_t *first_rows;
	uint32_t	first_count;
	const Key  *second_keys;
	const uint32_t *second_rows;
	uint32_t	second_count;
};

template<typename Key>
struct pair_output
{
	Key		   *keys;
	uint32_t   *rows;
};

/* Number of the count keys that precede an item with this key of the other
 * run. */
template<typename Key>
SORT_DEVICE uint32_t
rank_among(const Key *keys, uint32_t count, Key key, bool equal_before)
{
	return partition_point(0, count, [&](uint32_t i) { return keys[i] < key ||
		(equal_before && keys[i] == key); });
}

/* --- direct --------------------------------------------------------------- */

/* Grid: a thread for each item, those of the first run first. */
template<typename Key>
static __global__ void
__launch_bounds__(RANK_THREADS)
rank_merge_kernel(run_pair<Key> runs, pair_output<Key> output)
{
	uint32_t	i = blockIdx.x * RANK_THREADS + threadIdx.x;
	bool		of_first = i < runs.first_count;
	uint32_t	own = of_first ? i : i - runs.first_count;
	uint32_t	place;
	Key			key;

	if (i >= runs.first_count + runs.second_count)
		return;
	key = of_first ? runs.first_keys[own] : runs.second_keys[own];
	place = own + (of_first ? rank_among(runs.second_keys, runs.second_count, key, false) :
				   rank_among(runs.first_keys, runs.first_count, key, true));
	output.rows[place] = of_first ? runs.first_rows[own] : runs.second_rows[own];
	output.keys[place] = key;
}

/* --- segments ------------------------------------------------------------- */

/* Number of items of each run before a segment. */
typedef struct segment_cut
{
	uint32_t	first;
	uint32_t	second;
} segment_cut;

static inline GSORT_HD uint32_t
samples_before(uint32_t places, uint32_t stride)
{
	return (places + stride - 1) / stride;
}

/*
 * Every stride-th item of each run is a sample.  No sort is needed for its
 * number among all samples: the preceding samples of the other run are those at
 * places before its rank.  Two neighbouring samples enclose at most stride
 * items of either run, the starting one included, and not stride of both.  A
 * segment is thus shorter than two strides.
 *
 * Grid: a thread for each sample, those of the first run first, and one for the
 * end of the runs.
 */
template<typename Key>
static __global__ void
__launch_bounds__(RANK_THREADS)
rank_samples_kernel(run_pair<Key> runs, uint32_t stride, segment_cut *cuts)
{
	uint32_t	sample = blockIdx.x * RANK_THREADS + threadIdx.x;
	uint32_t	of_first = samples_before(runs.first_count, stride);
	uint32_t	samples = of_first + samples_before(runs.second_count, stride);

	if (sample < of_first)
	{
		uint32_t	place = sample * stride;
		uint32_t	rank = rank_among(runs.second_keys, runs.second_count, runs.first_keys[place],
									  false);

		cuts[sample + samples_before(rank, stride)] = {place, rank};
	}
	else if (sample < samples)
	{
		uint32_t	place = (sample - of_first) * stride;
		uint32_t	rank = rank_among(runs.first_keys, runs.first_count, runs.second_keys[place],
									  true);

		cuts[sample - of_first + samples_before(rank, stride)] = {rank, place};
	}
	else if (sample == samples)
		cuts[samples] = {runs.first_count, runs.second_count};
}

template<typename Row, typename Key>
struct segment_memory
{
	Key			keys[Row::TILE];	/* the first run's, then the second's; later merged */
	uint32_t	rows[Row::TILE];
};

/* Grid: a block of THREADS for each segment; shared: segment_memory. */
template<typename Row, typename Key>
static __global__ void
__launch_bounds__(Row::THREADS)
merge_segments_kernel(run_pair<Key> runs, const segment_cut *cuts, pair_output<Key> output)
{
	SHARED_MEMORY(raw);
	segment_memory<Row, Key> &shared = *(segment_memory<Row, Key> *) raw;
	const segment_cut begin = cuts[blockIdx.x];
	const segment_cut end = cuts[blockIdx.x + 1];
	uint32_t	of_first = end.first - begin.first;
	uint32_t	count = of_first + end.second - begin.second;
	Key			keys[Row::ITEMS];
	uint32_t	rows[Row::ITEMS];
	uint32_t	places[Row::ITEMS];

#pragma unroll
	for (int i = 0; i < Row::ITEMS; i++)
	{
		uint32_t	at = i * Row::THREADS + threadIdx.x;

		if (at < count)
		{
			keys[i] = at < of_first ? runs.first_keys[begin.first + at] :
				runs.second_keys[begin.second + at - of_first];
			rows[i] = at < of_first ? runs.first_rows[begin.first + at] :
				runs.second_rows[begin.second + at - of_first];
			shared.keys[at] = keys[i];
		}
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < Row::ITEMS; i++)
	{
		uint32_t	at = i * Row::THREADS + threadIdx.x;

		if (at < of_first)
			places[i] = at + rank_among(shared.keys + of_first, count - of_first, keys[i], false);
		else if (at < count)
			places[i] = at - of_first + rank_among(shared.keys, of_first, keys[i], true);
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < Row::ITEMS; i++)
	{
		if (i * Row::THREADS + threadIdx.x < count)
		{
			shared.keys[places[i]] = keys[i];
			shared.rows[places[i]] = rows[i];
		}
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < count; i += Row::THREADS)
	{
		output.rows[begin.first + begin.second + i] = shared.rows[i];
		output.keys[begin.first + begin.second + i] = shared.keys[i];
	}
}

/* --- launches ------------------------------------------------------------- */

typedef struct rank_merge_scratch
{
	segment_cut *cuts;			/* [segments + 1] */
	size_t		bytes;
} rank_merge_scratch;

/* With NULL, only counts.  Each run's last sample may be followed by less than
 * a stride. */
static rank_merge_scratch
rank_merge_lay_out(uint64_t pairs, void *d_scratch)
{
	scratch_cursor cursor = {(uintptr_t) d_scratch};
	rank_merge_scratch scratch;

	take(&cursor, &scratch.cuts, pairs / RANK_MERGE_ROW::STRIDE + 3);
	scratch.bytes = cursor.at - (uintptr_t) d_scratch;
	return scratch;
}

size_t
segmented_rank_merge_scratch_bytes(uint64_t pairs)
{
	return rank_merge_lay_out(pairs, NULL).bytes;
}

template<typename Key>
static run_pair<Key>
pair_of(const pair_run *first, const pair_run *second)
{
	return {(const Key *) first->keys, first->rows, first->count, (const Key *) second->keys,
		second->rows, second->count};
}

template<typename Key>
static cudaError_t
merge_directly(const run_pair<Key> &runs, const pair_output<Key> &output, cudaStream_t stream)
{
	uint64_t	pairs = (uint64_t) runs.first_count + runs.second_count;

	return launch(rank_merge_kernel<Key>, tiles_for(pairs, RANK_THREADS), RANK_THREADS, 0, stream,
				  runs, output);
}

/* Enqueues the ranking of the samples, then the merge of the segments. */
template<typename Row, typename Key>
static cudaError_t
merge_segments(const run_pair<Key> &runs, const pair_output<Key> &output, segment_cut *cuts,
			   cudaStream_t stream)
{
	uint32_t	segments = samples_before(runs.first_count, Row::STRIDE) +
		samples_before(runs.second_count, Row::STRIDE);
	cudaError_t error = launch(rank_samples_kernel<Key>,
							   tiles_for((uint64_t) segments + 1, RANK_THREADS), RANK_THREADS, 0,
							   stream, runs, (uint32_t) Row::STRIDE, cuts);

	if (error != cudaSuccess)
		return error;
	return launch(merge_segments_kernel<Row, Key>, segments, Row::THREADS,
				  sizeof(segment_memory<Row, Key>), stream, runs, (const segment_cut *) cuts,
				  output);
}

/* cuts: NULL for the direct merge. */
template<typename Key>
static gsort_status
merge_keys_by_ranks(const pair_run *first, const pair_run *second, void *d_keys_out,
					uint32_t *d_rows_out, segment_cut *cuts, cudaStream_t stream)
{
	const run_pair<Key> runs = pair_of<Key>(first, second);
	const pair_output<Key> output = {(Key *) d_keys_out, d_rows_out};
	cudaError_t error = cuts == NULL ? merge_directly(runs, output, stream) :
		merge_segments<RANK_MERGE_ROW>(runs, output, cuts, stream);

	return error == cudaSuccess ? GSORT_OK : GSORT_DEVICE_LOST;
}

static gsort_status
merge_by_ranks(const pair_run *first, const pair_run *second, uint32_t key_bits, void *d_keys_out,
			   uint32_t *d_rows_out, segment_cut *cuts, cudaStream_t stream)
{
	uint64_t	pairs = (uint64_t) first->count + second->count;

	if ((key_bits != 32 && key_bits != 64) || pairs >= PLACES_END)
		return GSORT_BAD_ARG;
	if (pairs == 0)
		return GSORT_OK;
	if (key_bits == 32)
		return merge_keys_by_ranks<uint32_t>(first, second, d_keys_out, d_rows_out, cuts, stream);
	return merge_keys_by_ranks<uint64_t>(first, second, d_keys_out, d_rows_out, cuts, stream);
}

gsort_status
rank_merge(const pair_run *first, const pair_run *second, uint32_t key_bits, void *d_keys_out,
		   uint32_t *d_rows_out, cudaStream_t stream)
{
	return merge_by_ranks(first, second, key_bits, d_keys_out, d_rows_out, NULL, stream);
}

gsort_status
segmented_rank_merge(const pair_run *first, const pair_run *second, uint32_t key_bits,
					 void *d_keys_out, uint32_t *d_rows_out, void *d_scratch, size_t scratch_bytes,
					 cudaStream_t stream)
{
	const rank_merge_scratch scratch = rank_merge_lay_out((uint64_t) first->count + second->count,
														  d_scratch);

	if (d_scratch == NULL || (uintptr_t) d_scratch % SCRATCH_ALIGNMENT != 0 ||
		scratch_bytes < scratch.bytes)
		return GSORT_BAD_ARG;
	return merge_by_ranks(first, second, key_bits, d_keys_out, d_rows_out, scratch.cuts, stream);
}
