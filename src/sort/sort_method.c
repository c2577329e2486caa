/*
 * sort_method.c
 *	  Chooses the sort method, words on the device or comparisons here, by rows
 *	  that have come.
 *
 * In:  a sort's first rows, and the possible encodings of its keys.
 * Out: whether keys decide, so that the next one is not worth its words;
 *	    whether the whole sort is worth the device.
 *
 * Words cut from sort keys of ICU or the C library take as long as many
 * comparisons.  They are not worth that if the keys before them decide, if rows
 * tie by them all the same, or if rows have come in order.
 *
 * Rows that have come are in the array already, and feeding them takes as long
 * as sorting them here if that takes few comparisons: if most have the same
 * values, or NULL, or only rows that lie close together are out of order.
 *
 * Runs in the backend that leads the sort.  Memory: a context of its own, gone
 * afterwards.
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "keys/collation_keys.h"
#include "keys/key_types.h"
#include "keys/text_bytes.h"
#include "settings.h"
#include "sort/column_statistics.h"
#include "sort/sort_method.h"

/* Rows that are examined, to see whether they came in order, and how many
 * tie. */
#define ROWS_TO_SEE_ORDER_IN	2000
#define ROWS_TO_COST_BY			500

/* Rows that lie this far apart show whether rows are nearly in order.  Closer
 * ones may be swapped. */
#define ROWS_TO_DISTANT_ROW		150

/* Keys decide if no more than this share of all rows ties in them. */
#define SHARE_UNDECIDED_MAX	0.02

/* The memo knows strings of a key with no more values than these when they come
 * again (key_memo.h). */
#define VALUES_REMEMBERED	2000
#define BYTES_REMEMBERED	47

/* If a column's rows lie in its order, ANALYZE finds at least this correlation,
 * or its opposite. */
#define CORRELATION_IN_ORDER 0.99

/* The estimates are no better than this: comparisons in a tuplesort must cost
 * less by this factor. */
#define MARGIN				1.1

/* In nanoseconds.  bench/NOTES.md tells how they were measured. */
/* extra cost of a row in a tuplesort, compared with the device */
#define NATIVE_ROW			150.0
#define SPILLED_ROW			100.0	/* and in a file of it */
#define SPILLED_BYTE		1.0
#define ROW_FED				120.0	/* a row of the array that goes on to the device */
/* a narrow row with a NULL, which no page drain packs, or a single NULL, which
 * the array has once */
#define NULL_FED			60.0
#define JOB					500000.0	/* a device's sort of no rows */
#define TIED_ROW			50.0	/* a row in a tie run */
#define TIED_COMPARISON		30.0	/* beside the cost of a comparison */
#define SHORT_COMPARISON	10.0	/* of two words or abbreviations */
/* what the array's radix takes in place of one, for each doubling of the array
 * from these bytes on, since caches miss more of it */
#define RADIX_LEVEL			1.5
#define RADIX_BYTES_MIN		(512 * 1024)
#define EQUAL_COMPARISON	30.0	/* of two strings with equal bytes */

/* Costs of making a value's words, and of comparing two values, under each kind
 * of collation. */
typedef struct CollationCosts
{
	double		words;
	double		words_byte;
	double		comparison;
	/* each byte that two strings have in common at their beginning */
	double		comparison_byte;
	double		copied_byte;	/* of each string, before it is compared */
	/* a sort compares words: values, or the first bytes of sort keys */
	bool		abbreviates;
} CollationCosts;

static const CollationCosts costs_of_kinds[] = {
	[GPUSORT_COLLATION_NONE] = {.words = 10,.comparison = 20,.abbreviates = true},
	[GPUSORT_COLLATION_BYTES] =
		{.words = 30,.comparison = 30,.comparison_byte = 0.1,.abbreviates = true},
	[GPUSORT_COLLATION_ICU] =
		{.words = 200,.words_byte = 45,.comparison = 90,.comparison_byte = 1.5,.copied_byte = 0.2,
	.abbreviates = true},
	[GPUSORT_COLLATION_LIBC] =
		{.words = 450,.words_byte = 36,.comparison = 100,.comparison_byte = 28,
	.copied_byte = 0.2},
};

