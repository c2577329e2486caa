/*
 * stepper.c
 *	  Steps through a query's plan as a node above it may, mark and restore included, which
 *	  no cursor asks for.
 *
 * In:  a query, and letters: f a row forward, b a row backward, m mark, r restore, w rewind,
 *	    g waits until there is a file of the name gate in the data directory.
 * Out: the first column of each row that f and b gave, as text, '-' for none.
 *
 *	  create function step_through(query text, steps text) returns text[] strict
 *		  language c as '.../stepper';
 */
#include "postgres.h"

#include <unistd.h>

#include "catalog/pg_type.h"
#include "executor/execdesc.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "tcop/dest.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/snapmgr.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(step_through);

static Datum
first_column(TupleTableSlot *slot)
{
	Oid			output;
	bool		is_varlena;
	bool		is_null;
	Datum		value;

	if (TupIsNull(slot))
		return CStringGetTextDatum("-");
	value = slot_getattr(slot, 1, &is_null);
	if (is_null)
		return CStringGetTextDatum("null");
	getTypeOutputInfo(TupleDescAttr(slot->tts_tupleDescriptor, 0)->atttypid, &output, &is_varlena);
	return CStringGetTextDatum(OidOutputFunctionCall(output, value));
}

static ArrayBuildState *
take_step(PlanState *node, char step, ArrayBuildState *rows, MemoryContext result_context)
{
	Datum		shown = 0;

	switch (step)
	{
		case 'f':
		case 'b':
			node->state->es_direction = step == 'f' ? ForwardScanDirection : BackwardScanDirection;
			MemoryContextSwitchTo(result_context);
			shown = first_column(ExecProcNode(node));
			return accumArrayResult(rows, shown, false, TEXTOID, result_context);
		case 'm':
			ExecMarkPos(node);
			break;
		case 'r':
			ExecRestrPos(node);
			break;
		case 'w':
			ExecReScan(node);
			break;
		case 'g':
			while (access("gate", F_OK) != 0)
			{
				CHECK_FOR_INTERRUPTS();
				pg_usleep(10000);
			}
			break;
		default:
			elog(ERROR, "no such step: %c", step);
	}
	return rows;
}

Datum
step_through(PG_FUNCTION_ARGS)
{
	char	   *query = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *steps = text_to_cstring(PG_GETARG_TEXT_PP(1));
	MemoryContext result_context = CurrentMemoryContext;
	ArrayBuildState *rows = initArrayResult(TEXTOID, result_context, false);
	SPIPlanPtr	prepared;
	CachedPlan *plan;
	QueryDesc  *desc;

	SPI_connect();
	prepared = SPI_prepare(query, 0, NULL);
	if (prepared == NULL || (plan = SPI_plan_get_cached_plan(prepared)) == NULL)
		elog(ERROR, "not one query: %s", query);
	desc = CreateQueryDesc(linitial_node(PlannedStmt, plan->stmt_list), query, GetActiveSnapshot(),
						   InvalidSnapshot, None_Receiver, NULL, NULL, 0);
	ExecutorStart(desc, EXEC_FLAG_MARK | EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD);
	for (const char *step = steps; *step != '\0'; step++)
		rows = take_step(desc->planstate, *step, rows, result_context);
	ExecutorFinish(desc);
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
	ReleaseCachedPlan(plan, NULL);
	SPI_finish();
	PG_RETURN_DATUM(makeArrayResult(rows, result_context));
}
