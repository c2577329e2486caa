/*
 * entry_sort.h
 *	  Sorts what stands for rows while these are sorted in the backend.
 */
#ifndef GPUSORT_ENTRY_SORT_H
#define GPUSORT_ENTRY_SORT_H

#include "postgres.h"

/* Fewer entries are compared sooner than counted. */
#define GPUSORT_ENTRIES_FOR_RADIX	128

/* What is moved while sorting; kept small. */
typedef struct GpuSortEntry
{
	uint64		word;			/* that sorts, unsigned, as the first key does */
	uint32		nulls;			/* bit 0: there is no word, as the first key is NULL */
	uint32		row;			/* its number */
} GpuSortEntry;

/* Sorts entries, two at least, that have the same word, or none. */
typedef void (*GpuSortTies) (GpuSortEntry *entries, uint64 n, void *arg);

/*
 * Sorts n entries, which come by their rows' numbers, by their words; ties by sort_ties, or, if that is
 * NULL, by those numbers.  other: room for as many, if there are GPUSORT_ENTRIES_FOR_RADIX.  Returns
 * where the sorted entries are, in one or the other.
 */
extern GpuSortEntry *gpusort_sort_entries(GpuSortEntry *entries, GpuSortEntry *other, uint64 n,
										  bool nulls_first, GpuSortTies sort_ties, void *arg);

#endif							/* GPUSORT_ENTRY_SORT_H */
