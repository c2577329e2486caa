/*
 * partition_plan.cuh
 *	  The plan: the data that the stages of the partition share, and the
 *	  decisions behind it.
 *
 * The plan lives in the caller's scratch.  Each stage (stage_*.cuh) states the
 * fields that it reads and writes.  Within a stage, kernels read a field later
 * than they write it, except for flags that blocks of a kernel set for later
 * kernels.  The functions are host and device code.  Their properties
 * (monotone, in range, equal keys together) can thus be tested without kernels.
 *
 * The terms for parts of the input, in all of cuda/sort:
 *
 * tile		the items that a block handles at once
 * bucket	level 1 divides the input into buckets, by splitters from a sample:
 *			up to BUCKETS_MAX
 * batch	tiles of one bucket that one block takes in level 2, in turn
 * cell		level 2 divides a bucket into cells: fine, counted, never moved
 * bin		neighbouring cells of a bucket, as many as fit a tile; with evenly
 *			spread keys, equally many cells each.  Also the parts of a tile
 *			within a block, and the digits of the radix sort
 * room		the part of an array that is reserved for a bucket or a bin before
 *			its items are counted, whether or not they fill it
 * segment	the input of one block's final sort: a bin, or a bucket that fits a
 *			tile.  A bin that exceeds a tile is a long segment, which all
 *			blocks sort together
 * run		sorted items that are merged with others; its stretch is the part
 *			that one tile of the output takes
 */
#ifndef GSORT_PARTITION_PLAN_CUH
#define GSORT_PARTITION_PLAN_CUH

#include <type_traits>

#include "sort/search.cuh"
#include "sort/launch.cuh"
#include "sort/items.cuh"
#include "sort/tuning.h"

/* Even keys go to uncounted buckets and bins from UNCOUNTED_PAIRS_MIN pairs on.
 * Upper limit: room_begin + n must fit uint32 even if one bucket gets every
 * item. */
#ifndef UNCOUNTED_PAIRS_MIN
#define UNCOUNTED_PAIRS_MIN	16000000u
#endif
#define UNCOUNTED_PAIRS_MAX	1500000000u

/* A sample is uneven if it is closer to one neighbour than to the other by this
 * many bits.  Two samples are a lone pair if they are closer to each other by
 * the second number of bits. */
#define UNEVEN_BITS			5
#define LONE_PAIR_BITS		12

typedef struct bucket_plan
{
	uint32_t	begin;			/* place in the output */
	uint32_t	count;
	uint32_t	level1_begin;	/* place of its items in the level 1 array */
	uint32_t	first_batch;	/* its first batch; batches are numbered through all buckets */
	uint32_t	flags;			/* ITEMS_... */
	uint64_t	lowest;			/* the coordinates of its items lie in [lowest, lowest + range] */
	uint64_t	range;
	uint32_t	by_splitters;	/* 1: splitters divide its cells; 0: the map alone does */
	/* Maps coordinate - map_lowest to cells, or to entries of the search
	 * table. */
	linear_map	map;
	uint64_t	map_lowest;		/* with splitters, the table covers only the range of the sample */
	uint64_t	map_range;		/* and coordinates beyond it count as its end */
	/* The number of bins of equally many cells, if its items are even; 0: such
	 * bins would have too few cells. */
	uint32_t	even_bins;
	linear_map	cell_to_bin;	/* valid for such bins; factor 0: use bin_of_cell */
	uint32_t	level2_begin;	/* its room in the level 2 array */
	/* 1: each of its even bins has the room of a tile there, so that no count
	 * is needed first */
	uint32_t	tile_a_bin;
	/* 1: a bin overflowed its room, so the counted path runs after all */
	uint32_t	overflowed;
} bucket_plan;

/* The input of one block's final sort: a range of items that is contiguous in
 * the output. */
typedef struct sort_segment
{
	uint32_t	begin;			/* place in its array */
	uint32_t	place;			/* place in the output */
	uint32_t	count;
	uint32_t	flags;
	linear_map	map;			/* maps coordinate - lowest to bins of the tile sort */
	uint64_t	lowest;
} sort_segment;

typedef enum sort_flags
{
	ITEMS_IN_LEVEL1 = 1,		/* its items are in the level 1 array */
	ITEMS_SHORTENED = 2,		/* its words have lost low bits of the keys */
	ITEMS_BY_ROW = 4			/* wide: all its keys are equal */
} sort_flags;

/* Items that exceed a tile and that no splitter divided: the input of
 * cooperative merging (merge.cuh). */
typedef struct long_segment
{
	uint32_t	begin;			/* place in the level 2 array */
	uint32_t	level1_begin;	/* place in the level 1 array, where it may use as many items */
	uint32_t	place;			/* place in the output */
	uint32_t	count;
	uint32_t	shortened;
	uint32_t	first_tile;		/* its first tile; tiles are numbered through all long segments */
} long_segment;

