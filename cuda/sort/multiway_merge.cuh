/*
 * multiway_merge.cuh
 *	  Merges up to 255 sorted runs at once: each key is read once, each output
 *	  written once.
 *
 * In:  the runs' descriptions and keys.
 * Out: the run of each row of the whole order, one byte per row.  The order is
 *	    by key, then by run, then by place in the run.
 *
 *	  runs --sample--> sampled keys with their exact places in the output
 *	       --split---> for each output tile, its begin in every run
 *	       --merge---> output
 *
 * The output is cut into tiles of equal size, so that the work of the blocks is
 * balanced for any distribution of the keys. multiway_select.cuh samples and
 * splits.  A block loads its tile's stretches to shared memory and merges them
 * pairwise there, in log2(runs) rounds of merge path.
 */
#ifndef GSORT_MULTIWAY_MERGE_CUH
#define GSORT_MULTIWAY_MERGE_CUH

#include "sort/items.cuh"
#include "sort/multiway_select.cuh"
#include "sort/tuning.h"
#include "sort/launch_plan.cuh"

/* --- merging a tile ------------------------------------------------------- */

template<typename Key, typename Row>
struct multiway_memory
{
	Key keys[Row::TILE + 1];	/* one word is read behind the last */
	alignas(8) uint8_t runs[Row::TILE];	/* the runs of the keys */
	/* Begins of the runs' stretches in the tile; empty ones lie at its end. */
	uint32_t	begins[RUN_SLOTS + 1];
	/* First place of a stretch in its run, minus its begin in the tile. */
	uint32_t	skipped[RUN_SLOTS];
	uint32_t	warp_sums[WARP_THREADS];
};

/* Computes the tile's stretches from the splits.  The whole block calls;
 * requires a barrier afterwards. */
template<typename Key, typename Row>
SORT_DEVICE void
begin_stretches(multiway_memory<Key, Row> &shared, const uint32_t *splits, uint32_t n_runs)
{
	constexpr int RUNS_A_THREAD = (RUN_SLOTS + Row::THREADS - 1) / Row::THREADS;
	uint32_t	first = threadIdx.x * RUNS_A_THREAD;
	uint32_t	lengths[RUNS_A_THREAD];
	uint32_t	sum = 0;
	uint32_t	begin;

#pragma unroll
	for (int i = 0; i < RUNS_A_THREAD; i++)
	{
		lengths[i] = first + i < n_runs ? splits[n_runs + first + i] - splits[first + i] : 0;
		sum += lengths[i];
	}
	begin = block_exclusive_sum<Row::THREADS>(sum, shared.warp_sums, NULL);
#pragma unroll
	for (int i = 0; i < RUNS_A_THREAD; i++)
	{
		if (first + i < RUN_SLOTS)
			shared.begins[first + i] = begin;
		if (first + i < n_runs)
			shared.skipped[first + i] = splits[first + i] - begin;
		begin += lengths[i];
	}
	if (threadIdx.x == Row::THREADS - 1)
		shared.begins[RUN_SLOTS] = begin;
}

/* The last of the stretches step * 0, step * 1, ... that begins at or before
 * at.  Stretches beyond the last run begin at the tile's end. */
SORT_DEVICE uint32_t
stretch_of(const uint32_t *begins, uint32_t stretches, uint32_t step, uint32_t at)
{
	return partition_point(0, stretches - 1, [&](uint32_t stretch) { return begins[(stretch + 1) *
																				   step] <= at; });
}

/* Fills the tile, run after run; requires a barrier afterwards. */
template<typename Key, typename Row>
SORT_DEVICE void
load_stretches(multiway_memory<Key, Row> &shared, const key_source<Key> &source,
			   const merge_run *runs, uint32_t n_runs, uint32_t count)
{
	Key keys[Row::ITEMS];
	uint8_t		from[Row::ITEMS];

	/* separate from the stores, so that all loads are in flight together */
#pragma unroll
	for (int i = 0; i < Row::ITEMS; i++)
	{
		uint32_t	at = i * Row::THREADS + threadIdx.x;

		if (at < count)
		{
			uint32_t	r = stretch_of(shared.begins, n_runs, 1, at);
			const merge_run run = runs[r];

			keys[i] = source.key_of(run, at + shared.skipped[r]);
			from[i] = (uint8_t) r;
		}
	}
#pragma unroll
	for (int i = 0; i < Row::ITEMS; i++)
	{
		uint32_t	at = i * Row::THREADS + threadIdx.x;

		if (at < count)
		{
			shared.keys[at] = keys[i];
			shared.runs[at] = from[i];
		}
	}
}

