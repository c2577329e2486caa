/*
 * sort_choice.c
 *	  Whether a sort's rows are sorted sooner by words or by comparisons, by rows that have come.
 *
 * In:  a sort's first rows, and how its keys would be laid out.
 * Out: how many keys are worth their words; whether the whole sort is worth the device.
 *
 * Words cut from sort keys of ICU's or the C library's take as long as many comparisons.  They are not worth that where keys
 * before them decide, where rows tie by them all the same, or where rows have come in order.
 *
 * Runs in the backend that leads the sort.  Memory: a context of its own, gone afterwards.
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "keys/collation_keys.h"
#include "keys/key_types.h"
#include "keys/text_bytes.h"
#include "settings.h"
#include "sort/sort_choice.h"

/* Rows that are looked at, to see how many tie, and whether they have come in order. */
#define ROWS_LOOKED_AT		2000

/* The same to see what sorting costs. */
#define ROWS_TO_COST_BY		100

/* Keys decide if no more than this share of all rows ties in them. */
#define SHARE_UNDECIDED_MAX	0.02

/* Strings of a key with no more values than these are known when they come again (key_memo.h). */
#define VALUES_REMEMBERED	2000
#define BYTES_REMEMBERED	47

/* What a row takes, in nanoseconds; bench/NOTES.md tells how these were measured. */
#define NATIVE_ROW			150.0	/* more in a tuplesort than on its way to the device and back */
#define NATIVE_ROW_SPILLED	100.0	/* and in a file of it */
#define TIED_ROW			50.0	/* that is in a group of rows that tie */
#define TIED_COMPARISON		30.0	/* beside what a comparison takes */
#define SHORT_COMPARISON	10.0	/* of two words or abbreviations */

/* The same of a value, and of two, under each kind of collation. */
typedef struct CollationCosts
{
	double		words;
	double		words_byte;
	double		comparison;
	double		comparison_byte;	/* that two strings begin with */
	bool		abbreviates;	/* PostgreSQL's sort, to the first eight bytes of a sort key */
} CollationCosts;

static const CollationCosts costs_of_kinds[] = {
	[GPUSORT_COLLATION_NONE] = {.words = 10,.comparison = 20},
	[GPUSORT_COLLATION_BYTES] = {.words = 30,.comparison = 30,.comparison_byte = 0.1,.abbreviates = true},
	[GPUSORT_COLLATION_ICU] = {.words = 200,.words_byte = 45,.comparison = 90,.comparison_byte = 1.5,.abbreviates = true},
	[GPUSORT_COLLATION_LIBC] = {.words = 150,.words_byte = 30,.comparison = 100,.comparison_byte = 28},
};

/* Of a key that is no text: none. */
static GpuSortCollationKind
kind_of_key(const GpuSortFirstRows *from, int key)
{
	const GpuSortOrder *order = from->spec->order;
	Oid			type = getBaseType(TupleDescAttr(from->spec->desc, order->columns[key] - 1)->atttypid);

	if (!gpusort_type_has_text_bytes(type))
		return GPUSORT_COLLATION_NONE;
	return OidIsValid(order->collations[key]) ? gpusort_collation_kind(order->collations[key]) : GPUSORT_COLLATION_BYTES;
}

/* --- keys that decide ------------------------------------------------------------- */

static int
compare_hashes(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a;
	uint64		y = *(const uint64 *) b;

	return (x > y) - (x < y);
}

/* Takes the words of rows that lie evenly among the first ones, and hashes each row's.  Returns how many. */
static int
hash_words(const GpuSortFirstRows *from, int n_keys, const GpuSortKeyLayout *layouts, int most, uint64 *hashes)
{
	uint64		rows = gpusort_row_array_rows(from->array);
	int			n = (int) Min(rows, most);
	GpuSortKeys keys;

	gpusort_keys_make(from->spec->order, n_keys, layouts, from->spec->desc, &keys);
	for (int i = 0; i < n; i++)
	{
		uint64		words[GPUSORT_WORDS_MAX + 1];

		CHECK_FOR_INTERRUPTS();
		words[keys.n_words] = gpusort_keys_take(&keys, gpusort_row_array_get(from->array, i * rows / n, from->slot), words);
		hashes[i] = hash_bytes_extended((const unsigned char *) words, (keys.n_words + 1) * sizeof(uint64), 0);
	}
	return n;
}

/* The share of pairs of rows whose words of the first n_keys keys are the same. */
static double
share_of_tied_pairs(const GpuSortFirstRows *from, int n_keys, const GpuSortKeyLayout *layouts, int most)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "GpuSort choice", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	uint64	   *hashes = palloc(most * sizeof(uint64));
	int			n = hash_words(from, n_keys, layouts, most, hashes);
	double		pairs = 0;
	int			begin = 0;

	qsort(hashes, n, sizeof(uint64), compare_hashes);
	for (int i = 1; i <= n; i++)
	{
		if (i < n && hashes[i] == hashes[begin])
			continue;
		pairs += (double) (i - begin) * (i - begin - 1) / 2;
		begin = i;
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	return n < 2 ? 0 : pairs / ((double) n * (n - 1) / 2);
}

/*
 * Do the first n_keys keys tell nearly all rows apart?  If no two of the rows looked at tie, one pair in as many as there are may; the planner's
 * estimate of values can say that there are fewer.
 */
