/*
 * key_text.c
 *	  Sort keys in words, as EXPLAIN shows them.
 *
 * In:  an order, and the plan that sorts by it.
 * Out: a text for each key, in the caller's memory context.
 *
 * PostgreSQL's own function for a Sort's keys is not exported.  Runs in the
 * backend that explains.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/typcache.h"

#include "compat.h"
#include "keys/key_text.h"

/* Appends direction, collation and place of NULLs, if they are not the
 * default. */
static void
append_sort_order(StringInfo key, const GpuSortOrder *order, int i, Node *expr)
{
	Oid			type_oid = exprType(expr);
	TypeCacheEntry *type = lookup_type_cache(type_oid, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
	bool		descending = order->operators[i] == type->gt_opr;

	if (OidIsValid(order->collations[i]) && order->collations[i] != get_typcollation(type_oid))
		appendStringInfo(key, " COLLATE %s",
						 quote_identifier(get_collation_name(order->collations[i])));
	if (descending)
		appendStringInfoString(key, " DESC");
	else if (order->operators[i] != type->lt_opr)
	{
		appendStringInfo(key, " USING %s", get_opname(order->operators[i]));
		(void) get_equality_op_for_ordering_op(order->operators[i], &descending);
	}
	if (order->nulls_first[i] && !descending)
		appendStringInfoString(key, " NULLS FIRST");
	else if (!order->nulls_first[i] && descending)
		appendStringInfoString(key, " NULLS LAST");
}

/* Returns the text of key number i. */
static char *
key_text(const GpuSortOrder *order, int i, const Plan *plan, List *context, bool use_prefix,
		 bool ordered, bool typed)
{
	AttrNumber	column = order->columns[i];
	List	   *columns = outerPlan(plan)->targetlist;
	Node	   *expr = (Node *) list_nth_node(TargetEntry, columns, column - 1)->expr;
	Var		   *var = makeVar(OUTER_VAR, column, exprType(expr), exprTypmod(expr),
							  exprCollation(expr), 0);
	StringInfoData key;

	initStringInfo(&key);
	appendStringInfoString(&key, deparse_expression((Node *) var, context, use_prefix, true));
	if (typed)
		appendStringInfo(&key, " %s", format_type_with_typemod(exprType(expr), exprTypmod(expr)));
	if (ordered)
		append_sort_order(&key, order, i, expr);
	return key.data;
}

static List *
key_texts(const GpuSortOrder *order, const Plan *plan, List *ancestors,
		  const ExplainState *es, bool ordered, bool typed)
{
	List	   *context = set_deparse_context_plan(es->deparse_cxt, (Plan *) plan, ancestors);
	bool		use_prefix = compat_rtable_size(es) > 1 || es->verbose;
	List	   *texts = NIL;

	for (int i = 0; i < order->n_keys; i++)
		texts = lappend(texts, key_text(order, i, plan, context, use_prefix, ordered, typed));
	return texts;
}

List *
gpusort_key_texts(const GpuSortOrder *order, const Plan *plan, List *ancestors,
				  const ExplainState *es, bool ordered)
{
	return key_texts(order, plan, ancestors, es, ordered, false);
}

char *
gpusort_keys_text(const GpuSortOrder *order, const Plan *plan, List *ancestors,
				  const ExplainState *es, bool ordered)
{
	StringInfoData keys;
	ListCell   *lc;

	initStringInfo(&keys);
	foreach(lc, key_texts(order, plan, ancestors, es, ordered, true))
	{
		appendStringInfo(&keys, "%s%s", keys.len > 0 ? ", " : "", (char *) lfirst(lc));
	}
	return keys.data;
}

char *
gpusort_aggregate_text(const Aggref *aggregate, const Plan *agg, List *ancestors,
					   const ExplainState *es)
{
	List	   *context = set_deparse_context_plan(es->deparse_cxt, (Plan *) agg, ancestors);

	return deparse_expression((Node *) aggregate, context,
							  compat_rtable_size(es) > 1 || es->verbose, false);
}
