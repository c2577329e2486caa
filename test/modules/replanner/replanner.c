/*
 * replanner.c
 *	  A planner hook that plans more than once, as some extensions' do.
 *
 * In:  a query, and the session's setting replanner.mode.
 * Out: one of the plans that it has made, or made for another query, or kept.
 *
 * Runs in the backend that plans.  Loaded before the module under test its hook is the inner
 * one and calls standard_planner; loaded after it, it calls the other module's hook.
 */
#include "postgres.h"

#include "fmgr.h"
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

void
_PG_init(void)
{
	DefineCustomEnumVariable("replanner.mode", "Which plan is returned.", NULL,
							 &mode, MODE_OFF, mode_options, PGC_USERSET, 0, NULL, NULL, NULL);
	MarkGUCPrefixReserved("replanner");
	prev_planner_hook = planner_hook;
	planner_hook = replanner;
}
