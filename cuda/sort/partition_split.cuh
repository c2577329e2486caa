/*
 * partition_split.cuh
 *	  Chooses the buckets of level 1, from a sample of the keys.
 *
 * In:  the sorted sample, and the least and the greatest key found, from
 *	    partition_sample.cuh.
 * Out: in the plan, the lower ends of buckets, with a table that narrows their
 *	    search; whether items are wide; whether the radix sort takes over.
 *
 * Splitters are (key, row), not key alone.  A value that fills many buckets is
 * divided by row.  The sample thus balances any input, duplicates included (a
 * sample sort: Frazer, McKellar, "Samplesort: a sampling approach to minimal
 * storage tree sorting", 1970).
 */
#ifndef GSORT_PARTITION_SPLIT_CUH
#define GSORT_PARTITION_SPLIT_CUH

#include "sort/partition_edges.cuh"

/* Items are wide if more than one of this many neighbours in the sample ties by
 * its shortened word. */
#define TIED_SAMPLES_SHARE	256

/* If more than one of this many neighbours in the sample is equal, keys have so
 * many rows that bins become uneven. */
#define EQUAL_UNLESS_EVEN	1024

/* Even keys are unlikely beyond this many gaps outside the sample. */
#define GAPS_BEYOND_SAMPLE	16

/* Counts neighbours of the sample that narrow words do not separate.  Equal
 * keys count too: a tie costs the same whether or not the keys differ. */
SORT_DEVICE void
count_tied_samples(split_memory &shared, const uint64_t *keys, const uint32_t *rows,
				   uint32_t samples, uint32_t buckets)
{
	for (uint32_t i = threadIdx.x + 1; i < samples; i += SPLIT_THREADS)
	{
		uint32_t	b = search_bucket(shared.lowest_key, shared.lowest_row, 0, buckets - 1, keys[i],
									  rows[i]);
		uint32_t	shift = shared.shift[b];
		bool		one_bucket = keys[i - 1] != shared.lowest_key[b] ?
			keys[i - 1] > shared.lowest_key[b] :
			rows[i - 1] >= shared.lowest_row[b];

		if (one_bucket && shift > 0 && keys[i] >> shift == keys[i - 1] >> shift)
			atomicAdd(&shared.tied, 1u);
	}
}

/* Counts samples that show uneven keys at every scale, or rows that share
 * keys. */
SORT_DEVICE void
count_uneven_samples(split_memory &shared, const uint64_t *keys, uint32_t samples)
{
	for (uint32_t i = threadIdx.x + 1; i + 2 < samples; i += SPLIT_THREADS)
	{
		if (keys[i - 1] == keys[i])
			atomicAdd(&shared.equal, 1u);
		if (lies_unevenly(keys[i - 1], keys[i], keys[i + 1]))
			atomicAdd(&shared.uneven, 1u);
		if (is_lone_pair(keys[i - 1], keys[i], keys[i + 1], keys[i + 2]))
			atomicAdd(&shared.lone_pairs, 1u);
	}
}

/*
 * Counts samples farther from the straight line between the least and the
 * greatest than chance permits for even keys.  One even sample in a thousand
 * has any (Kolmogorov-Smirnov test).
 */
SORT_DEVICE void
count_displaced_samples(split_memory &shared, const uint64_t *keys, uint32_t samples)
{
	uint64_t	range = keys[samples - 1] - keys[0];
	linear_map	map = make_linear_map(range, samples);
	uint64_t	farthest = 4ull * samples;	/* squared */

	for (uint32_t i = threadIdx.x; i < samples; i += SPLIT_THREADS)
	{
		uint32_t	expected = linear_part(map, keys[i] - keys[0]);
		uint64_t	distance = i > expected ? i - expected : expected - i;

		if (distance * distance > farthest)
			atomicAdd(&shared.displaced, 1u);
	}
}

/* Counts samples with rising rows; samples of equal keys are in row order.
 * Requires a barrier before and after. */
SORT_DEVICE void
count_rises(split_memory &shared, const uint32_t *rows, uint32_t samples)
{
	uint32_t	rises = 0;

	for (uint32_t i = threadIdx.x; i + 1 < samples; i += SPLIT_THREADS)
		rises += rows[i] < rows[i + 1];
	if (rises > 0)
		atomicAdd(&shared.rises, rises);
}

static inline GSORT_HD uint32_t
order_of_sample(uint32_t rises, uint32_t samples)
{
	return rises == samples - 1 ? SEEN_RISING : rises == 0 ? SEEN_FALLING : SEEN_UNORDERED;
}

/* Thresholds of the sample's counts above which the radix sort is faster. */
struct radix_signs
{
	uint32_t	first_tied;		/* at least this many tied neighbours */
	uint32_t	end_tied;		/* and fewer than this many */
	uint32_t	equal;			/* at least this many */
	uint32_t	uneven;			/* at least this many */
	uint32_t	lone_pairs;
};

