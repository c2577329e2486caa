/*
 * key_costs.c
 *	  The extra costs of the keys' types: of their words, and of PostgreSQL's
 *	  own comparisons.
 *
 * In:  the types of the keys, and how many of them have words.
 * Out: how much more a row costs on the device than one with an integer key;
 *	    and the factor by which PostgreSQL's own sort exceeds cost_sort's
 *	    estimate.
 *
 * cost_sort charges two cpu_operator_cost for any comparison.  A comparison
 * under the C library's collations takes several times as long, and words cost
 * time too.  A fair comparison of the two sorts counts both.  Neither depends
 * on the values, since only the rows tell how many of them are equal.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "keys/collation_keys.h"
#include "keys/text_bytes.h"
#include "planner/costs.h"
#include "settings.h"

/* In units of cpu_operator_cost, as in costs.c.  bench/NOTES.md tells how they
 * were measured. */
typedef struct TypeCosts
{
	double		comparison;		/* times what cost_sort charges */
	double		words;			/* of a value, beside the cost of each of its bytes */
	double		words_byte;
	double		check;			/* of a returned row against the row before it */
} TypeCosts;

static const TypeCosts costs_of_plain = {.comparison = 1};
static const TypeCosts costs_of_bytes = {.comparison = 1.3,.words = 1};
static const TypeCosts costs_of_numeric = {.comparison = 2,.words = 2};
static const TypeCosts costs_of_icu = {.comparison = 2.5,.words = 8,.words_byte = 0.7};
static const TypeCosts costs_of_libc = {.comparison = 5,.words = 4,.words_byte = 1.6,.check = 12};

/* Bytes of a text whose type does not tell.  A char(50) may have 200 bytes, and
 * has some letters and blanks. */
#define USUAL_WIDTH	32

/* The share of the rows that need the next key too, among those that need a
 * key. */
#define SHARE_THAT_TIES	0.5

/* Costs of a grouping: of a value's share of the word, and of the comparison of
 * a row with another one of its group. */
#define COST_HASH			4.0
#define COST_HASH_BYTE		0.1
#define COST_HASH_NUMERIC	10.0
#define COST_GROUPED_ROW	8.0

/* Returns the costs of a type's words, comparisons and checks, by its
 * collation. */
static TypeCosts
costs_of_type(const GpuSortKeyType *type)
{
	TypeCosts	costs = costs_of_bytes;

	if (type->type == NUMERICOID)
		return costs_of_numeric;
	if (!gpusort_type_has_text_bytes(type->type))
		return costs_of_plain;
	if (!OidIsValid(type->collation))
		return costs_of_bytes;
	if (gpusort_collation_kind(type->collation) == GPUSORT_COLLATION_ICU)
		costs = costs_of_icu;
	if (gpusort_collation_kind(type->collation) == GPUSORT_COLLATION_LIBC)
		costs = costs_of_libc;
	if (gpusort_libc_collations == GPUSORT_LIBC_COLLATIONS_TRUST)
		costs.check = 0;
	return costs;
}

static double
width_of_type(const GpuSortKeyType *type)
{
	return Min(USUAL_WIDTH, get_typavgwidth(type->type, type->typmod));
}

/* Returns the cost of hashing a value, in the same units.  The collation
 * decides whether values are equal. */
static double
cost_of_hash(const GpuSortKeyType *type)
{
	if (type->type == NUMERICOID)
		return COST_HASH_NUMERIC;
	if (!gpusort_type_has_text_bytes(type->type))
		return COST_HASH;
	if (OidIsValid(type->collation) && !get_collation_isdeterministic(type->collation))
		return costs_of_icu.words + costs_of_icu.words_byte * width_of_type(type);
	return COST_HASH + COST_HASH_BYTE * width_of_type(type);
}

/* A word of all keys only tells that rows differ, so all rows of a group are
 * compared. */
static void
cost_grouping(const GpuSortKeyTypes *types, GpuSortPlanInfo *info)
{
	info->key_costs.words = 0;
	for (int i = 0; i < types->n; i++)
		info->key_costs.words += cost_of_hash(&types->of[i]);
	info->key_costs.native_factor = costs_of_type(&types->of[0]).comparison;
	info->key_costs.returned = COST_GROUPED_ROW * Max(0, 1 - info->groups / Max(1, info->rows));
}

/* Each further key counts for the rows that tie in the keys before it. */
void
gpusort_cost_keys(const GpuSortKeyTypes *types, GpuSortPlanInfo *info)
{
	GpuSortKeyCosts *sum = &info->key_costs;
	double		share = 1;
	double		shares = 0;

	if (info->grouping)
	{
		cost_grouping(types, info);
		return;
	}
	memset(sum, 0, sizeof(*sum));
	for (int i = 0; i < types->n; i++, share *= SHARE_THAT_TIES)
	{
		TypeCosts	costs = costs_of_type(&types->of[i]);

		sum->native_factor += share * costs.comparison;
		shares += share;
		if (i >= info->n_keys)
			continue;
		sum->words += share * (costs.words + costs.words_byte * width_of_type(&types->of[i]));
		sum->returned = Max(sum->returned, costs.check);
	}
	sum->native_factor /= shares;
}
