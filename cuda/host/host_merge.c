/*
 * host_merge.c
 *	  Retains the sorted keys of ended runs, and merges them.
 *
 * Retaining a run gathers its key columns in sorted order.  The keys stay raw,
 * because the statistics of later runs may widen the plan.
 *
 * The merge first replaces each row's first key column by the plan's only word,
 * so that the merge needs no memory beyond its output.  The order is then
 * divided into parts.  Each part finds its begin and its end in every run by a
 * multiway selection.  Each part merges its rows in blocks of a few thousand
 * rows, pairwise, in the cache. (With 16 runs, pairwise merging took two thirds
 * of the time of a tournament tree.)
 *
 * Every step is a loop over parts of the rows, shared by the idle threads.
 */
#include "host/host_merge.h"

#include <string.h>

#include "host/first_not_before.h"
#include "host/host_radix.h"

/* Distance of prefetches when keys are read in sorted order. */
#define ROWS_AHEAD		24
/* Rows merged at a time.  Both sides of a block fit a core's cache and a
 * thread's stack. */
#define BLOCK_ROWS		8192

/* --- memory --------------------------------------------------------------- */

void
host_retained_init(host_retained *retained, host_run *run)
{
	memset(retained, 0, sizeof(*retained));
	retained->memory = run->memory;
	retained->account = &run->account;
	retained->columns = run->columns;
}

static uint64_t
keys_bytes(uint32_t columns, uint64_t rows, int with_nulls)
{
	return rows * (columns * sizeof(uint64_t) + (with_nulls ? 1 : 0));
}

uint64_t
host_retained_bytes(uint32_t columns, uint64_t rows, int with_nulls)
{
	return host_block_bytes(keys_bytes(columns, rows, with_nulls));
}

uint64_t
host_order_bytes(uint64_t rows)
{
	return host_block_bytes((rows + 7) / 8 * 8);
}

void
host_retained_drop_keys(host_retained *retained)
{
	while (retained->n_runs > 0)
	{
		host_retained_run *run = &retained->runs[--retained->n_runs];

		host_block_give(retained->memory, retained->account, run->keys,
						keys_bytes(retained->columns, run->rows, run->nulls != NULL));
	}
}

void
host_retained_free(host_retained *retained)
{
	host_retained_drop_keys(retained);
	host_block_give(retained->memory, retained->account, retained->order,
					host_order_bytes(retained->rows));
	retained->order = NULL;
	retained->rows = 0;
}

/* --- retaining a run ------------------------------------------------------ */

typedef struct gatherer
{
	const host_run *from;
	const host_retained_run *to;
	uint32_t	parts;
	const atomic_int *cancel;
} gatherer;

/* Gathers the keys of a part of the sorted rows. */
static void
gather_part(void *arg, uint32_t part)
{
	const gatherer *gather = arg;
	const host_run *from = gather->from;
	const uint32_t *order = from->order;
	uint64_t	rows = gather->to->rows;
	uint64_t	end = host_part_begin(rows, gather->parts, part + 1);

	if (atomic_load(gather->cancel))
		return;
	for (uint64_t i = host_part_begin(rows, gather->parts, part); i < end; i++)
	{
		uint64_t	row = order != NULL ? order[i] : i;
		const uint64_t *keys = host_run_keys(from, row);
		uint64_t   *to = gather->to->keys + i * from->columns;

		if (order != NULL && i + ROWS_AHEAD < end)
			__builtin_prefetch(host_run_keys(from, order[i + ROWS_AHEAD]));
		for (uint32_t c = 0; c < from->columns; c++)
			to[c] = keys[c];
		if (gather->to->nulls != NULL)
			gather->to->nulls[i] = (uint8_t) host_run_nulls(from, row);
	}
}

