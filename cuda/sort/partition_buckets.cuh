/*
 * partition_buckets.cuh
 *	  Level 1 of the partition: keys to items, bucket after bucket.
 *
 * In:  the caller's keys; the buckets' lower ends, from partition_split.cuh.
 * Out: items in the level 1 array; a segment for each bucket that fits a tile,
 *	    a plan of level 2 for each that does not.
 *
 *	  keys --count--> buckets' counts --plan--> their places --scatter--> items
 *
 * The bucket of each key is stored, one byte per row, because its search costs
 * more than writing and reading the byte.
 *
 * Keys that are spread evenly go to buckets of equal ranges, which a linear map
 * finds.  Each bucket has a room, reserved before its items are counted:
 *
 *	  keys --estimate--> sampled keys of each bucket --plan--> rooms
 *	  keys --scatter--> items, in rooms --plan--> buckets' places
 *
 * A sample of a million keys estimates the size of each bucket with an error of
 * about 1 %, and a room is a few per cent larger.  If a bucket overflows, the
 * scatter is repeated with counts.
 */
#ifndef GSORT_PARTITION_BUCKETS_CUH
#define GSORT_PARTITION_BUCKETS_CUH

#include <math.h>

#include "sort/partition_plan.cuh"
#include "sort/scatter_tile.cuh"

/* --- rooms --------------------------------------------------------------- */

#define ESTIMATE_THREADS	512
#define ESTIMATED_KEYS_MAX	(1u << 20)
#define ESTIMATED_AT_ONCE	4	/* neighbours that are loaded together */

/* A room adds this many standard deviations to its bucket's estimate, because
 * neighbours may be alike, and this many sampled keys. */
#ifndef ROOM_DEVIATIONS
#define ROOM_DEVIATIONS		8
#define ROOM_KEYS_MORE		16
#endif

static inline GSORT_HD uint32_t
estimate_groups(uint32_t n)
{
	return (n / 2 < ESTIMATED_KEYS_MAX ? n / 2 : ESTIMATED_KEYS_MAX) / ESTIMATED_AT_ONCE;
}

SORT_DEVICE bool
wants_rooms(const partition_plan *plan)
{
	return is_partitioned(plan) && plan->splitters.even && !plan->splitters.wide;
}

/*
 * Counts the buckets' keys in a sample spread over the input.  Grid: any, each
 * block takes groups of neighbours in turn; blocks of ESTIMATE_THREADS.
 */
template<typename Key>
static __global__ void
__launch_bounds__(ESTIMATE_THREADS)
partition_estimate_kernel(key_view view, uint32_t n, uint32_t salt, partition_plan *plan)
{
	await_kernel_ahead();
	__shared__ uint32_t counts[BUCKETS_MAX];
	const typed_keys<Key> keys = view.of_type<Key>();
	uint32_t	groups = estimate_groups(n);

	if (!wants_rooms(plan))
		return;
	const even_bucket_finder<Key> buckets = make_even_bucket_finder<Key>(plan->splitters);

	for (uint32_t b = threadIdx.x; b < BUCKETS_MAX; b += ESTIMATE_THREADS)
		counts[b] = 0;
	__syncthreads();
	for (uint32_t g = blockIdx.x * ESTIMATE_THREADS + threadIdx.x; g < groups;
		 g += gridDim.x * ESTIMATE_THREADS)
	{
		uint32_t	row = sample_position(g, groups, n / ESTIMATED_AT_ONCE, salt) *
			ESTIMATED_AT_ONCE;
		Key			key[ESTIMATED_AT_ONCE];

#pragma unroll
		for (int i = 0; i < ESTIMATED_AT_ONCE; i++)
			key[i] = keys[row + i];
#pragma unroll
		for (int i = 0; i < ESTIMATED_AT_ONCE; i++)
			atomicAdd(&counts[buckets.find(key[i])], 1u);
	}
	__syncthreads();
	for (uint32_t b = threadIdx.x; b < BUCKETS_MAX; b += ESTIMATE_THREADS)
	{
		if (counts[b] > 0)
			atomicAdd(&plan->counts[b], counts[b]);
	}
}

