/*
 * why.c
 *	  Why sorts run where they do: the SQL function gpusort_why, and EXPLAIN (GPUSORT).
 *
 * In:  a query's text, or the plan that EXPLAIN shows.
 * Out: a row for each sort of its plan; or, below the plan, a line or an object for each.
 *
 * gpusort_why explains the query as EXPLAIN does, which checks the caller's privileges and never
 * runs it, throws the text away, and reports on the plans that come to be meanwhile; or on the one that
 * a prepared statement has kept.
 *
 * Runs in any backend.  What is found is in the memory of the call.
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "commands/prepare.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parser.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/plancache.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "planner/planner.h"
#include "planner/sort_report.h"
#include "shared/shmem.h"
#include "sql_version.h"
#include "why.h"

PG_FUNCTION_INFO_V1(gpusort_why);

#define WHY_COLUMNS		8

/* --- the function ------------------------------------------------------------------ */

/* The plans of the call under way. */
typedef struct Planned
{
	MemoryContext context;
	int			plans;
	List	   *sorts;			/* of GpuSortReported, in context */
} Planned;

static void
report_planned(PlannedStmt *statement, void *arg)
{
	Planned    *planned = arg;
	MemoryContext old_context = MemoryContextSwitchTo(planned->context);

	planned->plans++;
	planned->sorts = list_concat(planned->sorts, gpusort_report_sorts(statement));
	MemoryContextSwitchTo(old_context);
}

/* The one statement of a text, if EXPLAIN takes it. */
static RawStmt *
parse_one(const char *text)
{
	List	   *statements = raw_parser(text, RAW_PARSE_DEFAULT);
	RawStmt    *statement;

	if (list_length(statements) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("gpusort_why takes one statement, not %d", list_length(statements))));
	statement = linitial_node(RawStmt, statements);
	switch (nodeTag(statement->stmt))
	{
		case T_SelectStmt:
		case T_InsertStmt:
		case T_UpdateStmt:
		case T_DeleteStmt:
		case T_MergeStmt:
		case T_DeclareCursorStmt:
		case T_CreateTableAsStmt:
		case T_RefreshMatViewStmt:
		case T_ExecuteStmt:
			return statement;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("gpusort_why does not take %s", GetCommandTagName(CreateCommandTag(statement->stmt))),
					 errhint("It takes what EXPLAIN takes, without EXPLAIN.")));
	}
	return NULL;				/* not reached */
}

/* Errors point into the text, not into the query that calls gpusort_why. */
static void
point_into_text(void *text)
{
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery(text);
	}
}

/* EXPLAINs the statement into nothing. */
static void
explain(const char *text, RawStmt *statement)
{
	ExplainStmt *explained = makeNode(ExplainStmt);
	ParamListInfo no_parameters = NULL;
	PlannedStmt *utility;

	explained->query = statement->stmt;
	statement->stmt = (Node *) explained;
	utility = linitial_node(PlannedStmt,
							pg_plan_queries(pg_analyze_and_rewrite_fixedparams(statement, text, NULL, 0, NULL),
											text, CURSOR_OPT_PARALLEL_OK, no_parameters));
	ProcessUtility(utility, text, false, PROCESS_UTILITY_QUERY, no_parameters, NULL,
				   None_Receiver, NULL);
}

/* The plan that a prepared statement has kept. */
static void
report_kept(const ExecuteStmt *execute, Planned *planned)
{
	PreparedStatement *prepared = FetchPreparedStatement(execute->name, true);
	CachedPlan *plan = GetCachedPlan(prepared->plansource, NULL, CurrentResourceOwner, NULL);
	ListCell   *lc;

	foreach(lc, plan->stmt_list)
	{
		report_planned(lfirst_node(PlannedStmt, lc), planned);
	}
	ReleaseCachedPlan(plan, CurrentResourceOwner);
}

/* The EXECUTE that the statement is, or takes its rows from; or NULL. */
static const ExecuteStmt *
execute_of(const Node *statement)
{
	if (IsA(statement, CreateTableAsStmt))
		statement = ((const CreateTableAsStmt *) statement)->query;
	return IsA(statement, ExecuteStmt) ? (const ExecuteStmt *) statement : NULL;
}

