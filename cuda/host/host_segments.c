/*
 * host_segments.c
 *	  Sorts rows that share their first word (see host_sort.h).
 *
 * A thread makes the second words of a segment and sorts them in the cache.
 * Rows that tie again are sorted by the next word in the same way.
 */
#include "host/host_sort.h"

/* A longer segment would keep one thread busy while the others wait.  Builds
 * with race detection set it low, so that short inputs have long segments
 * too. */
#ifndef HOST_SEGMENT_ROWS_MAX
#define HOST_SEGMENT_ROWS_MAX	(1u << 16)
#endif

/* The parts of the rows.  Each begins with a segment, so that no thread reads
 * words that another one changes. */
typedef struct segment_parts
{
	const host_segments *segments;
	uint64_t	begins[PARTS_MAX + 1];
} segment_parts;

static int
is_long(uint64_t rows)
{
	return rows > HOST_SEGMENT_ROWS_MAX;
}

/* The end of the rows from i on, up to end, that share the word of row i:
 * mostly few. */
static uint64_t
end_of_segment(const uint64_t *words, uint64_t i, uint64_t end)
{
	uint64_t	at = i + 1;

	while (at < end && words[at] == words[i] && !is_long(at - i))
		at++;
	return is_long(at - i) ? first_above(words, 1, at, end, words[i]) : at;
}

int
host_segments_next_long(const host_segments *segments, uint64_t *begin, uint64_t *end)
{
	const uint64_t *words = segments->sides[0].keys;
	/* a long segment contains a multiple of HOST_SEGMENT_ROWS_MAX */
	uint64_t	i = (*end + HOST_SEGMENT_ROWS_MAX - 1) / HOST_SEGMENT_ROWS_MAX *
		HOST_SEGMENT_ROWS_MAX;

	for (; i < segments->n; i += HOST_SEGMENT_ROWS_MAX)
	{
		uint64_t	word = words[i];

		*begin = word == 0 ? *end : first_above(words, 1, *end, i, word - 1);
		*end = first_above(words, 1, i, segments->n, word);
		if (is_long(*end - *begin))
			return 1;
	}
	return 0;
}

/* Sorts rows that tie in all earlier words by this one and the later ones. */
static void
sort_rows(const host_segments *segments, uint32_t word, uint64_t begin, uint64_t end,
		  radix_workspace *work)
{
	const key_plan *plan = segments->plan;
	const key_window window = {0, key_low_bits(plan->word_bits[word])};
	uint64_t   *words = segments->sides[0].keys;
	uint64_t	next;

	for (uint64_t i = begin; i < end; i++)
	{
		uint32_t	row = segments->sides[0].rows[i];

		words[i] = key_plan_word(plan, word, host_run_keys(segments->run, row), 1,
								 host_run_nulls(segments->run, row));
	}
	radix_bucket_sort(segments->sides, window, work, 0, begin, end);
	for (; begin < end && word + 1 < plan->words; begin = next)
	{
		next = end_of_segment(words, begin, end);
		if (next - begin > 1)
			sort_rows(segments, word + 1, begin, next, work);
	}
}

/* Prefetches the keys of tied rows that are sorted soon, ROWS_AHEAD behind
 * those from begin to end. */
static void
ask_ahead(const host_segments *segments, uint64_t begin, uint64_t end, uint64_t part_end)
{
	const uint64_t *words = segments->sides[0].keys;

	for (uint64_t i = begin + ROWS_AHEAD; i < end + ROWS_AHEAD && i + 1 < part_end; i++)
	{
		if (words[i] == words[i - 1] || words[i] == words[i + 1])
			__builtin_prefetch(host_run_keys(segments->run, segments->sides[0].rows[i]));
	}
}

static void
sort_part(void *arg, uint32_t part)
{
	const segment_parts *parts = arg;
	const host_segments *segments = parts->segments;
	uint64_t   *words = segments->sides[0].keys;
	uint64_t	end = parts->begins[part + 1];
	uint64_t	next;
	radix_workspace work;

	for (uint64_t begin = parts->begins[part]; begin < end; begin = next)
	{
		uint64_t	word = words[begin];

		if (atomic_load(segments->cancel))
			return;
		next = end_of_segment(words, begin, end);
		if (is_long(next - begin))
			continue;
		ask_ahead(segments, begin, next, end);
		if (next - begin > 1)
			sort_rows(segments, 1, begin, next, &work);
		for (uint64_t i = begin; i < next; i++)
			words[i] = word;
	}
}

void
host_segments_sort(host_pool *pool, const host_segments *segments)
{
	uint64_t	n = segments->n;
	uint32_t	n_parts = host_parts(pool, n);
	const uint64_t *words = segments->sides[0].keys;
	segment_parts parts = {.segments = segments};

	for (uint32_t part = 0; part <= n_parts; part++)
	{
		uint64_t	i = host_part_begin(n, n_parts, part);

		parts.begins[part] = i == 0 ? 0 : first_above(words, 1, i, n, words[i - 1]);
	}
	host_pool_for(pool, n_parts, sort_part, &parts);
}
