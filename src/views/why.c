/*
 * why.c
 *	  Why sorts run where they do: the SQL function gpusort_why, and EXPLAIN
 *	  (GPUSORT).
 *
 * In:  a statement's text; or the plan that EXPLAIN shows.
 * Out: a row for each sort of its plan; or a line in each node that sorts.
 *
 * gpusort_why runs EXPLAIN on the statement's query and drops the text.  So
 * EXPLAIN checks the caller's privileges, computes the parameters of an
 * EXECUTE, and does not run the query.
 *
 * Each Sort is examined again, as when the plan was finished.  The sorts inside
 * an Agg follow its child's.  A plan shows neither further sorts of grouping
 * sets, nor sorts of a Gather Merge's workers that are no nodes.
 *
 * Runs in any backend.  All memory is the call's.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "commands/defrem.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "parser/parser.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/queryenvironment.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "index/index_why.h"
#include "job/server_state.h"
#include "keys/key_text.h"
#include "plan/aggregates.h"
#include "planner/planner.h"
#include "settings.h"
#include "sql_version.h"
#include "views/why.h"

PG_FUNCTION_INFO_V1(gpusort_why);

#define ESTIMATE_MAX 1e18			/* larger estimates are shown as this */

/* The columns of gpusort_why. */
enum
{
	NODE,						/* the plan node, as EXPLAIN names it, and who runs it */
	KEYS,						/* with their types, separated by commas */
	ROWS,						/* expected, in each process that runs the node */
	BYTES,						/* of these rows */
	RUNS_ON,					/* device, backend or native */
	CODE,						/* the reason's short name; NULL for device */
	REASON,						/* in words, with figures */
	REMEDY,						/* a remedy; NULL: there is none */
	N_COLUMNS
};

typedef struct ReportedSort
{
	const Plan *plan;			/* the node */
	const char *columns[N_COLUMNS];
} ReportedSort;

typedef struct Report
{
	GpuSortWalk walk;			/* over the plan's nodes; first, since the visitor gets it */
	const ExplainState *es;		/* EXPLAIN's state, from when it has begun to show the plan */
	List	   *sorts;			/* of ReportedSort, in the order of gpusort_walk_plans */
} Report;

/* --- where a sort runs ---------------------------------------------------- */

static char *
estimate_text(double estimate)
{
	return psprintf("%.0f", Min(estimate, ESTIMATE_MAX));
}

/* Adds a sort of the rows that the plan reads from its child. */
static void
add_sort(const char *node, const char *keys, const Plan *plan, const char *runs_on,
		 GpuSortReasonText why, Report *report)
{
	const Plan *child = outerPlan(plan);
	ReportedSort *sort = palloc(sizeof(ReportedSort));

	*sort = (ReportedSort) {
		.plan = plan,
		.columns = {
			[NODE] = report->walk.place.in_workers ?
				psprintf("%s in each parallel worker", node) : node,
			[KEYS] = keys,
			[ROWS] = estimate_text(child->plan_rows),
			[BYTES] = estimate_text(child->plan_rows * child->plan_width),
			[RUNS_ON] = runs_on,
			[CODE] = why.name,
			[REASON] = why.text,
			[REMEDY] = why.remedy,
		}
	};
	report->sorts = lappend(report->sorts, sort);
}

/* Reports a Sort, or an Incremental Sort, which begins with one. */
static void
report_sort(const Sort *sort, Report *report)
{
	GpuSortOrder order = {
		sort->numCols, sort->sortColIdx, sort->sortOperators, sort->collations, sort->nullsFirst
	};
	GpuSortPlanInfo info = {0};

	if (gpusort_examine_sort(sort, &report->walk, &info))
		gpusort_reason_set(report->walk.foreign_below ? GPUSORT_PLANNED_CUSTOM_SCAN :
						   GPUSORT_PLANNED_CACHED_PLAN, NULL);
	add_sort(IsA(sort, IncrementalSort) ? "Incremental Sort" : "Sort",
			 gpusort_keys_text(&order, &sort->plan, report->walk.ancestors, report->es, true),
			 &sort->plan, "native", gpusort_reason_last(), report);
}

