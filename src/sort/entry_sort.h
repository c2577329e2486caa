/*
 * entry_sort.h
 *	  Sorts entries, which stand for rows in a sort in the backend.
 */
#ifndef GPUSORT_ENTRY_SORT_H
#define GPUSORT_ENTRY_SORT_H

#include "postgres.h"

/* Comparisons are faster than radix for fewer entries. */
#define GPUSORT_ENTRIES_FOR_RADIX	128

/* The unit that is moved while sorting, kept small. */
typedef struct GpuSortEntry
{
	uint64		word;			/* sorts, unsigned, as the first key does */
	uint32		nulls;			/* bit 0: there is no word, because the first key is NULL */
	uint32		row;			/* its number */
} GpuSortEntry;

/* Sorts entries, at least two, that have the same word, or none. */
typedef void (*GpuSortTies) (GpuSortEntry *entries, uint64 n, void *arg);

/*
 * Sorts n entries, which come in the order of their rows' numbers, by their
 * words.  sort_ties sorts ties; if it is NULL, they stay in that order.  other:
 * room for as many entries, if there are GPUSORT_ENTRIES_FOR_RADIX.  Returns
 * the array that the sorted entries are in.
 */
extern GpuSortEntry *gpusort_sort_entries(GpuSortEntry *entries, GpuSortEntry *other, uint64 n,
										  bool nulls_first, GpuSortTies sort_ties, void *arg);

#endif							/* GPUSORT_ENTRY_SORT_H */
