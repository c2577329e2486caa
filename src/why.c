/*
 * why.c
 *	  Why sorts run where they do: the SQL function gpusort_why, and EXPLAIN (GPUSORT).
 *
 * In:  a query's text, or the plan that EXPLAIN shows.
 * Out: a row for each sort of its plan; or, below the plan, a line or an object for each.
 *
 * gpusort_why explains the query as EXPLAIN does, which checks the caller's privileges and never
 * runs it, throws what EXPLAIN says away, and reports on the plan that it has shown.  Like EXPLAIN it
 * computes the parameters of an EXECUTE, and what tells which partitions are read.
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
#include "planner/sort_report.h"
#include "shared/shmem.h"
#include "sql_version.h"
#include "why.h"

PG_FUNCTION_INFO_V1(gpusort_why);

#define WHY_COLUMNS		8

/* --- the function ------------------------------------------------------------------ */

/* A call under way, the innermost one. */
typedef struct Call
{
	struct Call *outer;
	const char *source;			/* the text, or a prepared statement's: plans of others come by too */
	MemoryContext context;
	List	   *sorts;			/* of GpuSortReported, in context */
} Call;

static Call *call = NULL;

static ExecutorStart_hook_type prev_executor_start_hook = NULL;

/*
 * The plan that EXPLAIN shows, when its reader's privileges have been checked.  Functions may plan and run, and
 * even EXPLAIN, other queries meanwhile, to compute parameters and to leave out partitions.
 */
static void
report_explained(QueryDesc *query, int flags)
{
	Call	   *asking = call;
	MemoryContext old_context;

	if (prev_executor_start_hook)
		prev_executor_start_hook(query, flags);
	else
		standard_ExecutorStart(query, flags);
	if (asking == NULL || (flags & EXEC_FLAG_EXPLAIN_ONLY) == 0 || query->sourceText != asking->source)
		return;
	old_context = MemoryContextSwitchTo(asking->context);
	asking->sorts = list_concat(asking->sorts, gpusort_report_sorts_anew(query->plannedstmt));
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
		case T_ExecuteStmt:
			return statement;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("gpusort_why does not take %s", GetCommandTagName(CreateCommandTag(statement->stmt))),
					 errhint("It takes queries, DECLARE, CREATE TABLE AS and EXECUTE, without EXPLAIN.")));
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

/* What the text of the plan will be: a prepared statement has its own. */
static const char *
source_of(const Node *statement, const char *text)
{
	PreparedStatement *prepared;

	if (IsA(statement, CreateTableAsStmt))
		statement = ((const CreateTableAsStmt *) statement)->query;
	if (!IsA(statement, ExecuteStmt))
		return text;
	prepared = FetchPreparedStatement(((const ExecuteStmt *) statement)->name, true);
	return prepared->plansource->query_string;
}

/* The sorts of the text's plan. */
static List *
sorts_of(char *text)
{
	Call		this = {.outer = call,.context = CurrentMemoryContext};
	ErrorContextCallback callback;
	RawStmt    *statement;

	callback.callback = point_into_text;
	callback.arg = text;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	statement = parse_one(text);
	this.source = source_of(statement->stmt, text);
	call = &this;
	PG_TRY();
	{
		explain(text, statement);
	}
	PG_FINALLY();
	{
		call = this.outer;
	}
	PG_END_TRY();
	error_context_stack = callback.previous;
	return this.sorts;
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
	foreach(lc, gpusort_report_sorts(statement, es->deparse_cxt, compat_rtable_size(es) > 1 || es->verbose))
	{
		show_sort(lfirst(lc), es);
	}
	ExplainCloseGroup("GpuSort", "GpuSort", false, es);
}

#endif							/* COMPAT_EXPLAIN_OPTIONS */

void
gpusort_why_install(void)
{
	prev_executor_start_hook = ExecutorStart_hook;
	ExecutorStart_hook = report_explained;
#ifdef COMPAT_EXPLAIN_OPTIONS
	explain_id = GetExplainExtensionId("gpusort");
	compat_register_explain_option("gpusort", take_option);
	prev_explain_per_plan_hook = explain_per_plan_hook;
	explain_per_plan_hook = show_sorts;
#endif
}