/* Gives each bucket its room.  Grid: one block of BUCKETS_MAX threads, a thread
 * for each bucket. */
static __global__ void
__launch_bounds__(BUCKETS_MAX)
partition_plan_rooms_kernel(partition_plan *plan, uint32_t n)
{
	await_kernel_ahead();
	__shared__ uint32_t warp_sums[WARP_THREADS];
	uint32_t	b = threadIdx.x;
	bool		wanted = wants_rooms(plan);
	uint32_t	sampled = estimate_groups(n) * ESTIMATED_AT_ONCE;
	uint32_t	room = 0;
	uint32_t	begin;
	uint32_t	total;

	if (wanted && b < plan->splitters.buckets)
	{
		float		count = (float) plan->counts[b];

		room = (uint32_t) ((count + ROOM_DEVIATIONS * sqrtf(count) + ROOM_KEYS_MORE) *
						   ((float) n / (float) sampled)) + 1;
	}
	begin = block_exclusive_sum<BUCKETS_MAX>(room, warp_sums, &total);
	plan->room_begin[b] = plan->next[b] = begin;
	/* a count of all keys starts at 0 */
	plan->counts[b] = 0;
	if (b == 0)
	{
		plan->room_begin[BUCKETS_MAX] = total;
		plan->rooms_given = wanted && sampled > 0 && total <= level1_items_max(n);
	}
}

/* --- buckets ------------------------------------------------------------- */

#define HISTOGRAM_THREADS	512
#define HISTOGRAM_ITEMS		8

template<typename Key>
struct bucket_search_memory
{
	Key			lowest_key[BUCKETS_MAX];
	uint32_t	lowest_row[BUCKETS_MAX];
	uint32_t	counts[BUCKETS_MAX];
	uint16_t	table[BUCKET_TABLE];
};

template<typename Key>
SORT_DEVICE void
load_bucket_search(bucket_search_memory<Key> &shared, const bucket_splitters &splitters)
{
	for (uint32_t b = threadIdx.x; b < BUCKETS_MAX; b += HISTOGRAM_THREADS)
	{
		shared.lowest_key[b] = (Key) splitters.lowest_key[b];
		shared.lowest_row[b] = splitters.lowest_row[b];
		shared.counts[b] = 0;
	}
	for (uint32_t c = threadIdx.x; c < BUCKET_TABLE / 2; c += HISTOGRAM_THREADS)
		((uint32_t *) shared.table)[c] = ((const uint32_t *) splitters.table)[c];
}

/*
 * Finds each key's bucket and counts the buckets' items; writes the bucket of
 * key i to bucket_of_row[i].  Grid: any, each block takes tiles in turn; blocks
 * of HISTOGRAM_THREADS; shared: bucket_search_memory.
 */