/* An examined row: its first word; hashes of its words and of its keys'
 * values. */
typedef struct LookedAt
{
	uint64		first_word;
	bool		is_null;		/* it has no first word */
	uint64		words;
	uint64		values;
	bool		is_inexact;		/* other values may have the same words */
} LookedAt;

/* Shares of all rows, and of all pairs of rows. */
typedef struct Share
{
	double		rows;
	double		pairs;
} Share;

/* The rows that tie by their words. */
typedef struct Ties
{
	Share		all;
	Share		undecided;		/* in tie runs of several values, which words leave undecided */
	Share		equal;			/* in such tie runs of one value */
	double		nulls;			/* share of rows without a first word */
	double		disorder;		/* share of pairs of distant rows that are out of order, at most
								 * 0.5; an opposite order is one too */
} Ties;

/* Returns NONE for a key that is no text. */
static GpuSortCollationKind
kind_of_key(const GpuSortFirstRows *from, int key)
{
	const GpuSortOrder *order = from->spec->order;
	Form_pg_attribute attr = TupleDescAttr(from->spec->desc, order->columns[key] - 1);
	int32		typmod = attr->atttypmod;
	Oid			type = gpusort_key_type(attr->atttypid, &typmod, order->operators[key]);

	if (!gpusort_type_has_text_bytes(type))
		return GPUSORT_COLLATION_NONE;
	return OidIsValid(order->collations[key]) ?
		gpusort_collation_kind(order->collations[key]) : GPUSORT_COLLATION_BYTES;
}

/* --- rows that tie -------------------------------------------------------- */

static int
compare_looked_at(const void *a, const void *b)
{
	uint64		x = ((const LookedAt *) a)->words;
	uint64		y = ((const LookedAt *) b)->words;

	return (x > y) - (x < y);
}

static bool
has_inexact_word(const GpuSortKeys *keys, const uint64 *words, uint32 nulls)
{
	for (int w = 0; w < keys->n_words; w++)
		if ((keys->inexact_mask & ~nulls & 1u << w) != 0 &&
			(words[w] & keys->inexact_bits[w]) == keys->inexact_code[w])
			return true;
	return false;
}

/* Hashes the bytes of the keys' values, which is good enough for an
 * estimate. */
static uint64
hash_values(const GpuSortFirstRows *from, int n_keys, TupleTableSlot *slot)
{
	uint64		hash = 0;

	for (int i = 0; i < n_keys; i++)
	{
		AttrNumber	column = from->spec->order->columns[i];
		Form_pg_attribute attr = TupleDescAttr(from->spec->desc, column - 1);
		bool		is_null;
		Datum		value = slot_getattr(slot, column, &is_null);

		hash = hash_combine64(hash,
							  is_null ? 0 : datum_image_hash(value, attr->attbyval, attr->attlen));
	}
	return hash;
}

/* Examines a row in each of n equal parts of the first rows.  Its place in the
 * part varies, since an input may repeat a pattern.  n_words of 0: values stand
 * for their words, which may be expensive. */
static void
look_at_rows(const GpuSortFirstRows *from, int n_keys, int n_words,
			 const GpuSortKeyEncoding *encodings, int n, LookedAt *looked_at)
{
	uint64		rows = gpusort_row_array_rows(from->array);
	GpuSortKeys keys;

	gpusort_keys_make(from->spec->order, n_words == 0 ? 0 : n_keys, encodings, from->spec->desc,
					  &keys);
	for (int i = 0; i < n; i++)
	{
		uint64		row = i * rows / n + hash_bytes_uint32(i) % (rows / n);
		TupleTableSlot *slot = gpusort_row_array_get(from->array, row, from->slot);
		uint64		words[GPUSORT_WORDS_MAX + 1] = {0};
		uint32		nulls = gpusort_keys_take(&keys, slot, words);
		int			hashed = Min(n_words, keys.n_words);

		CHECK_FOR_INTERRUPTS();
		looked_at[i].first_word = words[0];
		looked_at[i].is_null = (nulls & 1) != 0;
		looked_at[i].is_inexact = hashed < keys.n_words || has_inexact_word(&keys, words, nulls);
		looked_at[i].values = hash_values(from, n_keys, slot);
		words[hashed] = n_words == 0 ? looked_at[i].values :
			nulls & ((UINT64CONST(1) << hashed) - 1);
		looked_at[i].words = hash_bytes_extended((const unsigned char *) words,
												 (hashed + 1) * sizeof(uint64), 0);
	}
}

