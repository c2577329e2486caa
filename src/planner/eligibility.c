/*
 * eligibility.c
 *	  Which sorts may ride the device.
 *
 * In:  pathkeys, the cheapest path to the rows, a query's LIMIT.
 * Out: yes, and how to sort; or no, and why (refusals.h).
 *
 * Runs in the backend that plans.  Refused is what the device cannot sort, anything while no device
 * serves, and paths for inputs below gpusort.min_rows, whose Sorts may still be converted when the
 * plan is finished (convert_sort.c).
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/pg_collation.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "keys/collation_keys.h"
#include "keys/key_types.h"
#include "planner/costs.h"
#include "planner/eligibility.h"
#include "planner/key_layout.h"
#include "planner/refusals.h"
#include "settings.h"
#include "shared/collations.h"
#include "shared/job.h"

/* The column of target that carries the pathkey's values, and their type there. */
static AttrNumber
find_pathkey_column(PathKey *pathkey, PathTarget *target, Oid *type_oid)
{
	EquivalenceClass *ec = pathkey->pk_eclass;
	AttrNumber	column = 0;
	ListCell   *lc;

	foreach(lc, target->exprs)
	{
		Expr	   *expr = lfirst(lc);
		EquivalenceMember *member;

		column++;
		if (ec->ec_has_volatile)
		{
			if (ec->ec_sortref == 0 || get_pathtarget_sortgroupref(target, column - 1) != ec->ec_sortref)
				continue;
			member = linitial(ec->ec_members);
		}
		else
			member = find_ec_member_matching_expr(ec, expr, NULL);
		if (member == NULL)
			continue;
		*type_oid = member->em_datatype;
		return column;
	}
	return 0;
}

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

static void
make_room(GpuSortOrder *order, int n_keys)
{
	order->n_keys = n_keys;
	order->columns = palloc(n_keys * sizeof(AttrNumber));
	order->operators = palloc(n_keys * sizeof(Oid));
	order->collations = palloc(n_keys * sizeof(Oid));
	order->nulls_first = palloc(n_keys * sizeof(bool));
}

/* Finds what is sorted by.  False: a pathkey is no column of target. */
static bool
read_order(List *pathkeys, PathTarget *target, GpuSortOrder *order)
{
	ListCell   *lc;
	int			i = 0;

	make_room(order, list_length(pathkeys));
	foreach(lc, pathkeys)
	{
		PathKey    *pathkey = lfirst(lc);
		Oid			type_oid = InvalidOid;

		order->columns[i] = find_pathkey_column(pathkey, target, &type_oid);
		if (order->columns[i] == 0)
			return false;
		order->operators[i] = get_opfamily_member(pathkey->pk_opfamily, type_oid, type_oid,
												  compat_pathkey_strategy(pathkey));
		if (!OidIsValid(order->operators[i]))
			return false;
		order->columns[i] = gpusort_plain_column(target->exprs, order->columns[i]);
		order->collations[i] = pathkey->pk_eclass->ec_collation;
		order->nulls_first[i] = pathkey->pk_nulls_first;
		i++;
	}
	return true;
}

/* Lays the keys out as for a grouping, if all of them can be hashed. */
static bool
lay_out_grouping(const PathTarget *target, GpuSortPlanInfo *info)
{
	const GpuSortOrder *order = &info->order;

	for (int i = 0; i < order->n_keys; i++)
	{
		Node	   *expr = list_nth(target->exprs, order->columns[i] - 1);

		if (!gpusort_sortkey_has_hash(exprType(expr), order->operators[i]))
			return false;
	}
	info->grouping = true;
	info->from_statistics = true;
	info->n_keys = 0;
	info->n_words = 1;
	return true;
}

bool
gpusort_read_grouping(List *pathkeys, PathTarget *target, GpuSortPlanInfo *info)
{
	return read_order(pathkeys, target, &info->order) && lay_out_grouping(target, info);
}

/* Words of sort keys that are not to be trusted are none. */
bool
gpusort_key_has_words(const PathTarget *target, const GpuSortOrder *order, int i)
{
	const Node *key = list_nth(target->exprs, order->columns[i] - 1);
	Oid			collation = order->collations[i];
	int			least;
	int			most;

	if (gpusort_collation_kind(collation) == GPUSORT_COLLATION_LIBC && gpusort_collation_is_distrusted(collation))
		return false;
	return gpusort_sortkey_has_words(exprType(key), exprTypmod(key), order->operators[i], collation, &least, &most);
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
gpusort_read_pathkeys(PlannerInfo *root, List *pathkeys, PathTarget *target,
					  GpuSortPlanInfo *info)
{
	GpuSortColumns columns = {.root = root};

	if (!read_order(pathkeys, target, &info->order))
		return false;
	gpusort_lay_out_keys(&columns, target, info);
	return info->n_keys > 0 || gpusort_refuse_key(target, &info->order, 0);
}

static bool
is_null_constant(const Node *node)
{
	return node != NULL && IsA(node, Const) && ((const Const *) node)->constisnull;
}

/* A constant LIMIT or OFFSET; 0 for none or NULL, -1 if it is not known yet. */
static double
constant_count(const Node *node)
{
	if (node == NULL || is_null_constant(node))
		return 0;
	return IsA(node, Const) ? (double) DatumGetInt64(((const Const *) node)->constvalue) : -1;
}

double
gpusort_bound_of_limit(const Node *count, const Node *offset, LimitOption option)
{
	if (count == NULL || is_null_constant(count) || option == LIMIT_OPTION_WITH_TIES)
		return GPUSORT_NO_BOUND;
	if (constant_count(count) < 0 || constant_count(offset) < 0)
		return GPUSORT_UNKNOWN_BOUND;
	return constant_count(count) + constant_count(offset);
}

bool
gpusort_has_limit(const PlannerInfo *root)
{
	for (; root != NULL; root = root->parent_root)
		if (root->parse->limitCount != NULL)
			return true;
	return false;
}

bool
gpusort_worth_sorting(const Path *child, List *pathkeys)
{
	return gpusort_enabled && pathkeys != NIL && !pathkeys_contained_in(pathkeys, child->pathkeys) &&
		child->rows >= gpusort_min_rows_of_plans() && gpusort_job_service_serves();
}

bool
gpusort_takes_feeders(int feeders)
{
	return feeders <= GPUSORT_FEEDERS_MAX &&
		GPUSORT_JOB_BUFFERS_SHORT(feeders) + GPUSORT_SPILL_BUFFERS <= gpusort_shared->n_buffers;
}

/*
 * Parallel feeders keep to the plan's words.  Where nearly all rows tie by these, one process that lays keys
 * out by its first rows takes less, be it the session or a worker with a sort of its own: 1.5 M texts with a
 * beginning in common 0.5 s, fed by two workers 1.9 s.
 */
bool
gpusort_keys_can_be_fed(const GpuSortPlanInfo *info)
{
	return gpusort_debug_force || (!info->few_texts && !info->unknown_texts);
}

bool
gpusort_fits_device(const GpuSortPlanInfo *info)
{
	/* what a sort does that meets a limit can be tested only if there is one */
	if (!gpusort_debug_force && gpusort_expected_runs(info) > GPUSORT_RUNS_MAX)
		return isinf(gpusort_expected_runs(info)) ? gpusort_refuse(GPUSORT_REFUSED_RUNS, "not even one row fits") :
			gpusort_refuse(GPUSORT_REFUSED_RUNS, "%.0f of %d", gpusort_expected_runs(info), GPUSORT_RUNS_MAX);
	return true;
}