/* A serial GpuSort of few rows that fit work_mem stays in the backend. */
static void
report_gpusort(const CustomScan *scan, Report *report)
{
	const Plan *child = outerPlan(scan);
	const char *rows = estimate_text(child->plan_rows);
	double		row_bytes = MAXALIGN(child->plan_width) + MAXALIGN(SizeofHeapTupleHeader);
	uint64		min_rows = gpusort_min_rows_of(gpusort_server_state()->kind);
	const char *runs_on = "device";
	GpuSortReasonText why = {0};
	GpuSortPlanInfo info;

	gpusort_plan_info_read(scan, &info);
	if (gpusort_all_stay_native())
	{
		runs_on = "native";
		why = gpusort_reason_last();
	}
	else if (child->plan_rows < min_rows && !info.parallel &&
			 child->plan_rows * row_bytes <= work_mem * 1024.0)
	{
		runs_on = "backend";
		why = (GpuSortReasonText) {
			"few_rows",
			psprintf("%s rows are expected, fewer than gpusort.min_rows (" UINT64_FORMAT ")", rows,
					 min_rows),
			"none; rows go to the device once gpusort.min_rows of them have come, or more than work_mem holds"
		};
	}
	else
		why.text = psprintf("%s rows are expected%s", rows,
							info.parallel ? ", read by parallel workers" : "");
	add_sort("GpuSort",
			 gpusort_keys_text(&info.order, &scan->scan.plan, report->walk.ancestors, report->es,
							   !info.grouping),
			 &scan->scan.plan, runs_on, why, report);
}

/* --- sorts inside aggregates ---------------------------------------------- */

static const GpuSortReasonText in_order = {
	"presorted",
	"the rows arrive in order, so that PostgreSQL's sort of them takes one comparison a row"
};
static const GpuSortReasonText in_no_order = {
	"aggregate",
	"rows in order are not expected to save time, or the query's aggregates, their keys or its grouping sets do not allow this order",
	"a query of its own for the aggregate, if another one has or needs another order; as a superuser, SET gpusort.debug_force = on shows the other plan"
};

/* Reports the sorts inside an Agg. */
static void
report_agg(const Agg *agg, Report *report)
{
	static const char *const names[] = {
		[AGG_PLAIN] = "Aggregate",
		[AGG_SORTED] = "GroupAggregate",
		[AGG_HASHED] = "HashAggregate",
		[AGG_MIXED] = "MixedAggregate",
	};
	ListCell   *lc;

	foreach(lc, gpusort_aggregates_of(agg))
	{
		const Aggref *aggregate = lfirst(lc);

		if (gpusort_order_of_aggregate(aggregate) == NIL)
			continue;
		add_sort(names[agg->aggstrategy],
				 gpusort_aggregate_text(aggregate, &agg->plan, report->walk.ancestors, report->es),
				 &agg->plan, "native", gpusort_all_stay_native() ? gpusort_reason_last() :
				 gpusort_aggregate_is_presorted(agg, aggregate) ? in_order : in_no_order, report);
	}
}

/* --- reports -------------------------------------------------------------- */

static Plan *
report_plan(Plan *plan, GpuSortWalk *walk)
{
	Report	   *report = (Report *) walk;

	if (IsA(plan, Agg))
		report_agg((Agg *) plan, report);
	else if (IsA(plan, Sort) || IsA(plan, IncrementalSort))
		report_sort((Sort *) plan, report);
	else if (IsA(plan, CustomScan) && ((CustomScan *) plan)->methods == &gpusort_scan_methods)
		report_gpusort((CustomScan *) plan, report);
	return plan;
}

/* Reports the sorts of the plan that es shows. */
static Report *
report_sorts(const ExplainState *es)
{
	Report	   *report = palloc0(sizeof(Report));

	report->walk = (GpuSortWalk) {.statement = es->pstmt,.visit = report_plan};
	report->es = es;
	gpusort_walk_plans(&report->walk);
	return report;
}

/* --- gpusort_why ---------------------------------------------------------- */

