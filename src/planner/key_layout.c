/*
 * key_layout.c
 *	  How many words each key of a sort gets, and what they skip.
 *
 * In:  the keys, what their types can have, and what statistics show of their values.
 * Out: for each of the first keys its number of words and the bytes that they leave out, which
 *	    all processes of the plan keep to.
 *
 * Words are cheap: eight bytes of a row's way to the device, where a further word is sorted
 * only for rows that tie in those before it.  What words do not tell apart the backend compares,
 * row by row, so whatever is chosen here, the order is right; but 10 M URLs by one word too few
 * took 7 s instead of half a second.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "keys/collation_keys.h"
#include "keys/key_types.h"
#include "keys/text_bytes.h"
#include "planner/key_layout.h"
#include "planner/key_samples.h"
#include "shared/collations.h"

/* Of a key of which nothing is known, if it may have more. */
#define USUAL_WORDS			2

/* Fewer samples may have something in common by chance, unless they are all values. */
#define SAMPLES_TO_SKIP_BY	8

/* Of all samples, those whose bytes all have room in the words. */
#define SHARE_HELD	0.95

/* What parts the levels of ICU's sort keys, and words that may reach beyond the first one. */
#define ICU_LEVEL_SEPARATOR	1
#define ICU_WORDS_AT_LEAST	2

/* Bytes of a numeric that one word holds all of: its headers and four digits of base 10000. */
#define NUMERIC_BYTES_OF_ONE_WORD	11

/* What a key would have if it were alone. */
typedef struct WantedWords
{
	int			least;
	int			wanted;
	const bytea *skipped;
	GpuSortKeyFigures figures;
} WantedWords;

/* --- words of byte strings ------------------------------------------------------ */

static int
words_of_bytes(double bytes)
{
	return (int) Max(1, Min(GPUSORT_WORDS_MAX, ceil(bytes / sizeof(uint64))));
}

static const bytea *
skip_common_bytes(const GpuSortKeySamples *samples, Size *n_skipped)
{
	bytea	   *skipped;

	*n_skipped = 0;
	if (samples->n < SAMPLES_TO_SKIP_BY && !(samples->n > 1 && samples->n >= samples->distinct))
		return NULL;
	*n_skipped = gpusort_key_samples_common(&samples->samples[0], &samples->samples[samples->n - 1]);
	if (*n_skipped == 0)
		return NULL;
	skipped = palloc(VARHDRSZ + *n_skipped);
	SET_VARSIZE(skipped, VARHDRSZ + *n_skipped);
	memcpy(VARDATA(skipped), samples->samples[0].bytes, *n_skipped);
	return skipped;
}

static int
compare_sizes(const void *a, const void *b)
{
	Size		x = *(const Size *) a;
	Size		y = *(const Size *) b;

	return (x > y) - (x < y);
}

/* Of so many sizes, the one that so great a share of them does not exceed. */
static Size
size_of_share(Size *sizes, int n, double share)
{
	qsort(sizes, n, sizeof(Size), compare_sizes);
	return sizes[Min(n - 1, (int) (n * share))];
}

/* Bytes behind those skipped that nearly all samples have; up to the first byte of this value, if
 * it is not negative. */
static Size
bytes_of_samples(const GpuSortKeySamples *samples, Size n_skipped, int end)
{
	Size	   *sizes = palloc(samples->n * sizeof(Size));

	for (int i = 0; i < samples->n; i++)
	{
		const char *bytes = samples->samples[i].bytes + n_skipped;
		const char *found;

		sizes[i] = samples->samples[i].length - n_skipped;
		found = end < 0 ? NULL : memchr(bytes, end, sizes[i]);
		if (found != NULL)
			sizes[i] = found - bytes;
	}
	return size_of_share(sizes, samples->n, SHARE_HELD);
}

/*
 * Words for all bytes that nearly all samples have.  How many would tell the values apart cannot
 * be seen in samples: what lies between two of them may have a hundred bytes in common.
 * Bytes themselves tell when they are all there, by one more byte for their number.
 *
 * ICU makes a sort key as far as it is asked to, level by level, and what lies behind the first level
 * costs as much again and tells hardly anything: words end before it, but for short keys.
 */
static void
want_words_by_samples(const GpuSortKeySamples *samples, GpuSortCollationKind kind,
					  WantedWords *words)
{
	Size		n_skipped;
	Size		bytes;

	words->skipped = skip_common_bytes(samples, &n_skipped);
	bytes = bytes_of_samples(samples, n_skipped,
							 kind == GPUSORT_COLLATION_ICU ? ICU_LEVEL_SEPARATOR : -1);
	if (kind == GPUSORT_COLLATION_BYTES)
		bytes++;
	words->wanted = words_of_bytes(bytes);
	if (kind == GPUSORT_COLLATION_ICU && words->wanted > ICU_WORDS_AT_LEAST)
		words->wanted = Max(ICU_WORDS_AT_LEAST, bytes / sizeof(uint64));
}

