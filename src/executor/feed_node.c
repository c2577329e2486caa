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
 * Buffers belong to the job, which outlives the DSM segment.
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
#include "keys/encoding_copy.h"
#include "keys/key_types.h"
#include "plan/plan_info.h"
#include "sort/feed.h"

/* The leader's own node returns one row after this many. */
#define LEADER_ROWS_AT_ONCE		1000

/* In the DSM segment. */
typedef struct FeedCoordination
{
	pg_atomic_uint32 published; /* the id and the encodings are there */
	GpuSortJobId id;
	char		encodings[FLEXIBLE_ARRAY_MEMBER];	/* encoding_copy.h */
} FeedCoordination;

struct GpuSortFeedState
{
	CustomScanState css;		/* must be first */
	GpuSortPlanInfo info;
	GpuSortRowFormat format;
	GpuSortPageDrain drain;
	bool		ended;			/* the child has no more rows */

	/* while rows are fed */
	MemoryContext feed_context;
	GpuSortKeys keys;
	GpuSortFeed *feed;			/* NULL: the node returns rows */

	/* the leader's encodings, once it has published them */
	GpuSortJobId id;			/* slot -1: it has not published them */
	const GpuSortKeyEncoding *encodings;
	int			n_encodings;

	FeedCoordination *shared;	/* NULL without a DSM segment */
};

/* --- begin, rescan, end --------------------------------------------------- */

static void
GpuSortFeedBegin(CustomScanState *node, EState *estate, int eflags)
{
	GpuSortFeedState *state = (GpuSortFeedState *) node;
	PlanState  *child = ExecInitNode(outerPlan(node->ss.ps.plan), estate, eflags);

	outerPlanState(node) = child;
	/* returned rows are the child's slots, of any kind */
	node->ss.ps.resultopsset = true;
	node->ss.ps.resultopsfixed = false;
	gpusort_row_format_choose(&state->format, ExecGetResultType(child), state->info.n_visible);
	gpusort_page_drain_init(&state->drain, child, &state->format);
}

static void
forget_feed(GpuSortFeedState *state)
{
	if (state->feed_context != NULL)
		MemoryContextDelete(state->feed_context);
	state->feed_context = NULL;
	state->feed = NULL;
	state->ended = false;
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
	memcpy(state->shared->encodings, bytes.data, bytes.len);
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
		n_encodings = gpusort_encodings_read(state->shared->encodings, &state->info.order,
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
	state->feed = gpusort_feed_begin(&state->format, &state->keys, child->plan->plan_width,
									 gpusort_job_attach(&state->id), ParallelWorkerNumber + 1);
	MemoryContextSwitchTo(old_context);
	gpusort_page_drain_begin(&state->drain, state->feed);
}

/* Ends feeding, after this process's last row. */
static void
end_feeding(GpuSortFeedState *state)
{
	gpusort_feed_finish(state->feed);
	state->ended = true;
	/* these rows have passed this node, for instrumentation */
	if (state->css.ss.ps.instrument != NULL)
		state->css.ss.ps.instrument->tuplecount += state->feed->rows;
}

/*
 * Feeds rows until the child ends.  It returns a row if it has fed as many as
 * it may at once, or if the job is too full for the row.  A returned row tells
 * the leader to spill a run, after which the job goes on.  One row may not wake
 * the leader, because a tuple queue shows its contents only when they fill a
 * quarter of it.
 */
static TupleTableSlot *
feed_rows(GpuSortFeedState *state)
{
	uint64		rows_end = IsParallelWorker() ? PG_UINT64_MAX :
		state->feed->rows + LEADER_ROWS_AT_ONCE;
	TupleTableSlot *slot = ExecProcNode(outerPlanState(state));

	while (!TupIsNull(slot) && likely(state->feed->rows < rows_end) &&
		   gpusort_feed_row(state->feed, slot))
		slot = gpusort_page_drain(&state->drain);
	if (TupIsNull(slot))
		end_feeding(state);
	return slot;
}

/* Returns a row while there is no job. */
static TupleTableSlot *
return_row(GpuSortFeedState *state)
{
	TupleTableSlot *slot = ExecProcNode(outerPlanState(state));

	if (TupIsNull(slot))
		state->ended = true;
	return slot;
}

/* Returns a row, feeds rows, or, after the end, returns nothing. */
static TupleTableSlot *
GpuSortFeedExec(CustomScanState *node)
{
	GpuSortFeedState *state = (GpuSortFeedState *) node;

	if (state->ended)
		return NULL;
	if (state->feed == NULL && may_feed(state))
		begin_feeding(state);
	return state->feed != NULL ? feed_rows(state) : return_row(state);
}

/* --- parallel workers ----------------------------------------------------- */

static Size
GpuSortFeedEstimateDSM(CustomScanState *node, ParallelContext *pcxt)
{
	return add_size(offsetof(FeedCoordination, encodings),
					encoding_bytes((GpuSortFeedState *) node));
}

/* Called for each execution. */
static void
GpuSortFeedInitializeDSM(CustomScanState *node, ParallelContext *pcxt, void *coordinate)
{
	GpuSortFeedState *state = (GpuSortFeedState *) node;

	state->shared = coordinate;
	pg_atomic_init_u32(&state->shared->published, 0);
}

static void
GpuSortFeedInitializeWorker(CustomScanState *node, shm_toc *toc, void *coordinate)
{
	((GpuSortFeedState *) node)->shared = coordinate;
}

/* The DSM segment may be gone after this. */
static void
GpuSortFeedShutdown(CustomScanState *node)
{
	((GpuSortFeedState *) node)->shared = NULL;
}

/* --- the node ------------------------------------------------------------- */

static const CustomExecMethods gpusort_feed_exec_methods = {
	.CustomName = "GpuSortFeed",
	.BeginCustomScan = GpuSortFeedBegin,
	.ExecCustomScan = GpuSortFeedExec,
	.EndCustomScan = GpuSortFeedEnd,
	.ReScanCustomScan = GpuSortFeedReScan,
	.EstimateDSMCustomScan = GpuSortFeedEstimateDSM,
	.InitializeDSMCustomScan = GpuSortFeedInitializeDSM,
	.ReInitializeDSMCustomScan = GpuSortFeedInitializeDSM,
	.InitializeWorkerCustomScan = GpuSortFeedInitializeWorker,
	.ShutdownCustomScan = GpuSortFeedShutdown,
};

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

const CustomScanMethods gpusort_feed_scan_methods = {
	.CustomName = "GpuSortFeed",
	.CreateCustomScanState = GpuSortFeedCreateState,
};