/* Order of the sample's keys in the input. */
typedef enum seen_order
{
	SEEN_UNORDERED = 0,
	SEEN_RISING = 1,			/* each key is at least its predecessor */
	SEEN_FALLING = 2			/* each key is below its predecessor */
} seen_order;

/*
 * The buckets, and the form of their items.  Bucket b holds the (key, row) from
 * its lowest one up to the next bucket's; these rise.  The first bucket's is
 * (0, 0).  Behind the last stands the greatest possible key, with row 0.  The
 * struct is self-contained: splitters from another source work as well.
 */
typedef struct bucket_splitters
{
	uint64_t	lowest_key[BUCKETS_MAX];
	uint32_t	lowest_row[BUCKETS_MAX];
	/* Low bits that the bucket's keys lose in narrow words, by bits_to_lose */
	uint32_t	shift[BUCKETS_MAX];
	/* Indexed by sample_map: first possible bucket of a key, and the last <<
	 * 8. */
	uint16_t	table[BUCKET_TABLE];
	uint64_t	sample_min;
	uint64_t	sample_range;
	linear_map	sample_map;
	uint32_t	buckets;		/* at least 1 */
	uint32_t	wide;			/* 1: the items are wide */
	uint32_t	even;			/* 1: the items appear to be even in a range */
	uint32_t	first_even;		/* the first bucket of that range */
	uint64_t	even_least;		/* the least key of that range */
	uint64_t	even_range;
	/* maps the range to its buckets; the first and the last bucket lie
	 * outside */
	linear_map	even_map;
	uint32_t	row_bits;		/* width of the row in narrow words */
} bucket_splitters;

/* The verdict on the input; all 0: the partition sorts it. */
typedef struct sample_verdict
{
	uint32_t	handed_over;	/* 1: to the radix sort */
	uint32_t	seen_order;		/* SEEN_... */
	/* 1: two neighbouring keys contradict seen_order; valid after the pass
	 * of presorted keys */
	uint32_t	contradicted;
} sample_verdict;

/* Lengths of the lists of these names, and counters of their sorts. */
typedef struct segment_counts
{
	uint32_t	segments;
	uint32_t	crowded;
	/* total tiles of the long segments, and their number: one word, which one
	 * atomic addition raises */
	alignas(8) uint32_t long_tiles;
	uint32_t	long_segments;
	uint32_t	arrived;		/* blocks at the grid barrier of the merges */
} segment_counts;

/* The items of the partition, which are sorted afterwards: device memory of the
 * caller. */
typedef struct segmented_items
{
	/* [level1_items_max]; the second array [n], unused with narrow items */
	item_arrays<true> level1;
	item_arrays<true> level2;	/* [level2_items_max]; the second array [n] */
	sort_segment *segments;		/* [segments_max] */
	long_segment *long_segments;	/* [long_segments_max] */
} segmented_items;

typedef struct partition_plan
{
	bucket_splitters splitters;
	sample_verdict verdict;

	uint32_t	counts[BUCKETS_MAX];	/* sampled keys for the rooms, later all keys */
	uint32_t	next[BUCKETS_MAX];	/* place of the next item of the bucket */
	uint32_t	room_begin[BUCKETS_MAX + 1];	/* in the level 1 array */
	uint32_t	rooms_given;	/* 1: items go to their buckets' rooms, uncounted */
	uint32_t	rooms_overflowed;	/* 1: a room overflowed, so the items are counted after all */

	bucket_plan bucket_plans[BUCKETS_MAX];
	uint32_t	first_batch[BUCKETS_MAX + 1];
	uint32_t	batches;
	uint32_t	any_counted;	/* 1: is_counted holds for some bucket */

	segment_counts listed;
} partition_plan;

/*
 * Calls work for the plan's kind of items: work(std::true_type) if they are
 * wide, otherwise work(std::false_type).  MayBeWide: false if the host knows
 * that they are narrow, which saves half of the code.
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

/* True if all keys are in rising or in falling order and have been emitted. */
static inline GSORT_HD bool
is_presorted(const partition_plan *plan)
{
	return plan->verdict.seen_order != SEEN_UNORDERED && !plan->verdict.contradicted;
}

/* True if the items of all buckets are counted before the scatter. */
static inline GSORT_HD bool
buckets_are_counted(const partition_plan *plan)
{
	return !plan->rooms_given || plan->rooms_overflowed;
}

/* True if the items of a divided bucket are counted before the scatter to its
 * bins. */
static inline GSORT_HD bool
is_counted(const bucket_plan *bucket)
{
	uint32_t	tile_a_bin = bucket->tile_a_bin;
	uint32_t	overflowed = bucket->overflowed;

	return !tile_a_bin || overflowed;
}

