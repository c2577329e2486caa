/*
 * like_append.c
 *	  A custom scan that looks at its children when it begins, as TimescaleDB's ChunkAppend does, or that inserts, as
 *	  its ModifyHypertable does.
 *
 * In:  a query whose finished plan is a LIMIT of a Sort of an Append; or an INSERT.
 * Out: the LIMIT of a node LikeAppend, which has a Sort of each of the Append's children below it and
 *	    gives their rows one child after the other: the children's rows must not overlap.  Or a LikeAppend over the INSERT.
 *
 * When the node begins it unwraps the Sorts: a child whose scan it finds is known, and its Sort gets the
 * LIMIT's bound, which core gives to Sorts but not to custom scans.  EXPLAIN shows how many children it knows.
 *
 * Runs in the backend that plans and executes.  Loaded before the module under test, its hook is the inner
 * one, and the other module gets the plan that it returns.
 */
#include "postgres.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "compat.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

static planner_hook_type prev_planner_hook = NULL;

/* --- the node ------------------------------------------------------------------------------ */

typedef struct LikeAppendState
{
	CustomScanState css;		/* must be first */
	int			current;		/* the child that is read */
	int			known;			/* children whose scans were found */
} LikeAppendState;

static void
begin_scan(CustomScanState *node, EState *estate, int eflags)
{
	LikeAppendState *state = (LikeAppendState *) node;
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;
	int64		bound = intVal(linitial(scan->custom_private));
	ListCell   *lc;

	foreach(lc, scan->custom_plans)
	{
		Plan	   *plan = lfirst(lc);
		PlanState  *child = ExecInitNode(plan, estate, eflags);

		if (IsA(plan, Sort) && IsA(outerPlan(plan), SeqScan))
			state->known++;
		ExecSetTupleBound(bound, child);
		node->custom_ps = lappend(node->custom_ps, child);
	}
}

static TupleTableSlot *
next_row(CustomScanState *node)
{
	LikeAppendState *state = (LikeAppendState *) node;

	for (; state->current < list_length(node->custom_ps); state->current++)
	{
		TupleTableSlot *slot = ExecProcNode(list_nth(node->custom_ps, state->current));

		if (!TupIsNull(slot))
			return ExecCopySlot(node->ss.ps.ps_ResultTupleSlot, slot);
	}
	return ExecClearTuple(node->ss.ps.ps_ResultTupleSlot);
}

static void
end_scan(CustomScanState *node)
{
	ListCell   *lc;

	foreach(lc, node->custom_ps)
	{
		ExecEndNode(lfirst(lc));
	}
}

static void
rescan(CustomScanState *node)
{
	ListCell   *lc;

	foreach(lc, node->custom_ps)
	{
		ExecReScan(lfirst(lc));
	}
	((LikeAppendState *) node)->current = 0;
}

static void
explain_scan(CustomScanState *node, List *ancestors, ExplainState *es)
{
	ExplainPropertyInteger("Children Known", NULL, ((LikeAppendState *) node)->known, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "LikeAppend",
	.BeginCustomScan = begin_scan,
	.ExecCustomScan = next_row,
	.EndCustomScan = end_scan,
	.ReScanCustomScan = rescan,
	.ExplainCustomScan = explain_scan,
};

static Node *
create_state(CustomScan *scan)
{
	LikeAppendState *state = (LikeAppendState *) newNode(sizeof(LikeAppendState), T_CustomScanState);

	state->css.methods = &exec_methods;
	return (Node *) state;
}

static const CustomScanMethods scan_methods = {
	.CustomName = "LikeAppend",
	.CreateCustomScanState = create_state,
};

/* --- its plan ------------------------------------------------------------------------------ */

/* Column i of the node is column i of varno. */
static List *
columns_of(const List *tlist, int varno)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, tlist)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst(lc));
		Node	   *expr = (Node *) entry->expr;

		entry->expr = (Expr *) makeVar(varno, entry->resno, exprType(expr), exprTypmod(expr),
									   exprCollation(expr), 0);
		result = lappend(result, entry);
	}
	return result;
}

/* A node in the place of a plan, with that one's columns, over these children. */
static Plan *
make_node(const Plan *plan, List *children, int bound)
{
	CustomScan *scan = makeNode(CustomScan);
	NodeTag		tag = scan->scan.plan.type;

	scan->scan.plan = *plan;
	scan->scan.plan.type = tag;
	scan->scan.plan.lefttree = NULL;
	scan->scan.plan.targetlist = columns_of(plan->targetlist, INDEX_VAR);
	scan->custom_scan_tlist = plan->targetlist;
	scan->custom_plans = children;
	scan->custom_private = list_make1(makeInteger(bound));
	scan->methods = &scan_methods;
	return &scan->scan.plan;
}

static Plan *
make_plan(const Sort *sort, const Append *append, int bound)
{
	List	   *children = NIL;
	ListCell   *lc;

	foreach(lc, append->appendplans)
	{
		Sort	   *of_child = makeNode(Sort);

		*of_child = *sort;
		of_child->plan.lefttree = lfirst(lc);
		children = lappend(children, of_child);
	}
	return make_node(&sort->plan, children, bound);
}

/* A Limit that limits nothing, for LIMIT ALL.  PostgreSQL makes none. */
static Plan *
make_limit(Plan *child)
{
	Limit	   *limit = makeNode(Limit);

	limit->plan = *child;
	limit->plan.type = T_Limit;
	limit->plan.lefttree = child;
	limit->plan.initPlan = NIL;
	limit->plan.targetlist = columns_of(child->targetlist, OUTER_VAR);
	limit->limitOption = LIMIT_OPTION_COUNT;
	return &limit->plan;
}

static PlannedStmt *
plan_query(COMPAT_PLANNER_PARAMS)
{
	PlannedStmt *statement = prev_planner_hook != NULL ? prev_planner_hook(COMPAT_PLANNER_ARGS) :
		standard_planner(COMPAT_PLANNER_ARGS);
	Plan	   *top = statement->planTree;
	Plan	   *sort = IsA(top, Limit) ? outerPlan(top) : NULL;

	if (sort != NULL && IsA(sort, Sort) && IsA(outerPlan(sort), Append) && IsA(((Limit *) top)->limitCount, Const))
		top->lefttree = make_plan((Sort *) sort, (Append *) outerPlan(sort),
								  (int) DatumGetInt64(((Const *) ((Limit *) top)->limitCount)->constvalue));
	if (IsA(top, Sort) && strstr(query_string, "limit all") != NULL)
		statement->planTree = make_limit(top);
	if (IsA(top, ModifyTable) && statement->commandType == CMD_INSERT)
		statement->planTree = make_node(top, list_make1(top), 0);
	return statement;
}

void
_PG_init(void)
{
	RegisterCustomScanMethods(&scan_methods);
	prev_planner_hook = planner_hook;
	planner_hook = plan_query;
}
