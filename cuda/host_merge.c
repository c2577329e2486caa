/*
 * host_merge.c
 *	  Keeps the sorted keys of ended runs, and merges them.
 *
 * Keeping a run gathers its key columns in the order of its rows.  They are kept
 * as they came, not as sort words: later runs may widen the plan.
 *
 * The merge first turns each row's keys into the plan's one word, in the place of
 * its first column, so that it needs no memory but the order it makes.  Then the
 * order is cut into parts, each of which finds by itself where it begins and
 * ends in every run, and merges what lies between with a tree of losers.
 *
 * Every step is a loop over parts of the rows, shared by the idle threads.
 */
#include "host_merge.h"

#include <string.h>

#include "host_radix.h"

/* Rows asked for ahead when keys are read in sorted order. */
#define ROWS_AHEAD		24
/* Words asked for ahead in a run: many runs are more streams than processors see. */
#define WORDS_AHEAD		32
#define LEAVES_MAX		256		/* GSORT_MERGE_RUNS_MAX, up to a power of two */
#define ROWS_PER_CHECK	65536	/* merged until the next look for a cancel */

/* --- memory ----------------------------------------------------------------- */

void
host_kept_init(host_kept *kept, host_run *run)
{
	memset(kept, 0, sizeof(*kept));
	kept->memory = run->memory;
	kept->account = &run->account;
	kept->columns = run->columns;
}

static uint64_t
keys_bytes(uint32_t columns, uint64_t rows, int with_nulls)
{
	return rows * (columns * sizeof(uint64_t) + (with_nulls ? 1 : 0));
}

uint64_t
host_kept_bytes(uint32_t columns, uint64_t rows, int with_nulls)
{
	return host_block_bytes(keys_bytes(columns, rows, with_nulls));
}

uint64_t
host_order_bytes(uint64_t rows)
{
	return host_block_bytes((rows + 7) / 8 * 8);
}

void
host_kept_drop_keys(host_kept *kept)
{
	while (kept->n_runs > 0)
	{
		host_kept_run *run = &kept->runs[--kept->n_runs];

		host_block_give(kept->memory, kept->account, run->keys,
						keys_bytes(kept->columns, run->rows, run->nulls != NULL));
	}
}

void
host_kept_free(host_kept *kept)
{
	host_kept_drop_keys(kept);
	host_block_give(kept->memory, kept->account, kept->order, host_order_bytes(kept->rows));
	kept->order = NULL;
	kept->rows = 0;
}

/* --- keeping a run ------------------------------------------------------------ */

typedef struct gatherer
{
	const host_run *from;
	const host_kept_run *to;
	uint32_t	parts;
	const atomic_int *cancel;
} gatherer;

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
host_kept_add(host_kept *kept, const host_run *run, host_pool *pool, int with_nulls,
			  uint64_t limit_bytes, const atomic_int *cancel)
{
	host_kept_run *added = &kept->runs[kept->n_runs];
	gatherer	gather = {
		.from = run, .to = added, .parts = host_parts(pool, run->rows), .cancel = cancel
	};

	memset(added, 0, sizeof(*added));
	if (run->rows > 0)
	{
		added->keys = host_block_take(kept->memory, kept->account,
									  keys_bytes(run->columns, run->rows, with_nulls),
									  limit_bytes);
		if (added->keys == NULL)
			return 0;
		added->rows = run->rows;
		if (with_nulls)
			added->nulls = (uint8_t *) (added->keys + run->rows * run->columns);
		host_pool_for(pool, gather.parts, gather_part, &gather);
	}
	kept->n_runs++;
	return 1;
}

/* --- sort words, in the place of the keys ------------------------------------- */

typedef struct merger
{
	const host_kept *kept;
	const key_plan *plan;
	const host_kept_run *run;	/* whose words are being made */
	uint8_t    *order;
	uint64_t	rows;
	uint32_t	parts;
	const atomic_int *cancel;
} merger;

