/*
 * key_layout.c
 *	  How many words each key of a sort gets.
 *
 * In:  the keys, and what their types can have.
 * Out: for each of the first keys its number of words, which all processes of the plan keep to.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"

#include "keys/key_types.h"
#include "planner/key_layout.h"

/* Of a key that may have more. */
#define USUAL_WORDS			2

void
gpusort_lay_out_keys(PlannerInfo *root, const PathTarget *target, GpuSortPlanInfo *info)
{
	const GpuSortOrder *order = &info->order;

	info->n_keys = 0;
	info->n_words = 0;
	for (int i = 0; i < order->n_keys; i++)
	{
		Node	   *expr = list_nth(target->exprs, order->columns[i] - 1);
		GpuSortKeyLayout *layout = &info->layouts[i];
		int			least;
		int			most;

		if (!gpusort_sortkey_has_words(exprType(expr), exprTypmod(expr), order->operators[i],
									   order->collations[i], &least, &most) ||
			info->n_words + least > GPUSORT_WORDS_MAX)
			return;
		layout->n_words = Max(least, Min(most, USUAL_WORDS));
		layout->n_words = Min(layout->n_words, GPUSORT_WORDS_MAX - info->n_words);
		layout->skipped = NULL;
		info->n_words += layout->n_words;
		info->n_keys++;
	}
}
