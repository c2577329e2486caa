/*
 * stage_splitters.cuh
 *	  The first stage of the sort: splitters from a sample of the keys.
 *
 * In:  the caller's keys; an array for the sample.
 * Out: in the plan, the splitters and the sample's verdict; if the later stages
 *	    have work, also their counters at 0.
 *
 *	  keys --sample--> sorted sample --split--> splitters, verdict
 *
 * Host code: enqueues the kernels of partition_sample.cuh and
 * partition_split.cuh; neither allocates nor reads back.
 */
#ifndef GSORT_STAGE_SPLITTERS_CUH
#define GSORT_STAGE_SPLITTERS_CUH

#include "sort/launch_plan.cuh"
#include "sort/partition_split.cuh"

/*
 * The thresholds of the sample above which the radix sort takes over.  Each
 * number x is a share of the sample's neighbours: one in x.
 *
 * Too many neighbours are tied.  Above MOSTLY_TIED_PAIRS pairs, the partition
 * nevertheless keeps samples with one tie in MOSTLY_TIED or more: it divides
 * equal keys by row.
 */
#define TIED_FOR_RADIX		16
#ifndef MOSTLY_TIED
#define MOSTLY_TIED			2
#endif
#ifndef MOSTLY_TIED_PAIRS
#define MOSTLY_TIED_PAIRS	30000000u
#endif

/*
 * Too many neighbours are equal among short keys, which take the radix sort
 * four passes.  Words of short keys lose nothing, so none ties.  If the keys
 * leave most values out, however, the rows of one key are close together in
 * their tile.  CROWDED_BIN such rows crowd a bin.
 */
#define SHORT_KEY_BITS		32
#define EQUAL_FOR_RADIX		1024

/*
 * Too many samples are uneven (lies_unevenly); among even keys, one in sixteen
 * is.  Uneven keys form clusters of clusters, as text does, and as keys with
 * gaps among their varying bits do.  No linear map, however fine, separates
 * these keys.
 */
#define UNEVEN_FOR_RADIX	8

/* This many lone pairs (is_lone_pair) show more clusters than samples, but so
 * few clusters that they fill tiles. */
#define LONE_PAIRS_FOR_RADIX	8

#ifndef QUANTILES_MIN
#define QUANTILES_MIN		64
#endif

/* The number of buckets of equal shares of the input.  This number is close to
 * the number of bins in each bucket, so that both levels write stretches of the
 * same length. */
static inline uint32_t
quantiles_of(uint64_t n, uint32_t tile)
{
	uint32_t	quantiles = QUANTILES_MIN;

	while (quantiles < QUANTILES_MAX && (uint64_t) quantiles * quantiles * tile * 4 / 3 < n)
		quantiles++;
	return quantiles;
}

/* up to this many pairs, a quarter of the sample suffices */
#define SMALL_SAMPLE_PAIRS	1000000u

struct splitters_input
{
	key_view	keys;			/* [n], in device memory */
	/* at least 1; fewer than the sample yield repeated samples without a
	 * visible order */
	uint32_t	n;
	uint32_t	row_bits;		/* width of a row below n */
	bool		may_hand_over;	/* the radix sort is available for a hand-over */
};

/* Device memory of the caller; finally holds the sorted sample. */
struct sample_arrays
{
	uint64_t   *keys;			/* [SAMPLE_KEYS] */
	uint32_t   *rows;			/* [SAMPLE_KEYS] */
	/* [SAMPLE_BLOCKS] extremes of the other keys that each block read */
	key_extremes *extremes;
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
