/*
 * host_radix.c
 *	  Radix sort of pairs, most significant digit first, on all threads.
 *
 * In:  the caller's pairs, which are read once.
 * Out: sorted pairs on side 0, or the input if it was sorted already.
 *
 * A split divides a range by the highest bits in which its keys differ, or by a
 * table if a sample shows that these bits are not enough (radix_steps.h).  The
 * split counts the digits, turns the counts into places, and scatters the pairs
 * to the other side.  All threads share the split of a large range.  A prefix
 * sum over (digit, part) gives each part its places, which keeps the sort
 * stable.  The result is a list of buckets, and each is sorted by one idle
 * thread (radix_steps.h).
 *
 * The caller owns the memory of both sides.  Counts and the list of buckets are
 * malloc'd; a thread's buffers are on its stack.
 */

#include <stdlib.h>

#include "gsort.h"
#include "host/radix_steps.h"
#include "rows/key_plan.h"

/* A bucket takes several passes; the limit bounds the wait of light tasks to
 * that of one part. */
#define BUCKET_ROWS_MAX	(PART_ROWS_MAX / 4)

/* The pairs of one thread's task, on side 0 or 1. */
typedef struct bucket
{
	uint64_t	begin;
	uint64_t	end;
	int			side;
	int			in_order;
} bucket;

typedef struct sorter
{
	host_pool  *pool;
	host_pairs	sides[2];
	key_window	window;
	const atomic_int *cancel;
	uint64_t	bucket_rows_max;
	bucket	   *buckets;
	uint32_t	n_buckets;
	uint32_t	room;
} sorter;

typedef struct split
{
	const sorter *sort;
	host_pairs	from;
	host_pairs	to;
	uint64_t	begin;
	uint64_t	n;
	uint32_t	parts;
	pair_shape	shape;
	int			streamed;		/* the scatter writes past the caches */
	uint32_t	low_bits;		/* number of key bits below the digit */
	key_digit	digit;
	uint32_t	digits;
	/* per part: the counts, then the next places to write */
	uint32_t	(*places)[SPLIT_DIGITS];
	key_summary *summaries;		/* per part */
	uint16_t   *table;			/* if the digit has one */
} split;

static pair_shape
shape_of(const sorter *sort)
{
	return sort->window.row_bits > 0 ? ROWS_IN_KEYS : ROWS_GIVEN;
}

static void
take_rows(const sorter *sort, uint64_t begin, uint64_t end)
{
	uint32_t	mask = (uint32_t) key_low_bits(sort->window.row_bits);

	for (uint64_t i = begin; i < end; i++)
		sort->sides[0].rows[i] = (uint32_t) sort->sides[0].keys[i] & mask;
}

/* Sorts bucket number part, which may end up in order by a copy alone. */
static void
sort_bucket_part(void *arg, uint32_t part)
{
	const sorter *sort = arg;
	const bucket *b = &sort->buckets[part];
	radix_workspace work;

	if (sort->cancel != NULL && atomic_load(sort->cancel))
		return;
	if (!b->in_order)
		radix_bucket_sort(sort->sides, sort->window, &work, b->side, b->begin, b->end);
	else if (b->side != 0)
		copy_pairs(&sort->sides[1], &sort->sides[0], b->begin, b->end, shape_of(sort));
	if (sort->window.row_bits > 0)
		take_rows(sort, b->begin, b->end);
}

/* --- a range that the threads share --------------------------------------- */

static uint64_t
part_begin(const split *s, uint32_t part)
{
	return s->begin + host_part_begin(s->n, s->parts, part);
}

static void
summarize_part(void *arg, uint32_t part)
{
	split	   *s = arg;
	uint64_t	begin = part_begin(s, part);
	uint64_t	end = part_begin(s, part + 1);

	s->summaries[part] = (key_summary) {0, UINT64_MAX, 1};
	if (begin == end)
		return;
	/* compares the part's first pair with its predecessor */
	if (part > 0)
		begin--;
	s->summaries[part] = summarize(s->sort->window, s->from.keys, begin, end);
}

