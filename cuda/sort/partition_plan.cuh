/*
 * partition_plan.cuh
 *	  What the stages of the partition tell each other, and the decisions behind
 *	  it.
 *
 * Lives in the caller's scratch.  The stages (stage_*.cuh) say what of it they
 * take and give; within a stage a field is read by later kernels than wrote it,
 * but for flags that a kernel's blocks set for later ones.  The functions are
 * host and device code, so that their properties (monotone, in range, equal
 * keys together) are tested without kernels.
 *
 * The words for parts of the input, in all of cuda/sort:
 *
 * tile		as many items as a block handles at once
 * bucket	level 1 divides the input into buckets, by splitters from a sample:
 *			up to BUCKETS_MAX
 * batch	tiles of one bucket that one block takes in level 2, in turn
 * cell		level 2 divides a bucket into cells: fine, counted, never moved
 * bin		neighbouring cells of a bucket: as many as a tile holds or, of
 *			evenly spread keys, as many in each.  Also what a tile's items are
 *			spread over within a block, and the digits of the radix sort
 * room		the part of an array that is kept for a bucket or a bin before its
 *			items are counted, whether or not they fill it
 * segment	what one block sorts at last: a bin, or a bucket that needs no
 *			dividing.  A bin that no tile holds is a long segment, which all
 *			blocks sort together
 * run		sorted items that are merged with others; its stretch is what a
 *			tile of the output takes of it
 */
#ifndef GSORT_PARTITION_PLAN_CUH
#define GSORT_PARTITION_PLAN_CUH

#include <type_traits>

#include "sort/partition_point.cuh"
#include "sort/early_launch.cuh"
#include "sort/items.cuh"
#include "sort/linear_map.cuh"
#include "sort/tuning.h"

/* Even keys go to buckets and bins that are not counted before, from
 * UNCOUNTED_PAIRS_MIN pairs on.  Upper limit: the begin of a room and n must
 * fit uint32 together, even if one bucket gets every item. */
#ifndef UNCOUNTED_PAIRS_MIN
#define UNCOUNTED_PAIRS_MIN	16000000u
#endif
#define UNCOUNTED_PAIRS_MAX	1500000000u

/* How many bits closer to one neighbour makes a sample lie unevenly, and how
 * many bits closer to each other makes two samples a lone pair. */
#define UNEVEN_BITS			5
#define LONE_PAIR_BITS		12

/* What level 2 needs to know of one bucket. */
typedef struct bucket_plan
{
	uint32_t	begin;			/* in the output */
	uint32_t	count;
	uint32_t	level1_begin;	/* of its items in the level 1 array */
	uint32_t	first_batch;	/* of level 2; batches are numbered through all buckets */
	uint32_t	flags;			/* ITEMS_... */
	uint64_t	lowest;			/* coordinates of its items lie in [lowest, lowest + range] */
	uint64_t	range;
	uint32_t	by_splitters;	/* 1: cells are cut by splitters, 0: by the map alone */
	/* Coordinate - map_lowest to cells, or to places of the search table. */
	linear_map	map;
	uint64_t	map_lowest;		/* with splitters the table covers only where the sample lies, */
	uint64_t	map_range;		/* and what is beyond counts as its end */
	/* So many bins of equally many cells, if its items lie evenly; 0: they
	 * would have few cells each. */
	uint32_t	even_bins;
	linear_map	cell_to_bin;	/* if they do; factor 0: bin_of_cell tells */
	uint32_t	level2_begin;	/* of its room in the level 2 array */
	/* 1: each of its even bins has the room of a tile there, so that items need
	 * not be counted before */
	uint32_t	tile_a_bin;
	/* 1: a bin had more items than that, so they are counted after all */
	uint32_t	overflowed;
} bucket_plan;

/* Items that one block sorts, and that no other segment's items mix with in the
 * final order. */
typedef struct sort_segment
{
	uint32_t	begin;			/* in its array */
	uint32_t	place;			/* in the output */
	uint32_t	count;
	uint32_t	flags;
	linear_map	map;			/* coordinate - lowest, to bins of the tile sort */
	uint64_t	lowest;
} sort_segment;

typedef enum sort_flags
{
	ITEMS_IN_LEVEL1 = 1,		/* its items stand in the level 1 array */
	ITEMS_SHORTENED = 2,		/* its words have lost low bits of the keys */
	ITEMS_BY_ROW = 4			/* wide: all its keys are equal */
} sort_flags;

