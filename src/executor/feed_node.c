/*
 * feed_node.c
 *	  The GpuSortFeed node: packs its child's rows into the job of the GpuSort
 *	  above.
 *
 * In:  the slots of a partial plan, in every participant of a Gather; the job's
 *	    id and the encodings of its keys, which the leader publishes in the DSM
 *	    segment.
 * Out: chunks in the job's buffers.  The node returns rows through the Gather
 *	    only while no job is published, and when a full job does not take them.
 *	    GpuSort chooses the encodings by the first of these rows, and feeds all
 *	    of them itself.
 *
 * Runs in parallel workers, and in the leader when it takes part or when there
 * are no workers.  The leader knows the id without a DSM segment too, which is
 * missing if parallel mode is off at run time.  The leader's own node returns a
 * row now and then.  This lets the Gather read the queues of workers that have
 * not begun to feed yet, and that would wait for it.
 *
 * Buffers belong to the job, which outlives the DSM segment.  Shutdown collects
 * figures and nothing else, because a portal may be shut down after each fetch.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "executor/nodeCustom.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "compat.h"
#include "executor/feed_node.h"
#include "executor/page_drain.h"
#include "job/clock.h"
#include "keys/key_types.h"
#include "plan/plan_info.h"
#include "sort/encoding_copy.h"
#include "sort/feed.h"

/* The leader's own node returns one row after this many. */
#define LEADER_ROWS_AT_ONCE		1000

/* The figures of one participant.  It alone writes them, and the leader reads
 * them after its end. */
typedef struct FeederFigures
{
	uint64		rows;
	uint64		bytes;
	double		milliseconds;
} FeederFigures;

/* In the DSM segment.  The encodings (encoding_copy.h) lie behind the
 * figures. */
typedef struct FeedCoordination
{
	pg_atomic_uint32 published; /* the id and the encodings are there */
	int			n_workers;		/* workers that figures has room for */
	GpuSortJobId id;
	FeederFigures figures[FLEXIBLE_ARRAY_MEMBER];	/* one for each worker */
} FeedCoordination;

typedef enum FeedPhase
{
	FEED_NOT_BEGUN,				/* the node returns rows */
	FEED_BEGUN,
	FEED_DONE
} FeedPhase;

struct GpuSortFeedState
{
	CustomScanState css;		/* must be first */
	GpuSortPlanInfo info;
	GpuSortRowFormat format;
	FeedPhase	phase;

	/* from FEED_BEGUN on */
	MemoryContext feed_context;
	GpuSortKeys keys;
	GpuSortPageDrain drain;
	GpuSortFeed *feed;

	/* the leader's encodings, once it has published them */
	GpuSortJobId id;			/* slot -1: it has not published them */
	const GpuSortKeyEncoding *encodings;
	int			n_encodings;
	uint64		rows_at_once;	/* rows that it may feed before it returns one */

