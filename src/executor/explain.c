/*
 * explain.c
 *	  What EXPLAIN shows of a GpuSort.
 *
 * In:  the node's plan and, under ANALYZE, the figures of its last sort.
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
#include "shared/stats.h"

/* Direction, collation and place of NULLs, where they are not the default. */
static void
append_sort_order(StringInfo key, const GpuSortPlanInfo *info, int i, Node *expr)
{
	Oid			type_oid = exprType(expr);
	TypeCacheEntry *type = lookup_type_cache(type_oid, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
	bool		descending = info->operators[i] == type->gt_opr;

	if (OidIsValid(info->collations[i]) && info->collations[i] != get_typcollation(type_oid))
		appendStringInfo(key, " COLLATE %s",
						 quote_identifier(get_collation_name(info->collations[i])));
	if (descending)
		appendStringInfoString(key, " DESC");
	else if (info->operators[i] != type->lt_opr)
		appendStringInfo(key, " USING %s", get_opname(info->operators[i]));
	if (info->nulls_first[i] && !descending)
		appendStringInfoString(key, " NULLS FIRST");
	else if (!info->nulls_first[i] && descending)
		appendStringInfoString(key, " NULLS LAST");
}

static void
show_sort_key(GpuSortState *state, List *ancestors, ExplainState *es)
{
	Plan	   *plan = state->css.ss.ps.plan;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, plan, ancestors);
	bool		use_prefix = list_length(es->rtable) > 1 || es->verbose;
	List	   *result = NIL;

	for (int i = 0; i < state->info.n_keys; i++)
	{
		AttrNumber	column = state->info.columns[i];
		Node	   *expr = (Node *) ((TargetEntry *) list_nth(plan->targetlist, column - 1))->expr;
		Var		   *var = makeVar(OUTER_VAR, column, exprType(expr), exprTypmod(expr),
								  exprCollation(expr), 0);
		StringInfoData key;

		initStringInfo(&key);
		appendStringInfoString(&key, deparse_expression((Node *) var, context, use_prefix, true));
		append_sort_order(&key, &state->info, i, expr);
		result = lappend(result, key.data);
	}
	ExplainPropertyList("Sort Key", result, es);
}

static void
show_kilobytes(const char *label, uint64 bytes, ExplainState *es)
{
	ExplainPropertyUInteger(label, "kB", (bytes + 1023) / 1024, es);
}

/* Of the last run that had rows, as gpusort.algorithm names it; none if all keys were equal. */
static void
show_algorithm(gsort_engine engine, ExplainState *es)
{
	const char *name = engine == GSORT_ENGINE_PARTITION ? "partition" :
		engine == GSORT_ENGINE_MERGE ? "merge" : "radix";

	if (engine != GSORT_ENGINE_AUTO)
		ExplainPropertyText("Sort Algorithm", name, es);
}

static void
show_device(GpuSortState *state, ExplainState *es)
{
	const char *method = state->device_kind == GSORT_KIND_HOST ? "host" : "gpu";

	if (state->spill != NULL)
		method = psprintf("%s external merge", method);
	ExplainPropertyText("Sort Method", method, es);
	if (state->spill != NULL)
	{
		ExplainPropertyInteger("Runs", NULL, state->spill->n_runs, es);
		ExplainPropertyText("Merge Order",
							gpusort_run_merge_follows_order(state->merge) ? "device" : "backend", es);
		show_kilobytes("Disk", state->spill->bytes, es);
	}
	ExplainPropertyUInteger("Device Rows", NULL, state->device_stats.rows, es);
	show_kilobytes("Sent", state->device_stats.bytes_in, es);
	show_kilobytes("Received", state->bytes_received, es);
	show_kilobytes("Peak Device Memory", state->device_stats.peak_bytes, es);
	ExplainPropertyUInteger("Key Bits", NULL, state->device_stats.key_bits, es);
	show_algorithm(state->device_stats.engine, es);
}

/* label: that of the rest of a sort which the device has begun, or of all of it. */
static void
show_native(GpuSortState *state, const char *label, ExplainState *es)
{
	TuplesortInstrumentation stats;
	const char *method = "native";

	if (state->native_reason != GPUSORT_NATIVE_NONE)
		method = psprintf("native (%s)", gpusort_stats_native_reason(state->native_reason));
	ExplainPropertyText(label, method, es);
	tuplesort_get_stats(state->native, &stats);
	ExplainPropertyText("Native Sort Method", tuplesort_method_name(stats.sortMethod), es);
	ExplainPropertyText("Native Sort Space Type", tuplesort_space_type_name(stats.spaceType), es);
	ExplainPropertyInteger("Native Sort Space Used", "kB", stats.spaceUsed, es);
}

static void
show_times(GpuSortState *state, ExplainState *es)
{
	if (!es->timing)
		return;
	ExplainPropertyFloat("Feed Time", "ms", state->feed_ms, 3, es);
	ExplainPropertyFloat("Sort Time", "ms", state->sort_ms, 3, es);
	if (state->method == GPUSORT_METHOD_DEVICE)
		ExplainPropertyFloat("Output Time", "ms", state->output_ms, 3, es);
}

void
GpuSortExplain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	GpuSortState *state = (GpuSortState *) node;

	show_sort_key(state, ancestors, es);
	if (!es->analyze || state->method == GPUSORT_METHOD_NONE)
		return;
	switch (state->method)
	{
		case GPUSORT_METHOD_DEVICE:
			show_device(state, es);
			break;
		case GPUSORT_METHOD_IN_BACKEND:
			ExplainPropertyText("Sort Method", "in backend", es);
			break;
		case GPUSORT_METHOD_NATIVE:
			show_native(state, "Sort Method", es);
			break;
		case GPUSORT_METHOD_SPILLED:
			show_device(state, es);
			if (state->native != NULL)
				show_native(state, "Sort Method of Last Rows", es);
			break;
		case GPUSORT_METHOD_NONE:
			break;
	}
	show_times(state, es);
}