/* Items that no tile holds and no splitter divided: left to cooperative merging
 * (merge.cuh). */
typedef struct long_segment
{
	uint32_t	begin;			/* in the level 2 array */
	uint32_t	level1_begin;	/* in the level 1 array, of which it may use as many items */
	uint32_t	place;			/* in the output */
	uint32_t	count;
	uint32_t	shortened;
	uint32_t	first_tile;		/* tiles are numbered through all long segments */
} long_segment;

/* How the keys of the sample come in the input. */
typedef enum seen_order
{
	SEEN_UNORDERED = 0,
	SEEN_RISING = 1,			/* each is at least the one before */
	SEEN_FALLING = 2			/* each is less */
} seen_order;

/*
 * The buckets, and how their items are written: bucket b holds the (key, row)
 * from its lowest, which rise, up to the next bucket's; the first one's is (0,
 * 0), and behind the last stands the greatest key there can be, with row 0.
 * Whole in itself: splitters that were chosen elsewhere serve as well.
 */
typedef struct bucket_splitters
{
	uint64_t	lowest_key[BUCKETS_MAX];
	uint32_t	lowest_row[BUCKETS_MAX];
	/* Low bits that the bucket's keys lose in narrow words: bits_to_lose, or
	 * more. */
	uint32_t	shift[BUCKETS_MAX];
	/* By sample_map: first bucket that a key can be in, and the last << 8. */
	uint16_t	table[BUCKET_TABLE];
	uint64_t	sample_min;
	uint64_t	sample_range;
	linear_map	sample_map;
	uint32_t	buckets;		/* 1 at least */
	uint32_t	wide;			/* 1: the items are wide */
	uint32_t	even;			/* 1: the items lie evenly in a range, as far as is known, */
	uint32_t	first_even;		/* and buckets from this one on hold its parts, */
	uint64_t	even_least;		/* of keys from here on */
	uint64_t	even_range;
	linear_map	even_map;		/* by this map; the first bucket and the last have the rest */
	uint32_t	row_bits;		/* of the row in narrow words */
} bucket_splitters;

/* Whether the input is for others, who leave the partition nothing to do; all
 * 0: it is not. */
typedef struct sample_verdict
{
	uint32_t	handed_over;	/* 1: to the radix sort */
	uint32_t	seen_order;		/* SEEN_... */
	/* 1: by two neighbours among the keys; not known before presorted.cuh has
	 * run */
	uint32_t	contradicted;
} sample_verdict;

/* How many there are in the lists of these names, and what sorting them
 * counts. */
typedef struct segment_counts
{
	uint32_t	segments;
	uint32_t	crowded;
	uint32_t	long_segments;
	uint32_t	long_tiles;		/* of all long segments */
	uint32_t	arrived;		/* blocks, where those that merge wait for each other */
} segment_counts;

/* What the partition makes of the keys, and what is sorted then: device memory
 * of the caller. */
typedef struct segmented_items
{
	/* [level1_items_max]; the second array [n], not used of narrow items */
	item_arrays<true> level1;
	item_arrays<true> level2;	/* [level2_items_max]; the second array [n] */
	sort_segment *segments;		/* [segments_max] */
	long_segment *long_segments;	/* [long_segments_max] */
} segmented_items;

typedef struct partition_plan
{
	bucket_splitters splitters;
	sample_verdict verdict;

	/* level 1 */
	uint32_t	counts[BUCKETS_MAX];	/* of sampled keys, for the rooms; then of all */
	uint32_t	next[BUCKETS_MAX];	/* where the next item of the bucket goes */
	uint32_t	room_begin[BUCKETS_MAX + 1];	/* in the level 1 array */
	uint32_t	rooms_given;	/* 1: items go to their buckets' rooms, uncounted */
	uint32_t	rooms_overflowed;	/* 1: a bucket had more, so they are counted after all */

	/* level 2 */
	bucket_plan bucket_plans[BUCKETS_MAX];
	uint32_t	first_batch[BUCKETS_MAX + 1];
	uint32_t	batches;
	uint32_t	any_counted;	/* 1: there are buckets that is_counted holds for */

	segment_counts listed;
} partition_plan;

/*
 * Does the work for the kind of items that the plan has: calls
 * work(std::true_type) if they are wide, else work(std::false_type).
 * MayBeWide: false if the host knows that they are not, so that half of the
 * code is spared.
 */
