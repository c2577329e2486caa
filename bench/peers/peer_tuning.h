/*
 * peer_tuning.h
 *	  Sizes of the algorithms that gsort_bench has for comparison only.
 *
 * The types and numbers are parameters of kernel templates; tests use tiny
 * ones, as with cuda/sort/tuning.h.
 */
#ifndef GSORT_PEER_TUNING_H
#define GSORT_PEER_TUNING_H

/*
 * The merge sorts: threads, items per thread; their product is a tile.  The
 * number of items is odd: a thread accesses neighbouring places, and an odd
 * stride between threads avoids bank conflicts.
 */
template<int Threads, int Items>
struct merge_sort_row
{
	static constexpr int SORT_THREADS = Threads;
	static constexpr int SORT_ITEMS = Items;
	static constexpr int SORT_TILE = Threads * Items;
};

/* The segmented rank merge: threads, and the distance between samples of a run.
 * A segment is shorter than two strides. */
template<int Threads, int Stride>
struct rank_merge_row
{
	static constexpr int THREADS = Threads;
	static constexpr int STRIDE = Stride;
	static constexpr int ITEMS = 2 * Stride / Threads;
	static constexpr int TILE = 2 * Stride;
	static_assert(TILE % Threads == 0, "as many items for each thread");
};

#ifdef GSORT_TUNING_ROWS
typedef merge_sort_row<64, 3> MERGE_SORT_ROW;
typedef rank_merge_row<64, 64> RANK_MERGE_ROW;
#else
typedef merge_sort_row<512, 7> MERGE_SORT_ROW;
typedef rank_merge_row<256, 512> RANK_MERGE_ROW;
#endif

#endif							/* GSORT_PEER_TUNING_H */