	FeedCoordination *shared;	/* NULL without a DSM segment */
	int			n_workers;		/* workers that figures has room for */
	FeederFigures own;			/* this process's figures */
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

/* --- begin, rescan, end --------------------------------------------------- */

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
	/* returned rows are the child's slots, of any kind */
	node->ss.ps.resultopsset = true;
	node->ss.ps.resultopsfixed = false;
	gpusort_row_format_choose(&state->format, ExecGetResultType(child));
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

/* --- the job to feed ------------------------------------------------------ */

static char *
shared_encodings(const GpuSortFeedState *state)
{
	return (char *) &state->shared->figures[state->n_workers];
}

static Size
encoding_bytes(GpuSortFeedState *state)
{
	return gpusort_encodings_bytes_max(&state->info.order, state->info.n_keys,
									   ExecGetResultType(&state->css.ss.ps));
}

void
gpusort_feed_node_forget_job(GpuSortFeedState *state)
{
	state->id.slot = -1;
}

/* The barrier makes the encodings visible before the flag that announces
 * them. */
void
gpusort_feed_node_publish(GpuSortFeedState *state, const GpuSortJobId *job,
						  const GpuSortKeyEncoding *encodings, int n_keys)
{
	StringInfoData bytes;

	state->id = *job;
	state->encodings = encodings;
	state->n_encodings = n_keys;
	if (state->shared == NULL)
		return;
	initStringInfo(&bytes);
	gpusort_encodings_write(encodings, n_keys, &bytes);
	if ((Size) bytes.len > encoding_bytes(state))
		elog(ERROR, "gpusort has no room for %d bytes of encodings", bytes.len);
	memcpy(shared_encodings(state), bytes.data, bytes.len);
	pfree(bytes.data);
	state->shared->id = *job;
	pg_write_barrier();
	pg_atomic_write_u32(&state->shared->published, 1);
}

/* Is there a job for this process to feed? */
static bool
may_feed(const GpuSortFeedState *state)
{
	return IsParallelWorker() ?
		pg_atomic_read_u32(&state->shared->published) != 0 : state->id.slot >= 0;
}

/* Makes the keys as the leader has them.  Their types are those that the leader
 * sees, since the child's may have other modifiers. */
static void
make_keys(GpuSortFeedState *state)
{
	TupleDesc	desc = ExecGetResultType(&state->css.ss.ps);
	GpuSortKeyEncoding read[GPUSORT_WORDS_MAX];
	const GpuSortKeyEncoding *encodings = state->encodings;
	int			n_encodings = state->n_encodings;

	if (IsParallelWorker())
	{
		pg_read_barrier();
		state->id = state->shared->id;
		n_encodings = gpusort_encodings_read(shared_encodings(state), &state->info.order,
											 desc, read);
		encodings = read;
	}
	gpusort_keys_make(&state->info.order, n_encodings, encodings, desc, &state->keys);
}

/* --- feeding -------------------------------------------------------------- */

/* The leader is feeder 0, worker n feeder n + 1. */
static void
begin_feeding(GpuSortFeedState *state)
{
	EState	   *estate = state->css.ss.ps.state;
	PlanState  *child = outerPlanState(state);
	MemoryContext old_context;

	state->feed_context = AllocSetContextCreate(estate->es_query_cxt, "GpuSortFeed",
												ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(state->feed_context);
	make_keys(state);
	gpusort_page_drain_begin(&state->drain, child, &state->format, &state->keys);
	state->feed = gpusort_feed_begin(&state->format, &state->keys, child->plan->plan_width,
									 gpusort_job_attach(&state->id), ParallelWorkerNumber + 1);
	MemoryContextSwitchTo(old_context);
	state->phase = FEED_BEGUN;
	state->rows_at_once = IsParallelWorker() || state->shared == NULL ?
		PG_UINT64_MAX : LEADER_ROWS_AT_ONCE;
}

static void
publish_figures(GpuSortFeedState *state)
{
	if (state->shared != NULL && IsParallelWorker())
		state->shared->figures[ParallelWorkerNumber] = state->own;
}

/* Ends feeding, after this process's last row. */
static void
end_feeding(GpuSortFeedState *state)
{
	gpusort_feed_finish(state->feed);
	state->phase = FEED_DONE;
	state->own.rows = state->feed->rows;
	state->own.bytes = state->feed->data_bytes;
	/* these rows have passed this node, for instrumentation */
	if (state->css.ss.ps.instrument != NULL)
		state->css.ss.ps.instrument->tuplecount += state->feed->rows;
}

/*
 * Feeds rows until the child ends.  It returns a row if it has fed as many as
 * it may at once, or if the job is too full for the row.  Such rows tell the
 * leader to spill a run, after which the job goes on.  One row may not wake the
 * leader, because a tuple queue shows its contents only when they fill a
 * quarter of it.
 */
static TupleTableSlot *
feed_rows(GpuSortFeedState *state)
{
	PlanState  *child = outerPlanState(state);
	uint64		rows_end = state->rows_at_once == PG_UINT64_MAX ?
		PG_UINT64_MAX : state->feed->rows + state->rows_at_once;
	TupleTableSlot *slot;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	for (;;)
	{
		slot = ExecProcNode(child);
		if (TupIsNull(slot))
		{
			end_feeding(state);
			break;
		}
		if (unlikely(state->feed->rows >= rows_end ||
					 gpusort_feed_row(state->feed, slot) != GPUSORT_FEED_TAKEN))
			break;
		if (state->drain.scan != NULL)
			gpusort_page_drain(&state->drain, state->feed);
	}
	state->own.milliseconds += gpusort_milliseconds_since(start);
	publish_figures(state);
	return slot;
}

/* Returns a row while there is no job. */
static TupleTableSlot *
return_row(GpuSortFeedState *state)
{
	TupleTableSlot *slot = ExecProcNode(outerPlanState(state));

	if (TupIsNull(slot))
		state->phase = FEED_DONE;
	return slot;
}

/* Returns a row, feeds rows, or, after the end, returns nothing. */
static TupleTableSlot *
GpuSortFeedExec(CustomScanState *node)
{
	GpuSortFeedState *state = (GpuSortFeedState *) node;

	if (state->phase == FEED_NOT_BEGUN && may_feed(state))
		begin_feeding(state);
	switch (state->phase)
	{
		case FEED_NOT_BEGUN:
			return return_row(state);
		case FEED_BEGUN:
			return feed_rows(state);
		default:
			return NULL;
	}
}

/* --- parallel workers ----------------------------------------------------- */

static Size
GpuSortFeedEstimateDSM(CustomScanState *node, ParallelContext *pcxt)
{
	return add_size(add_size(offsetof(FeedCoordination, figures),
							 mul_size(pcxt->nworkers, sizeof(FeederFigures))),
					encoding_bytes((GpuSortFeedState *) node));
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

	state->shared = coordinate;
	state->n_workers = pcxt->nworkers;
	memset(state->shared, 0, shared_encodings(state) - (char *) coordinate);
	pg_atomic_init_u32(&state->shared->published, 0);
	state->shared->n_workers = state->n_workers;
}

static void
GpuSortFeedInitializeWorker(CustomScanState *node, shm_toc *toc, void *coordinate)
{
	GpuSortFeedState *state = (GpuSortFeedState *) node;

	state->shared = coordinate;
	state->n_workers = state->shared->n_workers;
}

/* Copies the workers' figures before their memory goes. */
static void
GpuSortFeedShutdown(CustomScanState *node)
{
	GpuSortFeedState *state = (GpuSortFeedState *) node;
	Size		bytes = state->n_workers * sizeof(FeederFigures);

	if (IsParallelWorker() || state->shared == NULL)
		return;
	/* without a DSM segment there were fewer workers than planned; the next
	 * execution may have more */
	if (state->workers != NULL)
		pfree(state->workers);
	state->workers = MemoryContextAlloc(node->ss.ps.state->es_query_cxt, Max(bytes, 1));
	memcpy(state->workers, state->shared->figures, bytes);
	/* the DSM segment may be gone after this */
	state->shared = NULL;
}

/* --- EXPLAIN -------------------------------------------------------------- */

static char *
describe_feeder(const char *who, const FeederFigures *figures, ExplainState *es)
{
	if (!es->timing)
		return psprintf("%s: " UINT64_FORMAT " rows", who, figures->rows);
	return psprintf("%s: " UINT64_FORMAT " rows in %.3f ms", who, figures->rows,
					figures->milliseconds);
}

/* Shows a line for each process that has fed rows. */
static void
GpuSortFeedExplain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	GpuSortFeedState *state = (GpuSortFeedState *) node;
	List	   *feeders = NIL;

	/* the last execution may have had no job */
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
