/*
 * index_workers.c
 *	  Parallel workers of an index build, which scan the table and feed the
 *	  sort's job; one of them then loads the index, and one writes its pages.
 *
 * In:  the number of workers that the planner has granted; the job of the
 *	    leader's sort and the encodings of its keys; sorted index tuples.
 * Out: rows in the job, and counts; the index.
 *
 * The leader and the workers share a scan of the table, as in nbtree's own
 * parallel build (nbtsort.c), whose snapshot, lock modes and instrumentation
 * these are too.  The leader's first rows decide the encodings, and whether
 * there is a job at all.  Until then, workers keep their rows, since a row may
 * take long to evaluate.  If there is no job, all processes scan to the end,
 * and PostgreSQL builds the index.
 *
 * When all rows are fed, all workers end but the first two.  The first loads
 * the index tuples that the leader makes of the sorted rows and checks
 * (load_batches.h).  The second one writes the pages (page_queue.h).
 *
 * No row comes back from a worker.  A worker that finds the job full waits
 * until the leader spills a run.  The leader finds it full when it puts a row,
 * or when it waits for the workers' last rows.
 *
 * Runs in the backend that builds the index and in the workers.  A worker alone
 * writes its figures in the DSM segment.  The leader reads the counts of rows
 * after the worker's feed has ended, which takes the job's lock, and the usage
 * after the worker's end.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/condition_variable.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "index/index_order.h"
#include "index/index_workers.h"
#include "index/load_batches.h"
#include "index/page_queue.h"
#include "job/buffer_pool.h"
#include "keys/encoding_copy.h"
#include "keys/key_types.h"
#include "sort/feed.h"

#define KEY_BUILD		UINT64CONST(1)
#define KEY_SCAN		UINT64CONST(2)
#define KEY_ENCODINGS	UINT64CONST(3)
#define KEY_TUPLES		UINT64CONST(4)
#define KEY_PAGES		UINT64CONST(5)
#define KEY_QUERY		UINT64CONST(6)	/* missing if there is no query text */

/* The worker that loads the index, and the one that writes its pages. */
#define LOADER			0
#define WRITER			1

/* What the leader's first rows have led to. */
typedef enum Decision
{
	UNDECIDED,
	FEED,						/* there is a job */
	DROP						/* there is none, and PostgreSQL builds the index */
} Decision;

/* The figures of one worker. */
typedef struct WorkerFigures
{
	double		heap_tuples;
	double		rows;
	bool		broken_hot_chain;
	BufferUsage buffers;
	WalUsage	wal;
} WorkerFigures;

/* The build, for the workers. */
typedef struct SharedBuild
{
	Oid			heap;
	Oid			index;
	bool		concurrent;
	bool		unique;			/* false for VACUUM FULL, whatever the catalog says */
	int64		query_id;
	int			workers;
	int			row_width;

	/* set by the leader during the scan; the encodings too, before a decision
	 * to feed */
	pg_atomic_uint32 decision;
	ConditionVariable decided;
	GpuSortJobId job;

	WorkerFigures figures[FLEXIBLE_ARRAY_MEMBER];	/* one for each worker */
} SharedBuild;

struct GpuSortIndexWorkers
{
	ParallelContext *context;
	const GpuSortIndexScan *scan;
	Snapshot	snapshot;
	Decision	decision;

	/* in the DSM segment */
	SharedBuild *build;
	ParallelTableScanDesc shared_scan;
	char	   *encodings;
	Size		encodings_bytes;	/* room for them */
	shm_mq	   *tuples;			/* for the worker that loads them */
};

extern PGDLLEXPORT void gpusort_index_worker_main(dsm_segment *segment, shm_toc *toc);

/* A worker's scan of its part of the table. */
typedef struct WorkerScan
{
	SharedBuild *build;
	const char *encodings;
	GpuSortIndexScan scan;
	Tuplestorestate *kept;		/* rows before the decision; NULL: it is known */
	GpuSortKeys keys;
	GpuSortFeed *feed;			/* NULL: rows are dropped, once there is a decision */
	MemoryContext context;
} WorkerScan;

