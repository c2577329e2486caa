/*
 * explain.c
 *	  What EXPLAIN shows of a GpuSort.
 *
 * In:  the node's plan and, under ANALYZE, its last sort, which tells its own figures.
 * Out: properties, in every EXPLAIN format.
 *
 * The sort key is printed as PostgreSQL prints a Sort's; its own function for that
 * is not exported.
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
#include "executor/gpusort_node.h"

/* Direction, collation and place of NULLs, where they are not the default. */
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
		appendStringInfo(key, " USING %s", get_opname(order->operators[i]));
	if (order->nulls_first[i] && !descending)
		appendStringInfoString(key, " NULLS FIRST");
	else if (!order->nulls_first[i] && descending)
		appendStringInfoString(key, " NULLS LAST");
}

/* What is sorted by; of a grouping, which has no order, what is equal in its groups. */
static void
show_sort_key(GpuSortState *state, List *ancestors, ExplainState *es)
{
	Plan	   *plan = state->css.ss.ps.plan;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, plan, ancestors);
	bool		use_prefix = compat_rtable_size(es) > 1 || es->verbose;
	List	   *result = NIL;

	for (int i = 0; i < state->info.order.n_keys; i++)
	{
		AttrNumber	column = state->info.order.columns[i];
		Node	   *expr = (Node *) ((TargetEntry *) list_nth(plan->targetlist, column - 1))->expr;
		Var		   *var = makeVar(OUTER_VAR, column, exprType(expr), exprTypmod(expr),
								  exprCollation(expr), 0);
		StringInfoData key;

		initStringInfo(&key);
		appendStringInfoString(&key, deparse_expression((Node *) var, context, use_prefix, true));
		if (!state->info.grouping)
			append_sort_order(&key, &state->info.order, i, expr);
		result = lappend(result, key.data);
	}
	ExplainPropertyList(state->info.grouping ? "Group Key" : "Sort Key", result, es);
}

void
gpusort_node_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	GpuSortState *state = (GpuSortState *) node;

	show_sort_key(state, ancestors, es);
	if (es->analyze && state->output != NULL)
		gpusort_tuplesort_explain(state->sort, es);
}
