/*
 * key_costs.c
 *	  What the keys' types make dearer: their words, and PostgreSQL's own comparisons.
 *
 * In:  the keys, their layout, and what statistics say of their values.
 * Out: what a row costs more through the device than one with an integer key does; and how many
 *	    times what cost_sort says PostgreSQL's own sort takes.
 *
 * cost_sort charges any comparison the same, two cpu_operator_cost.  Under the C library's
 * collations one takes several times as long, and the words cost too: a fair comparison of
 * the two sorts has both.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/plancat.h"
#include "utils/lsyscache.h"

#include "keys/collation_keys.h"
#include "keys/text_bytes.h"
#include "keys/key_types.h"
#include "planner/costs.h"
#include "settings.h"

/* In units of cpu_operator_cost, as in costs.c; bench/NOTES.md tells how they were measured. */
typedef struct TypeCosts
{
	double		comparison;		/* times what cost_sort charges */
	double		words;			/* of a value, beside those for each of its bytes */
	double		words_byte;
	double		check;			/* of a returned row against the one before */
} TypeCosts;

static const TypeCosts costs_of_plain = {.comparison = 1};
static const TypeCosts costs_of_bytes = {.comparison = 1.3,.words = 1};
static const TypeCosts costs_of_numeric = {.comparison = 2,.words = 2};
static const TypeCosts costs_of_icu = {.comparison = 2.5,.words = 8,.words_byte = 0.7};
static const TypeCosts costs_of_libc = {.comparison = 5,.words = 4,.words_byte = 1.6,.check = 12};

/* Of strings that come again and again, words are kept: what a look for them costs, and how many
 * values may do so. */
#define COST_KEPT_WORDS		8.0
#define VALUES_KEPT			2000.0

/* Of values of which nothing is known, if further keys follow, which tell that some are equal. */
#define SHARE_OF_UNKNOWN	0.5

/* To decide a row in a group of ties; and each comparison of a group that has to be sorted, which
 * the leader does alone, as cost_sort has it. */
#define COST_TIED_ROW		20.0
#define COST_TIED_COMPARISON	2.0

/* Of a grouping: a value's share of the word; and to compare a row with another of its group. */
#define COST_HASH			4.0
#define COST_HASH_BYTE		0.1
#define COST_HASH_NUMERIC	10.0
#define COST_GROUPED_ROW	8.0

static TypeCosts
costs_of_type(Oid type, Oid collation)
{
	TypeCosts	costs;

	if (type == NUMERICOID)
		return costs_of_numeric;
	if (!gpusort_type_has_text_bytes(type))
		return costs_of_plain;
	switch (OidIsValid(collation) ? gpusort_collation_kind(collation) : GPUSORT_COLLATION_BYTES)
	{
		case GPUSORT_COLLATION_ICU:
			return costs_of_icu;
		case GPUSORT_COLLATION_LIBC:
			costs = costs_of_libc;
			if (gpusort_libc_collations == GPUSORT_LIBC_COLLATIONS_TRUST)
				costs.check = 0;
			return costs;
		default:
			return costs_of_bytes;
	}
}

/* What CREATE FUNCTION says of the operator's function, in times of the usual. */
static double
declared_cost(PlannerInfo *root, Oid operator)
{
	QualCost	cost = {0, 0};

	/* a function's own estimate may look at root */
	if (cpu_operator_cost <= 0 || root == NULL)
		return 1;
	add_function_cost(root, get_opcode(operator), NULL, &cost);
	return Max(1, cost.per_tuple / cpu_operator_cost);
}

/*
 * Of the comparisons of a sort that reach a key, the share that goes on to the next one: with so
 * many distinct values a sort's last log2(rows / distinct) rounds are among equal ones.
 */
static double
share_of_ties(double distinct, double rows)
{
	if (distinct <= 0 || rows < 2)
		return 0;
	return Min(1, Max(0, log2(rows / distinct)) / log2(rows));
}