/*
 * The environment of the explained query has gpusort_why's rows, as a named
 * tuplestore.  This distinguishes the query from others that functions run or
 * explain meanwhile.  No query can refer to an empty name.
 */
static char rows_name[] = "";

static ExecutorStart_hook_type prev_executor_start_hook = NULL;

static void
add_row(EphemeralNamedRelation rows, const char **row)
{
	AttInMetadata *columns = TupleDescGetAttInMetadata(rows->md.tupdesc);

	tuplestore_puttuple(rows->reldata, BuildTupleFromCStrings(columns, (char **) row));
}

/* EXPLAIN lets the executor start a plan, which checks privileges, and not run
 * it. */
static void
start_plan(QueryDesc *query, int flags)
{
	EphemeralNamedRelation rows = get_ENR(query->queryEnv, rows_name);
	ExplainState *es;
	ListCell   *lc;

	if (prev_executor_start_hook)
		prev_executor_start_hook(query, flags);
	else
		standard_ExecutorStart(query, flags);
	if (rows == NULL)
		return;
	/* gives relations the names that EXPLAIN shows */
	es = NewExplainState();
	ExplainPrintPlan(es, query);
	foreach(lc, report_sorts(es)->sorts)
	{
		add_row(rows, ((ReportedSort *) lfirst(lc))->columns);
	}
}

/* Makes errors point into the text, not into the query of gpusort_why. */
static void
point_into_text(void *text)
{
	if (geterrposition() > 0)
		(void) function_parse_error_transpose(text);
}

/* Adds a row for each index that the statement would build. */
static void
add_index_builds(IndexStmt *statement, const char *text, EphemeralNamedRelation rows)
{
	ListCell   *lc;

	foreach(lc, gpusort_index_why(statement, text))
	{
		const GpuSortIndexWhy *why = lfirst(lc);
		const char *row[N_COLUMNS] = {
			[NODE] = psprintf("Index Build on %s", quote_identifier(why->table)),
			[KEYS] = why->keys,
			[ROWS] = why->keys == NULL ? NULL : estimate_text(why->rows),
			[BYTES] = why->keys == NULL ? NULL : estimate_text(why->bytes),
			[RUNS_ON] = why->runs_on,
			[CODE] = why->code,
			[REASON] = why->reason,
			[REMEDY] = why->remedy,
		};

		add_row(rows, row);
	}
}

/* Returns the analyzed EXPLAIN of the statement's query.  Parameters such as $1
 * have no values, so such a query gets its generic plan. */
static List *
analyze(RawStmt *statement, const char *text, ExplainStmt *explained)
{
	Oid		   *types = NULL;
	int			n_types = 0;
	List	   *queries;

	explained->query = statement->stmt;
	if (IsA(statement->stmt, CopyStmt) && ((CopyStmt *) statement->stmt)->query != NULL)
		explained->query = ((CopyStmt *) statement->stmt)->query;
	statement->stmt = (Node *) explained;
	queries = pg_analyze_and_rewrite_varparams(statement, text, &types, &n_types, NULL);
	if (n_types > 0)
		explained->options = COMPAT_GENERIC_PLAN;
	return queries;
}

static const char *no_sort[N_COLUMNS] = {
	[CODE] = "no_sort",
	[REASON] = "the plan has no sort: rows are hashed, come from an index in order, or need no order",
	[REMEDY] = "none"
};

