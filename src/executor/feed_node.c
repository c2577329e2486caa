/*
 * feed_node.c
 *	  The GpuSortFeed node: packs its child's rows into the job of the GpuSort above.
 *
 * In:  the slots of a partial plan, in every participant of a Gather; the job's id,
 *	    from the leader by way of the DSM.
 * Out: chunks in the job's buffers.  The node itself returns no rows, but those that a full job does
 *	    not take: these go up through the Gather, and GpuSort spills a run and feeds the row itself.
 *	    Where there is no job, all rows go up.
 *
 * Runs in parallel workers, and in the leader when it takes part or when there are no
 * workers; then without a DSM too (parallel mode may be off at run time), since the
 * leader has the id anyway.  Buffers belong to the job, which outlives the DSM;
 * Shutdown collects figures and nothing else, because a portal may be shut down after
 * each fetch.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "executor/nodeCustom.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "compat.h"
#include "executor/feed_node.h"
#include "plan/plan_info.h"
#include "shared/clock.h"
#include "sort/feed.h"
#include "sort/page_drain.h"

/* What one participant has done; written by it alone, read by the leader after its end. */
typedef struct FeederFigures
{
	uint64		rows;
	uint64		bytes;
	double		milliseconds;
} FeederFigures;

/* In the DSM. */
typedef struct FeedCoordination
{
	GpuSortJobId id;
	FeederFigures figures[FLEXIBLE_ARRAY_MEMBER];	/* of each worker */
} FeedCoordination;

typedef enum FeedPhase
{
	FEED_NOT_BEGUN,
	FEED_GOES_ON,				/* has returned a row that the job was too full for */
	FEED_DONE
} FeedPhase;

struct GpuSortFeedState
{
	CustomScanState css;		/* must be first */
	GpuSortPlanInfo info;
	GpuSortKeys keys;
	GpuSortRowFormat format;
	GpuSortPageDrain drain;
	GpuSortJobId id;
	FeedPhase	phase;
	MemoryContext feed_context;
	GpuSortFeed *feed;

	FeedCoordination *shared;	/* NULL without a DSM */
	int			n_workers;		/* that figures have room for */
	FeederFigures own;			/* this process's */
	FeederFigures *workers;		/* the leader's copy, made at shutdown */
};