/* --- a worker ------------------------------------------------------------- */

/* Feeds a row, whenever the job takes it. */
static void
feed_row(GpuSortFeed *feed, TupleTableSlot *slot)
{
	while (!gpusort_feed_row(feed, slot))
		gpusort_job_wait_while_full(feed->job);
}

/* A row that comes from a file is the slot's memory, so it must not be in the
 * context that is reset. */
static void
feed_kept_rows(WorkerScan *worker)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(worker->scan.row_desc, &TTSOpsMinimalTuple);

	while (tuplestore_gettupleslot(worker->kept, true, false, slot))
	{
		MemoryContext old_context = MemoryContextSwitchTo(worker->scan.row_context);

		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(slot);
		feed_row(worker->feed, slot);
		MemoryContextSwitchTo(old_context);
		MemoryContextReset(worker->scan.row_context);
	}
	ExecDropSingleTupleTableSlot(slot);
}

/* Makes the keys as the leader has them.  The encodings tell which keys have
 * words, whatever this process would say. */
static void
make_keys(const GpuSortIndexScan *scan, const char *encodings, GpuSortKeys *keys)
{
	GpuSortOrder *order = palloc0(sizeof(GpuSortOrder));
	GpuSortKeyEncoding read[GPUSORT_WORDS_MAX];
	int			n_keys;

	(void) gpusort_index_order(scan->index, scan->row_desc, order, &n_keys);
	n_keys = gpusort_encodings_read(encodings, order, scan->row_desc, read);
	gpusort_keys_make(order, n_keys, read, scan->row_desc, keys);
}

/* Feeds or drops the rows that are kept, once there is a decision.  The
 * leader's feed has the number behind the workers'. */
static bool
follow_decision(WorkerScan *worker)
{
	Decision	decision = pg_atomic_read_u32(&worker->build->decision);
	MemoryContext old_context;

	if (decision == UNDECIDED)
		return false;
	old_context = MemoryContextSwitchTo(worker->context);
	if (decision == FEED)
	{
		pg_read_barrier();
		make_keys(&worker->scan, worker->encodings, &worker->keys);
		worker->feed = gpusort_feed_begin(&worker->scan.format, &worker->keys,
										  worker->build->row_width,
										  gpusort_job_attach(&worker->build->job),
										  ParallelWorkerNumber);
		feed_kept_rows(worker);
	}
	tuplestore_end(worker->kept);
	worker->kept = NULL;
	MemoryContextSwitchTo(old_context);
	return true;
}

static void
take_row(void *arg, TupleTableSlot *slot)
{
	WorkerScan *worker = arg;

	if (unlikely(worker->kept != NULL) && !follow_decision(worker))
		tuplestore_puttupleslot(worker->kept, slot);
	else if (worker->feed != NULL)
		feed_row(worker->feed, slot);
}

/* Scans this worker's part of the table.  False: the rows have been dropped.
 * Rows that are kept take a share of maintenance_work_mem, as those of
 * PostgreSQL's workers do. */