template<typename Key>
struct key_array
{
	const Key  *keys;

	__device__ __forceinline__ Key get(uint32_t i) const
	{
		return keys[i];
	}
};

struct key_less
{
	template<typename Key>
	__device__ __forceinline__ bool less(Key a, Key b) const
	{
		return a < b;
	}
};

/* A thread's position in the merge of two neighbouring sorted stretches of
 * width runs each. */
template<typename Key>
struct stretch_pair
{
	const Key  *keys;
	uint32_t	number;
	uint32_t	a;				/* next place of the first stretch, which ends at middle */
	uint32_t	middle;
	uint32_t	b;				/* next place of the second */
	uint32_t	end;
	Key			next_a;			/* undefined if a or b has ended */
	Key			next_b;

	/* Starts at the beginning of pair number.  Skips empty pairs unless no
	 * other one follows. */
	__device__ __forceinline__ void begin(const uint32_t *begins, uint32_t width, uint32_t pair)
	{
		uint32_t	first = 2 * width * pair;

		while (begins[first] == begins[first + 2 * width])
			first += 2 * width;
		number = first / (2 * width);
		a = begins[first];
		middle = begins[first + width];
		b = middle;
		end = begins[first + 2 * width];
	}

	__device__ __forceinline__ void load_next()
	{
		next_a = keys[a];
		next_b = keys[b];
	}

	/* Takes the next item and returns its place. */
	__device__ __forceinline__ uint32_t take(Key *key)
	{
		bool		from_b = a >= middle || (b < end && next_b < next_a);
		uint32_t	place = from_b ? b : a;
		Key			next = keys[place + 1];

		*key = from_b ? next_b : next_a;
		if (from_b)
		{
			b++;
			next_b = next;
		}
		else
		{
			a++;
			next_a = next;
		}
		return place;
	}
};

/*
 * One round: merges every two neighbouring stretches of width runs.  Each
 * thread merges ITEMS neighbouring places, into registers first.  The whole
 * block calls, behind a barrier after the tile was filled; on return each
 * thread sees the result.
 */
template<typename Key, typename Row>
SORT_DEVICE void
merge_round(multiway_memory<Key, Row> &shared, uint32_t n_runs, uint32_t width, uint32_t count)
{
	uint32_t	at = threadIdx.x * Row::ITEMS;
	Key			keys[Row::ITEMS];
	uint8_t		from[Row::ITEMS];

	if (at < count)
	{
		stretch_pair<Key> pair = {};
		uint32_t	begin;

		pair.keys = shared.keys;
		pair.begin(shared.begins, width,
				   stretch_of(shared.begins, (n_runs + 2 * width - 1) / (2 * width), 2 * width,
							  at));
		begin = pair.a;
		pair.a += merge_path(key_array<Key>{shared.keys + begin}, pair.middle - begin,
							 key_array<Key>{shared.keys + pair.middle}, pair.end - pair.middle,
							 at - begin, key_less());
		pair.b += at - pair.a;
		pair.load_next();
#pragma unroll
		for (int i = 0; i < Row::ITEMS; i++)
		{
			if (at + i < count)
			{
				if (pair.a >= pair.middle && pair.b >= pair.end)
				{
					pair.begin(shared.begins, width, pair.number + 1);
					pair.load_next();
				}
				from[i] = shared.runs[pair.take(&keys[i])];
			}
		}
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < Row::ITEMS; i++)
	{
		if (at + i < count)
		{
			shared.keys[at + i] = keys[i];
			shared.runs[at + i] = from[i];
		}
	}
	__syncthreads();
}

/* Writes the tile's runs, eight per store, padded with zeros to a multiple of
 * eight.  The whole block calls. */
template<typename Key, typename Row>
SORT_DEVICE void
write_order(multiway_memory<Key, Row> &shared, uint64_t first, uint32_t count, uint64_t *order)
{
	uint32_t	words = (count + 7) / 8;

	if (threadIdx.x < words * 8 - count)
		shared.runs[count + threadIdx.x] = 0;
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < words; i += Row::THREADS)
		order[first / 8 + i] = ((const uint64_t *) shared.runs)[i];
}

/*
 * Grid: a block of THREADS for each output tile; shared: multiway_memory.
 * Block t reads the places from splits[t] to splits[t + 1] of each run, and
 * writes the output places from t * TILE on.
 */
