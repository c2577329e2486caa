/*
 * stage_splitters.cuh
 *	  The first stage of the sort: splitters from a sample of the keys.
 *
 * In:  the caller's keys; an array for the sample.
 * Out: in the plan, the splitters and the sample's verdict; and 0 in all that
 *	    the later stages count, if they have anything to do.
 *
 *	  keys --sample--> sorted sample --split--> splitters, verdict
 *
 * Host code: enqueues the kernels of partition_sample.cuh and
 * partition_split.cuh, allocates nothing, reads nothing back.
 */
#ifndef GSORT_STAGE_SPLITTERS_CUH
#define GSORT_STAGE_SPLITTERS_CUH

#include "sort/launch_plan.cuh"
#include "sort/partition_split.cuh"

/*
 * The partition hands the sort over to the radix sort by what the sample shows.
 * Each number is a share of the sample's neighbours: one of TIED_FOR_RADIX, and
 * so on.
 *
 * Too many neighbours are tied.  But if one of MOSTLY_TIED is, and there are
 * more than MOSTLY_TIED_PAIRS pairs, the partition sorts them: it divides equal
 * keys by row.
 */
#define TIED_FOR_RADIX		16
#ifndef MOSTLY_TIED
#define MOSTLY_TIED			2
#endif
#ifndef MOSTLY_TIED_PAIRS
#define MOSTLY_TIED_PAIRS	30000000u
#endif

/*
 * Too many neighbours are equal, of short keys, which take the radix sort four
 * passes.  Words of short keys lose nothing, so none is tied.  But where keys
 * leave most values out, the rows of one key lie close together in their tile,
 * and CROWDED_BIN of them crowd a bin.
 */
#define SHORT_KEY_BITS		32
#define EQUAL_FOR_RADIX		1024

/*
 * Too many samples lie unevenly (lies_unevenly); of even keys one of sixteen
 * does.  Such keys lie in clusters of clusters, as text does and all keys with
 * gaps among their varying bits.  No linear map tells them apart, however fine.
 */
#define UNEVEN_FOR_RADIX	8

/* There are this many lone pairs (is_lone_pair): more clusters than samples,
 * but so few that tiles are full of them. */
#define LONE_PAIRS_FOR_RADIX	8

#ifndef QUANTILES_MIN
#define QUANTILES_MIN		64
#endif

/* The number of buckets that hold equal shares of the input.  It is about the
 * number of bins in each, so that both levels write stretches of one length. */
static inline uint32_t
quantiles_of(uint64_t n, uint32_t tile)
{
	uint32_t	quantiles = QUANTILES_MIN;

	while (quantiles < QUANTILES_MAX && (uint64_t) quantiles * quantiles * tile * 4 / 3 < n)
		quantiles++;
	return quantiles;
}

#define SMALL_SAMPLE_PAIRS	1000000u	/* a quarter of the sample serves up to these */

struct splitters_input
{
	key_view	keys;			/* [n], in device memory */
	/* 1 at least; of fewer than the sample has, it has some twice, and sees no
	 * order */
	uint32_t	n;
	uint32_t	row_bits;		/* that a row below n fits in */
	bool		may_hand_over;	/* the radix sort stands by */
};

/* Device memory of the caller; the sorted sample, when all is done. */
struct sample_arrays
{
	uint64_t   *keys;			/* [SAMPLE_KEYS] */
	uint32_t   *rows;			/* [SAMPLE_KEYS] */
	key_extremes *extremes;		/* [SAMPLE_BLOCKS], what each block saw besides the sample */
};

static inline sample_arrays
take_sample(scratch_cursor *cursor)
{
	sample_arrays sample;

	take(cursor, &sample.keys, SAMPLE_KEYS);
	take(cursor, &sample.rows, SAMPLE_KEYS);
	take(cursor, &sample.extremes, SAMPLE_BLOCKS);
	return sample;
}

static inline radix_signs
signs_for_radix(const splitters_input &in, uint32_t samples)
{
	bool		short_keys = significant_bits(in.keys.mask) <= SHORT_KEY_BITS;

	if (!in.may_hand_over)
		return {samples, samples, samples, samples, samples};
	return {samples / TIED_FOR_RADIX, in.n <= MOSTLY_TIED_PAIRS ? samples : samples / MOSTLY_TIED,
		short_keys ? samples / EQUAL_FOR_RADIX : samples, samples / UNEVEN_FOR_RADIX,
		LONE_PAIRS_FOR_RADIX};
}

template<typename Row>
static cudaError_t
choose_splitters(const splitters_input &in, const sample_arrays &sample, partition_plan *plan,
				 const launch_target &target)
{
	uint32_t	samples = in.n <= SMALL_SAMPLE_PAIRS ? SAMPLE_KEYS / 4 : SAMPLE_KEYS;
	const split_input sorted = {sample.keys, sample.rows, samples, in.row_bits, in.keys.mask,
		may_have_rooms(in.n), sample.extremes};

	CUDA_TRY(launch(partition_sample_kernel, SAMPLE_BLOCKS, SPLIT_THREADS,
					SAMPLE_KEYS * sizeof(uint64_t) + SAMPLE_KEYS / SAMPLE_BLOCKS * sizeof(uint32_t),
					target.stream, in.keys, (uint64_t) in.n, samples, target.salt,
					sorted.may_be_even, sample.keys, sample.rows, sample.extremes));
	return launch(partition_split_kernel, 1, SPLIT_THREADS, sizeof(split_memory), target.stream,
				  sorted, quantiles_of(in.n, Row::SORT_TILE), signs_for_radix(in, samples), plan);
}

#endif							/* GSORT_STAGE_SPLITTERS_CUH */
