/*
 * gpusort_node.c
 *	  The GpuSort node: it drives a sort as nodeSort.c drives tuplesort.c.
 *
 * In:  the child's slots.  In a parallel plan these are only the slots that the
 *	    feed nodes (feed_node.c) below the child Gather return, since they pack
 *	    the rows themselves.
 * Out: the rows in key order, in slots that are valid until the next call.
 *
 * Runs in one backend.  The node owns the slots; the sort owns everything else,
 * in a child of the query's context.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/nodeCustom.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "executor/feed_node.h"
#include "executor/page_drain.h"
#include "job/server_state.h"
#include "job/stats.h"
#include "keys/key_text.h"
#include "plan/aggregates.h"
#include "plan/plan_info.h"
#include "settings.h"
#include "sort/tuplesort.h"

typedef struct GpuSortState
{
	CustomScanState css;		/* must be first */
	GpuSortPlanInfo info;
	GpuSortRowFormat format;
	GpuSortSpec spec;
	GpuSortPageDrain drain;		/* of a serial plan's child */
	GpuSortFeedState *feed_node;	/* below the Gather of a parallel plan, else NULL */

	GpuSortTuplesort *sort;		/* NULL: not begun, or dropped */
	GpuSortOutput *output;		/* the sort's rows; NULL: not sorted yet, or dropped */
} GpuSortState;

static TupleTableSlot *next_row(PlanState *node);

/* --- begin and end -------------------------------------------------------- */

/* Makes the slots, and declares the kind that the node returns.  Rows of a
 * tuplesort that must be projected come in a slot of another kind. */
static void
make_slots(GpuSortState *state, EState *estate)
{
	PlanState  *ps = &state->css.ss.ps;
	TupleDesc	desc = ps->ps_ResultTupleDesc;
	GpuSortSpec *spec = &state->spec;
	const TupleTableSlotOps *ops = gpusort_row_visible_slot_ops(&state->format);

	spec->row = compat_scan_slot(&state->css, gpusort_row_slot_ops(&state->format));
	spec->result = spec->row;
	if (desc->natts < state->format.natts)
		spec->result = ExecInitExtraTupleSlot(estate, desc, ops);
	Assert(spec->result->tts_ops == ops);
	spec->native = spec->result;
	if (ops == &TTSOpsVirtual)
	{
		spec->native = ExecInitExtraTupleSlot(estate, desc, &TTSOpsMinimalTuple);
		spec->projected = spec->result;
	}
	else if (state->format.hidden != NULL)
		spec->projected = ExecInitExtraTupleSlot(estate, desc, &TTSOpsVirtual);
	ps->ps_ResultTupleSlot = spec->result;
	ps->resultops = ops;
	ps->resultopsset = true;
	ps->resultopsfixed = state->format.hidden == NULL;
}

/* Do workers below sort too?  They hold device memory until this process has
 * read their rows.  gather: the Gather above the node, if there is one. */
static bool
has_sorting_workers(PlanState *node, void *gather)
{
	if (IsA(node, GatherState) || IsA(node, GatherMergeState))
		gather = node;
	if (gather != NULL && IsA(node, CustomScanState) &&
		castNode(CustomScan, node->plan)->methods == &gpusort_scan_methods)
		return true;
	return planstate_tree_walker(node, has_sorting_workers, gather);
}

/* Describes the sort, as far as the plan and the executor's state tell it. */
static void
make_spec(GpuSortState *state, bool random_access)
{
	GpuSortSpec *spec = &state->spec;
	PlanState  *child = outerPlanState(state);

	spec->desc = ExecGetResultType(child);
	spec->order = &state->info.order;
	spec->grouping = state->info.grouping;
	spec->n_keys = state->info.n_keys;
	spec->key_origins = state->info.key_origins;
	spec->format = &state->format;
	spec->workers = state->info.parallel ? castNode(Gather, child->plan)->num_workers : -1;
	spec->row_width = child->plan->plan_width;
	spec->rows = state->info.rows;
	spec->packed_bytes = state->info.width;
	if (state->format.hidden != NULL)
		spec->packed_bytes += MAXALIGN(SizeofMinimalTupleHeader);	/* of the hidden part */
	spec->native_ms = state->info.native_ms;
	spec->never_waits = state->info.parallel || has_sorting_workers(child, NULL);
	spec->random_access = random_access;
	spec->timed = child->state->es_instrument != 0;
	/* inside EvalPlanQual the child returns a row or two, which stay in the
	 * backend */
	spec->may_use_device = child->state->es_epq_active == NULL;
}

