/*
 * partition_edges.cuh
 *	  Candidate lower ends of level 1 buckets: at quantiles of the sample,
 *	  beyond its ends, at equal distances, and at the gaps between its keys.
 *
 * In:  the sorted sample; the buckets so far.
 * Out: more buckets, in the shared memory of the splitting kernel.
 */
#ifndef GSORT_PARTITION_EDGES_CUH
#define GSORT_PARTITION_EDGES_CUH

#include "sort/partition_sample.cuh"

/* A gap is cut out of a bucket if the keys on either side of it span less than
 * this share of the bucket. */
#define GAP_SHARE			32
/* Narrower gaps vanish behind the margins of the clusters beside them. */
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
	uint32_t	rises;			/* neighbours in the sorted sample with rising rows */
	uint32_t	displaced;		/* samples far from their places in an even sample */
	uint32_t	first_even;		/* these fields are the plan's */
	uint64_t	even_least;
	uint64_t	even_range;
	linear_map	even_map;
	key_extremes extremes[WARP_THREADS];
};

/* A candidate lower end of a bucket, ignored if !wanted. */
struct bucket_edge
{
	bool		wanted;
	uint64_t	key;
	uint32_t	row;
};

/*
 * The edge at quantile q is the begin of its value.  If the value spans several
 * quantiles, the edge is a row in the middle of it.  At the value's last
 * quantile the edge is its end, so that the buckets between hold that value
 * only.
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

/* An edge beyond the sample.  The distances grow by 2^6 each, so that keys far
 * outside do not widen the other buckets. */
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

/* The edge at part b of a range above lowest; the map has that many parts. */
SORT_DEVICE bucket_edge
even_edge(uint64_t lowest, linear_map map, uint32_t parts, uint32_t b)
{
	bucket_edge edge = {b > 0 && b < parts, lowest, 0};

	if (edge.wanted)
		edge.key += lowest_of_part(map, b);
	return edge;
}

/* Adds the wanted edges as buckets, in thread order.  Returns the new number of
 * buckets. */
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

/* Packs a gap into a word: its significant bits, the GAP_DIGITS bits below the
 * highest, and the number of the preceding sample.  The word is monotone in the
 * gap, and the device supports its atomic maximum in shared memory. */
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

/* Finds the widest gap behind a sample of each bucket; requires a barrier
 * before and after. */
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

/* The margin that a cluster keeps beyond its last sample: the span of the next
 * full bucket or a multiple of the samples' spread, limited to a share of the
 * gap. */
SORT_DEVICE uint64_t
cluster_margin(uint64_t spread, uint64_t neighbour, uint64_t gap)
{
	uint64_t	margin = spread * 8 > neighbour ? spread * 8 : neighbour;

	return margin < gap / 4 ? margin : gap / 4;
}

/*
 * Computes up to two edges that cut the widest gap out of bucket b.  Returns 0
 * if the samples on its sides are not close together, or if words have room for
 * the whole bucket.
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
 * Makes wide gaps buckets of their own.  A bucket that contains the end of one
 * cluster and the beginning of the next also spans the gap between them.  Its
 * words then lose the bits that separate its keys.
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
	if (buckets + added > BUCKETS_MAX)	/* too many gaps for a single one to matter */
		return buckets;
	/* behind the sum's barrier all threads have read the data overwritten
	 * here */
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
