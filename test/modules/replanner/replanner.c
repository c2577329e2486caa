/*
 * replanner.c
 *	  A planner hook that plans more than once, as some extensions' do.
 *
 * In:  a query, and the session's setting replanner.mode.
 * Out: one of the plans that it has made, or made for another query, or kept.
 *
 * When a plan that it keeps is executed, it raises an error if a node, or a list of a node, lives in another memory
 * context than the plan: that would be gone by the next time.
 *
 * It counts the tables that the planner asks about, in the setting replanner.tables.
 *
 * Runs in the backend that plans.  Loaded before the module under test its hook is the inner
 * one and calls standard_planner; loaded after it, it calls the other module's hook.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/extensible.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "compat.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

typedef enum ReplannerMode
{
	MODE_OFF,					/* plans as if it were not there */
	MODE_OTHER,					/* plans the query, drops that, returns the plan of 'select 42' */
	MODE_FIRST,					/* plans twice, returns the first plan */
	MODE_SECOND,				/* the second */
	MODE_KEEP,					/* keeps a plan, and returns it whenever the same query comes next */
	MODE_DIRECT					/* calls standard_planner for what is planned while it plans */
} ReplannerMode;

static const struct config_enum_entry mode_options[] = {
	{"off", MODE_OFF, false},
	{"other", MODE_OTHER, false},
	{"first", MODE_FIRST, false},
	{"second", MODE_SECOND, false},
	{"keep", MODE_KEEP, false},
	{"direct", MODE_DIRECT, false},
	{NULL, 0, false}
};

static int	mode = MODE_OFF;
static int	depth = 0;
static planner_hook_type prev_planner_hook = NULL;
static ExecutorStart_hook_type prev_executor_start_hook = NULL;
static int	tables = 0;
static compat_relation_info_hook_type prev_relation_info_hook = NULL;

/* Both in TopMemoryContext. */
static char *kept_query = NULL;
static PlannedStmt *kept_plan = NULL;

static PlannedStmt *
plan_query(COMPAT_PLANNER_PARAMS)
{
	if (prev_planner_hook != NULL && !(mode == MODE_DIRECT && depth > 1))
		return prev_planner_hook(COMPAT_PLANNER_ARGS);
	return standard_planner(COMPAT_PLANNER_ARGS);
}

static Query *
other_query(void)
{
	const char *text = "select 42";
	RawStmt    *raw = linitial(pg_parse_query(text));

	return linitial(pg_analyze_and_rewrite_fixedparams(raw, text, NULL, 0, NULL));
}

static void
keep(const char *query_string, PlannedStmt *plan)
{
	MemoryContext old_context = MemoryContextSwitchTo(TopMemoryContext);

	/* an earlier one may still be executed */
	kept_query = pstrdup(query_string);
	kept_plan = copyObject(plan);
	MemoryContextSwitchTo(old_context);
}

static PlannedStmt *
plan_by_mode(COMPAT_PLANNER_PARAMS)
{
	Query	   *again = copyObject(parse);
	PlannedStmt *first;
	PlannedStmt *second;

	if (mode == MODE_KEEP && kept_query != NULL && strcmp(kept_query, query_string) == 0)
		return kept_plan;
	first = plan_query(COMPAT_PLANNER_ARGS);
	if (mode == MODE_OFF || mode == MODE_DIRECT)
		return first;
	if (mode == MODE_KEEP)
	{
		keep(query_string, first);
		return kept_plan;
	}
	parse = mode == MODE_OTHER ? other_query() : again;
	second = plan_query(COMPAT_PLANNER_ARGS);
	return mode == MODE_FIRST ? first : second;
}

static PlannedStmt *
replanner(COMPAT_PLANNER_PARAMS)
{
	PlannedStmt *plan;

	depth++;
	PG_TRY();
	{
		plan = plan_by_mode(COMPAT_PLANNER_ARGS);
	}
	PG_FINALLY();
	{
		depth--;
	}
	PG_END_TRY();
	return plan;
}

/* --- where a kept plan lives ------------------------------------------------------------- */

/* part: a chunk of the plan's memory, or NULL. */
static void
check_part(const Plan *plan, const void *part, const char *name)
{
	if (part != NULL && GetMemoryChunkContext((void *) part) != TopMemoryContext)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("replanner: node %d of type %d of a kept plan has its %s in context \"%s\"",
						plan->plan_node_id, (int) nodeTag(plan), name,
						GetMemoryChunkContext((void *) part)->name)));
}

static void
check_columns(const Plan *plan, List *tlist, const char *name)
{
	ListCell   *lc;

	check_part(plan, tlist, name);
	foreach(lc, tlist)
	{
		check_part(plan, lfirst(lc), name);
		check_part(plan, lfirst_node(TargetEntry, lc)->expr, name);
	}
}

/* A node's of gpusort: a Const, and integers. */
static void
check_private(const CustomScan *scan)
{
	ListCell   *lc;

	check_part(&scan->scan.plan, scan->custom_private, "custom_private");
	foreach(lc, scan->custom_private)
	{
		check_part(&scan->scan.plan, lfirst(lc), "custom_private");
	}
}

static void
check_plan(Plan *plan)
{
	if (plan == NULL)
		return;
	check_part(plan, plan, "struct");
	check_columns(plan, plan->targetlist, "columns");
	check_part(plan, plan->extParam, "parameters");
	check_part(plan, plan->allParam, "parameters");
	if (IsA(plan, CustomScan))
	{
		check_columns(plan, ((CustomScan *) plan)->custom_scan_tlist, "columns of the child");
		check_private((CustomScan *) plan);
	}
	check_plan(outerPlan(plan));
	check_plan(innerPlan(plan));
}

static void
start_plan(QueryDesc *query, int flags)
{
	if (query->plannedstmt == kept_plan)
		check_plan(kept_plan->planTree);
	if (prev_executor_start_hook)
		prev_executor_start_hook(query, flags);
	else
		standard_ExecutorStart(query, flags);
}

static void
count_table(COMPAT_RELATION_INFO_PARAMS)
{
	tables++;
	if (prev_relation_info_hook)
		prev_relation_info_hook(COMPAT_RELATION_INFO_ARGS);
}

void
_PG_init(void)
{
	DefineCustomEnumVariable("replanner.mode", "Which plan is returned.", NULL,
							 &mode, MODE_OFF, mode_options, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("replanner.tables", "Tables that the planner has asked about.", NULL,
							&tables, 0, 0, INT_MAX, PGC_USERSET, 0, NULL, NULL, NULL);
	MarkGUCPrefixReserved("replanner");
	prev_planner_hook = planner_hook;
	planner_hook = replanner;
	prev_executor_start_hook = ExecutorStart_hook;
	ExecutorStart_hook = start_plan;
	prev_relation_info_hook = compat_relation_info_hook;
	compat_relation_info_hook = count_table;
}