template<typename Key>
static __global__ void
__launch_bounds__(HISTOGRAM_THREADS)
partition_count_buckets_kernel(key_view view, uint32_t n, partition_plan *plan,
							   uint8_t *bucket_of_row)
{
	await_kernel_ahead();
	constexpr uint32_t TILE = HISTOGRAM_THREADS * HISTOGRAM_ITEMS;

	SHARED_MEMORY(raw);
	bucket_search_memory<Key> &shared = *(bucket_search_memory<Key> *) raw;
	const typed_keys<Key> keys = view.of_type<Key>();
	Key			sample_min = (Key) plan->splitters.sample_min;
	Key			sample_range = (Key) plan->splitters.sample_range;
	linear_map	map = plan->splitters.sample_map;
	uint32_t	step = gridDim.x * TILE;
	Key			raw_keys[HISTOGRAM_ITEMS];

	/* another engine sorts, or the items are in their buckets' rooms */
	if (!is_partitioned(plan) || !buckets_are_counted(plan))
		return;
	load_bucket_search(shared, plan->splitters);
	__syncthreads();
#pragma unroll
	for (int i = 0; i < HISTOGRAM_ITEMS; i++)
	{
		uint32_t	row = blockIdx.x * TILE + i * HISTOGRAM_THREADS + threadIdx.x;

		if (row < n)
			raw_keys[i] = keys.keys[row];
	}
	for (uint32_t tile = blockIdx.x * TILE; tile < n; tile += step)
	{
#pragma unroll
		for (int i = 0; i < HISTOGRAM_ITEMS; i++)
		{
			uint32_t	row = tile + i * HISTOGRAM_THREADS + threadIdx.x;
			Key			key = raw_keys[i] & keys.mask;
			uint32_t	entry;
			uint32_t	bucket;

			/* prefetches the next tile while this tile's keys are looked up */
			if (row + step < n)
				raw_keys[i] = keys.keys[row + step];
			if (row >= n)
				continue;
			entry = shared.table[clamped_part(map, sample_min, sample_range, key)];
			bucket = search_bucket(shared.lowest_key, shared.lowest_row, entry & 0xff, entry >> 8,
								   key, row);
			bucket_of_row[row] = (uint8_t) bucket;
			atomicAdd(&shared.counts[bucket], 1u);
		}
	}
	__syncthreads();
	for (uint32_t b = threadIdx.x; b < BUCKETS_MAX; b += HISTOGRAM_THREADS)
	{
		if (shared.counts[b] > 0)
			atomicAdd(&plan->counts[b], shared.counts[b]);
	}
}

template<bool Wide>
SORT_DEVICE void
describe_bucket(bucket_plan *bucket, const bucket_splitters &splitters, uint32_t b,
				uint64_t key_max, uint32_t n)
{
	uint64_t	lowest = splitters.lowest_key[b];
	uint64_t	highest = highest_key(splitters.lowest_key, splitters.lowest_row, b,
									  splitters.buckets, key_max);
	uint32_t	shift = splitters.shift[b];
	bool		one_key = lowest == highest;
	uint32_t	row_end = b + 1 < splitters.buckets && splitters.lowest_row[b + 1] > 0 ?
		splitters.lowest_row[b + 1] : n;
	uint32_t	base = base_of_words(lowest, shift, splitters.row_bits);
	uint64_t	lowest_word = word_of_key(lowest, shift, base, splitters.row_bits);

	bucket->flags = (one_key && Wide ? ITEMS_BY_ROW : 0) |
		(shift > 0 && !Wide ? ITEMS_SHORTENED : 0);
	if (one_key)
	{
		bucket->lowest = (Wide ? 0 : lowest_word) + splitters.lowest_row[b];
		bucket->range = row_end - 1 - splitters.lowest_row[b];
	}
	else if (Wide)
	{
		bucket->lowest = lowest;
		bucket->range = highest - lowest;
	}
	else
	{
		bucket->lowest = lowest_word;
		bucket->range = word_of_key(highest, shift, base, splitters.row_bits) - lowest_word;
		if (shift == 0)
			bucket->range |= (1ull << splitters.row_bits) - 1;
	}
}

/* Leaves no work for level 2 and the tile sort.  The input is presorted, or
 * another engine sorts it. */
SORT_DEVICE void
leave_to_others(partition_plan *plan)
{
	plan->batches = 0;
	plan->any_counted = 0;
	plan->listed.segments = 0;
	if (is_presorted(plan))
		plan->verdict.handed_over = 0;
}

/* Plans a bucket: the distribution of its items and their division, but not
 * their place. */
