/*
 * key_layout.c
 *	  Which keys of a sort have words, and how many there may be.
 *
 * In:  the keys, what their types can have, and what statistics show of their values.
 * Out: how many of the first keys have words, and an estimate of the number of all words, for costs.  The sort itself
 *	    lays the words out, by its first rows (row_layouts.c).
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "keys/key_types.h"
#include "keys/word_layout.h"
#include "planner/key_layout.h"
#include "shared/server_state.h"

/* Bytes of a value of which nothing is known; a char(50) may have 200, and has some letters and
 * blanks. */
#define USUAL_WIDTH	32

/* Words of sort keys that are not to be trusted are none. */
bool
gpusort_key_has_words(const PathTarget *target, const GpuSortOrder *order, int i, int *least, int *most)
{
	const Node *key = list_nth(target->exprs, order->columns[i] - 1);
	Oid			collation = order->collations[i];

	if (gpusort_collation_kind(collation) == GPUSORT_COLLATION_LIBC && gpusort_collation_is_distrusted(collation))
		return false;
	return gpusort_sortkey_has_words(exprType(key), exprTypmod(key), order->operators[i], collation, least, most);
}

/* What the i-th key would have, as far as can be said before there are rows.  False: no words. */
static bool
want_words(const PathTarget *target, const GpuSortOrder *order, int i, double rows, GpuSortKeyFigures *figures,
		   GpuSortWantedWords *words)
{
	Node	   *expr = list_nth(target->exprs, order->columns[i] - 1);
	int32		typmod = exprTypmod(expr);
	Oid			type = gpusort_base_type(exprType(expr), &typmod);
	GpuSortKeySamples samples = {.distinct = figures->distinct,.width = figures->width};
	int			least;
	int			most;

	if (!gpusort_key_has_words(target, order, i, &least, &most))
		return false;
	gpusort_want_words(type, typmod, order->collations[i], least, most, &samples, rows, words);
	if (figures->width == 0)
		figures->width = Min(USUAL_WIDTH, get_typavgwidth(type, typmod));
	return true;
}

void
gpusort_lay_out_keys(const GpuSortColumns *columns, const PathTarget *target, GpuSortPlanInfo *info)
{
	const GpuSortOrder *order = &info->order;
	GpuSortWantedWords words[GPUSORT_WORDS_MAX];
	GpuSortKeyLayout layouts[GPUSORT_WORDS_MAX];
	int			least = 0;

	for (info->n_keys = 0; info->n_keys < Min(order->n_keys, GPUSORT_WORDS_MAX); info->n_keys++)
	{
		int			i = info->n_keys;
		Node	   *expr = list_nth(target->exprs, order->columns[i] - 1);

		gpusort_key_statistics_take(columns, expr, info->rows, &info->key_figures[i]);
		if (!want_words(target, order, i, info->rows, &info->key_figures[i], &words[i]) ||
			least + words[i].least > GPUSORT_WORDS_MAX)
			break;
		least += words[i].least;
	}
	info->n_words = gpusort_share_words(words, info->n_keys, info->rows, layouts);
}
