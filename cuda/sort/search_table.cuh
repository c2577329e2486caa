/*
 * search_table.cuh
 *	  A table that narrows a search among splitters, of the buckets or of a
 *	  bucket's cells.
 *
 * In:  the number of splitters that a linear map takes to each entry.
 * Out: for each entry, the range of splitters around the values that the map
 *	    takes to it.
 */
#ifndef GSORT_SEARCH_TABLE_CUH
#define GSORT_SEARCH_TABLE_CUH

#include "sort/warps.cuh"

/*
 * splitters_in: the number of splitters that the map takes to each of Entries
 * places. table[p] holds the number of splitters before place p, and in its
 * upper half the number up to its end.  These are the first and the last part
 * that a value at p can belong to.  The whole block calls.
 */
template<int Threads, int Entries, typename Entry>
SORT_DEVICE void
make_search_table(const uint32_t *splitters_in, uint32_t *warp_sums, Entry *table)
{
	constexpr int PER_THREAD = Entries / Threads;
	uint32_t	sum = 0;
	uint32_t	first;

	for (int i = 0; i < PER_THREAD; i++)
		sum += splitters_in[threadIdx.x * PER_THREAD + i];
	first = block_exclusive_sum<Threads>(sum, warp_sums, NULL);
	for (int i = 0; i < PER_THREAD; i++)
	{
		uint32_t	last = first + splitters_in[threadIdx.x * PER_THREAD + i];

		table[threadIdx.x * PER_THREAD + i] = (Entry) (first | last << 4 * sizeof(Entry));
		first = last;
	}
}

#endif							/* GSORT_SEARCH_TABLE_CUH */