template<bool MayBeWide, typename Work>
SORT_DEVICE void
for_items_of_plan(const partition_plan *plan, const Work &work)
{
	if constexpr (MayBeWide)
	{
		if (plan->splitters.wide)
		{
			work(std::true_type());
			return;
		}
	}
	work(std::false_type());
}

/* All keys are in order, or in falling order, and have been emitted. */
static inline GSORT_HD bool
is_presorted(const partition_plan *plan)
{
	return plan->verdict.seen_order != SEEN_UNORDERED && !plan->verdict.contradicted;
}

/* Whether the items of all buckets are counted before they go there. */
static inline GSORT_HD bool
buckets_are_counted(const partition_plan *plan)
{
	return !plan->rooms_given || plan->rooms_overflowed;
}

/* Whether the items of a divided bucket are counted before they go to its
 * bins. */
static inline GSORT_HD bool
is_counted(const bucket_plan *bucket)
{
	uint32_t	tile_a_bin = bucket->tile_a_bin;
	uint32_t	overflowed = bucket->overflowed;

	return !tile_a_bin || overflowed;
}

/* Whether the partition has anything to do. */
static inline GSORT_HD bool
is_partitioned(const partition_plan *plan)
{
	return !plan->verdict.handed_over && !is_presorted(plan);
}

/* --- level 1 -------------------------------------------------------------- */

/* Position in the input of sampled key i: one at a hashed place in each of
 * samples strata.  Nobody who does not know the salt can make keys that mislead
 * the sample. */
static inline GSORT_HD uint32_t
sample_position(uint32_t i, uint32_t samples, uint64_t n, uint32_t salt)
{
	uint32_t	begin = (uint32_t) (i * n / samples);
	uint32_t	end = (uint32_t) ((i + 1) * n / samples);
	uint32_t	hash = i * 0x9e3779b9u + salt;

	hash = (hash ^ hash >> 15) * 0x85ebca6bu;
	hash ^= hash >> 13;
	return end > begin ? begin + hash % (end - begin) : begin;
}

/* The bucket among [first, last] for (key, row). */
template<typename Key>
static inline GSORT_HD uint32_t
search_bucket(const Key *lowest_key, const uint32_t *lowest_row, uint32_t first, uint32_t last,
			  Key key, uint32_t row)
{
	return partition_point(first, last, [&](uint32_t b) {
		Key			next_lowest = lowest_key[b + 1];

		return key != next_lowest ? key > next_lowest : row >= lowest_row[b + 1];
	});
}

/* Tells the buckets of even keys: in their range by a multiplication. */
template<typename Key>
struct even_bucket_finder
{
	Key			lowest;
	Key			range;
	linear_map	map;
	uint32_t	first;
	uint32_t	last;			/* of all buckets */

	GSORT_HD uint32_t find(Key key) const
	{
		Key			distance = key - lowest;
		uint32_t	part;

		if constexpr (sizeof(Key) == sizeof(uint32_t))
			part = part_of_residue(map, distance);
		else
			part = linear_part(map, distance);
		return distance <= range ? first + part : key < lowest ? 0 : last;
	}
};

template<typename Key>
static inline GSORT_HD even_bucket_finder<Key>
make_even_bucket_finder(const bucket_splitters &splitters)
{
	return {(Key) splitters.even_least, (Key) splitters.even_range, splitters.even_map,
		splitters.first_even, splitters.buckets - 1};
}

/* The greatest key in bucket b, whether or not it occurs. */
static inline GSORT_HD uint64_t
highest_key(const uint64_t *lowest_key, const uint32_t *lowest_row, uint32_t b, uint32_t buckets,
			uint64_t key_max)
{
	if (b + 1 >= buckets)
		return key_max;
	return lowest_row[b + 1] > 0 ? lowest_key[b + 1] : lowest_key[b + 1] - 1;
}

/*
 * The words of narrow items, in one bucket: of the key, without its shift
 * lowest bits, the 64 - row_bits bits above the row.  What is above those falls
 * away, and the top byte is counted from the base, that of the bucket's lowest
 * key: so words rise with (key, row) though the bucket lies across a place
 * where those bits begin anew.
 */
#define BASE_PLACE			56

static inline GSORT_HD uint64_t
word_of_key(uint64_t key, uint32_t shift, uint32_t base, uint32_t row_bits)
{
	return (key >> shift << row_bits) - ((uint64_t) base << BASE_PLACE);
}

static inline GSORT_HD uint32_t
base_of_words(uint64_t lowest, uint32_t shift, uint32_t row_bits)
{
	return (uint32_t) ((lowest >> shift << row_bits) >> BASE_PLACE);
}

