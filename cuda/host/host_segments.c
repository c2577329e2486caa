/*
 * host_segments.c
 *	  Sorts rows that share their first word (see host_segments.h).
 *
 * A segment belongs to the part of the order in which it begins, even if it
 * ends in a later part.
 */
#include "host/host_segments.h"

#include <stdlib.h>
#include <string.h>

#include "host/first_not_before.h"
#include "host/host_radix.h"

/* A longer segment would keep one thread busy while the others wait.  Builds
 * with race detection set it low, so that short inputs have long segments
 * too. */
#ifndef HOST_SEGMENT_ROWS_MAX
#define HOST_SEGMENT_ROWS_MAX	(1u << 16)
#endif
/* Insertion sort is used up to this size. */
#define INSERTED_ROWS		6
#define ROWS_AHEAD			24
#define SAMPLE_WORDS		512

typedef struct word_search
{
	const uint64_t *first_words;
	uint64_t	word;
} word_search;

static int
is_below_word(const void *context, uint64_t i)
{
	const word_search *search = context;

	return search->first_words[i] < search->word;
}

static int
is_up_to_word(const void *context, uint64_t i)
{
	const word_search *search = context;

	return search->first_words[i] <= search->word;
}

static int
is_long(uint64_t rows)
{
	return rows > HOST_SEGMENT_ROWS_MAX;
}

/* The end of the segment that begins at i, at most n; i + 1 for a single
 * row. */
static uint64_t
segment_end(const host_segments *segments, uint64_t i)
{
	word_search search = {segments->first_words, segments->first_words[i]};
	uint64_t	end = i + 1;

	while (end < segments->n && segments->first_words[end] == search.word && !is_long(end - i))
		end++;
	return is_long(end - i) ? first_not_before(end, segments->n, is_up_to_word, &search) : end;
}

/* The first segment that begins at i or later. */
static uint64_t
segment_begin(const host_segments *segments, uint64_t i)
{
	if (i > 0 && i < segments->n && segments->first_words[i] == segments->first_words[i - 1])
		return segment_end(segments, i);
	return i;
}

int
host_segments_next_long(const host_segments *segments, uint64_t *begin, uint64_t *end)
{
	/* a long segment contains a multiple of HOST_SEGMENT_ROWS_MAX */
	uint64_t	i = (*end + HOST_SEGMENT_ROWS_MAX - 1) / HOST_SEGMENT_ROWS_MAX *
		HOST_SEGMENT_ROWS_MAX;

	for (; i < segments->n; i += HOST_SEGMENT_ROWS_MAX)
	{
		word_search search = {segments->first_words, segments->first_words[i]};

		*begin = first_not_before(*end, i, is_below_word, &search);
		*end = first_not_before(i, segments->n, is_up_to_word, &search);
		if (is_long(*end - *begin))
			return 1;
	}
	return 0;
}

/* True if row a precedes row b by the words behind the first. */
static int
is_before(const host_segments *segments, uint32_t a, uint32_t b)
{
	const uint64_t *keys_a = host_run_keys(segments->run, a);
	const uint64_t *keys_b = host_run_keys(segments->run, b);
	uint32_t	nulls_a = host_run_nulls(segments->run, a);
	uint32_t	nulls_b = host_run_nulls(segments->run, b);

	for (uint32_t word = 1; word < segments->plan->words; word++)
	{
		uint64_t	word_a = key_plan_word(segments->plan, word, keys_a, 1, nulls_a);
		uint64_t	word_b = key_plan_word(segments->plan, word, keys_b, 1, nulls_b);

		if (word_a != word_b)
			return word_a < word_b;
	}
	return 0;
}

/* --- before the sort ------------------------------------------------------ */

static int
compare_words(const void *a, const void *b)
{
	uint64_t	word_a = *(const uint64_t *) a;
	uint64_t	word_b = *(const uint64_t *) b;

	return word_a < word_b ? -1 : word_a > word_b;
}

