/*
 * partition_sample.cuh
 *	  A sorted sample of the keys, and the least and the greatest of more keys.
 *
 * In:  the caller's keys.
 * Out: up to SAMPLE_KEYS of them, spread over the input, with their rows; for
 *	    each block the extremes that it found.
 */
#ifndef GSORT_PARTITION_SAMPLE_CUH
#define GSORT_PARTITION_SAMPLE_CUH

#include "sort/partition_plan.cuh"

#define SPLIT_THREADS		1024

/* Keys per thread for the extremes.  With up to some hundred million even keys,
 * no more keys lie beyond the extremes than a tile holds. */
#define EXTREMES_A_THREAD	2

/* Number of samples in [begin, end) that precede the sample at mine; ties go by
 * place. */
SORT_DEVICE uint32_t
rank_in_sample(const uint64_t *sample, uint32_t begin, uint32_t end, uint32_t mine)
{
	uint64_t	key = sample[mine];
	uint32_t	before = 0;

	for (uint32_t i = begin; i < end && end <= mine; i++)
		before += sample[i] <= key;
	for (uint32_t i = begin; i < end && begin > mine; i++)
		before += sample[i] < key;
	for (uint32_t i = begin; i < end && begin <= mine && mine < end; i++)
		before += sample[i] < key || (sample[i] == key && i < mine);
	return before;
}

struct key_extremes
{
	uint64_t	least;
	uint64_t	greatest;
};

SORT_DEVICE key_extremes
join_extremes(key_extremes a, key_extremes b)
{
	return {a.least < b.least ? a.least : b.least, a.greatest > b.greatest ? a.greatest :
		b.greatest};
}

/* Reduces all threads' keys for thread 0.  warps: [WARP_THREADS], in shared
 * memory. */
SORT_DEVICE key_extremes
block_extremes(key_extremes mine, key_extremes *warps)
{
	uint32_t	warp = threadIdx.x / WARP_THREADS;

	for (uint32_t distance = WARP_THREADS / 2; distance > 0; distance /= 2)
	{
		key_extremes other = {__shfl_xor_sync(WHOLE_WARP, mine.least, distance),
			__shfl_xor_sync(WHOLE_WARP, mine.greatest, distance)};

		mine = join_extremes(mine, other);
	}
	if (lane_id() == 0)
		warps[warp] = mine;
	__syncthreads();
	for (uint32_t w = 1; w < SPLIT_THREADS / WARP_THREADS && threadIdx.x == 0; w++)
		mine = join_extremes(mine, warps[w]);
	return mine;
}

/*
 * Sorts the sample by counting: each block loads all of it and ranks its share,
 * several threads per key.  with_extremes: each thread also reads some other
 * keys for the least and the greatest of all.  Grid: SAMPLE_BLOCKS blocks of
 * SPLIT_THREADS; shared: SAMPLE_KEYS keys and the ranks of a block's share.
 * samples: a multiple of SAMPLE_BLOCKS, at most SAMPLE_KEYS.
 */
static __global__ void
__launch_bounds__(SPLIT_THREADS)
partition_sample_kernel(key_view keys, uint64_t n, uint32_t samples, uint32_t salt,
						bool with_extremes, uint64_t *sorted_keys, uint32_t *sorted_rows,
						key_extremes *extremes)
{
	await_kernel_ahead();
	SHARED_MEMORY(raw);
	__shared__ key_extremes warps[WARP_THREADS];
	uint64_t   *sample = (uint64_t *) raw;
	uint32_t   *ranks = (uint32_t *) (sample + SAMPLE_KEYS);
	uint32_t	share = samples / SAMPLE_BLOCKS;
	uint32_t	threads_a_key = SPLIT_THREADS / share;
	uint32_t	part = samples / threads_a_key;
	uint32_t	mine = blockIdx.x * share + threadIdx.x % share;
	uint32_t	begin = threadIdx.x / share * part;
	key_extremes seen = {~0ull, 0};

	for_type_of_keys(keys, [&](auto typed) {
		/* issues all loads together, because each is far from the others */
#pragma unroll
		for (uint32_t i = threadIdx.x; i < SAMPLE_KEYS; i += SPLIT_THREADS)
		{
			if (i < samples)
				sample[i] = typed[sample_position(i, samples, n, salt)];
		}
#pragma unroll
		for (uint32_t i = 0; i < EXTREMES_A_THREAD && with_extremes; i++)
		{
			uint64_t	key = typed[sample_position((i * SAMPLE_BLOCKS + blockIdx.x) *
													SPLIT_THREADS + threadIdx.x,
													EXTREMES_A_THREAD * SAMPLE_BLOCKS *
													SPLIT_THREADS, n, salt)];

			seen = join_extremes(seen, {key, key});
		}
	});
	if (threadIdx.x < share)
		ranks[threadIdx.x] = 0;
	__syncthreads();
	atomicAdd(&ranks[threadIdx.x % share], rank_in_sample(sample, begin, begin + part, mine));
	if (with_extremes)
		seen = block_extremes(seen, warps);
	if (with_extremes && threadIdx.x == 0)
		extremes[blockIdx.x] = seen;
	__syncthreads();
	if (threadIdx.x < share)
	{
		sorted_keys[ranks[threadIdx.x]] = sample[mine];
		sorted_rows[ranks[threadIdx.x]] = sample_position(mine, samples, n, salt);
	}
}

#endif							/* GSORT_PARTITION_SAMPLE_CUH */