/* Low bits that the keys of a bucket must lose, so that no word from the base
 * on is beyond its place. */
static inline GSORT_HD uint32_t
bits_to_lose(uint64_t lowest, uint64_t highest, uint32_t row_bits)
{
	uint32_t	bits = significant_bits(highest - lowest);
	uint32_t	shift = bits + row_bits > 64 ? bits + row_bits - 64 : 0;
	uint64_t	below_base = (1ull << (BASE_PLACE - row_bits)) - 1;

	return ((highest >> shift) - ((lowest >> shift) & ~below_base)) >> (64 - row_bits) ? shift + 1 :
		shift;
}

/* Is key much closer to one of its neighbours in the sorted sample than to the
 * other?  Equal ones do not count. */
static inline GSORT_HD bool
lies_unevenly(uint64_t before, uint64_t key, uint64_t behind)
{
	uint64_t	lower = key - before;
	uint64_t	upper = behind - key;
	uint64_t	closer = lower < upper ? lower : upper;

	return closer > 0 && (lower < upper ? upper : lower) >> UNEVEN_BITS >= closer;
}

/* Are two neighbours far closer to each other than to the samples around
 * them? */
static inline GSORT_HD bool
is_lone_pair(uint64_t before, uint64_t first, uint64_t second, uint64_t behind)
{
	uint64_t	gap = second - first;

	return gap > 0 && (first - before) >> LONE_PAIR_BITS >= gap &&
		(behind - second) >> LONE_PAIR_BITS >= gap;
}

/* Items of the level 1 array, with the room of buckets that are not counted. */
#define ROOM_SHARE			8

static inline GSORT_HD size_t
level1_items_max(uint64_t n)
{
	return n + n / ROOM_SHARE + BUCKETS_MAX;
}

/* --- level 2 -------------------------------------------------------------- */

/* Of two neighbouring bins of a bucket, both together exceed a tile, or the
 * bins are even and hold nearly a tile each. */
template<typename Row>
static inline size_t
segments_max(uint64_t n)
{
	return 2 * n / Row::SORT_TILE + 2 * BUCKETS_MAX;
}

template<typename Row>
static inline size_t
long_segments_max(uint64_t n)
{
	return n / Row::SORT_TILE + 1;
}

/*
 * Bins are filled to fifteen sixteenths where items lie evenly, so that none is
 * full by chance: of tiles of 6144 that leaves five standard deviations, of
 * 2048, which small chips have, three.  They have three cells at least, or the
 * cells would be too coarse to tell whether items do.
 */
#define EVEN_FILL_SHARE		16
#define EVEN_CELLS_MIN		3

static inline GSORT_HD uint32_t
even_bins_of(uint32_t count, uint32_t tile, uint32_t cells, uint32_t bins_max)
{
	uint32_t	full = tile - tile / EVEN_FILL_SHARE;
	uint32_t	bins = (count + full - 1) / full;

	return bins <= bins_max && bins * EVEN_CELLS_MIN <= cells ? bins : 0;
}

/* Whether even keys, of so many, go to rooms. */
static inline GSORT_HD bool
may_have_rooms(uint32_t n)
{
	return n >= UNCOUNTED_PAIRS_MIN && n <= UNCOUNTED_PAIRS_MAX;
}

/* So many even bins, or more, have room for no more than a fifteenth above what
 * they are filled to, and another of that by rounding up. */
#define UNCOUNTED_BINS_MIN	18

static_assert((EVEN_FILL_SHARE + 1) * (UNCOUNTED_BINS_MIN - 1) >= EVEN_FILL_SHARE *
			  UNCOUNTED_BINS_MIN, "bins fit level2_items_max");

/* Items of the level 2 array, with the room of bins that are not counted. */
static inline size_t
level2_items_max(uint64_t n)
{
	return n + 2 * n / (EVEN_FILL_SHARE - 1) + 1;
}

/* How many of the splitters among [first, last) are at or below (coordinate,
 * row), plus first. */
static inline GSORT_HD uint32_t
search_splitters(const uint64_t *coordinates, const uint32_t *rows, uint32_t first, uint32_t last,
				 uint64_t coordinate, uint32_t row)
{
	return partition_point(first, last, [&](uint32_t i) {
		uint64_t	splitter = coordinates[i];

		return splitter != coordinate ? splitter < coordinate : rows == NULL || rows[i] <= row;
	});
}

#endif							/* GSORT_PARTITION_PLAN_CUH */
