/*
 * entry_sort.c
 *	  Sorts what stands for rows while these are sorted in the backend.
 *
 * In:  entries: a row's number, and a word that sorts as its first key does.
 * Out: the same in order, in the caller's memory.
 *
 * Words are sorted by radix, what they leave by comparing.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "sort/entry_sort.h"

#define DIGITS			8		/* of a word */
#define DIGIT_VALUES	256

static inline int
compare_entries(const GpuSortEntry *a, const GpuSortEntry *b, const GpuSortEntryOrder *order)
{
	int			result;

	if (likely(((a->nulls | b->nulls) & 1) == 0 && a->word != b->word))
		return a->word < b->word ? -1 : 1;
	result = order->compare(a, b, order->arg);
	if (result != 0)
		return result;
	return a->row < b->row ? -1 : 1;
}

#define ST_SORT sort_by_comparing
#define ST_ELEMENT_TYPE GpuSortEntry
#define ST_COMPARE(a, b, order) compare_entries(a, b, order)
#define ST_COMPARE_ARG_TYPE const GpuSortEntryOrder
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

static inline int
digit_of(uint64 word, int digit)
{
	return word >> (8 * digit) & (DIGIT_VALUES - 1);
}

/* Moves entries to where their digit puts them, after counts[] of each digit's values. */
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

/* Sorts by words, from the last digit to the first, those left out that all have in common.
 * Returns where the entries are then: in one array or the other. */
static GpuSortEntry *
sort_by_words(GpuSortEntry *entries, GpuSortEntry *other, uint64 n)
{
	uint32		counts[DIGITS][DIGIT_VALUES];

	memset(counts, 0, sizeof(counts));
	for (uint64 i = 0; i < n; i++)
		for (int d = 0; d < DIGITS; d++)
			counts[d][digit_of(entries[i].word, d)]++;
	for (int d = 0; d < DIGITS; d++)
	{
		GpuSortEntry *moved = other;

		if (counts[d][digit_of(entries[0].word, d)] == n)
			continue;
		CHECK_FOR_INTERRUPTS();
		move_by_digit(entries, moved, n, d, counts[d]);
		other = entries;
		entries = moved;
	}
	return entries;
}

/* Sorts the groups of entries whose words are equal. */
static void
sort_equal_words(GpuSortEntry *entries, uint64 n, const GpuSortEntryOrder *order)
{
	uint64		begin = 0;

	for (uint64 i = 1; i <= n; i++)
	{
		if (i < n && entries[i].word == entries[begin].word)
			continue;
		if (i - begin > 1)
			sort_by_comparing(entries + begin, i - begin, order);
		begin = i;
	}
}

/* Do words alone bring entries into order, but for those that have the same one? */
static bool
radix_serves(const GpuSortEntry *entries, uint64 n)
{
	uint32		nulls = 0;

	if (n < GPUSORT_ENTRIES_FOR_RADIX || n > PG_UINT32_MAX)
		return false;
	for (uint64 i = 0; i < n; i++)
		nulls |= entries[i].nulls;
	return (nulls & 1) == 0;
}

GpuSortEntry *
gpusort_sort_entries(GpuSortEntry *entries, GpuSortEntry *other, uint64 n,
					 const GpuSortEntryOrder *order)
{
	if (!radix_serves(entries, n))
	{
		sort_by_comparing(entries, n, order);
		return entries;
	}
	entries = sort_by_words(entries, other, n);
	if (!order->words_decide)
		sort_equal_words(entries, n, order);
	return entries;
}