int
host_retained_add(host_retained *retained, const host_run *run, host_pool *pool, int with_nulls,
				  uint64_t limit_bytes, const atomic_int *cancel)
{
	host_retained_run *added = &retained->runs[retained->n_runs];
	gatherer	gather = {
		.from = run, .to = added, .parts = host_parts(pool, run->rows), .cancel = cancel
	};

	memset(added, 0, sizeof(*added));
	if (run->rows > 0)
	{
		added->keys = host_block_take(retained->memory, retained->account,
									  keys_bytes(run->columns, run->rows, with_nulls),
									  limit_bytes);
		if (added->keys == NULL)
			return 0;
		added->rows = run->rows;
		if (with_nulls)
			added->nulls = (uint8_t *) (added->keys + run->rows * run->columns);
		host_pool_for(pool, gather.parts, gather_part, &gather);
	}
	retained->n_runs++;
	return 1;
}

/* --- sort words, in the place of the keys --------------------------------- */

typedef struct merger
{
	const host_retained *retained;
	const key_plan *plan;
	const host_retained_run *run;	/* the run whose words are made */
	uint8_t    *order;
	uint64_t	rows;
	uint32_t	parts;
	const atomic_int *cancel;
} merger;

/* Replaces the first key of each row of the part by the plan's word. */
static void
make_words_part(void *arg, uint32_t part)
{
	const merger *merge = arg;
	const host_retained_run *run = merge->run;
	uint32_t	columns = merge->retained->columns;
	uint64_t	end = host_part_begin(run->rows, merge->parts, part + 1);

	if (atomic_load(merge->cancel))
		return;
	for (uint64_t i = host_part_begin(run->rows, merge->parts, part); i < end; i++)
	{
		uint64_t   *keys = run->keys + i * columns;
		uint32_t	nulls = run->nulls != NULL ? run->nulls[i] : 0;

		keys[0] = key_plan_word(merge->plan, 0, keys, 1, nulls);
	}
}

static void
make_words(merger *merge, host_pool *pool)
{
	for (uint32_t r = 0; r < merge->retained->n_runs; r++)
	{
		merge->run = &merge->retained->runs[r];
		merge->parts = host_parts(pool, merge->run->rows);
		host_pool_for(pool, merge->parts, make_words_part, merge);
	}
}

/* --- splits --------------------------------------------------------------- */

/* A search for a word in one run. */
typedef struct word_search
{
	const uint64_t *keys;		/* the keys of one run */
	uint32_t	columns;
	uint64_t	word;
	int			pass_equal;
} word_search;

static inline int
is_passed(const void *context, uint64_t row)
{
	const word_search *search = context;
	uint64_t	found = search->keys[row * search->columns];

	return found < search->word || (search->pass_equal && found == search->word);
}

/* The first row in [low, high) of a sorted run that is above word; without
 * pass_equal, the first that is not below it. */
static uint64_t
first_beyond(const host_retained_run *run, uint32_t columns, uint64_t low, uint64_t high,
			 uint64_t word, int pass_equal)
{
	word_search search = {run->keys, columns, word, pass_equal};

	return first_not_before(low, high, is_passed, &search);
}

/*
 * Computes the splitters: rank rows in all, the first of the order, lie before
 * them.  The search fixes the word of row number rank bit by bit. begins and
 * ends bound the remaining candidates in each run.  Rows equal to that word go
 * before the splitter in the order of the runs until rank is reached.
 */
static void
find_splits(const merger *merge, uint64_t rank, uint64_t begins[GSORT_MERGE_RUNS_MAX])
{
	const host_retained *retained = merge->retained;
	uint64_t	ends[GSORT_MERGE_RUNS_MAX];
	uint64_t	middles[GSORT_MERGE_RUNS_MAX];
	uint64_t	low = 0;
	uint64_t	high = key_low_bits(merge->plan->bits);
	uint64_t	before = 0;

	for (uint32_t r = 0; r < retained->n_runs; r++)
	{
		begins[r] = 0;
		ends[r] = retained->runs[r].rows;
	}
	while (low < high)
	{
		uint64_t	middle = low + (high - low) / 2;
		uint64_t	sum = 0;

		for (uint32_t r = 0; r < retained->n_runs; r++)
		{
			middles[r] = first_beyond(&retained->runs[r], retained->columns, begins[r], ends[r],
									  middle, 1);
			sum += middles[r];
		}
		if (sum <= rank)
			low = middle + 1;
		else
			high = middle;
		memcpy(sum <= rank ? begins : ends, middles, retained->n_runs * sizeof(uint64_t));
	}
	for (uint32_t r = 0; r < retained->n_runs; r++)
		before += begins[r];
	for (uint32_t r = 0; r < retained->n_runs && before < rank; r++)
	{
		uint64_t	equal = ends[r] - begins[r];

		if (equal > rank - before)
			equal = rank - before;
		begins[r] += equal;
		before += equal;
	}
}