/* Runs EXPLAIN on the text's one statement, or examines its CREATE INDEX. */
static void
explain(const char *text, QueryEnvironment *environment)
{
	List	   *statements = raw_parser(text, RAW_PARSE_DEFAULT);
	EphemeralNamedRelation rows = get_ENR(environment, rows_name);
	ExplainStmt *explained = makeNode(ExplainStmt);
	RawStmt    *statement;
	List	   *queries;
	Node	   *utility;

	if (list_length(statements) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("gpusort_why accepts one statement, not %d", list_length(statements))));
	statement = linitial_node(RawStmt, statements);
	if (IsA(statement->stmt, IndexStmt))
	{
		add_index_builds((IndexStmt *) statement->stmt, text, rows);
		return;
	}
	queries = analyze(statement, text, explained);
	utility = castNode(Query, explained->query)->utilityStmt;
	if (utility != NULL && !IsA(utility, DeclareCursorStmt) && !IsA(utility, CreateTableAsStmt) &&
		!IsA(utility, ExecuteStmt))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("gpusort_why does not support %s",
						GetCommandTagName(CreateCommandTag(utility))),
				 errhint("It supports queries, DECLARE, CREATE TABLE AS, COPY of a query, EXECUTE and CREATE INDEX, each without EXPLAIN.  For other statements, pass the query that they contain.")));
	ProcessUtility(linitial(pg_plan_queries(queries, text, 0, NULL)), text, false,
				   PROCESS_UTILITY_QUERY, NULL, environment, None_Receiver, NULL);
	if (tuplestore_tuple_count(rows->reldata) == 0)
		add_row(rows, no_sort);
}

/* The SQL function: the hooks of EXPLAIN add the rows to the result. */
Datum
gpusort_why(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	char	   *query = text_to_cstring(PG_GETARG_TEXT_PP(0));
	ErrorContextCallback callback = {error_context_stack, point_into_text, query};
	EphemeralNamedRelationData rows = {.md.name = rows_name};
	QueryEnvironment *environment = create_queryEnv();

	gpusort_check_module();
	InitMaterializedSRF(fcinfo, 0);
	rows.md.tupdesc = result->setDesc;
	rows.reldata = result->setResult;
	register_ENR(environment, &rows);
	error_context_stack = &callback;
	explain(query, environment);
	error_context_stack = callback.previous;
	return (Datum) 0;
}

/* --- EXPLAIN (GPUSORT) ---------------------------------------------------- */

#ifdef COMPAT_EXPLAIN_OPTIONS

static explain_per_node_hook_type prev_explain_per_node_hook = NULL;

/* EXPLAIN's number for this module.  The value that EXPLAIN keeps under it is
 * NULL if the option is off, else the Report on the last plan, at first an
 * empty one. */
static int	explain_id;

static void
take_option(ExplainState *es, DefElem *option, ParseState *pstate)
{
	SetExplainExtensionState(es, explain_id,
							 defGetBoolean(option) ? palloc0(sizeof(Report)) : NULL);
}

/* The hook that EXPLAIN calls for each node, before the node's children.  One
 * ExplainState may show several plans, one after another. */
static void
show_node(PlanState *state, List *ancestors, const char *relationship, const char *name,
		  ExplainState *es)
{
	Report	   *report = GetExplainExtensionState(es, explain_id);
	List	   *texts = NIL;
	ListCell   *lc;

	if (prev_explain_per_node_hook)
		prev_explain_per_node_hook(state, ancestors, relationship, name, es);
	if (report == NULL)
		return;
	if (report->walk.statement != es->pstmt)
	{
		report = report_sorts(es);
		SetExplainExtensionState(es, explain_id, report);
	}
	foreach(lc, report->sorts)
	{
		const ReportedSort *sort = lfirst(lc);

		if (sort->plan == state->plan)
			texts = lappend(texts, psprintf("%s: %s, because %s%s%s", sort->columns[KEYS],
											sort->columns[RUNS_ON], sort->columns[REASON],
											sort->columns[REMEDY] != NULL ? "; remedy: " : "",
											sort->columns[REMEDY] != NULL ? sort->columns[REMEDY] : ""));
	}
	if (texts != NIL)
		ExplainPropertyList("GpuSort", texts, es);
}

#endif							/* COMPAT_EXPLAIN_OPTIONS */

void
gpusort_why_install(void)
{
	prev_executor_start_hook = ExecutorStart_hook;
	ExecutorStart_hook = start_plan;
#ifdef COMPAT_EXPLAIN_OPTIONS
	explain_id = GetExplainExtensionId("gpusort");
	compat_register_explain_option("gpusort", take_option);
	prev_explain_per_node_hook = explain_per_node_hook;
	explain_per_node_hook = show_node;
#endif
}
