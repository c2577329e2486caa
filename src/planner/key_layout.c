/*
 * key_layout.c
 *	  How many words each key of a sort gets, and what they skip, by statistics.
 *
 * In:  the keys, what their types can have, and what statistics show of their values.
 * Out: for each of the first keys its number of words and the bytes that they leave out, which
 *	    all processes of the plan keep to.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "keys/dictionary.h"
#include "keys/key_types.h"
#include "keys/word_layout.h"
#include "planner/key_layout.h"
#include "shared/server_state.h"

/* Bytes of a value of which nothing is known; a char(50) may have 200, and has some letters and
 * blanks. */
#define USUAL_WIDTH	32

static bool
is_distrusted(Oid collation)
{
	return gpusort_collation_kind(collation) == GPUSORT_COLLATION_LIBC &&
		gpusort_collation_is_distrusted(collation);
}

/* What the key that an expression is would have; known: there was enough to choose by.  False: no
 * words. */
static bool
want_words(const GpuSortColumns *columns, Node *expr, const GpuSortOrder *order, int i, double rows,
		   GpuSortWantedWords *words, GpuSortKeyFigures *figures, bool *known)
{
	int32		typmod = exprTypmod(expr);
	Oid			type = gpusort_base_type(exprType(expr), &typmod);
	Oid			collation = order->collations[i];
	GpuSortKeySamples samples;
	int			least;
	int			most;

	if (is_distrusted(collation) ||
		!gpusort_sortkey_has_words(exprType(expr), exprTypmod(expr), order->operators[i],
								   collation, &least, &most))
		return false;
	gpusort_key_statistics_take(columns, expr, type, collation, rows, &samples);
	gpusort_want_words(type, typmod, collation, least, most, &samples, rows, words);
	*known = samples.n > 0 || (samples.width > 0 && !samples.hidden) ||
		!gpusort_key_is_laid_out_by_samples(type);
	figures->distinct = samples.distinct;
	figures->width = samples.width > 0 ? samples.width :
		Min(USUAL_WIDTH, get_typavgwidth(type, typmod));
	return true;
}

/* Has a key so few values that a dictionary of them may be worth it? */
static bool
is_few_texts(Node *expr, Oid collation, const GpuSortWantedWords *words)
{
	int32		typmod = -1;
	Oid			type = gpusort_base_type(exprType(expr), &typmod);

	return gpusort_dictionary_may_be_of(type, collation) && words->distinct > 0 &&
		words->distinct <= GPUSORT_DICTIONARY_VALUES_MAX &&
		gpusort_dictionary_would_help(collation, words);
}

void
gpusort_lay_out_keys(const GpuSortColumns *columns, const PathTarget *target, GpuSortPlanInfo *info)
{
	const GpuSortOrder *order = &info->order;
	GpuSortWantedWords words[GPUSORT_WORDS_MAX];
	int			least = 0;
	double		told_apart = 1; /* values that the keys so far have together */
	bool		known;

	info->from_statistics = true;
	info->few_texts = false;
	info->unknown_texts = false;
	for (info->n_keys = 0; info->n_keys < Min(order->n_keys, GPUSORT_WORDS_MAX); info->n_keys++)
	{
		int			i = info->n_keys;
		Node	   *expr = list_nth(target->exprs, order->columns[i] - 1);

		if (!want_words(columns, expr, order, i, info->rows, &words[i], &info->key_figures[i],
						&known) ||
			least + words[i].least > GPUSORT_WORDS_MAX)
			break;
		least += words[i].least;
		info->from_statistics &= known;
		/* what keys before it tell apart, it need not */
		info->unknown_texts |= told_apart < info->rows && !known;
		info->few_texts |= told_apart < info->rows && is_few_texts(expr, order->collations[i], &words[i]);
		told_apart *= Max(1, words[i].distinct);
	}
	info->n_words = gpusort_share_words(words, info->n_keys, info->rows, info->layouts);
}
