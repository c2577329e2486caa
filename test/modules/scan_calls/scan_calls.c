/*
 * scan_calls.c
 *	  Counts the rows that scans of tables return to their callers.
 *
 * In:  queries of sessions that see DEBUG1, which run no others inside; preloaded.
 * Out: at DEBUG1, when a query ends, the rows that its sequential and sample scans have returned.
 *	    A row that was taken from a scan's page without a call is not among them.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

#define SCANS_MAX	16

static ExecutorStart_hook_type prev_start = NULL;
static ExecutorEnd_hook_type prev_end = NULL;

/* The rows of the query that began last. */
static int	n_scans = 0;
static struct
{
	PlanState  *node;
	ExecProcNodeMtd next;
}			scans[SCANS_MAX];
static uint64 returned = 0;

static TupleTableSlot *
next_row(PlanState *node)
{
	TupleTableSlot *slot = NULL;

	for (int i = 0; i < n_scans; i++)
		if (scans[i].node == node)
			slot = scans[i].next(node);
	returned += TupIsNull(slot) ? 0 : 1;
	return slot;
}

static bool
watch_scans(PlanState *node, void *arg)
{
	if (node == NULL)
		return false;
	if ((IsA(node, SeqScanState) || IsA(node, SampleScanState)) && n_scans < SCANS_MAX)
	{
		scans[n_scans].node = node;
		scans[n_scans++].next = node->ExecProcNodeReal;
		ExecSetExecProcNode(node, next_row);
	}
	return planstate_tree_walker(node, watch_scans, arg);
}

static void
start(QueryDesc *desc, int eflags)
{
	if (prev_start != NULL)
		prev_start(desc, eflags);
	else
		standard_ExecutorStart(desc, eflags);
	if (client_min_messages > DEBUG1)
		return;
	n_scans = 0;
	returned = 0;
	(void) watch_scans(desc->planstate, NULL);
}

static void
end(QueryDesc *desc)
{
	if (client_min_messages <= DEBUG1)
		elog(DEBUG1, "scans returned " UINT64_FORMAT " rows", returned);
	if (prev_end != NULL)
		prev_end(desc);
	else
		standard_ExecutorEnd(desc);
}

void
_PG_init(void)
{
	prev_start = ExecutorStart_hook;
	ExecutorStart_hook = start;
	prev_end = ExecutorEnd_hook;
	ExecutorEnd_hook = end;
}
