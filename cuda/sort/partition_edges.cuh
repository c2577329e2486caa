/*
 * partition_edges.cuh
 *	  The lower ends that buckets of level 1 can have: at quantiles of the
 *	  sample, beyond its ends, at equal distances, and at the gaps between its
 *	  keys.
 *
 * In:  the sorted sample; the buckets so far.
 * Out: more buckets, in the shared memory of the kernel that splits.
 */
#ifndef GSORT_PARTITION_EDGES_CUH
#define GSORT_PARTITION_EDGES_CUH

#include "sort/partition_sample.cuh"

/* A gap is cut out of a bucket if the keys on either side of it span less than
 * this share of the bucket. */
#define GAP_SHARE			32
/* Of narrower gaps nothing is left beside the margins of what they part. */
#define GAP_BITS_MIN		12

struct split_memory
{
	uint64_t	lowest_key[BUCKETS_MAX];
	uint32_t	lowest_row[BUCKETS_MAX];
	uint32_t	shift[BUCKETS_MAX];
	uint32_t	splitters_in[BUCKET_TABLE];
	uint32_t	widest[BUCKETS_MAX];	/* gap between two samples of a bucket: gap_and_sample */
	uint32_t	warp_sums[WARP_THREADS];
	uint32_t	tied;
	uint32_t	equal;
	uint32_t	uneven;
	uint32_t	lone_pairs;
	uint32_t	rises;			/* of neighbours in the sorted sample, whose rows rise */
	uint32_t	displaced;		/* far from where they were if all lay evenly */
	uint32_t	first_even;		/* these as the plan has them */
	uint64_t	even_least;
	uint64_t	even_range;
	linear_map	even_map;
	key_extremes extremes[WARP_THREADS];
};

/* A wanted lower end of a bucket; not there if !wanted. */
struct bucket_edge
{
	bool		wanted;
	uint64_t	key;
	uint32_t	row;
};

/*
 * Edge at quantile q: where its value begins; of a value that spans several
 * quantiles, a row in the middle of it, and at its last quantile its end, so
 * that the buckets between hold that value only.
 */
SORT_DEVICE bucket_edge
quantile_edge(const uint64_t *keys, const uint32_t *rows, uint32_t samples, uint32_t quantiles,
			  uint32_t q, uint64_t key_max)
{
	bucket_edge edge = {false, 0, 0};
	uint64_t	key;
	uint64_t	before;
	uint64_t	behind;

	if (q < 1 || q >= quantiles)
		return edge;
	key = keys[q * samples / quantiles];
	before = keys[(q - 1) * samples / quantiles];
	behind = keys[q + 1 < quantiles ? (q + 1) * samples / quantiles : samples - 1];
	edge.key = key;
	if (q == 1 || before != key)
		edge.wanted = key > 0;
	else if (q + 1 < quantiles && behind == key)
	{
		edge.row = rows[q * samples / quantiles];
		edge.wanted = true;
	}
	else
	{
		edge.key = key + 1;
		edge.wanted = key < key_max && (q + 1 == quantiles || behind != key + 1);
	}
	return edge;
}

/* Edges that grow away from the sample by 2^6 each, so that keys far outside of
 * it cost no bucket its resolution. */
SORT_DEVICE bucket_edge
tail_edge(const uint64_t *keys, uint32_t samples, uint32_t quantiles, uint32_t i, bool upper,
		  uint64_t key_max)
{
	uint64_t	inner = upper ? keys[(quantiles - 1) * samples / quantiles] :
		keys[samples / quantiles];
	uint64_t	outer = upper ? keys[samples - 1] : keys[0];
	uint64_t	width = upper ? outer - inner + 1 : inner - outer + 1;
	uint32_t	steps = upper ? i : TAIL_BUCKETS - 1 - i;
	bucket_edge edge = {false, 0, 0};

	if (i >= TAIL_BUCKETS || width == 0 || significant_bits(width) + 6 * steps > 64)
		return edge;
	width <<= 6 * steps;
	edge.wanted = upper ? width < key_max - outer : width < outer;
	edge.key = upper ? outer + width + 1 : outer - width;
	return edge;
}

/* Edge at part b of a range, of as many parts as map has, above lowest. */
SORT_DEVICE bucket_edge
even_edge(uint64_t lowest, linear_map map, uint32_t parts, uint32_t b)
{
	bucket_edge edge = {b > 0 && b < parts, lowest, 0};

	if (edge.wanted)
		edge.key += lowest_of_part(map, b);
	return edge;
}

/* Adds the edges that are wanted as buckets, in the order of the threads.
 * Returns how many buckets there are then. */
SORT_DEVICE uint32_t
place_edges(split_memory &shared, bucket_edge edge, uint32_t buckets)
{
	uint32_t	added;
	uint32_t	at = buckets + block_exclusive_sum<SPLIT_THREADS>(edge.wanted, shared.warp_sums,
																  &added);

	if (edge.wanted)
	{
		shared.lowest_key[at] = edge.key;
		shared.lowest_row[at] = edge.row;
	}
	__syncthreads();
	return buckets + added;
}

/* A gap, its significant bits and GAP_DIGITS of those below the highest, and
 * the number of the sample before it: a word that rises with the gap, which is
 * what the device has a maximum of in shared memory. */
