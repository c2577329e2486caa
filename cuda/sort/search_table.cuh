/*
 * search_table.cuh
 *	  A table that narrows a search among splitters: those of the buckets, and
 *	  those of a bucket's cells.
 *
 * In:  how many splitters a linear map takes to each place.
 * Out: for each place, between which splitters what the map takes there can
 *	    lie.
 */
#ifndef GSORT_SEARCH_TABLE_CUH
#define GSORT_SEARCH_TABLE_CUH

#include "sort/warps.cuh"

/*
 * splitters_in: how many the map takes to each of Entries places.  table[p]:
 * how many splitters lie before place p, and in its upper half how many up to
 * its end: the first and the last of what they divide that p can belong to.
 * The whole block calls.
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