SORT_DEVICE bool
keys_are_for_radix(const split_memory &shared, const radix_signs &signs)
{
	return shared.equal >= signs.equal || shared.uneven >= signs.uneven ||
		shared.lone_pairs >= signs.lone_pairs;
}

/* True if the words lose so many bits that the radix sort is faster.  This is
 * known once there are buckets. */
SORT_DEVICE bool
words_are_for_radix(const split_memory &shared, const radix_signs &signs)
{
	return shared.tied >= signs.first_tied && shared.tied < signs.end_tied;
}

struct split_input
{
	const uint64_t *keys;
	const uint32_t *rows;
	uint32_t	samples;
	uint32_t	row_bits;
	uint64_t	key_max;
	bool		may_be_even;	/* enough keys for buckets of equal ranges to pay */
	const key_extremes *extremes;	/* [SAMPLE_BLOCKS], if so */
};

/* Counts the properties of the sample that do not depend on the buckets.  The
 * whole block calls; on return each thread sees the counts. */
SORT_DEVICE void
look_at_sample(split_memory &shared, const split_input &in)
{
	key_extremes seen = {~0ull, 0};

	if (in.may_be_even)
	{
		if (threadIdx.x < SAMPLE_BLOCKS)
			seen = in.extremes[threadIdx.x];
		seen = block_extremes(seen, shared.extremes);
	}
	if (threadIdx.x == 0)
	{
		shared.tied = 0;		/* until there are words */
		shared.equal = 0;
		shared.uneven = 0;
		shared.lone_pairs = 0;
		shared.rises = 0;
		shared.displaced = 0;
		shared.extremes[0] = seen;
	}
	__syncthreads();
	count_uneven_samples(shared, in.keys, in.samples);
	if (in.may_be_even)
		count_displaced_samples(shared, in.keys, in.samples);
	count_rises(shared, in.rows, in.samples);
	__syncthreads();
}

SORT_DEVICE uint32_t
place_quantiles(split_memory &shared, const split_input &in, uint32_t quantiles, uint32_t buckets)
{
	uint32_t	t = threadIdx.x;

	buckets = place_edges(shared, tail_edge(in.keys, in.samples, quantiles, t, false, in.key_max),
						  buckets);
	buckets = place_edges(shared, quantile_edge(in.keys, in.rows, in.samples, quantiles, t,
												in.key_max), buckets);
	buckets = place_edges(shared, tail_edge(in.keys, in.samples, quantiles, t, true, in.key_max),
						  buckets);
	return cut_out_gaps(shared, in.keys, in.rows, in.samples, buckets, in.row_bits, in.key_max);
}

/* The range of even keys: from the least to the greatest key found, unless
 * these are farther outside the sample than its gaps suggest. */
SORT_DEVICE key_extremes
range_of_even(const split_input &in, key_extremes seen)
{
	key_extremes range = {in.keys[0], in.keys[in.samples - 1]};
	uint64_t	farthest = (range.greatest - range.least) / (in.samples / GAPS_BEYOND_SAMPLE);

	if (seen.least < range.least && range.least - seen.least <= farthest)
		range.least = seen.least;
	if (seen.greatest > range.greatest && seen.greatest - range.greatest <= farthest)
		range.greatest = seen.greatest;
	return range;
}

/* Makes buckets of equal ranges between the least and the greatest even key,
 * and one on either side if keys are possible there. */
SORT_DEVICE uint32_t
place_equal_ranges(split_memory &shared, const split_input &in, uint32_t parts, uint32_t buckets)
{
	uint32_t	t = threadIdx.x;
	const key_extremes even = range_of_even(in, shared.extremes[0]);
	uint64_t	least = even.least;
	uint64_t	greatest = even.greatest;
	linear_map	map = make_linear_map(greatest - least, parts);

	buckets = place_edges(shared, {t == 0 && least > 0, least, 0}, buckets);
	if (t == 0)
	{
		shared.first_even = buckets - 1;
		shared.even_least = least;
		shared.even_range = greatest - least;
		shared.even_map = map;
	}
	buckets = place_edges(shared, even_edge(least, map, parts, t), buckets);
	return place_edges(shared, {t == 0 && greatest < in.key_max, greatest + 1, 0}, buckets);
}

/*
 * Writes the buckets' lower ends and shifts to shared memory, and counts
 * neighbours of the sample that their words do not separate.  The whole block
 * calls; on return each thread sees the result.
 */
SORT_DEVICE uint32_t
choose_buckets(split_memory &shared, const split_input &in, uint32_t quantiles, bool even)
{
	uint32_t	t = threadIdx.x;
	uint32_t	buckets = 1;

	if (t == 0)
	{
		shared.lowest_key[0] = 0;
		shared.lowest_row[0] = 0;
	}
	buckets = even ? place_equal_ranges(shared, in, quantiles, buckets) :
		place_quantiles(shared, in, quantiles, buckets);
	if (t < buckets)
		shared.shift[t] = bits_to_lose(shared.lowest_key[t],
									   highest_key(shared.lowest_key, shared.lowest_row, t, buckets,
												   in.key_max),
									   in.row_bits);
	__syncthreads();
	count_tied_samples(shared, in.keys, in.rows, in.samples, buckets);
	__syncthreads();
	return buckets;
}

