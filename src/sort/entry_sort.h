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
	uint64		word;			/* most comparisons end here */
	uint32		nulls;			/* bit 0: there is no word, as the first key is NULL */
	uint32		row;			/* its number, the last tie-break */
} GpuSortEntry;

typedef struct GpuSortEntryOrder
{
	/* Negative, 0 or positive: of entries that have no word, or the same one. */
	int			(*compare) (const GpuSortEntry *a, const GpuSortEntry *b, void *arg);
	void	   *arg;
	bool		words_decide;	/* entries with the same word are equal */
} GpuSortEntryOrder;

/*
 * Sorts n entries by their words, unsigned, then by comparing, then by their rows' numbers.  Entries come
 * by these numbers.  other: room for as many, if there are GPUSORT_ENTRIES_FOR_RADIX.  Returns where
 * the sorted entries are, in one or the other.
 */
extern GpuSortEntry *gpusort_sort_entries(GpuSortEntry *entries, GpuSortEntry *other, uint64 n,
										  const GpuSortEntryOrder *order);

#endif							/* GPUSORT_ENTRY_SORT_H */