static void
make_words_part(void *arg, uint32_t part)
{
	const merger *merge = arg;
	const host_kept_run *run = merge->run;
	uint32_t	columns = merge->kept->columns;
	uint64_t	end = host_part_begin(run->rows, merge->parts, part + 1);

	if (atomic_load(merge->cancel))
		return;
	for (uint64_t i = host_part_begin(run->rows, merge->parts, part); i < end; i++)
	{
		uint64_t   *keys = run->keys + i * columns;
		uint32_t	nulls = run->nulls != NULL ? run->nulls[i] : 0;
		uint64_t	word = 0;

		for (uint32_t c = 0; c < columns; c++)
			word |= key_field_bits(&merge->plan->fields[c], 0, keys[c], nulls >> c & 1);
		keys[0] = word;
	}
}

static void
make_words(merger *merge, host_pool *pool)
{
	for (uint32_t r = 0; r < merge->kept->n_runs; r++)
	{
		merge->run = &merge->kept->runs[r];
		merge->parts = host_parts(pool, merge->run->rows);
		host_pool_for(pool, merge->parts, make_words_part, merge);
	}
}

/* --- splits -------------------------------------------------------------------- */

/* Of the run's rows from low to high, which are sorted: the first above word. */
static uint64_t
first_above(const host_kept_run *run, uint32_t columns, uint64_t low, uint64_t high, uint64_t word)
{
	while (low < high)
	{
		uint64_t	middle = low + (high - low) / 2;

		if (run->keys[middle * columns] <= word)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Where each run is split so that rank rows in all, the first of the order, lie
 * before the splits.  Finds the word of row number rank bit by bit; begins and ends
 * are where the words not yet ruled out begin and end in each run.  Rows of that
 * word itself go before the split by run until the rank is reached.
 */
static void
find_splits(const merger *merge, uint64_t rank, uint64_t begins[GSORT_MERGE_RUNS_MAX])
{
	const host_kept *kept = merge->kept;
	uint64_t	ends[GSORT_MERGE_RUNS_MAX];
	uint64_t	middles[GSORT_MERGE_RUNS_MAX];
	uint64_t	low = 0;
	uint64_t	high = key_low_bits(merge->plan->bits);
	uint64_t	before = 0;

	for (uint32_t r = 0; r < kept->n_runs; r++)
	{
		begins[r] = 0;
		ends[r] = kept->runs[r].rows;
	}
	while (low < high)
	{
		uint64_t	middle = low + (high - low) / 2;
		uint64_t	sum = 0;

		for (uint32_t r = 0; r < kept->n_runs; r++)
		{
			middles[r] = first_above(&kept->runs[r], kept->columns, begins[r], ends[r], middle);
			sum += middles[r];
		}
		if (sum <= rank)
			low = middle + 1;
		else
			high = middle;
		memcpy(sum <= rank ? begins : ends, middles, kept->n_runs * sizeof(uint64_t));
	}
	for (uint32_t r = 0; r < kept->n_runs; r++)
		before += begins[r];
	for (uint32_t r = 0; r < kept->n_runs && before < rank; r++)
	{
		uint64_t	equal = ends[r] - begins[r];

		if (equal > rank - before)
			equal = rank - before;
		begins[r] += equal;
		before += equal;
	}
}

/* --- merging -------------------------------------------------------------------- */

/* What a run offers next: the smaller rank comes first. */
typedef struct contender
{
	uint64_t	word;
	uint64_t	run;			/* LEAVES_MAX and more: the run is used up */
} contender;

typedef struct tournament
{
	uint32_t	leaves;			/* a power of two */
	uint32_t	columns;
	const uint64_t *next[LEAVES_MAX];
	const uint64_t *end[LEAVES_MAX];
	contender	losers[LEAVES_MAX];	/* of each match; number 0 is the winner of all */
} tournament;

static inline int
comes_first(const contender *a, const contender *b)
{
	return ((unsigned __int128) a->word << 64 | a->run) < ((unsigned __int128) b->word << 64 | b->run);
}

static inline contender
contender_of(const tournament *t, uint32_t run)
{
	contender	offer = {UINT64_MAX, LEAVES_MAX + run};

	if (t->next[run] < t->end[run])
	{
		offer.word = *t->next[run];
		offer.run = run;
	}
	return offer;
}

/* Plays the matches below number match; returns their winner. */
static contender
play(tournament *t, uint32_t match)
{
	contender	a;
	contender	b;

	if (match >= t->leaves)
		return contender_of(t, match - t->leaves);
	a = play(t, 2 * match);
	b = play(t, 2 * match + 1);
	t->losers[match] = comes_first(&a, &b) ? b : a;
	return comes_first(&a, &b) ? a : b;
}

static void
begin_tournament(const merger *merge, tournament *t, uint64_t begin, uint64_t end)
{
	const host_kept *kept = merge->kept;
	uint64_t	begins[GSORT_MERGE_RUNS_MAX];
	uint64_t	ends[GSORT_MERGE_RUNS_MAX];

	find_splits(merge, begin, begins);
	find_splits(merge, end, ends);
	t->columns = kept->columns;
	for (t->leaves = 1; t->leaves < kept->n_runs; t->leaves *= 2)
		;
	for (uint32_t r = 0; r < t->leaves; r++)
	{
		int			is_run = r < kept->n_runs && kept->runs[r].rows > 0;

		t->next[r] = is_run ? kept->runs[r].keys + begins[r] * kept->columns : NULL;
		t->end[r] = is_run ? kept->runs[r].keys + ends[r] * kept->columns : NULL;
	}
	t->losers[0] = play(t, 1);
}

static void
merge_rows(tournament *t, uint8_t *order, uint64_t rows)
{
	contender	winner = t->losers[0];

	for (uint64_t i = 0; i < rows; i++)
	{
		uint32_t	run = (uint32_t) winner.run;

		order[i] = (uint8_t) run;
		__builtin_prefetch(t->next[run] + WORDS_AHEAD * t->columns);
		t->next[run] += t->columns;
		winner = contender_of(t, run);
		for (uint32_t match = (t->leaves + run) / 2; match > 0; match /= 2)
		{
			contender	loser = t->losers[match];
			int			loses = comes_first(&loser, &winner);

			t->losers[match].word = loses ? winner.word : loser.word;
			t->losers[match].run = loses ? winner.run : loser.run;
			winner.word = loses ? loser.word : winner.word;
			winner.run = loses ? loser.run : winner.run;
		}
	}
	t->losers[0] = winner;
}

static void
merge_part(void *arg, uint32_t part)
{
	const merger *merge = arg;
	uint64_t	begin = host_part_begin(merge->rows, merge->parts, part);
	uint64_t	end = host_part_begin(merge->rows, merge->parts, part + 1);
	tournament	t;

	if (begin == end || atomic_load(merge->cancel))
		return;
	begin_tournament(merge, &t, begin, end);
	while (begin < end && !atomic_load(merge->cancel))
	{
		uint64_t	rows = end - begin < ROWS_PER_CHECK ? end - begin : ROWS_PER_CHECK;

		merge_rows(&t, merge->order + begin, rows);
		begin += rows;
	}
}

/* All keys are equal: one run after the other. */
static void
order_by_run(const merger *merge)
{
	uint8_t    *order = merge->order;

	for (uint32_t r = 0; r < merge->kept->n_runs; r++)
	{
		memset(order, (int) r, merge->kept->runs[r].rows);
		order += merge->kept->runs[r].rows;
	}
}

gsort_status
host_kept_merge(host_kept *kept, host_pool *pool, const key_plan *plan, uint64_t limit_bytes,
				const atomic_int *cancel)
{
	merger		merge = {.kept = kept, .plan = plan, .cancel = cancel};

	for (uint32_t r = 0; r < kept->n_runs; r++)
		merge.rows += kept->runs[r].rows;
	if (merge.rows > 0)
	{
		merge.order = host_block_take(kept->memory, kept->account, host_order_bytes(merge.rows),
									  limit_bytes);
		if (merge.order == NULL)
			return GSORT_NOMEM;
	}
	kept->order = merge.order;
	kept->rows = merge.rows;
	if (plan->words == 0)
		order_by_run(&merge);
	else
	{
		make_words(&merge, pool);
		merge.parts = host_parts(pool, merge.rows);
		host_pool_for(pool, merge.parts, merge_part, &merge);
	}
	host_kept_drop_keys(kept);
	return GSORT_OK;
}