/* In a parallel plan the feed node is the Gather's child. */
static void
GpuSortBegin(CustomScanState *node, EState *estate, int eflags)
{
	GpuSortState *state = (GpuSortState *) node;
	int			special = EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK;

	/* this node keeps the sorted rows, so the child need not go back */
	outerPlanState(state) = ExecInitNode(outerPlan(node->ss.ps.plan), estate, eflags & ~special);
	make_slots(state, estate);
	make_spec(state, (eflags & special) != 0);
	gpusort_page_drain_init(&state->drain, outerPlanState(state), &state->format);
	/* nodeCustom.c in between would take 6 % of a sort of small rows */
	node->ss.ps.ExecProcNode = next_row;
	if (state->info.parallel)
		state->feed_node = (GpuSortFeedState *) outerPlanState(outerPlanState(state));
}

/* Drops the sorted rows, wherever they are. */
static void
drop_sort(GpuSortState *state)
{
	if (state->sort != NULL)
		gpusort_tuplesort_end(state->sort);
	state->sort = NULL;
	state->output = NULL;
}

static void
GpuSortEnd(CustomScanState *node)
{
	drop_sort((GpuSortState *) node);
	ExecEndNode(outerPlanState(node));
}

/* --- sorting -------------------------------------------------------------- */

/* For a serial plan: puts every row of the child.  Takes the rest of a page at
 * once when rows are packed. */
static void
put_child_rows(GpuSortState *state)
{
	PlanState  *child = outerPlanState(state);
	GpuSortPageDrain *drain = &state->drain;
	TupleTableSlot *slot;

	drain->feed = NULL;
	while (slot = drain->feed != NULL ? gpusort_page_drain(drain) : ExecProcNode(child),
		   !TupIsNull(slot))
	{
		gpusort_tuplesort_put(state->sort, slot);
		if (drain->scan != NULL && drain->feed == NULL)
		{
			GpuSortFeed *feed = gpusort_tuplesort_feed(state->sort);

			if (feed != NULL)
				gpusort_page_drain_begin(drain, feed);
		}
	}
}

/* Announces the sort's job to the feed nodes.  NULL: there is none. */
static const GpuSortKeyEncoding *
publish_job(GpuSortState *state)
{
	GpuSortJobId job;
	int			n_encodings;
	const GpuSortKeyEncoding *encodings =
		gpusort_tuplesort_encodings(state->sort, &job, &n_encodings);

	if (encodings != NULL)
		gpusort_feed_node_publish(state->feed_node, &job, encodings, n_encodings);
	return encodings;
}

/*
 * For a parallel plan.  Once there is a job, the feed nodes below the Gather
 * pack the rows.  They return only earlier rows, and rows that the job does not
 * take.
 */
static void
put_returned_rows(GpuSortState *state)
{
	PlanState  *gather = outerPlanState(state);
	const GpuSortKeyEncoding *encodings = NULL;
	TupleTableSlot *slot;

	gpusort_feed_node_forget_job(state->feed_node);
	while (slot = ExecProcNode(gather), !TupIsNull(slot))
	{
		gpusort_tuplesort_put(state->sort, slot);
		if (encodings == NULL)
			encodings = publish_job(state);
	}
}

/* Returns a reason to sort natively, before the first row.  The plan may be
 * old.  A parallel sort does not wait for room, since its workers would stand
 * still. */
static GpuSortNativeReason
reason_to_be_native(const GpuSortState *state)
{
	const GpuSortSpec *spec = &state->spec;

	if (!gpusort_enabled)
		return GPUSORT_NATIVE_DISABLED;
	if (!gpusort_server_state()->serves)
		return GPUSORT_NATIVE_NO_DEVICE;
	if (state->sort != NULL || !gpusort_is_parallel(spec) || !spec->may_use_device ||
		spec->rows <= GPUSORT_PARALLEL_ARRAY_ROWS)
		return GPUSORT_NATIVE_NONE;
	return gpusort_job_look_for_room(GPUSORT_PARALLEL_FEEDERS(spec->workers));
}

/* Reads all of the child's rows and sorts them, natively if there is a reason
 * to. */
static void
sort_rows(GpuSortState *state)
{
	EState	   *estate = state->css.ss.ps.state;
	ScanDirection direction = estate->es_direction;
	GpuSortNativeReason reason = reason_to_be_native(state);

	if (state->sort != NULL && reason != GPUSORT_NATIVE_NONE)
		drop_sort(state);
	state->spec.work_mem = work_mem;
	if (state->sort == NULL)
		state->sort = gpusort_tuplesort_begin(&state->spec, estate->es_query_cxt, reason);
	/* the child must return its rows forward, whatever direction this node is
	 * read in */
	estate->es_direction = ForwardScanDirection;
	if (state->feed_node != NULL)
		put_returned_rows(state);
	else
		put_child_rows(state);
	state->output = gpusort_tuplesort_perform(state->sort);
	estate->es_direction = direction;
	reason = gpusort_tuplesort_native_reason(state->sort);
	if (reason != GPUSORT_NATIVE_NONE)
		gpusort_stats_count_native(reason);
}