template<typename Row>
SORT_DEVICE bucket_plan
plan_bucket(const partition_plan *plan, uint32_t b, uint32_t count, uint64_t key_max, uint32_t n)
{
	bucket_plan bucket;

	bucket.count = count;
	bucket.by_splitters = 0;
	bucket.even_bins = 0;
	bucket.cell_to_bin = {0, 0};
	bucket.tile_a_bin = 0;
	bucket.overflowed = 0;
	if (b >= plan->splitters.buckets)
		return bucket;
	if (plan->splitters.wide)
		describe_bucket<true>(&bucket, plan->splitters, b, key_max, n);
	else
		describe_bucket<false>(&bucket, plan->splitters, b, key_max, n);
	bucket.even_bins = even_bins_of(count, Row::SORT_TILE, Row::CELLS, Row::BINS);
	bucket.map = make_linear_map(bucket.range, bucket.even_bins == 0 ? Row::CELLS :
								 Row::CELLS / bucket.even_bins * bucket.even_bins);
	bucket.map_lowest = bucket.lowest;
	bucket.map_range = bucket.range;
	bucket.tile_a_bin = count > Row::SORT_TILE && may_have_rooms(n) && plan->splitters.even &&
		!plan->splitters.wide && bucket.even_bins >= UNCOUNTED_BINS_MIN;
	return bucket;
}

template<typename Row>
SORT_DEVICE sort_segment
segment_of_bucket(const bucket_plan &bucket)
{
	sort_segment whole;

	whole.begin = bucket.level1_begin;
	whole.place = bucket.begin;
	whole.count = bucket.count;
	whole.flags = bucket.flags | ITEMS_IN_LEVEL1;
	whole.map = make_linear_map(bucket.range, Row::SORT_BINS);
	whole.lowest = bucket.lowest;
	return whole;
}

/*
 * Places the buckets, plans the division of those that exceed a tile, and makes
 * segments of the others.  Grid: one block of BUCKETS_MAX threads, a thread for
 * each bucket.
 */
template<typename Row>
static __global__ void
__launch_bounds__(BUCKETS_MAX)
partition_plan_buckets_kernel(partition_plan *plan, sort_segment *segments, uint64_t key_max,
							  uint32_t n, uint32_t batch)
{
	await_kernel_ahead();
	__shared__ uint32_t warp_sums[4][WARP_THREADS];
	uint32_t	b = threadIdx.x;
	bool		counted = buckets_are_counted(plan);
	bucket_plan bucket;
	uint32_t	count = 0;
	bool		divided;
	uint32_t	total;
	uint32_t	segment;

	if (!is_partitioned(plan))
	{
		plan->bucket_plans[b].count = 0;
		if (b == 0)
			leave_to_others(plan);
		return;
	}
	if (b < plan->splitters.buckets)
		count = counted ? plan->counts[b] : plan->next[b] - plan->room_begin[b];
	divided = count > Row::SORT_TILE;
	bucket = plan_bucket<Row>(plan, b, count, key_max, n);
	bucket.begin = block_exclusive_sum<BUCKETS_MAX>(count, warp_sums[0], NULL);
	bucket.level1_begin = counted ? bucket.begin : plan->room_begin[b];
	bucket.first_batch = block_exclusive_sum<BUCKETS_MAX>(divided ? (count + batch - 1) / batch : 0,
														  warp_sums[1], &total);
	plan->first_batch[b] = bucket.first_batch;
	if (b == 0)
	{
		plan->first_batch[BUCKETS_MAX] = plan->batches = total;
		plan->any_counted = 0;
	}
	bucket.level2_begin = bucket.begin;
	if (may_have_rooms(n))
		bucket.level2_begin = block_exclusive_sum<BUCKETS_MAX>(
			bucket.tile_a_bin ? bucket.even_bins * Row::SORT_TILE : count, warp_sums[3], NULL);
	plan->bucket_plans[b] = bucket;
	plan->next[b] = bucket.begin;
	segment = block_exclusive_sum<BUCKETS_MAX>(count > 0 && !divided, warp_sums[2], &total);
	if (count > 0 && !divided)
		segments[segment] = segment_of_bucket<Row>(bucket);
	if (b == 0)
		plan->listed.segments = total;
}

template<typename Row, bool Wide>
struct scatter_buckets_memory
{
	tile_memory<Row::SCATTER_THREADS, Row::template SCATTER_ITEMS<Wide>, BUCKETS_MAX, Wide> tile;
	uint16_t	shift_and_base[BUCKETS_MAX];	/* shift | base << 8, for narrow words */
};

