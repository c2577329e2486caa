/*
 * partition_split.cuh
 *	  Choosing the buckets of level 1, from a sample of the keys.
 *
 * In:  the sorted sample, and the least and the greatest key that were seen,
 *	    from partition_sample.cuh.
 * Out: the plan's lower ends of buckets, with a table that narrows the search
 *	    in them; whether items are wide, and whether the radix sort is to do it
 *	    all.
 *
 * Splitters are (key, row), not key alone: a value that fills many buckets is
 * divided by row, so the sample balances any input, duplicates included (a
 * sample sort: Frazer, McKellar, "Samplesort: a sampling approach to minimal
 * storage tree sorting", 1970).
 */
#ifndef GSORT_PARTITION_SPLIT_CUH
#define GSORT_PARTITION_SPLIT_CUH

#include "sort/partition_edges.cuh"
#include "sort/search_table.cuh"

/* Of so many neighbours in the sample, one may be tied by its shortened word,
 * or items are wide. */
#define TIED_SAMPLES_SHARE	256

/* Of so many neighbours in the sample, more than one may be equal only where a
 * key has so many rows that bins are uneven by them. */
#define EQUAL_UNLESS_EVEN	1024

/* Farther beyond the sample no even key is likely to be. */
#define GAPS_BEYOND_SAMPLE	16

/* Do narrow words lose what tells neighbours of the sample apart?  Equal keys
 * count too: a tie costs the same whether or not the keys differ. */
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

/* Which keys of the sample show that linear maps fail at every scale, or that
 * rows share keys? */
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
 * Which keys of the sample are farther from the straight line between the least
 * and the greatest than chance takes even ones, of which one sample in a
 * thousand has any (the test of Kolmogorov and Smirnov)?
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

/* Samples of equal keys stand by their rows.  Wants a barrier before and
 * behind. */
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

/* When the radix sort is faster, by what is counted in the sample. */
struct radix_signs
{
	uint32_t	first_tied;		/* tied neighbours, from here on */
	uint32_t	end_tied;		/* and below */
	uint32_t	equal;			/* so many neighbours, or more */
	uint32_t	uneven;			/* so many, or more */
	uint32_t	lone_pairs;
};

SORT_DEVICE bool
keys_are_for_radix(const split_memory &shared, const radix_signs &signs)
{
	return shared.equal >= signs.equal || shared.uneven >= signs.uneven ||
		shared.lone_pairs >= signs.lone_pairs;
}

/* By what words lose, which is not known before there are buckets. */
SORT_DEVICE bool
words_are_for_radix(const split_memory &shared, const radix_signs &signs)
{
	return shared.tied >= signs.first_tied && shared.tied < signs.end_tied;
}

/* The sorted sample, and what the host knows. */
struct split_input
{
	const uint64_t *keys;
	const uint32_t *rows;
	uint32_t	samples;
	uint32_t	row_bits;
	uint64_t	key_max;
	bool		may_be_even;	/* so many keys that buckets of equal ranges pay */
	const key_extremes *extremes;	/* [SAMPLE_BLOCKS], if so */
};

/* What is seen in the sample, whatever the buckets.  The whole block calls; on
 * return each thread sees it. */
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

/* Buckets of equally many samples, or nearly so. */
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

/* The range of even keys: from the least that was seen to the greatest, unless
 * these are farther from the sample than its gaps let expect. */
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

/* Buckets of equal ranges between the least even key and the greatest, and one
 * on either side, where there can be keys. */
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
 * The buckets' lower ends and shifts, and how many neighbours of the sample
 * their words cannot tell apart, into shared memory.  The whole block calls; on
 * return each thread sees all of it.
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

/* What the later kernels look a key's bucket up in.  Has barriers: what each
 * thread did before, all see behind it. */
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
		/* all of it is loaded, what lies behind the last bucket too */
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

/* The splitters: of as many buckets as quantiles say, or of the most there can
 * be, if the words in so few cannot tell keys apart. */
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

/* No splitters, but what kernels read before they see that there is nothing to
 * do. */
SORT_DEVICE void
plan_no_splitters(partition_plan *plan)
{
	bucket_splitters &splitters = plan->splitters;

	splitters.sample_min = splitters.sample_range = splitters.even_least = splitters.even_range = 0;
	splitters.sample_map = splitters.even_map = {0, 0};
	splitters.buckets = splitters.row_bits = splitters.even = splitters.first_even = 0;
}

/*
 * The plan of level 1 from the sorted sample, or nothing but the verdict that
 * it is for others.  Grid: one block of SPLIT_THREADS; shared: split_memory.
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
		plan->listed.long_segments = 0;
		plan->listed.arrived = 0;
	}
}

#endif							/* GSORT_PARTITION_SPLIT_CUH */
