/*
 * key_statistics.c
 *	  What statistics show of a key's values.
 *
 * In:  a sort key that is a column, of a table or of a subquery that passes it on, or an expression that statistics
 *	    are kept of, and what ANALYZE has left: bounds of its histogram, its most common values.
 * Out: the byte strings that words would be cut from, sorted; how many values there are, and
 *	    how wide.
 *
 * Runs in the backend that plans.  Some bytes of the values go into the plan, which the session's user can
 * print.  So values are looked at only where that user may read the column itself, not by the rights of a
 * view's or a function's owner.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "planner/key_statistics.h"
#include "planner/sample_cache.h"

/* Values that are looked at of each slot of the statistics, which may have 10,000: planning waits
 * for their sort keys. */
#define SAMPLES_OF_SLOT_MAX	100

static bool
is_relation(const PlannerInfo *root, int varno)
{
	return varno > 0 && varno < root->simple_rel_array_size && root->simple_rel_array[varno] != NULL;
}

/* Does it refer to root's relations, and to nothing else?  A set operation's columns are of no relation. */
static bool
is_of_relations(PlannerInfo *root, Node *expr)
{
	Relids		varnos;
	int			varno = -1;

	if (IsA(expr, Var))
		return ((Var *) expr)->varlevelsup == 0 && is_relation(root, ((Var *) expr)->varno);
	varnos = pull_varnos(root, expr);
	while ((varno = bms_next_member(varnos, varno)) >= 0)
	{
		if (!is_relation(root, varno))
			return false;
	}
	return !bms_is_empty(varnos);
}

/* The statistics of a column of a table, when its plan is finished. */
static bool
find_column_statistics(List *rtable, Node *expr, VariableStatData *vardata)
{
	const Var  *var = (const Var *) expr;
	const RangeTblEntry *table;

	if (!IsA(expr, Var) || IS_SPECIAL_VARNO(var->varno))
		return false;
	table = rt_fetch(var->varno, rtable);
	if (table->rtekind != RTE_RELATION)
		return false;
	memset(vardata, 0, sizeof(*vardata));
	vardata->var = expr;
	vardata->vartype = var->vartype;
	vardata->statsTuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(table->relid), Int16GetDatum(var->varattno),
										  BoolGetDatum(false));
	vardata->freefunc = ReleaseSysCache;
	/* a policy may hide rows, and the plan does not say so */
	vardata->acl_ok = check_enable_rls(table->relid, InvalidOid, true) != RLS_ENABLED;
	return true;
}

/* The statistics of a column, or of an expression, as an index on it or CREATE STATISTICS has them.
 * False: it is of no relation, or nobody knows of which. */
static bool
find_statistics(const GpuSortColumns *columns, Node *expr, VariableStatData *vardata)
{
	PlannerInfo *root = columns->root;

	while (IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	if (root == NULL)
		return columns->rtable != NIL && find_column_statistics(columns->rtable, expr, vardata);
	if (!is_of_relations(root, expr))
		return false;
	examine_variable(root, expr, 0, vardata);
	return true;
}

bool
gpusort_has_statistics(PlannerInfo *root, Node *expr)
{
	GpuSortColumns columns = {.root = root};
	VariableStatData vardata;
	bool		found;

	if (!find_statistics(&columns, expr, &vardata))
		return false;
	found = HeapTupleIsValid(vardata.statsTuple);
	ReleaseVariableStats(vardata);
	return found;
}

/* Adds the values of one slot of the statistics. */
static void
add_values(const VariableStatData *vardata, int kind, const GpuSortTextBytes *source,
		   GpuSortTextForm form, GpuSortKeySamples *samples)
{
	AttStatsSlot slot;

	if (!get_attstatsslot(&slot, vardata->statsTuple, kind, InvalidOid, ATTSTATSSLOT_VALUES))
		return;
	if (gpusort_type_has_text_bytes(getBaseType(slot.valuetype)) &&
		gpusort_text_form(getBaseType(slot.valuetype)) == form)
	{
		int			n = Min(slot.nvalues, SAMPLES_OF_SLOT_MAX);

		for (int i = 0; i < n; i++)
		{
			/* the first and the last one, and what lies evenly between them */
			int			value = n == 1 ? 0 : (int) ((int64) i * (slot.nvalues - 1) / (n - 1));

			CHECK_FOR_INTERRUPTS();
			gpusort_key_samples_add(samples, source, slot.values[value]);
		}
	}
	free_attstatsslot(&slot);
}

/* Is it the catalog's own row, and not another module's? */
static bool
is_of_catalog(const VariableStatData *vardata)
{
	return vardata->freefunc == ReleaseSysCache && vardata->statsTuple->t_tableOid == StatisticRelationId;
}

static void
take_samples(const VariableStatData *vardata, Oid type, Oid collation, GpuSortKeySamples *samples)
{
	bool		may_be_kept = is_of_catalog(vardata);
	GpuSortTextBytes source;

	if (may_be_kept && gpusort_sample_cache_find(vardata->statsTuple, type, collation, samples))
		return;
	gpusort_text_bytes_make(&source, type, collation, GPUSORT_SAMPLE_BYTES_MAX);
	add_values(vardata, STATISTIC_KIND_HISTOGRAM, &source, source.form, samples);
	add_values(vardata, STATISTIC_KIND_MCV, &source, source.form, samples);
	gpusort_key_samples_sort(samples);
	if (may_be_kept)
		gpusort_sample_cache_keep(vardata->statsTuple, type, collation, samples);
}

/*
 * May the session's user read the column without anybody else's rights?  acl_ok is judged as the owner of the
 * function that runs, or of the view that names the table.
 */
static bool
session_may_read(const VariableStatData *vardata)
{
	Form_pg_statistic of = (Form_pg_statistic) GETSTRUCT(vardata->statsTuple);
	const RelOptInfo *rel = vardata->rel;
	Oid			user = GetOuterUserId();

	if (!vardata->acl_ok || GetUserId() != user || InSecurityRestrictedOperation())
		return false;
	if (rel != NULL && rel->rtekind == RTE_RELATION && (!OidIsValid(rel->userid) || rel->userid == user))
		return true;
	return is_of_catalog(vardata) &&
		(pg_class_aclcheck(of->starelid, user, ACL_SELECT) == ACLCHECK_OK ||
		 pg_attribute_aclcheck(of->starelid, of->staattnum, user, ACL_SELECT) == ACLCHECK_OK);
}

void
gpusort_key_statistics_take(const GpuSortColumns *columns, Node *expr, Oid type, Oid collation,
							double rows, GpuSortKeySamples *samples)
{
	VariableStatData vardata;

	memset(samples, 0, sizeof(*samples));
	if (!find_statistics(columns, expr, &vardata))
		return;
	if (HeapTupleIsValid(vardata.statsTuple))
	{
		Form_pg_statistic of = (Form_pg_statistic) GETSTRUCT(vardata.statsTuple);
		bool		is_default;
		double		distinct = get_variable_numdistinct(&vardata, &is_default);

		/* a finished plan does not tell how many rows the table has */
		if (vardata.rel == NULL && of->stadistinct < 0)
			samples->distinct = -of->stadistinct * rows;
		else if (!is_default)
			samples->distinct = Min(distinct, rows);
		samples->width = of->stawidth;
		samples->hidden = !session_may_read(&vardata);
		if (!samples->hidden && gpusort_type_has_text_bytes(type))
			take_samples(&vardata, type, collation, samples);
	}
	ReleaseVariableStats(vardata);
}