int
host_segments_likely_long(const uint64_t *words, uint64_t n)
{
	uint64_t	sample[SAMPLE_WORDS];
	uint32_t	tied = 0;

	if (n < 2 * SAMPLE_WORDS)
		return 0;
	for (uint32_t i = 0; i < SAMPLE_WORDS; i++)
		sample[i] = words[n / SAMPLE_WORDS * i];
	qsort(sample, SAMPLE_WORDS, sizeof(sample[0]), compare_words);
	for (uint32_t i = 1; i < SAMPLE_WORDS; i++)
		tied += sample[i] == sample[i - 1];
	return tied >= SAMPLE_WORDS / 4;
}

/* --- weighing ------------------------------------------------------------- */

/* Adds up the comparisons that the part's segments need. */
static void
weigh_part(void *arg, uint32_t part)
{
	host_segments *segments = arg;
	uint64_t	end = host_part_begin(segments->n, segments->parts, part + 1);
	uint64_t	begin = segment_begin(segments,
									  host_part_begin(segments->n, segments->parts, part));
	uint64_t	work = 0;

	while (begin < end)
	{
		uint64_t	next = segment_end(segments, begin);

		work += (next - begin) * (is_long(next - begin) ? segments->plan->words - 1 :
								  significant_bits(next - begin - 1));
		begin = next;
	}
	if (work > 0)
		atomic_fetch_add(&segments->work, work);
}

uint64_t
host_segments_weigh(host_pool *pool, host_segments *segments)
{
	atomic_store(&segments->work, 0);
	host_pool_for(pool, segments->parts, weigh_part, segments);
	return atomic_load(&segments->work);
}

/* --- sorting -------------------------------------------------------------- */

static void
insert_rows(const host_segments *segments, uint32_t *rows, uint64_t n)
{
	for (uint64_t i = 1; i < n; i++)
	{
		uint32_t	row = rows[i];
		uint64_t	at = i;

		for (; at > 0 && is_before(segments, row, rows[at - 1]); at--)
			rows[at] = rows[at - 1];
		rows[at] = row;
	}
}

/* Merges two sorted halves; spare has room for the first. */
static void
merge_rows(const host_segments *segments, uint32_t *rows, uint64_t middle, uint64_t n,
		   uint32_t *spare)
{
	uint64_t	left = 0;
	uint64_t	right = middle;

	if (!is_before(segments, rows[middle], rows[middle - 1]))
		return;
	memcpy(spare, rows, middle * sizeof(*rows));
	for (uint64_t to = 0; left < middle; to++)
	{
		if (right < n && is_before(segments, rows[right], spare[left]))
			rows[to] = rows[right++];
		else
			rows[to] = spare[left++];
	}
}

static void
sort_rows(const host_segments *segments, uint32_t *rows, uint64_t n, uint32_t *spare)
{
	uint64_t	middle = n / 2;

	if (n <= INSERTED_ROWS)
	{
		insert_rows(segments, rows, n);
		return;
	}
	sort_rows(segments, rows, middle, spare);
	sort_rows(segments, rows + middle, n - middle, spare + middle);
	merge_rows(segments, rows, middle, n, spare);
}

/* Prefetches the keys of tied rows that are compared soon, from begin to
 * end. */
static void
ask_ahead(const host_segments *segments, uint64_t begin, uint64_t end)
{
	const uint64_t *words = segments->first_words;

	for (uint64_t i = begin + ROWS_AHEAD; i < end + ROWS_AHEAD && i + 1 < segments->n; i++)
	{
		if (words[i] == words[i - 1] || words[i] == words[i + 1])
			__builtin_prefetch(host_run_keys(segments->run, segments->rows[i]));
	}
}

/* Sorts the part's segments, except long ones. */
static void
sort_part(void *arg, uint32_t part)
{
	const host_segments *segments = arg;
	uint64_t	end = host_part_begin(segments->n, segments->parts, part + 1);
	uint64_t	begin = segment_begin(segments,
									  host_part_begin(segments->n, segments->parts, part));

	while (begin < end && !atomic_load(segments->cancel))
	{
		uint64_t	next = segment_end(segments, begin);

		if (!is_long(next - begin))
		{
			ask_ahead(segments, begin, next);
			if (next - begin > 1)
				sort_rows(segments, segments->rows + begin, next - begin,
						  segments->spare_rows + begin);
		}
		begin = next;
	}
}

void
host_segments_sort(host_pool *pool, host_segments *segments)
{
	host_pool_for(pool, segments->parts, sort_part, segments);
}
