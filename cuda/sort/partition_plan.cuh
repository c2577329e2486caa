/*
 * partition_plan.cuh
 *	  What the stages of the partition tell each other, and the decisions behind it.
 *
 * Lives in the caller's scratch; each field is written by one kernel and read by
 * later ones.  The functions are host and device code, so that their properties
 * (monotone, in range, equal keys together) are tested without kernels.
 */
#ifndef GSORT_PARTITION_PLAN_CUH
#define GSORT_PARTITION_PLAN_CUH

#include "sort/partition_point.cuh"
#include "sort/sort_common.cuh"
#include "sort/tuning.h"

/* One bucket of level 1, to be divided in level 2. */
typedef struct sort_segment
{
	uint32_t	begin;			/* in the level 1 array */
	uint32_t	count;
	uint32_t	first_chunk;	/* of level 2; chunks are numbered through all segments */
	uint32_t	flags;			/* GROUP_... */
	uint64_t	lowest;			/* coordinates of its items lie in [lowest, lowest + range] */
	uint64_t	range;
	uint32_t	by_splitters;	/* 1: cells are cut by splitters, 0: by the map alone */
	linear_map	map;			/* coordinate - map_lowest to cells, or to places of the search table */
	uint64_t	map_lowest;		/* with splitters the table covers only where the sample lies, */
	uint64_t	map_range;		/* and what is beyond counts as its end */
} sort_segment;

/* A stretch of items that one block sorts. */
typedef struct sort_group
{
	uint32_t	begin;			/* also its place in the output */
	uint32_t	count;
	uint32_t	flags;
	linear_map	map;			/* coordinate - lowest, to bins of the tile sort */
	uint64_t	lowest;
} sort_group;

typedef enum sort_flags
{
	GROUP_IN_LEVEL1 = 1,		/* its items stand in the level 1 array */
	GROUP_SHORTENED = 2,		/* its words have lost low bits of the keys */
	GROUP_BY_ROW = 4			/* wide: all its keys are equal */
} sort_flags;

/* Items that no tile holds and no splitter divided: left to cooperative merging. */
typedef struct merge_range
{
	uint32_t	begin;
	uint32_t	count;
	uint32_t	shortened;
	uint32_t	first_tile;		/* tiles are numbered through all ranges */
} merge_range;

typedef struct partition_plan
{
	/* level 1: bucket b holds the (key, row) from its lowest up to the next bucket's */
	uint64_t	lowest_key[BUCKETS_MAX];
	uint32_t	lowest_row[BUCKETS_MAX];
	uint32_t	shift[BUCKETS_MAX];	/* bits that an offset in the bucket loses */
	uint16_t	cells[BUCKET_CELLS];	/* first bucket a key of the cell can be in, and the last << 8 */
	uint64_t	sample_min;
	uint64_t	sample_range;
	linear_map	sample_map;
	uint32_t	buckets;
	uint32_t	wide;			/* 1: the items are wide */
	uint32_t	handed_over;	/* 1: to the radix sort; the partition has nothing to do */
	uint32_t	row_bits;

	uint32_t	counts[BUCKETS_MAX];	/* by the histogram */
	uint32_t	next[BUCKETS_MAX];	/* where the next item of the bucket goes */

	/* level 2 */
	sort_segment segments[BUCKETS_MAX];
	uint32_t	first_chunk[BUCKETS_MAX + 1];
	uint32_t	chunks;

	uint32_t	groups;			/* in the lists of these names */
	uint32_t	crowded;
	uint32_t	ranges;
	uint32_t	range_tiles;
} partition_plan;

/* --- level 1 ------------------------------------------------------------------- */

/* Position in the input of sampled key i: one at a hashed place in each of samples strata. */
static inline GSORT_HD uint32_t
sample_position(uint32_t i, uint32_t samples, uint64_t n)
{
	uint32_t	begin = (uint32_t) (i * n / samples);
	uint32_t	end = (uint32_t) ((i + 1) * n / samples);
	uint32_t	hash = i * 0x9e3779b9u;

	hash = (hash ^ hash >> 15) * 0x85ebca6bu;
	hash ^= hash >> 13;
	return end > begin ? begin + hash % (end - begin) : begin;
}

/* The bucket among [first, last] for (key, row). */
template<typename Key>
static inline GSORT_HD uint32_t
search_bucket(const uint64_t *lowest_key, const uint32_t *lowest_row, uint32_t first, uint32_t last,
			  Key key, uint32_t row)
{
	return partition_point(first + 1, last + 1, [&](uint32_t bucket) {
		Key			lowest = (Key) lowest_key[bucket];

		return key > lowest || (key == lowest && row >= lowest_row[bucket]);
	}) - 1;
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

/* Low bits that the offsets of a bucket must lose to fit a word beside the row. */
static inline GSORT_HD uint32_t
bits_to_lose(uint64_t offset_max, uint32_t row_bits)
{
	uint32_t	bits = significant_bits(offset_max);

	return bits + row_bits > 64 ? bits + row_bits - 64 : 0;
}

/* --- level 2 ------------------------------------------------------------------- */

/* How many of the splitters among [first, last) are at or below (coordinate, row), plus first. */
static inline GSORT_HD uint32_t
search_splitters(const uint64_t *coordinates, const uint32_t *rows, uint32_t first, uint32_t last,
				 uint64_t coordinate, uint32_t row)
{
	return partition_point(first, last, [&](uint32_t i) {
		uint64_t	splitter = coordinates[i];

		return splitter < coordinate || (splitter == coordinate && (rows == NULL || rows[i] <= row));
	});
}

#endif							/* GSORT_PARTITION_PLAN_CUH */
