/*
 * eligibility.c
 *	  Which sorts may ride the device.
 *
 * In:  the keys of a sort, of paths or of a finished plan; how many processes would feed it.
 * Out: yes; or no, and why (refusals.h).
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "keys/collation_keys.h"
#include "keys/key_types.h"
#include "planner/eligibility.h"
#include "planner/refusals.h"
#include "settings.h"
#include "shared/job.h"

/* What the expression gives another collation to; NULL: it does anything else.  The planner makes
 * such a RelabelType of the parser's CollateExpr. */
static Var *
recollated_column(Node *expr)
{
	RelabelType *relabel = (RelabelType *) expr;

	if (!IsA(expr, RelabelType) || !IsA(relabel->arg, Var) ||
		exprType((Node *) relabel->arg) != relabel->resulttype)
		return NULL;
	return (Var *) relabel->arg;
}

AttrNumber
gpusort_plain_column(const List *exprs, AttrNumber column)
{
	Var		   *plain = recollated_column(list_nth(exprs, column - 1));
	AttrNumber	other = 0;
	ListCell   *lc;

	if (plain == NULL)
		return column;
	foreach(lc, exprs)
	{
		other++;
		if (equal(lfirst(lc), plain))
			return other;
	}
	return column;
}

/* Would a key have words under another collation? */
static bool
lacks_sort_keys_only(const Node *key, Oid sort_operator, Oid collation)
{
	int			least;
	int			most;

	return OidIsValid(collation) && gpusort_collation_kind(collation) != GPUSORT_COLLATION_BYTES &&
		gpusort_sortkey_has_words(exprType(key), exprTypmod(key), sort_operator, C_COLLATION_OID, &least, &most);
}

static const char *
fault_of_collation(Oid collation)
{
	if (gpusort_collation_kind(collation) != GPUSORT_COLLATION_LIBC)
		return "ICU does not give them";
	if (gpusort_libc_collations == GPUSORT_LIBC_COLLATIONS_OFF)
		return "gpusort.libc_collations is off";
	return "its strxfrm has contradicted its strcoll since the server's start";
}

bool
gpusort_refuse_key(const PathTarget *target, const GpuSortOrder *order, int i)
{
	const Node *key = list_nth(target->exprs, order->columns[i] - 1);
	Oid			collation = order->collations[i];

	if (lacks_sort_keys_only(key, order->operators[i], collation))
		return gpusort_refuse(i == 0 ? GPUSORT_REFUSED_COLLATION : GPUSORT_REFUSED_LATER_KEY, "\"%s\": %s",
							  get_collation_name(collation), fault_of_collation(collation));
	return gpusort_refuse(i == 0 ? GPUSORT_REFUSED_KEY_WORDS : GPUSORT_REFUSED_LATER_KEY, "key %d is of type %s",
						  i + 1, format_type_be(exprType(key)));
}

bool
gpusort_takes_feeders(int feeders)
{
	return feeders <= GPUSORT_FEEDERS_MAX &&
		gpusort_buffers_to_open(feeders) <= gpusort_shared->n_buffers;
}