/* A row's words of a key.  Only those cut from sort keys are kept. */
static double
cost_of_words(const TypeCosts *costs, const GpuSortKeyFigures *figures, bool is_last)
{
	double		anew = costs->words + costs->words_byte * figures->width;

	if (costs->words_byte == 0)
		return anew;
	if (figures->distinct > 0)
		return figures->distinct <= VALUES_KEPT ? COST_KEPT_WORDS : anew;
	return is_last ? anew : SHARE_OF_UNKNOWN * COST_KEPT_WORDS + (1 - SHARE_OF_UNKNOWN) * anew;
}

/* Rows that the backend decides, since a word cannot tell whether values are equal. */
static double
share_of_open_rows(const TypeCosts *costs, double distinct, double rows)
{
	if (costs->words_byte == 0 || distinct <= 0)
		return 0;
	return Max(0, 1 - distinct / rows);
}

/* To hash a value, in the same units; under the collation that decides whether values are equal. */
static double
cost_of_hash(Oid type, Oid collation)
{
	if (type == NUMERICOID)
		return COST_HASH_NUMERIC;
	if (!gpusort_type_has_text_bytes(type))
		return COST_HASH;
	if (OidIsValid(collation) && !get_collation_isdeterministic(collation))
		return costs_of_icu.words + costs_of_icu.words_byte * get_typavgwidth(type, -1);
	return COST_HASH + COST_HASH_BYTE * get_typavgwidth(type, -1);
}

/* A word of all keys tells nothing but that rows differ: those of a group are all compared. */
static void
cost_grouping(PlannerInfo *root, const PathTarget *target, GpuSortPlanInfo *info)
{
	GpuSortKeyCosts *sum = &info->key_costs;
	const GpuSortOrder *order = &info->order;
	Oid			first_type = getBaseType(exprType(list_nth(target->exprs, order->columns[0] - 1)));

	sum->words = 0;
	for (int i = 0; i < order->n_keys; i++)
	{
		Node	   *expr = list_nth(target->exprs, order->columns[i] - 1);

		sum->words += cost_of_hash(getBaseType(exprType(expr)), order->collations[i]);
	}
	sum->native_factor = Max(costs_of_type(first_type, order->collations[0]).comparison,
							 declared_cost(root, order->operators[0]));
	sum->returned = COST_GROUPED_ROW * Max(0, 1 - info->groups / Max(1, info->rows));
}

void
gpusort_cost_keys(PlannerInfo *root, const PathTarget *target, GpuSortPlanInfo *info)
{
	GpuSortKeyCosts *sum = &info->key_costs;
	double		rows = Max(1, info->rows);
	double		reached = 1;
	double		tied = 0;

	if (info->grouping)
	{
		cost_grouping(root, target, info);
		return;
	}
	sum->words = 0;
	sum->returned = 0;
	sum->native_factor = 0;
	for (int i = 0; i < info->order.n_keys && reached > 0; i++)
	{
		Node	   *expr = list_nth(target->exprs, info->order.columns[i] - 1);
		int32		typmod = -1;
		Oid			type = gpusort_base_type(exprType(expr), &typmod);
		TypeCosts	costs = costs_of_type(type, info->order.collations[i]);
		double		distinct = i < info->n_keys ? info->key_figures[i].distinct : 0;
		double		comparison = Max(costs.comparison, declared_cost(root, info->order.operators[i]));
		bool		is_last = i == info->order.n_keys - 1;
		double		goes_on = Min(reached, share_of_ties(distinct, rows));

		if (distinct <= 0 && i < info->n_keys && !is_last)
			goes_on = SHARE_OF_UNKNOWN * reached;

		/* a comparison that goes on costs what both keys cost */
		sum->native_factor += reached * comparison;
		/* what words leave undecided is sorted in groups: of so many rows, by their logarithm */
		if (i == info->n_keys)
		{
			double		doublings = reached * log2(Max(2, rows));

			sum->returned += COST_TIED_ROW * Min(1, doublings) +
				COST_TIED_COMPARISON * comparison * doublings;
		}
		reached = goes_on;
		if (i >= info->n_keys)
			continue;
		sum->words += cost_of_words(&costs, &info->key_figures[i], is_last);
		sum->returned = Max(sum->returned, costs.check);
		tied = Max(tied, share_of_open_rows(&costs, distinct, rows));
	}
	sum->returned += tied * COST_TIED_ROW;
}