/* True if the partition has work. */
static inline GSORT_HD bool
is_partitioned(const partition_plan *plan)
{
	return !plan->verdict.handed_over && !is_presorted(plan);
}

/* --- level 1 -------------------------------------------------------------- */

/* Position in the input of sampled key i: a hashed place in each of samples
 * strata.  Without knowledge of the salt, no input can be crafted that misleads
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

/* The bucket of (key, row) among [first, last]. */
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

/* Lookup of the buckets of even keys: a multiplication, within their range. */
template<typename Key>
struct even_bucket_finder
{
	Key			lowest;
	Key			range;
	linear_map	map;
	uint32_t	first;
	uint32_t	last;			/* the last bucket */

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

/* The greatest possible key of bucket b, present or not. */
static inline GSORT_HD uint64_t
highest_key(const uint64_t *lowest_key, const uint32_t *lowest_row, uint32_t b, uint32_t buckets,
			uint64_t key_max)
{
	if (b + 1 >= buckets)
		return key_max;
	return lowest_row[b + 1] > 0 ? lowest_key[b + 1] : lowest_key[b + 1] - 1;
}

/*
 * The words of one bucket's narrow items hold the key, shifted right by shift,
 * in the 64 - row_bits bits above the row.  Higher bits are cut off.  The top
 * byte counts from the base, that of the bucket's lowest key.  Words thus rise
 * with (key, row) even if the cut-off bits change within the bucket.
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

/* Low bits that the keys of a bucket must lose, so that every word, counted
 * from the base, fits its place. */
static inline GSORT_HD uint32_t
bits_to_lose(uint64_t lowest, uint64_t highest, uint32_t row_bits)
{
	uint32_t	bits = significant_bits(highest - lowest);
	uint32_t	shift = bits + row_bits > 64 ? bits + row_bits - 64 : 0;
	uint64_t	below_base = (1ull << (BASE_PLACE - row_bits)) - 1;

	return ((highest >> shift) - ((lowest >> shift) & ~below_base)) >> (64 - row_bits) ? shift + 1 :
		shift;
}

/* True if key is much closer to one of its neighbours in the sorted sample than
 * to the other.  Equal keys do not count. */
static inline GSORT_HD bool
lies_unevenly(uint64_t before, uint64_t key, uint64_t behind)
{
	uint64_t	lower = key - before;
	uint64_t	upper = behind - key;
	uint64_t	closer = lower < upper ? lower : upper;

	return closer > 0 && (lower < upper ? upper : lower) >> UNEVEN_BITS >= closer;
}

/* True if two neighbours are far closer to each other than to the samples
 * around them. */
static inline GSORT_HD bool
is_lone_pair(uint64_t before, uint64_t first, uint64_t second, uint64_t behind)
{
	uint64_t	gap = second - first;

	return gap > 0 && (first - before) >> LONE_PAIR_BITS >= gap &&
		(behind - second) >> LONE_PAIR_BITS >= gap;
}

/* Size of the level 1 array in items, with the rooms of uncounted buckets. */
#define ROOM_SHARE			8

static inline GSORT_HD size_t
level1_items_max(uint64_t n)
{
	return n + n / ROOM_SHARE + BUCKETS_MAX;
}

/* --- level 2 -------------------------------------------------------------- */

/* Upper limit of the segments.  In any two neighbouring bins of a bucket, the
 * sum exceeds a tile, or the bins are even and nearly fill a tile each. */
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
 * Even bins are filled to fifteen sixteenths, so that none overflows by chance.
 * With tiles of 6144 the rest is five standard deviations, with the 2048 of
 * small chips three.  Each bin has at least three cells, because coarser cells
 * would not show whether the items are even.
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

/* True if n even keys go to rooms. */
static inline GSORT_HD bool
may_have_rooms(uint32_t n)
{
	return n >= UNCOUNTED_PAIRS_MIN && n <= UNCOUNTED_PAIRS_MAX;
}

/* From this many even bins on, their rooms exceed their fill by at most a
 * fifteenth, and by another fifteenth through rounding up. */
#define UNCOUNTED_BINS_MIN	18

static_assert((EVEN_FILL_SHARE + 1) * (UNCOUNTED_BINS_MIN - 1) >= EVEN_FILL_SHARE *
			  UNCOUNTED_BINS_MIN, "bins fit level2_items_max");

/* Size of the level 2 array in items, with the rooms of uncounted bins. */
static inline size_t
level2_items_max(uint64_t n)
{
	return n + 2 * n / (EVEN_FILL_SHARE - 1) + 1;
}

/* first plus the number of splitters among [first, last) at or below
 * (coordinate, row). */
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
