/*
 * entry_sort.c
 *	  Sorts entries, which stand for rows in a sort in the backend.
 *
 * In:  entries: a row's number, and a word that sorts as its first key does.
 * Out: the same in order, in the caller's memory.
 *
 * Words are sorted by radix, or by comparisons if there are few.  NULLs are set
 * apart before.  Runs in the backend that leads the sort.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "sort/entry_sort.h"

#define DIGITS			8		/* of a word */
#define DIGIT_VALUES	256

static inline int
compare_entries(const GpuSortEntry *a, const GpuSortEntry *b)
{
	if (a->word != b->word)
		return a->word < b->word ? -1 : 1;
	return a->row < b->row ? -1 : 1;
}

#define ST_SORT sort_by_comparing
#define ST_ELEMENT_TYPE GpuSortEntry
#define ST_COMPARE(a, b) compare_entries(a, b)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

static inline int
digit_of(uint64 word, int digit)
{
	return word >> (8 * digit) & (DIGIT_VALUES - 1);
}

/* Moves entries to the places of their digits.  counts[] has the number of each
 * digit's values. */
static void
move_by_digit(const GpuSortEntry *from, GpuSortEntry *to, uint64 n, int digit, const uint32 *counts)
{
	uint32		place[DIGIT_VALUES];
	uint32		sum = 0;

	for (int v = 0; v < DIGIT_VALUES; v++)
	{
		place[v] = sum;
		sum += counts[v];
	}
	for (uint64 i = 0; i < n; i++)
		to[place[digit_of(from[i].word, digit)]++] = from[i];
}

/* Sorts by radix, from the last digit to the first, except for digits that all
 * entries have in common.  Few values differ in few digits, so these are found
 * before any is counted.  Returns the array that the entries are in then. */
static GpuSortEntry *
sort_by_radix(GpuSortEntry *entries, GpuSortEntry *other, uint64 n)
{
	uint64		differing = 0;	/* bits */

	for (uint64 i = 1; i < n; i++)
		differing |= entries[i].word ^ entries[0].word;
	for (int d = 0; d < DIGITS; d++)
	{
		uint32		counts[DIGIT_VALUES] = {0};
		GpuSortEntry *moved = other;

		if (digit_of(differing, d) == 0)
			continue;
		CHECK_FOR_INTERRUPTS();
		for (uint64 i = 0; i < n; i++)
			counts[digit_of(entries[i].word, d)]++;
		move_by_digit(entries, moved, n, d, counts);
		other = entries;
		entries = moved;
	}
	return entries;
}

/* Sorts the tie runs of entries whose words are equal. */
static void
sort_tie_runs(GpuSortEntry *entries, uint64 n, GpuSortTies sort_ties, void *arg)
{
	uint64		begin = 0;

	for (uint64 i = 1; i <= n; i++)
	{
		if (i < n && entries[i].word == entries[begin].word)
			continue;
		if (i - begin > 1)
			sort_ties(entries + begin, i - begin, arg);
		begin = i;
	}
}

/* Moves entries without a word behind the others, or before them.  Returns the
 * number of entries that have one. */
static uint64
part_nulls(GpuSortEntry *entries, GpuSortEntry *other, uint64 n, bool nulls_first)
{
	uint64		words = 0;
	GpuSortEntry *nulls = other;
	uint64		n_nulls = 0;

	for (uint64 i = 0; i < n; i++)
		words += (entries[i].nulls & 1) == 0;
	if (words == n)
		return n;
	if (nulls == NULL)
		nulls = palloc((n - words) * sizeof(GpuSortEntry));
	words = 0;
	for (uint64 i = 0; i < n; i++)
	{
		if ((entries[i].nulls & 1) != 0)
			nulls[n_nulls++] = entries[i];
		else
			entries[words++] = entries[i];
	}
	if (nulls_first)
		memmove(entries + n_nulls, entries, words * sizeof(GpuSortEntry));
	memcpy(nulls_first ? entries : entries + words, nulls, n_nulls * sizeof(GpuSortEntry));
	if (nulls != other)
		pfree(nulls);
	return words;
}

/* NULLs are one tie run. */
GpuSortEntry *
gpusort_sort_entries(GpuSortEntry *entries, GpuSortEntry *other, uint64 n, bool nulls_first,
					 GpuSortTies sort_ties, void *arg)
{
	uint64		words = part_nulls(entries, other, n, nulls_first);
	uint64		first = nulls_first ? n - words : 0;
	uint64		first_null = nulls_first ? 0 : words;
	GpuSortEntry *sorted = entries + first;

	if (words < GPUSORT_ENTRIES_FOR_RADIX || n > PG_UINT32_MAX)
		sort_by_comparing(sorted, words);
	else
		sorted = sort_by_radix(sorted, other + first, words);
	if (sorted != entries + first)
	{
		/* the NULLs beside them */
		memcpy(other + first_null, entries + first_null, (n - words) * sizeof(GpuSortEntry));
		entries = other;
	}
	if (sort_ties != NULL)
		sort_tie_runs(sorted, words, sort_ties, arg);
	if (sort_ties != NULL && n - words > 1)
		sort_ties(entries + first_null, n - words, arg);
	return entries;
}
