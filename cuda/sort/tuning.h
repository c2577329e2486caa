/*
 * tuning.h
 *	  Sizes of the partition-and-merge sort, of the radix sort and of the
 *	  multiway merge, one row for each kind of input and device.
 *
 * A row is a type, and the kernels are templates over it. sort_tuning_row
 * chooses the row from the number of pairs and the device's properties.  Each
 * row asserts that its shared memory fits: TUNING_MEDIUM runs on chips whose
 * blocks have 110 KiB, TUNING_LARGE needs 200 KiB.
 */
#ifndef GSORT_TUNING_H
#define GSORT_TUNING_H

#include <stdint.h>

#include <type_traits>

/* Level 1 is the same in all rows. */
#define SAMPLE_KEYS			4096	/* keys that choose the buckets of level 1 */
#define SAMPLE_BLOCKS		128
#define BUCKETS_MAX			256
#define TAIL_BUCKETS		10		/* beyond the smallest and beyond the largest sampled key */
#define GAP_EDGES			12	/* minimum; unused tail buckets are used too */
#define QUANTILES_MAX		(BUCKETS_MAX - 2 * TAIL_BUCKETS - GAP_EDGES - 2)
#define BUCKET_TABLE		8192	/* entries of the table that narrows the search for a bucket */

/* A segment with a larger bin goes to the crowded sort, which divides bins
 * until they have at most FEW_ITEMS. */
#define CROWDED_BIN			32
#define FEW_ITEMS			16

/*
 * Scatter: threads, items per thread, blocks per multiprocessor.  Cells and
 * bins: per bucket, for level 2.  Sort: threads, items per thread (their
 * product is the maximum of one block), bins, blocks per multiprocessor.
 */
template<int ScatterThreads, int ScatterItems, int ScatterBlocks, int Cells, int Bins,
		 int SortThreads, int SortItems, int SortBins, int SortBlocks, int SharedBytes>
struct tuning_row
{
	static constexpr int SCATTER_THREADS = ScatterThreads;
	/* Wide items take one half more registers and shared memory. */
	template<bool Wide> static constexpr int SCATTER_ITEMS = Wide ? ScatterItems * 2 / 3 :
		ScatterItems;
	static constexpr int SCATTER_BLOCKS = ScatterBlocks;
	static constexpr int SCATTER_TILE = ScatterThreads * ScatterItems;
	static constexpr int CELLS = Cells;
	static constexpr int BINS = Bins;
	static constexpr int SORT_THREADS = SortThreads;
	static constexpr int SORT_ITEMS = SortItems;
	static constexpr int SORT_TILE = SortThreads * SortItems;
	static constexpr int SORT_BINS = SortBins;
	static constexpr int SORT_BLOCKS = SortBlocks;
	static constexpr int SHARED_BYTES = SharedBytes;
};

/*
 * The same tile with more threads, and one block per multiprocessor.  For
 * kernels whose shared memory leaves no room for a second block, or whose items
 * exceed the registers.
 */
#define ITEMS_OF_MORE_THREADS	8

template<typename Row>
struct row_of_more_threads : Row
{
	static constexpr int SORT_THREADS = Row::SORT_TILE / ITEMS_OF_MORE_THREADS;
	static constexpr int SORT_ITEMS = ITEMS_OF_MORE_THREADS;
	/* at least SORT_TILE, and a multiple of 4 * SORT_THREADS */
	static constexpr int SORT_BINS = Row::SORT_BINS > Row::SORT_TILE ? Row::SORT_BINS :
		Row::SORT_TILE;
	static constexpr int SORT_BLOCKS = 1;
};

template<typename Row, bool Needed>
using sort_row = std::conditional_t<Needed && (Row::SORT_ITEMS > ITEMS_OF_MORE_THREADS),
									row_of_more_threads<Row>, Row>;

/* The radix sort: threads, items per thread (their product is a tile), blocks
 * per multiprocessor. */
template<int Threads, int Items, int Blocks, int SharedBytes>
struct radix_tuning_row
{
	static constexpr int THREADS = Threads;
	static constexpr int ITEMS = Items;
	static constexpr int BLOCKS = Blocks;
	static constexpr int SHARED_BYTES = SharedBytes;
};