/* Compares rows with others that do not lie close to them, and counts NULLs. */
static void
find_disorder(const LookedAt *looked_at, int n, uint64 rows, Ties *ties)
{
	int			distance = 1 + ROWS_TO_DISTANT_ROW * n / Max(rows, 1);
	int			nulls = 0;
	int			ascending = 0;
	int			descending = 0;

	for (int i = 0; i < n; i++)
	{
		const LookedAt *before = &looked_at[Max(0, i - distance)];

		nulls += looked_at[i].is_null;
		if (before->is_null || looked_at[i].is_null)
			continue;
		ascending += before->first_word < looked_at[i].first_word;
		descending += before->first_word > looked_at[i].first_word;
	}
	ties->nulls = (double) nulls / Max(n, 1);
	ties->disorder = (double) Min(ascending, descending) / Max(ascending + descending, 1);
}

/* Adds a tie run of rows, among this many in all. */
static void
add_tie_run(const LookedAt *tie_run, int n, int all, Ties *ties)
{
	Share	   *undecided = &ties->equal;
	Share		share = {(double) n / all, (double) n * (n - 1) / ((double) all * (all - 1))};

	for (int i = 1; i < n; i++)
		if (tie_run[i].values != tie_run[0].values)
			undecided = &ties->undecided;
	ties->all.rows += share.rows;
	ties->all.pairs += share.pairs;
	if (!tie_run[0].is_inexact)
		return;
	undecided->rows += share.rows;
	undecided->pairs += share.pairs;
}

/* Finds how rows tie by the first n_words words of the first n_keys keys, and
 * how far they are out of order. */
static Ties
ties_by_words(const GpuSortFirstRows *from, int n_keys, int n_words,
			  const GpuSortKeyEncoding *encodings, int most)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "GpuSort choice",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	int			n = (int) Min(gpusort_row_array_rows(from->array), most);
	LookedAt   *looked_at = palloc(Max(n, 1) * sizeof(LookedAt));
	Ties		ties = {{0}};
	int			begin = 0;

	look_at_rows(from, n_keys, n_words, encodings, n, looked_at);
	find_disorder(looked_at, n, gpusort_row_array_rows(from->array), &ties);
	qsort(looked_at, n, sizeof(LookedAt), compare_looked_at);
	for (int i = 1; i <= n; i++)
	{
		if (i < n && looked_at[i].words == looked_at[begin].words)
			continue;
		if (i - begin > 1)
			add_tie_run(&looked_at[begin], i - begin, n, &ties);
		begin = i;
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	return ties;
}

/* Returns the comparisons, for each of all rows, that sorting the tie runs
 * takes. */
static double
comparisons_in_tie_runs(const Share *share, double rows)
{
	return share->rows <= 0 ? 0 : share->rows * log2(Max(2, share->pairs * rows / share->rows));
}

/* --- keys that decide ----------------------------------------------------- */

/*
 * Do the first n_keys keys tell nearly all rows apart?  No two of the n
 * examined rows may tie.  Then hardly more than one pair in n * n ties, among
 * all rows.  If n would have to be too large for that, the planner's estimate
 * of distinct values must say that nearly no row ties.
 */
bool
gpusort_keys_decide(const GpuSortFirstRows *from, int n_keys, const GpuSortWantedWords *words)
{
	GpuSortKeyEncoding encodings[GPUSORT_WORDS_MAX];
	double		rows = from->expected_rows;
	double		enough = ceil(sqrt(rows / SHARE_UNDECIDED_MAX));
	double		n = Min(gpusort_row_array_rows(from->array), enough);
	double		distinct = 0;

	for (int i = 0; i < n_keys; i++)
		distinct = Max(distinct, words[i].distinct);
	if (n < 2 || costs_of_kinds[kind_of_key(from, n_keys)].words_byte <= 0 ||
		(rows / (n * n) > SHARE_UNDECIDED_MAX && distinct < (1 - SHARE_UNDECIDED_MAX) * rows))
		return false;
	(void) gpusort_share_words(words, n_keys, rows, encodings);
	return ties_by_words(from, n_keys, GPUSORT_WORDS_MAX, encodings, (int) n).all.pairs <= 0;
}