static bool
keys_decide(const GpuSortFirstRows *from, int n_keys, const GpuSortWantedWords *words, const GpuSortKeyLayout *layouts)
{
	double		rows = from->expected_rows;
	double		n = Min(gpusort_row_array_rows(from->array), ROWS_LOOKED_AT);
	double		distinct = 0;

	if (share_of_tied_pairs(from, n_keys, layouts, ROWS_LOOKED_AT) > 0)
		return false;
	for (int i = 0; i < n_keys; i++)
		distinct = Max(distinct, words[i].distinct);
	return rows / (n * n) <= SHARE_UNDECIDED_MAX ||
		(distinct > 0 && 1 - distinct / rows <= SHARE_UNDECIDED_MAX);
}

int
gpusort_keys_worth_words(const GpuSortFirstRows *from, int n_keys, const GpuSortWantedWords *words,
						 const GpuSortKeyLayout *layouts)
{
	for (int i = 1; i < n_keys; i++)
		if (costs_of_kinds[kind_of_key(from, i)].words_byte > 0 && words[i].dictionary == NULL &&
			keys_decide(from, i, words, layouts))
			return i;
	return n_keys;
}

/* --- words or comparisons ------------------------------------------------------------ */

/* Bytes of values, or of sort keys, that words tell apart by. */
static double
bytes_of_words(const GpuSortKeyLayout *layout)
{
	return layout->n_words * sizeof(uint64) + (layout->skipped != NULL ? VARSIZE_ANY_EXHDR(layout->skipped) : 0);
}

/* May two values that differ have the same words? */
static bool
may_tie(GpuSortCollationKind kind, const GpuSortWantedWords *words, const GpuSortKeyLayout *layout)
{
	if (kind == GPUSORT_COLLATION_NONE || layout->dictionary != NULL)
		return false;
	return kind != GPUSORT_COLLATION_BYTES || words->width - VARHDRSZ >= bytes_of_words(layout);
}

static double
cost_of_words(const GpuSortFirstRows *from, int key, const GpuSortWantedWords *words, const GpuSortKeyLayout *layout)
{
	GpuSortCollationKind kind = kind_of_key(from, key);
	const CollationCosts *costs = &costs_of_kinds[kind];
	double		bytes = bytes_of_words(layout) + (kind == GPUSORT_COLLATION_LIBC ? GPUSORT_LIBC_BYTES_BEYOND : 0);

	if (layout->dictionary != NULL ||
		(words->distinct > 0 && words->distinct <= VALUES_REMEMBERED && words->width <= BYTES_REMEMBERED))
		return costs_of_kinds[GPUSORT_COLLATION_BYTES].words;
	return costs->words + costs->words_byte * (words->width > 0 ? Min(bytes, words->width) : bytes);
}

static double
cost_of_comparison(const GpuSortFirstRows *from, int key, const GpuSortWantedWords *words)
{
	const CollationCosts *costs = &costs_of_kinds[kind_of_key(from, key)];

	return costs->comparison + costs->comparison_byte * words->alike;
}

/* So many comparisons of a row with others by a key; of the first one PostgreSQL's sort has abbreviations, if they tell values apart. */
static double
cost_of_comparing(const GpuSortFirstRows *from, int key, const GpuSortWantedWords *words, double comparisons)
{
	const CollationCosts *costs = &costs_of_kinds[kind_of_key(from, key)];

	if (key == 0 && costs->abbreviates && words->alike < sizeof(uint64))
		return costs->words + costs->words_byte * sizeof(uint64) + comparisons * SHORT_COMPARISON;
	return comparisons * cost_of_comparison(from, key, words);
}

/* Comparisons of each of so many rows in PostgreSQL's sort. */
static double
comparisons_of_row(const GpuSortFirstRows *from, double rows, double runs)
{
	if (rows <= 1)
		return 0;
	return gpusort_row_array_is_in_order(from->array, ROWS_LOOKED_AT) ? 1 + Max(0, log2(runs)) : log2(rows);
}

/* To decide a row in a group of so many that tie by all words. */
static double
cost_of_tied_row(const GpuSortFirstRows *from, int n_keys, const GpuSortWantedWords *words,
				 const GpuSortKeyLayout *layouts, double group)
{
	double		comparison = 0;

	for (int i = 0; i < n_keys; i++)
		if (may_tie(kind_of_key(from, i), &words[i], &layouts[i]))
			comparison = Max(comparison, cost_of_comparison(from, i, &words[i]));
	return group > 1 && comparison > 0 ? TIED_ROW + (TIED_COMPARISON + comparison) * log2(group) : 0;
}

bool
gpusort_comparing_costs_less(const GpuSortFirstRows *from, int n_keys, const GpuSortWantedWords *words,
							 const GpuSortKeyLayout *layouts)
{
	double		runs = from->expected_rows * from->spec->packed_bytes / (work_mem * 1024.0);
	double		native = NATIVE_ROW + (runs > 1 ? NATIVE_ROW_SPILLED : 0);
	double		device = 0;
	double		group = from->expected_rows;	/* of rows that tie by the keys so far */

	for (int i = 0; i < n_keys; i++)
	{
		double		comparisons = comparisons_of_row(from, group, runs);

		native += cost_of_comparing(from, i, &words[i], comparisons);
		device += cost_of_words(from, i, &words[i], &layouts[i]);
		if (comparisons > 0 && kind_of_key(from, i) == GPUSORT_COLLATION_LIBC &&
			gpusort_libc_collations != GPUSORT_LIBC_COLLATIONS_TRUST)
			device += cost_of_comparison(from, i, &words[i]);	/* the order is checked */
		group = from->expected_rows * share_of_tied_pairs(from, i + 1, layouts, ROWS_TO_COST_BY);
	}
	device += cost_of_tied_row(from, n_keys, words, layouts, group);
	return device > native;
}