#define RADIX_DIGIT_BITS	8
#define RADIX_BINS			(1 << RADIX_DIGIT_BITS)
#define RADIX_PASSES_MAX	8	/* for 64 bits */

/*
 * The multiway merge: threads, items per thread, blocks per multiprocessor.
 * The number of items is odd: a thread writes neighbouring places, and an odd
 * stride between threads avoids bank conflicts.
 */
template<int Threads, int Items, int Blocks, int SharedBytes>
struct merge_tuning_row
{
	static constexpr int THREADS = Threads;
	static constexpr int ITEMS = Items;
	static constexpr int TILE = Threads * Items;
	static constexpr int BLOCKS = Blocks;
	static constexpr int SHARED_BYTES = SharedBytes;
};

#ifdef GSORT_TUNING_ROWS
/* Other rows for experiments; tests use rows so small that few items need every
 * stage. */
#include GSORT_TUNING_ROWS
#else
typedef tuning_row<512, 12, 2, 1024, 512, 512, 12, 6144, 2, 110 << 10> TUNING_MEDIUM;
typedef tuning_row<1024, 12, 1, 4096, 2048, 512, 12, 6144, 2, 200 << 10> TUNING_LARGE;

typedef radix_tuning_row<320, 24, 2, 64 << 10> RADIX_ROW;

typedef merge_tuning_row<256, 15, 3, 64 << 10> MERGE_ROW;

/* Pairs up to which the medium row's fan-out suffices, with room for uneven
 * buckets.  The large row's suffices up to 1.3 G pairs; beyond, it merges the
 * excess of the largest buckets. */
#define MEDIUM_PAIRS_MAX	150000000u
#endif

typedef enum tuning_choice
{
	TUNING_CHOICE_NONE,			/* no row fits: another engine sorts */
	TUNING_CHOICE_MEDIUM,
	TUNING_CHOICE_LARGE
} tuning_choice;

static inline tuning_choice
sort_tuning_row(uint64_t n, int shared_bytes_a_block)
{
	if (n > MEDIUM_PAIRS_MAX)
		return shared_bytes_a_block >= TUNING_LARGE::SHARED_BYTES ? TUNING_CHOICE_LARGE :
			TUNING_CHOICE_NONE;
	return shared_bytes_a_block >= TUNING_MEDIUM::SHARED_BYTES ? TUNING_CHOICE_MEDIUM :
		TUNING_CHOICE_NONE;
}

template<typename Row, typename... Memory>
constexpr bool fits_row = (... && (sizeof(Memory) <= Row::SHARED_BYTES));

/* --- launch bounds -------------------------------------------------------- */

/*
 * Shared memory per multiprocessor; CUDA reserves BLOCK_SHARED_BYTES for each
 * block.  The bounds request a tuning row's number of blocks if they fit.  If
 * they do not fit, the kernels must not sacrifice registers for them.
 */
#define BLOCK_SHARED_BYTES		1024

#if !defined(__CUDA_ARCH__) || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200)
#define CHIP_SHARED_BYTES		(228 << 10)
#elif __CUDA_ARCH__ < 800
#define CHIP_SHARED_BYTES		(64 << 10)
#elif __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 870
#define CHIP_SHARED_BYTES		(164 << 10)
#else
#define CHIP_SHARED_BYTES		(100 << 10)
#endif

template<typename Memory>
constexpr int
blocks_that_fit(int wanted)
{
	int			fit = CHIP_SHARED_BYTES / (int) (sizeof(Memory) + BLOCK_SHARED_BYTES);

	return fit < 1 ? 1 : fit < wanted ? fit : wanted;
}

/* The bounds were measured on compute capability 9.0.  On other chips, 0 leaves
 * the registers to the compiler.  With bounds, the compiler would spill
 * registers there rather than run fewer threads. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 900
#define BLOCKS_UNLESS_MEASURED(measured, blocks)	(blocks)
#else
#define BLOCKS_UNLESS_MEASURED(measured, blocks)	(measured)
#endif

#endif							/* GSORT_TUNING_H */