/* The sorts of the text's plan. */
static List *
sorts_of(char *text)
{
	Planned		planned = {.context = CurrentMemoryContext};
	ErrorContextCallback callback = {.callback = point_into_text,.arg = text,.previous = error_context_stack};
	RawStmt    *statement;
	const ExecuteStmt *execute;

	error_context_stack = &callback;
	statement = parse_one(text);
	execute = execute_of(statement->stmt);
	gpusort_planner_watch(report_planned, &planned);
	PG_TRY();
	{
		explain(text, statement);
	}
	PG_FINALLY();
	{
		gpusort_planner_watch(NULL, NULL);
	}
	PG_END_TRY();
	if (planned.plans == 0 && execute != NULL)
		report_kept(execute, &planned);
	error_context_stack = callback.previous;
	return planned.sorts;
}

static void
set_text(const char *text, Datum *value, bool *is_null)
{
	*is_null = text == NULL;
	if (text != NULL)
		*value = CStringGetTextDatum(text);
}

Datum
gpusort_why(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *sorts;
	ListCell   *lc;

	gpusort_check_module();
	InitMaterializedSRF(fcinfo, 0);
	sorts = sorts_of(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	foreach(lc, sorts)
	{
		const GpuSortReported *sort = lfirst(lc);
		Datum		values[WHY_COLUMNS] = {0};
		bool		nulls[WHY_COLUMNS] = {false};

		set_text(sort->node, &values[0], &nulls[0]);
		set_text(sort->keys, &values[1], &nulls[1]);
		values[2] = Int64GetDatum((int64) Min(sort->rows, (double) (PG_INT64_MAX / 2)));
		values[3] = Int64GetDatum((int64) Min(sort->bytes, (double) (PG_INT64_MAX / 2)));
		set_text(sort->runs_on, &values[4], &nulls[4]);
		set_text(sort->code, &values[5], &nulls[5]);
		set_text(sort->reason, &values[6], &nulls[6]);
		set_text(sort->remedy, &values[7], &nulls[7]);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* --- EXPLAIN (GPUSORT) ------------------------------------------------------------- */

#ifdef COMPAT_EXPLAIN_OPTIONS

static explain_per_plan_hook_type prev_explain_per_plan_hook = NULL;

/* EXPLAIN's number for this module: what it keeps for it is not NULL if the option is on. */
static int	explain_id;

static void
take_option(ExplainState *es, DefElem *option, ParseState *pstate)
{
	SetExplainExtensionState(es, explain_id, defGetBoolean(option) ? &explain_id : NULL);
}

static void
show_sort(const GpuSortReported *sort, ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText(sort->node, psprintf("%s: %s: %s%s%s", sort->keys, sort->runs_on, sort->reason,
												 sort->remedy != NULL ? "; would change it: " : "",
												 sort->remedy != NULL ? sort->remedy : ""), es);
		return;
	}
	ExplainOpenGroup("Sort", NULL, true, es);
	ExplainPropertyText("Node", sort->node, es);
	ExplainPropertyText("Keys", sort->keys, es);
	ExplainPropertyFloat("Expected Rows", NULL, sort->rows, 0, es);
	ExplainPropertyFloat("Expected Bytes", NULL, sort->bytes, 0, es);
	ExplainPropertyText("Runs On", sort->runs_on, es);
	if (sort->code != NULL)
		ExplainPropertyText("Code", sort->code, es);
	ExplainPropertyText("Reason", sort->reason, es);
	if (sort->remedy != NULL)
		ExplainPropertyText("Remedy", sort->remedy, es);
	ExplainCloseGroup("Sort", NULL, true, es);
}

static void
show_sorts(PlannedStmt *statement, IntoClause *into, ExplainState *es, const char *text,
		   ParamListInfo parameters, QueryEnvironment *environment)
{
	ListCell   *lc;

	if (prev_explain_per_plan_hook)
		prev_explain_per_plan_hook(statement, into, es, text, parameters, environment);
	if (GetExplainExtensionState(es, explain_id) == NULL)
		return;
	ExplainOpenGroup("GpuSort", "GpuSort", false, es);
	foreach(lc, gpusort_report_sorts(statement))
	{
		show_sort(lfirst(lc), es);
	}
	ExplainCloseGroup("GpuSort", "GpuSort", false, es);
}

void
gpusort_why_install(void)
{
	explain_id = GetExplainExtensionId("gpusort");
	compat_register_explain_option("gpusort", take_option);
	prev_explain_per_plan_hook = explain_per_plan_hook;
	explain_per_plan_hook = show_sorts;
}

#endif							/* COMPAT_EXPLAIN_OPTIONS */