/* --- words or comparisons ------------------------------------------------- */

/* Words of a value that a dictionary or the memo knows cost a look. */
static double
cost_of_words(const GpuSortFirstRows *from, int key, const GpuSortWantedWords *words,
			  const GpuSortKeyEncoding *encoding)
{
	GpuSortCollationKind kind = kind_of_key(from, key);
	const CollationCosts *costs = &costs_of_kinds[kind];
	double		bytes = encoding->n_words * sizeof(uint64);

	if (encoding->dictionary != NULL ||
		(costs->words_byte > 0 && words->distinct > 0 &&
		 words->distinct <= VALUES_REMEMBERED && words->width <= BYTES_REMEMBERED))
		return costs_of_kinds[GPUSORT_COLLATION_BYTES].words;
	if (encoding->prefix != NULL)
		bytes += VARSIZE_ANY_EXHDR(encoding->prefix);
	if (kind == GPUSORT_COLLATION_LIBC)
		bytes += GPUSORT_LIBC_BYTES_BEYOND;
	return costs->words + costs->words_byte * (words->width > 0 ? Min(bytes, words->width) : bytes);
}

/* A sort compares any two values first, which have the prefix in common, and
 * neighbours last. */
static double
cost_of_comparison(const GpuSortFirstRows *from, int key, const GpuSortWantedWords *words)
{
	const CollationCosts *costs = &costs_of_kinds[kind_of_key(from, key)];
	const bytea *prefix = words[key].prefix;
	double		alike = (words[key].alike + (prefix != NULL ? VARSIZE_ANY_EXHDR(prefix) : 0)) / 2;

	return costs->comparison + costs->comparison_byte * alike +
		costs->copied_byte * words[key].width;
}

/* Returns the share of all rows that is expected to be in order as the first
 * rows are.  These are all rows if rows that lie among all are in order, or if
 * ANALYZE has seen the column in order; else only those that have come. */
static double
share_like_first_rows(const GpuSortFirstRows *from)
{
	if (from->among_all ||
		fabs(gpusort_correlation(&from->spec->key_origins[0])) >= CORRELATION_IN_ORDER)
		return 1;
	return Min(1, gpusort_row_array_rows(from->array) / from->expected_rows);
}

/* Does a sort in this process compare words of the first key? */
static bool
compares_words(const GpuSortFirstRows *from, const GpuSortWantedWords *words)
{
	return costs_of_kinds[kind_of_key(from, 0)].abbreviates && words[0].alike < sizeof(uint64);
}

/*
 * Returns the cost of a row's comparisons by the first key in a sort by
 * comparisons, in_order being the share of rows that have come in order.  Rows
 * with the same value, or with NULL, take no comparisons to tell them apart, so
 * few values take few.  A sort of words also takes few for rows that are nearly
 * in order.
 */
static double
cost_of_first_key(const GpuSortFirstRows *from, const GpuSortWantedWords *words,
				  const Ties *ties, double in_order, double runs, bool stays)
{
	const CollationCosts *costs = &costs_of_kinds[kind_of_key(from, 0)];
	double		bytes = from->expected_rows * gpusort_row_array_bytes(from->array) /
		gpusort_row_array_rows(from->array);
	double		level = cost_of_comparison(from, 0, words);
	double		cost = EQUAL_COMPARISON * ties->equal.rows +
		level * comparisons_in_tie_runs(&ties->undecided, from->expected_rows);
	double		levels = log2(Max(2, from->expected_rows)) -
		comparisons_in_tie_runs(&ties->all, from->expected_rows);

	if (compares_words(from, words))
	{
		in_order = Max(in_order, (1 - 2 * ties->disorder) * share_like_first_rows(from));
		level = stays ? RADIX_LEVEL * log2(Max(2, bytes / RADIX_BYTES_MIN)) : SHORT_COMPARISON;
		cost += costs->words + costs->words_byte * sizeof(uint64);
	}
	return cost + level * (in_order * (1 + log2(runs)) + (1 - in_order) * Max(1, levels));
}