static bool
feed_part(Relation heap, Relation index, shm_toc *toc, SharedBuild *build, WorkerFigures *figures)
{
	IndexInfo  *info = BuildIndexInfo(index);
	TableScanDesc part = compat_begin_parallel_scan(heap, shm_toc_lookup(toc, KEY_SCAN, false));
	WorkerScan	worker = {
		.build = build,
		.encodings = shm_toc_lookup(toc, KEY_ENCODINGS, false),
		.kept = tuplestore_begin_heap(false, false, maintenance_work_mem / (build->workers + 1)),
		.context = CurrentMemoryContext,
	};

	info->ii_Concurrent = build->concurrent;
	gpusort_index_scan_begin(&worker.scan, heap, index, info);
	figures->heap_tuples = gpusort_index_scan_run(&worker.scan, take_row, &worker, part, false);
	figures->rows = worker.scan.rows;
	figures->broken_hot_chain = info->ii_BrokenHotChain;
	while (worker.kept != NULL && !follow_decision(&worker))
		ConditionVariableSleep(&build->decided, WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	ConditionVariableCancelSleep();
	if (worker.feed != NULL)
		gpusort_feed_finish(worker.feed);
	return worker.feed != NULL;
}

/* Loads the index tuples, which the leader begins to send when all rows are
 * fed. */
static void
load_tuples(Relation index, bool unique, dsm_segment *segment, shm_toc *toc)
{
	shm_mq	   *tuples = shm_toc_lookup(toc, KEY_TUPLES, false);
	shm_mq	   *pages = shm_toc_lookup(toc, KEY_PAGES, false);

	shm_mq_set_receiver(tuples, MyProc);
	shm_mq_set_sender(pages, MyProc);
	gpusort_load_batches_serve(index, unique, shm_mq_attach(tuples, segment, NULL),
							   shm_mq_attach(pages, segment, NULL));
}

/* The locks are those that the leader has. */
void
gpusort_index_worker_main(dsm_segment *segment, shm_toc *toc)
{
	SharedBuild *build = shm_toc_lookup(toc, KEY_BUILD, false);
	WorkerFigures *figures = &build->figures[ParallelWorkerNumber];
	LOCKMODE	heap_lock = build->concurrent ? ShareUpdateExclusiveLock : ShareLock;
	LOCKMODE	index_lock = build->concurrent ? RowExclusiveLock : AccessExclusiveLock;
	shm_mq	   *pages = shm_toc_lookup(toc, KEY_PAGES, false);
	Relation	heap;
	Relation	index;
	bool		fed;

	debug_query_string = shm_toc_lookup(toc, KEY_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	pgstat_report_query_id(build->query_id, false);
	heap = table_open(build->heap, heap_lock);
	index = index_open(build->index, index_lock);
	InstrStartParallelQuery();
	/* before the last row is fed, since the loader sees then whether there is a
	 * writer */
	if (ParallelWorkerNumber == WRITER)
		shm_mq_set_receiver(pages, MyProc);
	fed = feed_part(heap, index, toc, build, figures);
	if (fed && ParallelWorkerNumber == LOADER)
		load_tuples(index, build->unique, segment, toc);
	if (fed && ParallelWorkerNumber == WRITER)
		gpusort_page_queue_serve(index, shm_mq_attach(pages, segment, NULL));
	InstrEndParallelQuery(&figures->buffers, &figures->wal);
	index_close(index, index_lock);
	table_close(heap, heap_lock);
}

/* --- the leader, before its scan ------------------------------------------ */

/* Returns the number of workers that the build may have.  The planner does not
 * know how many feeders a job can have. */
static int
number_of_workers(const IndexInfo *info)
{
	int			n = info->ii_ParallelWorkers;

	while (n > 0 &&
		   (GPUSORT_PARALLEL_FEEDERS(n) > GPUSORT_FEEDERS_MAX ||
			gpusort_buffers_to_open(GPUSORT_PARALLEL_FEEDERS(n)) > gpusort_shared->n_buffers))
		n--;
	return n;
}

static Size
build_bytes(const ParallelContext *context)
{
	return offsetof(SharedBuild, figures) + context->nworkers * sizeof(WorkerFigures);
}

/* Adds up the segment's parts, as fill_segment makes them. */
static void
estimate_segment(GpuSortIndexWorkers *workers)
{
	shm_toc_estimator *estimator = &workers->context->estimator;

	shm_toc_estimate_chunk(estimator, build_bytes(workers->context));
	shm_toc_estimate_chunk(estimator,
						   table_parallelscan_estimate(workers->scan->heap, workers->snapshot));
	shm_toc_estimate_chunk(estimator, workers->encodings_bytes);
	shm_toc_estimate_chunk(estimator, GPUSORT_LOAD_QUEUE_BYTES);
	shm_toc_estimate_chunk(estimator, GPUSORT_PAGE_QUEUE_BYTES);
	shm_toc_estimate_keys(estimator, 5);
	if (debug_query_string != NULL)
	{
		shm_toc_estimate_chunk(estimator, strlen(debug_query_string) + 1);
		shm_toc_estimate_keys(estimator, 1);
	}
}

static void *
allocate(GpuSortIndexWorkers *workers, uint64 key, Size bytes)
{
	shm_toc    *toc = workers->context->toc;
	void	   *memory = shm_toc_allocate(toc, bytes);

	memset(memory, 0, bytes);
	shm_toc_insert(toc, key, memory);
	return memory;
}

/* The job and the encodings come later. */
static void
fill_segment(GpuSortIndexWorkers *workers, int row_width)
{
	const GpuSortIndexScan *scan = workers->scan;
	SharedBuild *build = allocate(workers, KEY_BUILD, build_bytes(workers->context));

	build->heap = RelationGetRelid(scan->heap);
	build->index = RelationGetRelid(scan->index);
	build->concurrent = scan->info->ii_Concurrent;
	build->unique = scan->info->ii_Unique;
	build->query_id = pgstat_get_my_query_id();
	build->workers = workers->context->nworkers;
	build->row_width = row_width;
	pg_atomic_init_u32(&build->decision, UNDECIDED);
	ConditionVariableInit(&build->decided);
	workers->build = build;
	workers->shared_scan = allocate(workers, KEY_SCAN,
									table_parallelscan_estimate(scan->heap, workers->snapshot));
	table_parallelscan_initialize(scan->heap, workers->shared_scan, workers->snapshot);
	workers->encodings = allocate(workers, KEY_ENCODINGS, workers->encodings_bytes);
	workers->tuples = shm_mq_create(allocate(workers, KEY_TUPLES, GPUSORT_LOAD_QUEUE_BYTES),
									GPUSORT_LOAD_QUEUE_BYTES);
	shm_mq_set_sender(workers->tuples, MyProc);
	(void) shm_mq_create(allocate(workers, KEY_PAGES, GPUSORT_PAGE_QUEUE_BYTES),
						 GPUSORT_PAGE_QUEUE_BYTES);
	if (debug_query_string != NULL)
		strcpy(allocate(workers, KEY_QUERY, strlen(debug_query_string) + 1), debug_query_string);
}

static void
leave_parallel_mode(GpuSortIndexWorkers *workers)
{
	if (IsMVCCSnapshot(workers->snapshot))
		UnregisterSnapshot(workers->snapshot);
	DestroyParallelContext(workers->context);
	ExitParallelMode();
}

/* A concurrent build indexes the rows that its snapshot sees; any other build
 * decides by the state of each row. */
GpuSortIndexWorkers *
gpusort_index_workers_begin(const GpuSortIndexScan *scan, GpuSortSpec *spec)
{
	int			n = number_of_workers(scan->info);
	GpuSortIndexWorkers *workers;

	if (n == 0)
		return NULL;
	workers = palloc0(sizeof(GpuSortIndexWorkers));
	workers->scan = scan;
	workers->encodings_bytes = gpusort_encodings_bytes_max(spec->order, spec->n_keys,
														   spec->desc);
	EnterParallelMode();
	workers->context = CreateParallelContext("gpusort", "gpusort_index_worker_main", n);
	workers->snapshot = scan->info->ii_Concurrent ?
		RegisterSnapshot(GetTransactionSnapshot()) : SnapshotAny;
	estimate_segment(workers);
	InitializeParallelDSM(workers->context);
	if (workers->context->seg != NULL)
	{
		fill_segment(workers, spec->row_width);
		LaunchParallelWorkers(workers->context);
	}
	if (workers->context->nworkers_launched == 0)
	{
		/* operators may do what parallel mode forbids */
		leave_parallel_mode(workers);
		return NULL;
	}
	spec->workers = workers->context->nworkers_launched;
	return workers;
}

/* --- the leader, during its scan and after it ----------------------------- */

TableScanDesc
gpusort_index_workers_leader_scan(const GpuSortIndexWorkers *workers)
{
	return compat_begin_parallel_scan(workers->scan->heap, workers->shared_scan);
}

/* Tells the workers that the sort has a job, or is native, once it is known. */
static void
decide(GpuSortIndexWorkers *workers, const GpuSortTuplesort *sort)
{
	int			n_encodings;
	const GpuSortKeyEncoding *encodings =
		gpusort_tuplesort_encodings(sort, &workers->build->job, &n_encodings);
	StringInfoData bytes;

	if (encodings != NULL)
	{
		initStringInfo(&bytes);
		gpusort_encodings_write(encodings, n_encodings, &bytes);
		if ((Size) bytes.len > workers->encodings_bytes)
			elog(ERROR, "gpusort has no room for %d bytes of encodings", bytes.len);
		memcpy(workers->encodings, bytes.data, bytes.len);
		pfree(bytes.data);
		workers->decision = FEED;
	}
	else if (gpusort_tuplesort_native_reason(sort) != GPUSORT_NATIVE_NONE)
		workers->decision = DROP;
	else
		return;
	pg_write_barrier();
	pg_atomic_write_u32(&workers->build->decision, workers->decision);
	ConditionVariableBroadcast(&workers->build->decided);
}

void
gpusort_index_workers_put(GpuSortIndexWorkers *workers, GpuSortTuplesort *sort,
						  TupleTableSlot *slot)
{
	/* a scan cannot be left before its end */
	if (workers->decision == DROP)
		return;
	gpusort_tuplesort_put(sort, slot);
	if (unlikely(workers->decision == UNDECIDED))
		decide(workers, sort);
}

/* The wait for their start raises an error if one cannot start, so the wait for
 * their rows ends. */
bool
gpusort_index_workers_wait(GpuSortIndexWorkers *workers, GpuSortTuplesort *sort,
						   double *heap_tuples, double *rows)
{
	ParallelContext *context = workers->context;
	double		fed = 0;

	if (workers->decision == UNDECIDED)
	{
		gpusort_tuplesort_leave_array(sort);
		decide(workers, sort);
	}
	if (workers->decision == DROP)
	{
		gpusort_index_workers_end(workers);
		return false;
	}
	WaitForParallelWorkersToAttach(context);
	gpusort_tuplesort_wait_for_feeders(sort, context->nworkers_launched);
	for (int i = 0; i < context->nworkers_launched; i++)
	{
		const WorkerFigures *figures = &workers->build->figures[i];

		*heap_tuples += figures->heap_tuples;
		fed += figures->rows;
		workers->scan->info->ii_BrokenHotChain |= figures->broken_hot_chain;
	}
	*rows += fed;
	elog(DEBUG1, "gpusort: %d workers fed %.0f of %.0f rows of index \"%s\"",
		 context->nworkers_launched, fed, *rows, RelationGetRelationName(workers->scan->index));
	return true;
}

shm_mq_handle *
gpusort_index_workers_loader(const GpuSortIndexWorkers *workers)
{
	const ParallelContext *context = workers->context;

	return shm_mq_attach(workers->tuples, context->seg, context->worker[LOADER].bgwhandle);
}

void
gpusort_index_workers_end(GpuSortIndexWorkers *workers)
{
	ParallelContext *context = workers->context;

	WaitForParallelWorkersToFinish(context);
	for (int i = 0; i < context->nworkers_launched; i++)
		InstrAccumParallelQuery(&workers->build->figures[i].buffers,
								&workers->build->figures[i].wal);
	leave_parallel_mode(workers);
}
