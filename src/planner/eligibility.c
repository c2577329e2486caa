/*
 * eligibility.c
 *	  Which sorts can use the device.
 *
 * In:  the types of the keys of a path or of a finished plan's Sort; the number
 *	    of processes that would feed it.
 * Out: the number of leading keys that have words, or a reason (reasons.c).
 *	    The sort itself chooses the words when it has its first rows
 *	    (row_encodings.c).
 *
 * Runs in the backend that plans, in the planner's memory context.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "job/job.h"
#include "job/server_state.h"
#include "keys/collation_keys.h"
#include "keys/key_types.h"
#include "planner/planner.h"
#include "settings.h"

/* The expected number of words of a key with many values, if its type can have
 * that many. */
#define USUAL_WORDS	2

GpuSortKeyType *
gpusort_type_of_key(const Node *expr, Oid sort_operator, Oid collation)
{
	GpuSortKeyType *type = palloc0(sizeof(GpuSortKeyType));

	type->typmod = exprTypmod(expr);
	type->type = gpusort_base_type(exprType(expr), &type->typmod);
	type->sort_operator = sort_operator;
	type->collation = collation;
	return type;
}

/* Can the key have words, and how many?  A key has none if its sort keys are
 * not to be trusted. */
static bool
has_words(const GpuSortKeyType *type, int *least, int *most)
{
	if (gpusort_collation_kind(type->collation) == GPUSORT_COLLATION_LIBC &&
		gpusort_collation_is_distrusted(type->collation))
		return false;
	return gpusort_sortkey_has_words(type->type, type->typmod, type->sort_operator, type->collation,
									 least, most);
}

/* Would the key have words under another collation? */
static bool
lacks_sort_keys_only(const GpuSortKeyType *type)
{
	int			least;
	int			most;

	return OidIsValid(type->collation) &&
		gpusort_collation_kind(type->collation) != GPUSORT_COLLATION_BYTES &&
		gpusort_sortkey_has_words(type->type, type->typmod, type->sort_operator, C_COLLATION_OID,
								  &least, &most);
}

static const char *
fault_of_collation(Oid collation)
{
	if (gpusort_collation_kind(collation) != GPUSORT_COLLATION_LIBC)
		return "ICU does not provide them";
	if (gpusort_libc_collations == GPUSORT_LIBC_COLLATIONS_OFF)
		return "gpusort.libc_collations is off";
	return "its strcoll and strxfrm have disagreed since the server started";
}

/* Sets the reason for a sort whose i-th key has no words. */
static bool
set_key_reason(const GpuSortKeyType *type, int i)
{
	if (lacks_sort_keys_only(type))
		return gpusort_reason_set(GPUSORT_PLANNED_COLLATION, "\"%s\": %s",
								  get_collation_name(type->collation),
								  fault_of_collation(type->collation));
	return gpusort_reason_set(GPUSORT_PLANNED_KEY_WORDS, "key %d: type %s, operator %s", i + 1,
							  format_type_be(type->type), get_opname(type->sort_operator));
}

/* Can a hash of all keys bring equal rows together? */
static bool
can_be_hashed(const List *types)
{
	ListCell   *lc;

	foreach(lc, types)
	{
		const GpuSortKeyType *type = lfirst(lc);

		if (!gpusort_sortkey_has_hash(type->type, type->sort_operator))
			return false;
	}
	return true;
}

/*
 * A later key that only lacks room is no reason to stay native, because the
 * keys before it leave few rows undecided.  A key without words may follow a
 * key of two values, however, and one process would sort all the rows that tie.
 * 500,000 rows sorted by a bool and a text under a distrusted collation took as
 * long as PostgreSQL's own serial sort, and 1.5 times as long as its sort by
 * two workers.
 */
bool
gpusort_set_keys(const List *types, GpuSortPlanInfo *info)
{
	int			least = 0;
	ListCell   *lc;

	info->n_keys = 0;
	info->n_words = info->grouping ? 1 : 0;
	if (info->grouping)
		return can_be_hashed(types);
	foreach(lc, types)
	{
		int			i = foreach_current_index(lc);
		int			least_of_key;
		int			most;

		if (!has_words(lfirst(lc), &least_of_key, &most))
			return (i > 0 && gpusort_debug_force) || set_key_reason(lfirst(lc), i);
		least += least_of_key;
		if (least > GPUSORT_WORDS_MAX)
			break;
		info->n_keys++;
		info->n_words = Min(GPUSORT_WORDS_MAX, info->n_words + Min(most, USUAL_WORDS));
	}
	return true;
}

bool
gpusort_takes_feeders(int feeders)
{
	return feeders <= GPUSORT_FEEDERS_MAX &&
		gpusort_buffers_to_open(feeders) <= gpusort_shared->n_buffers;
}