/* Rows that are compared in the array go nowhere, but a sample is no array.
 * Further keys are compared only for rows that tie in the keys before. */
static double
cost_of_native_row(const GpuSortFirstRows *from, int n_keys, const GpuSortWantedWords *words,
				   const GpuSortKeyEncoding *encodings, const Ties *first_key)
{
	double		rows = from->expected_rows;
	double		bytes = from->spec->packed_bytes;
	double		runs = Max(1, rows * bytes / (from->spec->work_mem * 1024.0));
	double		in_order = gpusort_row_array_is_in_order(from->array, ROWS_TO_SEE_ORDER_IN) ?
		share_like_first_rows(from) : 0;
	bool		stays = !from->among_all &&
		gpusort_row_array_fits(from->array, rows, from->spec->work_mem * 1024.0);
	double		cost = runs > 1 ? SPILLED_ROW + SPILLED_BYTE * bytes : 0;

	cost += cost_of_first_key(from, words, first_key, in_order, runs, stays);
	for (int i = 1; i < n_keys; i++)
	{
		Ties		ties = ties_by_words(from, i, GPUSORT_WORDS_MAX, encodings, ROWS_TO_COST_BY);

		cost += cost_of_comparison(from, i, words) *
			(in_order * ties.all.rows + (1 - in_order) * comparisons_in_tie_runs(&ties.all, rows));
	}
	return stays ? cost : MARGIN * (NATIVE_ROW + cost);
}

/* A row costs its words, the check of an order that is not to be trusted, and a
 * share of the job and of the rows that have come. */
static double
cost_of_fed_row(const GpuSortFirstRows *from, int n_keys, const GpuSortWantedWords *words,
				const GpuSortKeyEncoding *encodings, const Ties *first_key)
{
	double		cost = (JOB + ROW_FED * gpusort_row_array_rows(from->array)) / from->expected_rows;

	if (from->spec->format->narrow_bytes != 0 || from->spec->desc->natts == 1)
		cost += NULL_FED * first_key->nulls;
	for (int i = 0; i < n_keys; i++)
		cost += cost_of_words(from, i, &words[i], &encodings[i]);
	if (kind_of_key(from, 0) == GPUSORT_COLLATION_LIBC &&
		gpusort_libc_collations != GPUSORT_LIBC_COLLATIONS_TRUST)
		cost += cost_of_comparison(from, 0, words);
	return cost;
}

/* Returns the cost of comparing undecided rows. */
static double
cost_of_ties(const GpuSortFirstRows *from, int n_keys, const GpuSortWantedWords *words,
			 const GpuSortKeyEncoding *encodings)
{
	Ties		ties = ties_by_words(from, n_keys, GPUSORT_WORDS_MAX, encodings, ROWS_TO_COST_BY);
	double		cost = TIED_ROW * (ties.undecided.rows + ties.equal.rows) +
		(TIED_COMPARISON + EQUAL_COMPARISON) * ties.equal.rows;
	double		comparison = 0;

	for (int i = 0; i < n_keys; i++)
		if (kind_of_key(from, i) != GPUSORT_COLLATION_NONE)
			comparison = Max(comparison, cost_of_comparison(from, i, words));
	return cost + (TIED_COMPARISON + comparison) *
		comparisons_in_tie_runs(&ties.undecided, from->expected_rows);
}

/* Ties are looked at last, since that takes a sort key for each examined
 * row. */
bool
gpusort_comparing_costs_less(const GpuSortFirstRows *from, int n_keys,
							 const GpuSortWantedWords *words, const GpuSortKeyEncoding *encodings)
{
	Ties		first_key;
	double		saved;

	if (gpusort_row_array_rows(from->array) < ROWS_TO_COST_BY)
		return false;
	first_key = ties_by_words(from, 1, compares_words(from, words) ? 1 : 0, encodings,
							  ROWS_TO_COST_BY);
	saved = cost_of_fed_row(from, n_keys, words, encodings, &first_key) -
		cost_of_native_row(from, n_keys, words, encodings, &first_key);
	return saved > 0 || saved + cost_of_ties(from, n_keys, words, encodings) > 0;
}