static Node *GpuSortFeedCreateState(CustomScan *scan);
static void GpuSortFeedBegin(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *GpuSortFeedExec(CustomScanState *node);
static void GpuSortFeedEnd(CustomScanState *node);
static void GpuSortFeedReScan(CustomScanState *node);
static Size GpuSortFeedEstimateDSM(CustomScanState *node, ParallelContext *pcxt);
static void GpuSortFeedInitializeDSM(CustomScanState *node, ParallelContext *pcxt,
									 void *coordinate);
static void GpuSortFeedReInitializeDSM(CustomScanState *node, ParallelContext *pcxt,
									   void *coordinate);
static void GpuSortFeedInitializeWorker(CustomScanState *node, shm_toc *toc, void *coordinate);
static void GpuSortFeedShutdown(CustomScanState *node);
static void GpuSortFeedExplain(CustomScanState *node, List *ancestors, ExplainState *es);

const CustomScanMethods gpusort_feed_scan_methods = {
	.CustomName = "GpuSortFeed",
	.CreateCustomScanState = GpuSortFeedCreateState,
};

static const CustomExecMethods gpusort_feed_exec_methods = {
	.CustomName = "GpuSortFeed",
	.BeginCustomScan = GpuSortFeedBegin,
	.ExecCustomScan = GpuSortFeedExec,
	.EndCustomScan = GpuSortFeedEnd,
	.ReScanCustomScan = GpuSortFeedReScan,
	.EstimateDSMCustomScan = GpuSortFeedEstimateDSM,
	.InitializeDSMCustomScan = GpuSortFeedInitializeDSM,
	.ReInitializeDSMCustomScan = GpuSortFeedReInitializeDSM,
	.InitializeWorkerCustomScan = GpuSortFeedInitializeWorker,
	.ShutdownCustomScan = GpuSortFeedShutdown,
	.ExplainCustomScan = GpuSortFeedExplain,
};

void
gpusort_feed_node_set_job(GpuSortFeedState *state, const GpuSortJobId *id)
{
	state->id = *id;
}

/* --- begin, rescan, end ------------------------------------------------------- */

static Node *
GpuSortFeedCreateState(CustomScan *scan)
{
	GpuSortFeedState *state = (GpuSortFeedState *) newNode(sizeof(GpuSortFeedState),
														   T_CustomScanState);

	state->css.methods = &gpusort_feed_exec_methods;
	state->id.slot = -1;
	gpusort_plan_info_read(scan, &state->info);
	return (Node *) state;
}

static void
GpuSortFeedBegin(CustomScanState *node, EState *estate, int eflags)
{
	GpuSortFeedState *state = (GpuSortFeedState *) node;
	PlanState  *child = ExecInitNode(outerPlan(node->ss.ps.plan), estate, eflags);

	outerPlanState(node) = child;
	/* rows that are returned are the child's slots, of whatever kind */
	node->ss.ps.resultopsset = true;
	node->ss.ps.resultopsfixed = false;
	/* the leader makes its keys of the same types: the child's may have other modifiers */
	gpusort_plan_info_make_keys(&state->info, ExecGetResultType(&node->ss.ps), &state->keys);
	gpusort_row_format_choose(&state->format, ExecGetResultType(child));
	gpusort_page_drain_begin(&state->drain, child, &state->format, &state->keys);
}

static void
forget_feed(GpuSortFeedState *state)
{
	if (state->feed_context != NULL)
		MemoryContextDelete(state->feed_context);
	state->feed_context = NULL;
	state->feed = NULL;
	state->phase = FEED_NOT_BEGUN;
	if (state->workers != NULL)
		pfree(state->workers);
	state->workers = NULL;
	memset(&state->own, 0, sizeof(state->own));
}

static void
GpuSortFeedReScan(CustomScanState *node)
{
	forget_feed((GpuSortFeedState *) node);
	if (outerPlanState(node)->chgParam == NULL)
		ExecReScan(outerPlanState(node));
}

static void
GpuSortFeedEnd(CustomScanState *node)
{
	forget_feed((GpuSortFeedState *) node);
	ExecEndNode(outerPlanState(node));
}

/* --- feeding -------------------------------------------------------------------- */

/* The leader is feeder 0, worker n feeder n + 1. */
static void
begin_feeding(GpuSortFeedState *state)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext old_context;

	state->feed_context = AllocSetContextCreate(estate->es_query_cxt, "GpuSortFeed",
												ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(state->feed_context);
	state->feed = gpusort_feed_begin(&state->format, &state->keys,
									 outerPlan(state->css.ss.ps.plan)->plan_width,
									 gpusort_job_attach(&state->id), ParallelWorkerNumber + 1);
	MemoryContextSwitchTo(old_context);
}

static void
publish_figures(GpuSortFeedState *state)
{
	if (state->shared != NULL && IsParallelWorker())
		state->shared->figures[ParallelWorkerNumber] = state->own;
}

/* The last row that this process feeds has been fed. */
static void
end_feeding(GpuSortFeedState *state)
{
	gpusort_feed_finish(state->feed);
	state->own.rows = state->feed->rows;
	state->own.bytes = state->feed->data_bytes;
	/* they have gone through this node, for whoever counts */
	if (state->css.ss.ps.instrument != NULL)
		state->css.ss.ps.instrument->tuplecount += state->feed->rows;
}

/*
 * Feeds rows until the child ends; or until the job is too full for one: returns it then.  The
 * job goes on when the leader, told by such rows, spills a run.  One
 * row may not be enough to wake it: a tuple queue shows what it holds when that is a
 * quarter of its size.
 */
static TupleTableSlot *
feed_rows(GpuSortFeedState *state)
{
	PlanState  *child = outerPlanState(state);
	GpuSortFeedResult result = GPUSORT_FEED_TAKEN;
	TupleTableSlot *slot;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	if (state->feed == NULL)
		begin_feeding(state);
	for (;;)
	{
		slot = ExecProcNode(child);
		if (TupIsNull(slot))
			break;
		result = gpusort_feed_row(state->feed, slot);
		if (unlikely(result != GPUSORT_FEED_TAKEN))
			break;
		if (state->drain.scan != NULL)
			gpusort_page_drain(&state->drain, state->feed);
	}
	state->phase = result == GPUSORT_FEED_FULL ? FEED_GOES_ON : FEED_DONE;
	if (state->phase == FEED_DONE)
		end_feeding(state);
	state->own.milliseconds += gpusort_milliseconds_since(start);
	publish_figures(state);
	return state->phase == FEED_DONE ? NULL : slot;
}

static TupleTableSlot *
GpuSortFeedExec(CustomScanState *node)
{
	GpuSortFeedState *state = (GpuSortFeedState *) node;

	if (state->id.slot < 0)
		return ExecProcNode(outerPlanState(node));
	return state->phase == FEED_DONE ? NULL : feed_rows(state);
}

/* --- parallel workers -------------------------------------------------------- */

static Size
GpuSortFeedEstimateDSM(CustomScanState *node, ParallelContext *pcxt)
{
	return add_size(offsetof(FeedCoordination, figures),
					mul_size(pcxt->nworkers, sizeof(FeederFigures)));
}

static void
GpuSortFeedInitializeDSM(CustomScanState *node, ParallelContext *pcxt, void *coordinate)
{
	GpuSortFeedReInitializeDSM(node, pcxt, coordinate);
}

static void
GpuSortFeedReInitializeDSM(CustomScanState *node, ParallelContext *pcxt, void *coordinate)
{
	GpuSortFeedState *state = (GpuSortFeedState *) node;

	memset(coordinate, 0, GpuSortFeedEstimateDSM(node, pcxt));
	state->shared = coordinate;
	state->n_workers = pcxt->nworkers;
	state->shared->id = state->id;
}

static void
GpuSortFeedInitializeWorker(CustomScanState *node, shm_toc *toc, void *coordinate)
{
	GpuSortFeedState *state = (GpuSortFeedState *) node;

	state->shared = coordinate;
	state->id = state->shared->id;
}

static void
GpuSortFeedShutdown(CustomScanState *node)
{
	GpuSortFeedState *state = (GpuSortFeedState *) node;
	Size		bytes = state->n_workers * sizeof(FeederFigures);

	if (IsParallelWorker() || state->shared == NULL)
		return;
	/* without a DSM segment there were fewer than planned: the next execution may have more */
	if (state->workers != NULL)
		pfree(state->workers);
	state->workers = MemoryContextAlloc(node->ss.ps.state->es_query_cxt, Max(bytes, 1));
	memcpy(state->workers, state->shared->figures, bytes);
	/* the DSM may be gone after this */
	state->shared = NULL;
}

/* --- EXPLAIN ------------------------------------------------------------------ */

static char *
describe_feeder(const char *who, const FeederFigures *figures, ExplainState *es)
{
	if (!es->timing)
		return psprintf("%s: " UINT64_FORMAT " rows", who, figures->rows);
	return psprintf("%s: " UINT64_FORMAT " rows in %.3f ms", who, figures->rows,
					figures->milliseconds);
}

static void
GpuSortFeedExplain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	GpuSortFeedState *state = (GpuSortFeedState *) node;
	List	   *feeders = NIL;

	/* the last execution may have had no job, after others that had */
	if (!es->analyze || state->id.slot < 0)
		return;
	if (state->own.rows > 0)
		feeders = lappend(feeders, describe_feeder("leader", &state->own, es));
	for (int i = 0; state->workers != NULL && i < state->n_workers; i++)
		feeders = lappend(feeders, describe_feeder(psprintf("worker %d", i),
												   &state->workers[i], es));
	if (feeders != NIL)
		ExplainPropertyList("Fed", feeders, es);
}