template<typename Key, typename Row>
static __global__ void
__launch_bounds__(Row::THREADS, (blocks_that_fit<multiway_memory<Key, Row>>(Row::BLOCKS)))
multiway_merge_kernel(key_source<Key> source, uint64_t *order, const merge_run *runs,
					  uint32_t n_runs, uint64_t total, const uint32_t *splits)
{
	SHARED_MEMORY(raw);
	multiway_memory<Key, Row> &shared = *(multiway_memory<Key, Row> *) raw;
	uint64_t	first = (uint64_t) blockIdx.x * Row::TILE;
	uint32_t	count = total - first < Row::TILE ? (uint32_t) (total - first) : Row::TILE;

	begin_stretches(shared, splits + (size_t) blockIdx.x * n_runs, n_runs);
	__syncthreads();
	load_stretches(shared, source, runs, n_runs, count);
	__syncthreads();
	for (uint32_t width = 1; width < n_runs; width *= 2)
		merge_round(shared, n_runs, width, count);
	write_order(shared, first, count, order);
}

/* --- launches ------------------------------------------------------------ */

#define SAMPLE_TILES	4			/* output tiles per sample of a run */

typedef struct merge_scratch
{
	merge_run  *runs;			/* [runs] */
	uint64_t   *ranks;			/* [samples] */
	uint32_t   *places;			/* [samples][runs] */
	uint32_t   *splits;			/* [tiles + 1][runs] */
	size_t		bytes;
} merge_scratch;

static inline merge_scratch
merge_lay_out(uint64_t total, uint32_t n_runs, void *d_scratch)
{
	scratch_cursor cursor = {(uintptr_t) d_scratch};
	uint64_t	samples = total / (SAMPLE_TILES * MERGE_ROW::TILE) + n_runs;
	merge_scratch scratch;

	take(&cursor, &scratch.runs, n_runs);
	take(&cursor, &scratch.ranks, samples);
	take(&cursor, &scratch.places, samples * n_runs);
	take(&cursor, &scratch.splits, (tiles_for(total, MERGE_ROW::TILE) + 1ull) * n_runs);
	scratch.bytes = cursor.at - (uintptr_t) d_scratch;
	return scratch;
}

/* Numbers the runs' samples, and copies the run descriptions to the device.
 * CUDA reads so few bytes before the call returns. */
static inline cudaError_t
record_runs(const merge_run *runs, uint32_t n_runs, uint32_t stride, merge_run *d_runs,
			uint32_t *n_samples, cudaStream_t stream)
{
	merge_run	numbered[GSORT_MERGE_RUNS_MAX];
	uint32_t	samples = 0;

	for (uint32_t r = 0; r < n_runs; r++)
	{
		numbered[r] = runs[r];
		numbered[r].first_sample = samples;
		samples += tiles_for(runs[r].count, stride);
	}
	*n_samples = samples;
	return cudaMemcpyAsync(d_runs, numbered, n_runs * sizeof(merge_run), cudaMemcpyHostToDevice,
						   stream);
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
	uint32_t	tiles = tiles_for(total, Row::TILE);
	merge_scratch scratch = merge_lay_out(total, n_runs, d_scratch);
	const uint32_t stride = SAMPLE_TILES * Row::TILE;
	uint32_t	n_samples;

	static_assert(sizeof(multiway_memory<Key, Row>) <= Row::SHARED_BYTES,
				  "shared memory of the row");
	static_assert(Row::ITEMS % 2 == 1, "bank conflicts");
	if (total == 0)
		return cudaSuccess;
	CUDA_TRY(record_runs(runs, n_runs, stride, scratch.runs, &n_samples, stream));
	CUDA_TRY(launch(multiway_sample_kernel<Key>, tiles_for(n_samples, SELECT_WARPS),
					SELECT_WARPS * WARP_THREADS, SELECT_WARPS * RUN_SLOTS * sizeof(uint32_t),
					stream, source, scratch.runs, n_runs, stride, n_samples, scratch.ranks,
					scratch.places));
	CUDA_TRY(launch(multiway_split_kernel<Key>, tiles_for(tiles + 1ull, SELECT_WARPS),
					SELECT_WARPS * WARP_THREADS, SELECT_WARPS * sizeof(selection_memory), stream,
					source, scratch.runs, n_runs, total, (uint32_t) Row::TILE, n_samples,
					scratch.ranks, scratch.places, scratch.splits));
	return launch(multiway_merge_kernel<Key, Row>, tiles, Row::THREADS,
				  sizeof(multiway_memory<Key, Row>), stream, source, (uint64_t *) d_order,
				  scratch.runs, n_runs, total, scratch.splits);
}

#endif							/* GSORT_MULTIWAY_MERGE_CUH */
