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
 * multiway selection.  It takes blocks of a few thousand rows, which are the
 * next ones of all runs, and sorts each by the bucket sort of radix_steps.h,
 * which is stable and stays in the cache.
 *
 * Every step is a loop over parts of the rows, shared by the idle threads.
 */
#include "host/host_merge.h"

#include <string.h>

#include "host/radix_steps.h"

/* Rows merged at a time.  Both sides of a block and the workspace of their sort
 * fit a core's cache and a thread's stack. */
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

void
host_retained_drop_keys(host_retained *retained)
{
	while (retained->n_runs > 0)
	{
		host_retained_run *run = &retained->runs[--retained->n_runs];

		host_block_give(retained->memory, retained->account, run->keys,
						retained_keys_bytes(retained->columns, run->rows, run->nulls != NULL));
	}
}

void
host_retained_free(host_retained *retained)
{
	host_retained_drop_keys(retained);
	host_block_give(retained->memory, retained->account, retained->order,
					merge_order_bytes(retained->rows));
	retained->order = NULL;
	retained->rows = 0;
}

/* --- retaining a run ------------------------------------------------------ */

typedef struct gatherer
{
	const host_run *from;
	const host_retained_run *to;
	const atomic_int *cancel;
} gatherer;

static void
gather_rows(void *arg, uint64_t begin, uint64_t end)
{
	const gatherer *gather = arg;
	const host_run *from = gather->from;
	const uint32_t *order = from->order;

	if (atomic_load(gather->cancel))
		return;
	for (uint64_t i = begin; i < end; i++)
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
		.from = run, .to = added, .cancel = cancel
	};

	memset(added, 0, sizeof(*added));
	if (run->rows > 0)
	{
		added->keys = host_block_take(retained->memory, retained->account,
									  retained_keys_bytes(run->columns, run->rows, with_nulls),
									  limit_bytes);
		if (added->keys == NULL)
			return 0;
		added->rows = run->rows;
		if (with_nulls)
			added->nulls = (uint8_t *) (added->keys + run->rows * run->columns);
		host_pool_for_rows(pool, run->rows, gather_rows, &gather);
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
	const atomic_int *cancel;
} merger;

static void
make_words_of(void *arg, uint64_t begin, uint64_t end)
{
	const merger *merge = arg;
	const host_retained_run *run = merge->run;
	uint32_t	columns = merge->retained->columns;

	if (atomic_load(merge->cancel))
		return;
	for (uint64_t i = begin; i < end; i++)
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
		host_pool_for_rows(pool, merge->run->rows, make_words_of, merge);
	}
}

/* --- merging -------------------------------------------------------------- */

/*
 * Computes the ends of the next count rows of the order, which begin at begins
 * in the runs.  The search fixes the word of the last one bit by bit.  begins
 * and ends bound the remaining candidates in each run.  Rows equal to that word
 * come in the order of the runs, until count is reached.
 */
static void
find_ends(const merger *merge, uint64_t count, const uint64_t *from, uint64_t *ends)
{
	const host_retained *retained = merge->retained;
	uint64_t	begins[GSORT_MERGE_RUNS_MAX];
	uint64_t	middles[GSORT_MERGE_RUNS_MAX];
	uint64_t	low = 0;
	uint64_t	high = key_low_bits(merge->plan->bits);
	uint64_t	left = count;

	for (uint32_t r = 0; r < retained->n_runs; r++)
	{
		begins[r] = from[r];
		ends[r] = from[r] + gsort_min_u64(count, retained->runs[r].rows - from[r]);
	}
	while (low < high)
	{
		uint64_t	middle = low + (high - low) / 2;
		uint64_t	sum = 0;

		for (uint32_t r = 0; r < retained->n_runs; r++)
		{
			middles[r] = first_above(retained->runs[r].keys, retained->columns, begins[r], ends[r],
									 middle);
			sum += middles[r] - from[r];
		}
		if (sum < count)
			low = middle + 1;
		else
			high = middle;
		memcpy(sum < count ? begins : ends, middles, retained->n_runs * sizeof(uint64_t));
	}
	for (uint32_t r = 0; r < retained->n_runs; r++)
		left -= begins[r] - from[r];
	for (uint32_t r = 0; r < retained->n_runs; r++)
	{
		uint64_t	equal = gsort_min_u64(ends[r] - begins[r], left);

		ends[r] = begins[r] + equal;
		left -= equal;
	}
}

/* Takes the words of a block, from begins to ends, with their runs.  Moves
 * begins. */
static void
fill_block(const host_retained *retained, uint64_t *begins, const uint64_t *ends,
		   const host_pairs *block)
{
	uint32_t	rows = 0;

	for (uint32_t r = 0; r < retained->n_runs; r++)
	{
		for (; begins[r] < ends[r]; begins[r]++, rows++)
		{
			block->keys[rows] = retained->runs[r].keys[begins[r] * retained->columns];
			block->rows[rows] = r;
		}
	}
}

static void
merge_rows(void *arg, uint64_t row, uint64_t end)
{
	const merger *merge = arg;
	const key_window window = {0, key_low_bits(merge->plan->bits)};
	uint64_t	begins[GSORT_MERGE_RUNS_MAX] = {0};
	uint64_t	ends[GSORT_MERGE_RUNS_MAX];
	uint64_t	words[2][BLOCK_ROWS];
	uint32_t	runs[2][BLOCK_ROWS];
	const host_pairs sides[2] = {{words[0], runs[0]}, {words[1], runs[1]}};
	radix_workspace work;

	find_ends(merge, row, begins, ends);
	memcpy(begins, ends, sizeof(begins));
	while (row < end && !atomic_load(merge->cancel))
	{
		uint64_t	rows = gsort_min_u64(BLOCK_ROWS, end - row);

		find_ends(merge, rows, begins, ends);
		fill_block(merge->retained, begins, ends, &sides[0]);
		radix_bucket_sort(sides, window, &work, 0, 0, rows);
		for (uint32_t i = 0; i < rows; i++)
			merge->order[row++] = (uint8_t) runs[0][i];
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
									  merge_order_bytes(merge.rows), limit_bytes);
		if (merge.order == NULL)
			return GSORT_NOMEM;
		make_words(&merge, pool);
		host_pool_for_rows(pool, merge.rows, merge_rows, &merge);
	}
	retained->order = merge.order;
	retained->rows = merge.rows;
	host_retained_drop_keys(retained);
	return GSORT_OK;
}