static key_summary
summarize_range(split *s)
{
	key_summary summary = {0, UINT64_MAX, 1};

	host_pool_for(s->sort->pool, s->parts, summarize_part, s);
	for (uint32_t part = 0; part < s->parts; part++)
	{
		summary.any |= s->summaries[part].any;
		summary.all &= s->summaries[part].all;
		summary.in_order &= s->summaries[part].in_order;
	}
	return summary;
}

static void
count_part(void *arg, uint32_t part)
{
	split	   *s = arg;
	uint32_t   *counts = s->places[part];

	memset(counts, 0, s->digits * sizeof(*counts));
	count_digits(s->from.keys, part_begin(s, part), part_begin(s, part + 1), s->digit, counts);
}

static void
scatter_part(void *arg, uint32_t part)
{
	split	   *s = arg;
	line_buffers lines;

	radix_scatter(s->streamed ? &lines : NULL, &s->from, &s->to, part_begin(s, part),
				  part_begin(s, part + 1), s->digit, s->digits, s->places[part], s->shape);
}

static void
place_parts(const split *s)
{
	uint32_t	place = (uint32_t) s->begin;

	for (uint32_t digit = 0; digit < s->digits; digit++)
	{
		for (uint32_t part = 0; part < s->parts; part++)
		{
			uint32_t	count = s->places[part][digit];

			s->places[part][digit] = place;
			place += count;
		}
	}
}

static gsort_status
add_bucket(sorter *sort, bucket added)
{
	if (sort->n_buckets == sort->room)
	{
		uint32_t	room = sort->room == 0 ? SPLIT_DIGITS : 2 * sort->room;
		bucket	   *buckets = realloc(sort->buckets, room * sizeof(*buckets));

		if (buckets == NULL)
			return GSORT_NOMEM;
		sort->buckets = buckets;
		sort->room = room;
	}
	sort->buckets[sort->n_buckets++] = added;
	return GSORT_OK;
}

/* Lists sorted pairs unless they are where they belong; NOMEM. */
static gsort_status
add_ordered(sorter *sort, uint64_t begin, uint64_t end, int side)
{
	gsort_status status = GSORT_OK;

	while ((side != 0 || sort->window.row_bits > 0) && begin < end && status == GSORT_OK)
	{
		uint64_t	next = end - begin > sort->bucket_rows_max ?
			begin + sort->bucket_rows_max : end;

		status = add_bucket(sort, (bucket) {begin, next, side, 1});
		begin = next;
	}
	return status;
}

static gsort_status add_range(sorter *sort, int side, uint64_t begin, uint64_t end);

static gsort_status
add_split(sorter *sort, const split *s, int side)
{
	const uint32_t *ends = s->places[s->parts - 1];
	gsort_status status = GSORT_OK;
	uint64_t	begin = s->begin;

	if (s->low_bits == 0)
		return add_ordered(sort, s->begin, s->begin + s->n, side);
	for (uint32_t digit = 0; digit < s->digits && status == GSORT_OK; begin = ends[digit++])
	{
		if (ends[digit] > begin)
			status = add_range(sort, side, begin, ends[digit]);
	}
	return status;
}

static void
scatter_range(split *s)
{
	host_pool_for(s->sort->pool, s->parts, count_part, s);
	place_parts(s);
	host_pool_for(s->sort->pool, s->parts, scatter_part, s);
}

static gsort_status
sort_by_passes(sorter *sort, split *s, uint64_t varying, uint32_t passes, int side)
{
	uint32_t	begin = (uint32_t) __builtin_ctzll(varying);
	uint32_t	bits = (significant_bits(varying) - begin + passes - 1) / passes;

	s->digits = 1u << bits;
	s->streamed = 0;
	for (uint32_t pass = 0; pass < passes; pass++)
	{
		if (sort->cancel != NULL && atomic_load(sort->cancel))
			return GSORT_OK;
		s->digit = digit_above(sort->window, begin + pass * bits, bits);
		scatter_range(s);
		side = !side;
		s->from = sort->sides[side];
		s->to = sort->sides[!side];
		s->shape = shape_of(sort);
	}
	return add_ordered(sort, s->begin, s->begin + s->n, side);
}