/* Writes the lookup data of buckets for the later kernels.  Contains barriers,
 * so each thread's earlier writes are visible behind it. */
SORT_DEVICE void
plan_bucket_search(split_memory &shared, const split_input &in, uint32_t buckets,
				   partition_plan *plan)
{
	uint32_t	t = threadIdx.x;
	uint64_t	sample_min = in.keys[0];
	uint64_t	sample_range = in.keys[in.samples - 1] - sample_min;
	linear_map	map = make_linear_map(sample_range, BUCKET_TABLE);

	for (uint32_t i = t; i < BUCKET_TABLE; i += SPLIT_THREADS)
		shared.splitters_in[i] = 0;
	__syncthreads();
	if (t > 0 && t < buckets)
		atomicAdd(&shared.splitters_in[clamped_part(map, sample_min, sample_range,
													shared.lowest_key[t])], 1u);
	if (t < BUCKETS_MAX)
	{
		/* the whole array is loaded later, entries behind the last bucket
		 * included */
		plan->splitters.lowest_key[t] = t < buckets ? shared.lowest_key[t] : in.key_max;
		plan->splitters.lowest_row[t] = t < buckets ? shared.lowest_row[t] : 0;
		plan->splitters.shift[t] = t < buckets ? shared.shift[t] : 0;
		plan->counts[t] = 0;
	}
	if (t == 0)
	{
		plan->splitters.sample_min = sample_min;
		plan->splitters.sample_range = sample_range;
		plan->splitters.sample_map = map;
		plan->splitters.buckets = buckets;
	}
	__syncthreads();
	make_search_table<SPLIT_THREADS, BUCKET_TABLE>(shared.splitters_in, shared.warp_sums,
												   plan->splitters.table);
}

/* Chooses the splitters: the number of buckets by quantiles, or the maximum
 * number if the words of fewer buckets do not separate keys. */
SORT_DEVICE void
plan_splitters(split_memory &shared, const split_input &in, uint32_t quantiles,
			   partition_plan *plan)
{
	bool		even = in.may_be_even && shared.displaced == 0 &&
		shared.equal <= in.samples / EQUAL_UNLESS_EVEN;
	uint32_t	buckets = choose_buckets(shared, in, quantiles, even);

	if (shared.tied > in.samples / TIED_SAMPLES_SHARE && quantiles < QUANTILES_MAX)
	{
		__syncthreads();
		if (threadIdx.x == 0)
			shared.tied = 0;
		buckets = choose_buckets(shared, in, QUANTILES_MAX, even);
	}
	plan_bucket_search(shared, in, buckets, plan);
	if (threadIdx.x == 0)
	{
		plan->splitters.row_bits = in.row_bits;
		plan->splitters.even = even;
		plan->splitters.first_even = shared.first_even;
		plan->splitters.even_least = shared.even_least;
		plan->splitters.even_range = shared.even_range;
		plan->splitters.even_map = shared.even_map;
	}
}

/* Writes no splitters, but the fields that kernels read before they find that
 * they have no work. */
SORT_DEVICE void
plan_no_splitters(partition_plan *plan)
{
	bucket_splitters &splitters = plan->splitters;

	splitters.sample_min = splitters.sample_range = splitters.even_least = splitters.even_range = 0;
	splitters.sample_map = splitters.even_map = {0, 0};
	splitters.buckets = splitters.row_bits = splitters.even = splitters.first_even = 0;
}

/*
 * Makes the plan of level 1 from the sorted sample, or only the verdict that
 * another engine sorts.  Grid: one block of SPLIT_THREADS; shared:
 * split_memory.
 */
static __global__ void
__launch_bounds__(SPLIT_THREADS)
partition_split_kernel(split_input in, uint32_t quantiles, radix_signs signs, partition_plan *plan)
{
	await_kernel_ahead();
	SHARED_MEMORY(raw);
	split_memory &shared = *(split_memory *) raw;
	bool		for_radix;

	look_at_sample(shared, in);
	for_radix = keys_are_for_radix(shared, signs);
	if (!for_radix)
		plan_splitters(shared, in, quantiles, plan);
	else if (threadIdx.x == 0)
		plan_no_splitters(plan);
	if (threadIdx.x == 0)
	{
		plan->splitters.wide = shared.tied > in.samples / TIED_SAMPLES_SHARE;
		plan->verdict.handed_over = for_radix || words_are_for_radix(shared, signs);
		plan->verdict.seen_order = order_of_sample(shared.rises, in.samples);
		plan->verdict.contradicted = 0;
		plan->rooms_given = 0;
		plan->rooms_overflowed = 0;
		plan->listed.segments = 0;
		plan->listed.crowded = 0;
		plan->listed.long_tiles = plan->listed.long_segments = 0;
		plan->listed.arrived = 0;
	}
}

#endif							/* GSORT_PARTITION_SPLIT_CUH */