/* --- merging -------------------------------------------------------------- */

/* Rows with the numbers of their runs.  A block is merged from one side to the
 * other. */
typedef struct block_side
{
	uint64_t	words[BLOCK_ROWS];
	uint8_t		runs[BLOCK_ROWS];
} block_side;

/* The state of one part: the rest of each run, and the current block. */
typedef struct part_merge
{
	const host_retained *retained;
	uint64_t	next[GSORT_MERGE_RUNS_MAX];
	uint64_t	ends[GSORT_MERGE_RUNS_MAX];
	uint32_t	stretches;		/* sorted stretches, in the order of the runs */
	/* begins of the stretches in the block, and its end */
	uint32_t	begins[GSORT_MERGE_RUNS_MAX + 1];
	block_side	sides[2];
} part_merge;

/*
 * The limit of the next block: the least, over all runs, of the key step rows
 * ahead.  Therefore no run gives more than step rows, and one gives exactly
 * step.  *limit_run: n_runs if the block takes all remaining rows.
 */
static uint64_t
find_limit(const part_merge *m, uint64_t step, uint32_t *limit_run)
{
	const host_retained *retained = m->retained;
	uint64_t	limit = 0;

	*limit_run = retained->n_runs;
	for (uint32_t r = 0; r < retained->n_runs; r++)
	{
		uint64_t	word;

		if (m->ends[r] - m->next[r] <= step)
			continue;
		word = retained->runs[r].keys[(m->next[r] + step) * retained->columns];
		if (*limit_run == retained->n_runs || word < limit)
		{
			limit = word;
			*limit_run = r;
		}
	}
	return limit;
}

/* Rows of a run before the limit.  Equal rows of earlier runs precede it, equal
 * rows of its own run follow it. */
static uint64_t
end_in_run(const part_merge *m, uint32_t r, uint64_t step, uint64_t limit, uint32_t limit_run)
{
	uint64_t	end = m->ends[r];

	if (limit_run == m->retained->n_runs)
		return end;
	if (end - m->next[r] > step)
		end = m->next[r] + step;
	if (r == limit_run)
		return end;
	return first_beyond(&m->retained->runs[r], m->retained->columns, m->next[r], end, limit,
						r < limit_run);
}

/* Takes the next block of words: all rows below a common limit, so that no
 * remaining word is smaller. */
static void
fill_block(part_merge *m)
{
	const host_retained *retained = m->retained;
	block_side *side = &m->sides[0];
	uint64_t	step = BLOCK_ROWS / retained->n_runs;
	uint32_t	limit_run;
	uint64_t	limit = find_limit(m, step, &limit_run);
	uint32_t	rows = 0;

	m->stretches = 0;
	for (uint32_t r = 0; r < retained->n_runs; r++)
	{
		uint64_t	end = end_in_run(m, r, step, limit, limit_run);

		if (end == m->next[r])
			continue;
		m->begins[m->stretches++] = rows;
		memset(side->runs + rows, (int) r, end - m->next[r]);
		while (m->next[r] < end)
			side->words[rows++] = retained->runs[r].keys[m->next[r]++ * retained->columns];
	}
	m->begins[m->stretches] = rows;
}

static inline void
copy_row(const block_side *from, uint32_t row, block_side *to, uint32_t place)
{
	to->words[place] = from->words[row];
	to->runs[place] = from->runs[row];
}

static void
copy_rows(const block_side *from, uint32_t row, uint32_t rows, block_side *to, uint32_t place)
{
	memcpy(to->words + place, from->words + row, rows * sizeof(uint64_t));
	memcpy(to->runs + place, from->runs + row, rows);
}

/*
 * Merges the stretches [a, b) and [b, end) to the same place on the other side,
 * stably.  The merge proceeds from both ends at once, so that consecutive
 * comparisons do not depend on each other.
 */