static TupleTableSlot *
next_row(PlanState *node)
{
	GpuSortState *state = (GpuSortState *) node;
	bool		forward = ScanDirectionIsForward(node->state->es_direction);

	CHECK_FOR_INTERRUPTS();
	if (unlikely(state->output == NULL))
		sort_rows(state);
	return state->output->methods->next(state->output, forward);
}

static TupleTableSlot *
GpuSortExec(CustomScanState *node)
{
	return next_row(&node->ss.ps);
}

static void
GpuSortMarkPos(CustomScanState *node)
{
	GpuSortState *state = (GpuSortState *) node;

	if (state->output != NULL)
		state->output->methods->mark(state->output);
}

static void
GpuSortRestrPos(CustomScanState *node)
{
	GpuSortState *state = (GpuSortState *) node;

	if (state->output != NULL)
		state->output->methods->restore(state->output);
}

/* As in nodeSort.c, sorted rows serve again unless the child's parameters have
 * changed. */
static void
GpuSortReScan(CustomScanState *node)
{
	GpuSortState *state = (GpuSortState *) node;
	PlanState  *child = outerPlanState(state);

	/* not sorted yet: a child with changed parameters rescans itself when it is
	 * first read */
	if (state->output == NULL)
		return;
	ExecClearTuple(state->spec.result);
	if (child->chgParam == NULL && state->output->methods->rewind(state->output))
		return;
	state->output = NULL;
	if (!gpusort_tuplesort_restart(state->sort))
		drop_sort(state);
	if (child->chgParam == NULL)
		ExecReScan(child);
}

/* --- EXPLAIN -------------------------------------------------------------- */

/* Shows the aggregates of an Agg above that get their rows in order. */
static void
explain_presorted(const GpuSortState *state, List *ancestors, ExplainState *es)
{
	Agg		   *agg = ancestors != NIL ? linitial(ancestors) : NULL;
	List	   *texts = NIL;
	ListCell   *lc;

	if (agg == NULL || !IsA(agg, Agg) || outerPlan(agg) != state->css.ss.ps.plan)
		return;
	foreach(lc, gpusort_aggregates_of(agg))
	{
		if (gpusort_aggregate_is_presorted(agg, lfirst(lc)))
			texts = lappend(texts, gpusort_aggregate_text(lfirst(lc), &agg->plan,
														  list_copy_tail(ancestors, 1), es));
	}
	if (texts != NIL)
		ExplainPropertyList("Presorted for", texts, es);
}

static void
GpuSortExplain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	GpuSortState *state = (GpuSortState *) node;
	List	   *keys = gpusort_key_texts(&state->info.order, state->css.ss.ps.plan, ancestors, es,
									   !state->info.grouping);

	/* a grouping has no order, but keys that are equal in its groups */
	ExplainPropertyList(state->info.grouping ? "Group Key" : "Sort Key", keys, es);
	explain_presorted(state, ancestors, es);
	if (es->analyze && state->output != NULL)
		gpusort_tuplesort_explain(state->sort, es);
}

/* --- the node ------------------------------------------------------------- */

static const CustomExecMethods gpusort_exec_methods = {
	.CustomName = "GpuSort",
	.BeginCustomScan = GpuSortBegin,
	.ExecCustomScan = GpuSortExec,
	.EndCustomScan = GpuSortEnd,
	.ReScanCustomScan = GpuSortReScan,
	.MarkPosCustomScan = GpuSortMarkPos,
	.RestrPosCustomScan = GpuSortRestrPos,
	.ExplainCustomScan = GpuSortExplain,
};

static Node *
GpuSortCreateState(CustomScan *scan)
{
	GpuSortState *state = (GpuSortState *) newNode(sizeof(GpuSortState), T_CustomScanState);

	state->css.methods = &gpusort_exec_methods;
	gpusort_plan_info_read(scan, &state->info);
	gpusort_row_format_choose(&state->format, ExecTypeFromTL(scan->custom_scan_tlist),
							  state->info.n_visible);
	compat_set_slot_ops(&state->css, gpusort_row_slot_ops(&state->format));
	return (Node *) state;
}

const CustomScanMethods gpusort_scan_methods = {
	.CustomName = "GpuSort",
	.CreateCustomScanState = GpuSortCreateState,
};
