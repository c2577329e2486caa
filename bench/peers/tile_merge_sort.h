/*
 * tile_merge_sort.h
 *	  Two merge sorts of (key, row) pairs: peers of the product's sort, for
 *	  gsort_bench.
 *
 * In:  unsorted pairs in the order of their rows.
 * Out: all pairs, ascending by key, equal keys by row: the stable order.
 *
 * Tiles are sorted in shared memory, then merged pairwise.  Each round is a
 * kernel that cuts its output tiles by merge path.  The two sorts differ in the
 * sort of a tile.
 *
 * Both use the current CUDA device and only enqueue.  The caller owns inputs,
 * outputs and scratch.
 */
#ifndef GSORT_TILE_MERGE_SORT_H
#define GSORT_TILE_MERGE_SORT_H

#include "gsort.h"
#include "sort/launch.cuh"

typedef struct unsorted_pairs
{
	const void *keys;			/* device: [n] of key_bits (32 or 64) */
	const uint32_t *rows;		/* device: [n], ascending */
	uint64_t	n;				/* below 2^31 */
	uint32_t	key_bits;
} unsorted_pairs;

size_t		tile_merge_sort_scratch_bytes(const unsorted_pairs *pairs);

/*
 * Tiles sorted by a bitonic network (Batcher, "Sorting networks and their
 * applications", 1968).  A network is not stable by itself, so it compares rows
 * if keys are equal.
 *
 * Both sorts: no output overlaps an input.  BAD_ARG: n or key_bits, or scratch
 * that is too small or not 256-byte aligned.  DEVICE_LOST: a launch failed.
 */
gsort_status bitonic_merge_sort(const unsorted_pairs *pairs, void *d_keys_out, uint32_t *d_rows_out,
								void *d_scratch, size_t scratch_bytes, cudaStream_t stream);

/*
 * Tiles sorted by cooperative merging: each thread sorts its few items in
 * registers, then the block merges runs pairwise by merge path (Green, McColl,
 * Bader, "GPU merge path", 2012).  These are the product's functions for
 * segments that its partition could not divide.
 */
gsort_status cooperative_merge_sort(const unsorted_pairs *pairs, void *d_keys_out,
									uint32_t *d_rows_out, void *d_scratch, size_t scratch_bytes,
									cudaStream_t stream);

#endif							/* GSORT_TILE_MERGE_SORT_H */