#define GAP_DIGITS			13
#define SAMPLE_NUMBER_BITS	12

static_assert(SAMPLE_KEYS == 1 << SAMPLE_NUMBER_BITS, "a sample's number is so many bits");

static inline GSORT_HD uint32_t
gap_and_sample(uint64_t gap, uint32_t sample)
{
	uint32_t	bits = significant_bits(gap);
	uint64_t	digits = bits > GAP_DIGITS ? gap >> (bits - 1 - GAP_DIGITS) :
		gap << (GAP_DIGITS + 1 - bits);

	return (bits << GAP_DIGITS | ((uint32_t) digits & ((1u << GAP_DIGITS) -
													   1))) << SAMPLE_NUMBER_BITS | sample;
}

static inline GSORT_HD uint32_t
bits_of_gap(uint32_t gap_and_sample_of_bucket)
{
	return gap_and_sample_of_bucket >> (GAP_DIGITS + SAMPLE_NUMBER_BITS);
}

/* The widest gap behind a sample of each bucket; wants a barrier before and
 * behind. */
SORT_DEVICE void
find_gaps(split_memory &shared, const uint64_t *keys, const uint32_t *rows, uint32_t samples,
		  uint32_t buckets)
{
	for (uint32_t i = threadIdx.x; i + 1 < samples; i += SPLIT_THREADS)
	{
		uint32_t	b = search_bucket(shared.lowest_key, shared.lowest_row, 0, buckets - 1, keys[i],
									  rows[i]);

		atomicMax(&shared.widest[b], gap_and_sample(keys[i + 1] - keys[i], i));
	}
}

/* Keys to leave to a cluster beyond its last sample: as many as its next full
 * bucket spans, or some times the spread of the samples, but not much of the
 * gap. */
SORT_DEVICE uint64_t
cluster_margin(uint64_t spread, uint64_t neighbour, uint64_t gap)
{
	uint64_t	margin = spread * 8 > neighbour ? spread * 8 : neighbour;

	return margin < gap / 4 ? margin : gap / 4;
}

/*
 * The edges that cut the widest gap out of bucket b, at most two; 0 where the
 * samples on its sides do not lie close together, or words have room for the
 * whole bucket.
 */
SORT_DEVICE uint32_t
gap_edges(const split_memory &shared, const uint64_t *keys, uint32_t b, uint32_t buckets,
		  uint32_t row_bits, uint64_t key_max, uint64_t edges[2])
{
	uint32_t	i = shared.widest[b] & (SAMPLE_KEYS - 1);
	uint64_t	lowest = shared.lowest_key[b];
	uint64_t	highest = highest_key(shared.lowest_key, shared.lowest_row, b, buckets, key_max);
	uint64_t	before = keys[i];
	uint64_t	behind = keys[i + 1];
	uint64_t	spread = before - lowest;

	if (bits_of_gap(shared.widest[b]) < GAP_BITS_MIN ||
		bits_to_lose(lowest, highest, row_bits) == 0)
		return 0;
	if (behind <= highest && highest - behind > spread)
		spread = highest - behind;
	if (spread >= (highest - lowest) / GAP_SHARE)
		return 0;
	edges[0] = before + 1 + cluster_margin(spread, b > 0 ? lowest - shared.lowest_key[b - 1] : 0,
										   behind - before);
	edges[1] = behind - cluster_margin(spread, b + 2 < buckets ?
									   shared.lowest_key[b + 2] - shared.lowest_key[b + 1] : 0,
									   behind - before);
	return behind <= highest ? 2 : 1;
}

/*
 * A bucket that holds the end of one cluster of keys and the beginning of the
 * next spans what is between them, and its words lose the bits that tell its
 * keys apart: the gap becomes a bucket of its own.
 */
SORT_DEVICE uint32_t
cut_out_gaps(split_memory &shared, const uint64_t *keys, const uint32_t *rows, uint32_t samples,
			 uint32_t buckets, uint32_t row_bits, uint64_t key_max)
{
	uint32_t	b = threadIdx.x;
	uint32_t	wanted = 0;
	uint64_t	edges[2];
	uint64_t	key = 0;
	uint32_t	row = 0;
	uint32_t	before;
	uint32_t	added;

	if (b < BUCKETS_MAX)
		shared.widest[b] = 0;
	__syncthreads();
	find_gaps(shared, keys, rows, samples, buckets);
	__syncthreads();
	if (b < buckets)
	{
		key = shared.lowest_key[b];
		row = shared.lowest_row[b];
		wanted = gap_edges(shared, keys, b, buckets, row_bits, key_max, edges);
	}
	before = block_exclusive_sum<SPLIT_THREADS>(wanted, shared.warp_sums, &added);
	if (buckets + added > BUCKETS_MAX)	/* too many gaps to matter singly */
		return buckets;
	/* behind the sum's barrier all have read what is overwritten now */
	if (b < buckets)
	{
		shared.lowest_key[b + before] = key;
		shared.lowest_row[b + before] = row;
		for (uint32_t e = 0; e < wanted; e++)
		{
			shared.lowest_key[b + before + 1 + e] = edges[e];
			shared.lowest_row[b + before + 1 + e] = 0;
		}
	}
	__syncthreads();
	return buckets + added;
}

#endif							/* GSORT_PARTITION_EDGES_CUH */