/* Keys that become items: with stored buckets if those are counted, otherwise
 * with the data that determines them. */
template<typename Row, bool Wide, typename Key, bool Counted>
struct keys_to_scatter
{
	typedef Key loaded;

	const scatter_buckets_memory<Row, Wide> &shared;
	typed_keys<Key> keys;
	const uint8_t *bucket_of_row;
	uint32_t	row_bits;
	even_bucket_finder<Key> buckets;
	partition_plan *plan;

	/* Loads the raw key, so that no use waits for it too early. */
	__device__ __forceinline__ void load(uint32_t row, Key &key, uint32_t &bucket) const
	{
		key = keys.keys[row];
		if (Counted)
			bucket = bucket_of_row[row];
	}

	__device__ __forceinline__ uint32_t bin_of(Key key, uint32_t bucket) const
	{
		return Counted ? bucket : buckets.find(key & keys.mask);
	}

	/* Overflow: the place no longer matters (0); rooms_overflowed makes the
	 * counted path rewrite everything. */
	__device__ __forceinline__ uint32_t take_places(uint32_t *next, uint32_t bucket,
													uint32_t count) const
	{
		uint32_t	place = atomicAdd(&next[bucket], count);

		if (!Counted && place + count > plan->room_begin[bucket + 1])
		{
			plan->rooms_overflowed = 1;
			place = 0;
		}
		return place;
	}

	__device__ __forceinline__ uint32_t tag_of_bin(uint32_t bucket) const
	{
		return Wide ? 0 : shared.shift_and_base[bucket];
	}

	__device__ __forceinline__ item<Wide> finish(Key key, uint32_t row, uint32_t tag) const
	{
		key &= keys.mask;
		if (Wide)
			return {key, row};
		return {word_of_key(key, tag & 0xff, tag >> 8, row_bits) | row, 0};
	}
};

/*
 * Writes keys as items, bucket after bucket, from plan->next on.  Counted: the
 * buckets are counted; otherwise items go to the buckets' rooms.  Grid: any,
 * each block takes tiles in turn; blocks of SCATTER_THREADS; shared:
 * scatter_buckets_memory.
 */
template<typename Row, bool Wide, typename Key, bool Counted>
static __global__ void
__launch_bounds__(Row::SCATTER_THREADS, (blocks_that_fit<scatter_buckets_memory<Row,
	Wide>>(Row::SCATTER_BLOCKS)))
partition_scatter_buckets_kernel(key_view keys, uint32_t n, partition_plan *plan,
								 const uint8_t *bucket_of_row, item_arrays<Wide> out)
{
	await_kernel_ahead();
	typedef scatter_buckets_memory<Row, Wide> memory;
	constexpr int THREADS = Row::SCATTER_THREADS;
	constexpr uint32_t TILE = THREADS * Row::template SCATTER_ITEMS<Wide>;

	SHARED_MEMORY(raw);
	memory	   &shared = *(memory *) raw;
	const keys_to_scatter<Row, Wide, Key, Counted> source =
		{shared, keys.of_type<Key>(), bucket_of_row, plan->splitters.row_bits,
			make_even_bucket_finder<Key>(plan->splitters), plan};

	/* depends only on data that stays constant during the scatter */
	if (!is_partitioned(plan) || plan->splitters.wide != (Wide ? 1u : 0u) ||
		(Counted ? !buckets_are_counted(plan) : !plan->rooms_given))
		return;
	for (uint32_t b = threadIdx.x; b < BUCKETS_MAX; b += THREADS)
	{
		shared.shift_and_base[b] = (uint16_t) (plan->splitters.shift[b] |
			base_of_words(plan->splitters.lowest_key[b], plan->splitters.shift[b],
						  plan->splitters.row_bits) << 8);
	}
	scatter_tiles(shared.tile, source, blockIdx.x * TILE, n, gridDim.x * TILE, plan->next, out);
}

#endif							/* GSORT_PARTITION_BUCKETS_CUH */