/* The most bytes that a value can have; 0: there is no bound. */
static int
most_bytes(Oid type, int32 typmod)
{
	int			size;

	if (type == NAMEOID)
		return NAMEDATALEN - 1;
	size = type_maximum_size(type, typmod);
	return size > VARHDRSZ ? size - VARHDRSZ : 0;
}

static void
want_words_by_width(Oid type, int32 typmod, int width, bool is_exact, WantedWords *words)
{
	int			bytes = most_bytes(type, typmod);

	words->wanted = USUAL_WORDS;
	if (is_exact && width > 0)
		words->wanted = Min(words->wanted, words_of_bytes(width));
	if (is_exact && bytes > 0)
		words->wanted = Min(words->wanted, words_of_bytes(bytes + 1));
}

/* --- a key ------------------------------------------------------------------------ */

static bool
is_distrusted(Oid collation)
{
	if (gpusort_collation_kind(collation) != GPUSORT_COLLATION_LIBC ||
		!gpusort_collation_is_distrusted(collation))
		return false;
	elog(DEBUG1, "gpusort: collation \"%s\" has no words: its strxfrm has contradicted its strcoll",
		 get_collation_name(collation));
	return true;
}

/* What the key that an expression is would have.  False: no words. */
static bool
want_words(PlannerInfo *root, Node *expr, const GpuSortOrder *order, int i, double rows,
		   WantedWords *words)
{
	int32		typmod = exprTypmod(expr);
	Oid			type = getBaseTypeAndTypmod(exprType(expr), &typmod);
	Oid			collation = order->collations[i];
	GpuSortKeySamples samples;
	int			most;

	memset(words, 0, sizeof(*words));
	if (is_distrusted(collation) ||
		!gpusort_sortkey_has_words(exprType(expr), exprTypmod(expr), order->operators[i],
								   collation, &words->least, &most))
		return false;
	gpusort_key_samples_take(root, expr, type, collation, rows, &samples);
	words->figures.distinct = samples.distinct;
	words->figures.width = samples.width > 0 ? samples.width : get_typavgwidth(type, typmod);
	if (gpusort_type_has_text_bytes(type))
	{
		GpuSortCollationKind kind = type == BYTEAOID ? GPUSORT_COLLATION_BYTES :
			gpusort_collation_kind(collation);

		if (samples.n > 0)
			want_words_by_samples(&samples, kind, words);
		else
			want_words_by_width(type, typmod, samples.width, kind == GPUSORT_COLLATION_BYTES,
								words);
	}
	else if (type == NUMERICOID)
		words->wanted = samples.width > NUMERIC_BYTES_OF_ONE_WORD ? 2 : 1;
	else
		words->wanted = USUAL_WORDS;
	words->wanted = Max(words->least, Min(most, words->wanted));
	return true;
}

/* --- all keys --------------------------------------------------------------------- */

/*
 * Each key has its least, then the first ones have what they want.  When the keys so far tell
 * nearly all rows apart, what words of the others tell is hardly ever asked.
 */
static void
share_words(const WantedWords *words, GpuSortPlanInfo *info)
{
	double		distinct = 1;

	info->n_words = 0;
	for (int i = 0; i < info->n_keys; i++)
		info->n_words += words[i].least;
	for (int i = 0; i < info->n_keys; i++)
	{
		GpuSortKeyLayout *layout = &info->layouts[i];
		int			wanted = distinct > 2 * info->rows ? words[i].least : words[i].wanted;

		layout->n_words = Min(wanted, words[i].least + GPUSORT_WORDS_MAX - info->n_words);
		layout->skipped = words[i].skipped;
		info->key_figures[i] = words[i].figures;
		info->n_words += layout->n_words - words[i].least;
		/* a key that tells all rows apart does so alone */
		distinct *= Max(1, words[i].figures.distinct);
		if (words[i].figures.distinct >= 0.9 * info->rows)
			distinct = HUGE_VAL;
	}
}

void
gpusort_lay_out_keys(PlannerInfo *root, const PathTarget *target, GpuSortPlanInfo *info)
{
	const GpuSortOrder *order = &info->order;
	WantedWords words[GPUSORT_WORDS_MAX];
	int			least = 0;

	for (info->n_keys = 0; info->n_keys < Min(order->n_keys, GPUSORT_WORDS_MAX); info->n_keys++)
	{
		int			i = info->n_keys;
		Node	   *expr = list_nth(target->exprs, order->columns[i] - 1);

		if (!want_words(root, expr, order, i, info->rows, &words[i]) ||
			least + words[i].least > GPUSORT_WORDS_MAX)
			break;
		least += words[i].least;
	}
	share_words(words, info);
}
