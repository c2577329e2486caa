/*
 * partition_rooms.cuh
 *	  The first scatter of the partition (level 1), for keys that are spread
 *	  evenly: reserves a room for each bucket before its items are counted.
 *
 * In:  the caller's keys; buckets of equal ranges, from partition_split.cuh.
 * Out: in the plan, the begin of each bucket's room in the level 1 array; or no
 *	    rooms, and items are counted.
 *
 *	  keys --estimate--> sampled keys of each bucket --plan--> rooms
 *
 * A sample of a million keys estimates the size of each bucket with an error of
 * about 1 %, and a room is a few per cent larger.  The scatter to the buckets
 * thus needs no preceding count of all keys.  If a bucket overflows, the
 * scatter is repeated with counts.
 */
#ifndef GSORT_PARTITION_ROOMS_CUH
#define GSORT_PARTITION_ROOMS_CUH

#include <math.h>

#include "sort/partition_plan.cuh"

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

#endif							/* GSORT_PARTITION_ROOMS_CUH */