static gsort_status
split_range(sorter *sort, split *s, uint64_t varying, int side)
{
	uint32_t	bits;
	uint32_t	passes = 0;

	s->streamed = radix_scatter_has_lines(&s->to, s->n, s->shape);
	bits = split_bits(s->n, varying, s->streamed);
	s->low_bits = bits_below(varying, bits);
	s->digit = digit_above(sort->window, s->low_bits, bits);
	s->digits = 1u << bits;
	if (s->low_bits > 0 && s->streamed)
		passes = radix_sample_choose(sort->window, s->from.keys + s->begin, s->n, varying,
									 &s->digit, &s->table);
	if (passes > 0)
		return sort_by_passes(sort, s, varying, passes, side);
	scatter_range(s);
	return add_split(sort, s, !side);
}

/*
 * Sorts a range as far as its buckets can be listed.  side: the location of the
 * range, 1 for the input.  *in_order: the range is sorted already, and nothing
 * was done.  NOMEM.
 */
static gsort_status
divide_range(sorter *sort, const host_pairs *from, int side, uint64_t begin, uint64_t n,
			 int *in_order)
{
	split		s = {
		.sort = sort, .from = *from, .to = sort->sides[!side], .begin = begin, .n = n,
		.parts = host_parts(sort->pool, n),
		.shape = from->rows != NULL || sort->window.row_bits > 0 ? shape_of(sort) : ROWS_NUMBERED
	};
	gsort_status status = GSORT_NOMEM;

	*in_order = 0;
	s.places = malloc(s.parts * sizeof(*s.places));
	s.summaries = malloc(s.parts * sizeof(*s.summaries));
	if (s.places != NULL && s.summaries != NULL)
	{
		key_summary summary = summarize_range(&s);

		*in_order = summary.in_order;
		status = summary.in_order ? GSORT_OK :
			split_range(sort, &s, summary.any ^ summary.all, side);
	}
	free(s.places);
	free(s.table);
	free(s.summaries);
	return status;
}

/* Lists a range of a side as one bucket, or splits it if it is too large for
 * one thread; NOMEM. */
static gsort_status
add_range(sorter *sort, int side, uint64_t begin, uint64_t end)
{
	gsort_status status;
	int			in_order;

	if (end - begin <= sort->bucket_rows_max)
		return add_bucket(sort, (bucket) {begin, end, side, 0});
	if (sort->cancel != NULL && atomic_load(sort->cancel))
		return GSORT_OK;
	status = divide_range(sort, &sort->sides[side], side, begin, end - begin, &in_order);
	return status == GSORT_OK && in_order ? add_ordered(sort, begin, end, side) : status;
}

int
host_radix_run(host_pool *pool, const host_radix_sort *run, host_pairs *sorted)
{
	uint64_t	share = run->n / (uint64_t) host_pool_threads(pool);
	sorter		sort = {
		.pool = pool, .sides = {run->sides[0], run->sides[1]}, .cancel = run->cancel,
		.window = {run->row_bits, key_low_bits(run->bits)}
	};
	gsort_status status;
	int			in_order;

	*sorted = run->in;
	if (run->n < 2 || run->bits == 0 || (run->cancel != NULL && atomic_load(run->cancel)))
		return 1;
	sort.bucket_rows_max = share < HOST_SMALL_ROWS ? HOST_SMALL_ROWS :
		share > BUCKET_ROWS_MAX ? BUCKET_ROWS_MAX : share;
	status = divide_range(&sort, &run->in, 1, 0, run->n, &in_order);
	if (status == GSORT_OK && !in_order)
	{
		host_pool_for(pool, sort.n_buckets, sort_bucket_part, &sort);
		*sorted = sort.sides[0];
	}
	free(sort.buckets);
	return status == GSORT_OK;
}