static void
merge_two(const block_side *from, block_side *to, uint32_t a, uint32_t b, uint32_t end)
{
	uint32_t	a_end = b;
	uint32_t	b_end = end;
	uint32_t	low = a;
	uint32_t	high = end;
	uint32_t	steps;

	while ((steps = (a_end - a < b_end - b ? a_end - a : b_end - b) / 2) > 0)
	{
		for (; steps > 0; steps--)
		{
			int			b_is_first = from->words[b] < from->words[a];
			int			a_is_last = from->words[b_end - 1] < from->words[a_end - 1];

			copy_row(from, b_is_first ? b : a, to, low++);
			copy_row(from, (a_is_last ? a_end : b_end) - 1, to, --high);
			a += !b_is_first;
			b += b_is_first;
			a_end -= a_is_last;
			b_end -= !a_is_last;
		}
	}
	while (a < a_end && b < b_end)
	{
		int			b_is_first = from->words[b] < from->words[a];

		copy_row(from, b_is_first ? b : a, to, low++);
		a += !b_is_first;
		b += b_is_first;
	}
	copy_rows(from, a, a_end - a, to, low);
	copy_rows(from, b, b_end - b, to, low + (a_end - a));
}

/* Merges neighbouring stretches until one remains; returns its rows' runs. */
static const uint8_t *
merge_block(part_merge *m)
{
	int			side = 0;

	while (m->stretches > 1)
	{
		uint32_t	merged = 0;

		for (uint32_t i = 0; i < m->stretches; i += 2)
		{
			uint32_t	begin = m->begins[i];
			uint32_t	middle = m->begins[i + 1];
			uint32_t	end = i + 1 < m->stretches ? m->begins[i + 2] : middle;

			merge_two(&m->sides[side], &m->sides[!side], begin, middle, end);
			m->begins[merged++] = begin;
		}
		m->begins[merged] = m->begins[m->stretches];
		m->stretches = merged;
		side = !side;
	}
	return m->sides[side].runs;
}

/* Merges a part of the order, block by block. */
static void
merge_part(void *arg, uint32_t part)
{
	const merger *merge = arg;
	uint64_t	begin = host_part_begin(merge->rows, merge->parts, part);
	uint64_t	end = host_part_begin(merge->rows, merge->parts, part + 1);
	part_merge	m;

	m.retained = merge->retained;
	find_splits(merge, begin, m.next);
	find_splits(merge, end, m.ends);
	while (begin < end && !atomic_load(merge->cancel))
	{
		uint32_t	rows;

		fill_block(&m);
		rows = m.begins[m.stretches];
		memcpy(merge->order + begin, merge_block(&m), rows);
		begin += rows;
	}
}

/* Fills the order by run, for equal keys. */
static void
order_by_run(const merger *merge)
{
	uint8_t    *order = merge->order;

	for (uint32_t r = 0; r < merge->retained->n_runs; r++)
	{
		memset(order, (int) r, merge->retained->runs[r].rows);
		order += merge->retained->runs[r].rows;
	}
}

gsort_status
host_retained_merge(host_retained *retained, host_pool *pool, const key_plan *plan,
					uint64_t limit_bytes, const atomic_int *cancel)
{
	merger		merge = {.retained = retained, .plan = plan, .cancel = cancel};

	for (uint32_t r = 0; r < retained->n_runs; r++)
		merge.rows += retained->runs[r].rows;
	if (merge.rows > 0)
	{
		merge.order = host_block_take(retained->memory, retained->account,
									  host_order_bytes(merge.rows), limit_bytes);
		if (merge.order == NULL)
			return GSORT_NOMEM;
	}
	retained->order = merge.order;
	retained->rows = merge.rows;
	if (merge.rows > 0 && plan->words == 0)
		order_by_run(&merge);
	else if (merge.rows > 0)
	{
		make_words(&merge, pool);
		merge.parts = host_parts(pool, merge.rows);
		host_pool_for(pool, merge.parts, merge_part, &merge);
	}
	host_retained_drop_keys(retained);
	return GSORT_OK;
}
