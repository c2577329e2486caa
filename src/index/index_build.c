/*
 * index_build.c
 *	  Builds a btree index as btbuild does, with its rows sorted by src/sort.
 *
 * In:  a table and its empty index, when PostgreSQL builds the index
 *	    (index_hooks.c).
 * Out: the index, or an error.  If a reason is known before the table is read,
 *	    PostgreSQL's btbuild builds it.
 *
 *	  table -> index tuple -> row (index_scan.c) -> src/sort -> index tuple
 *	  -> check (index_order.c) -> pages (btree_load.c)
 *
 * Parallel workers may scan the table too and feed the sort's job
 * (index_workers.c).  This process alone reads and checks the sorted rows.  One
 * worker fills the pages meanwhile (load_batches.c), and a second one writes
 * them (page_queue.c).
 * Equal keys come by heap TID, ascending, as in any btree, so it does not
 * matter which process has fed a row.
 *
 * Runs in the backend that builds the index.  All memory is in a context of the
 * build, whose sort may take maintenance_work_mem.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/tableam.h"
#include "commands/progress.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/clauses.h"
#include "pgstat.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat.h"
#include "index/index_build.h"
#include "index/index_order.h"
#include "index/index_row.h"
#include "index/index_scan.h"
#include "index/index_workers.h"
#include "index/load_batches.h"
#include "settings.h"
#include "job/clock.h"
#include "job/server_state.h"
#include "job/stats.h"
#include "keys/collation_keys.h"
#include "keys/key_types.h"
#include "keys/text_bytes.h"
#include "sort/row_encodings.h"
#include "sort/tuplesort.h"

/* Progress is reported once in this many rows. */
#define ROWS_OF_REPORT		1024

/* A sample takes this part of maintenance_work_mem at most. */
#define PART_OF_SAMPLE		16

/*
 * A build is worth it from this many times gpusort.min_rows on, because it
 * copies each row and compares it again.  On the host device, builds from 1,000
 * to 30,000 rows took 0.6 to 1.2 times the processor time of PostgreSQL's, and
 * those from 100,000 rows 0.4 to 1.03 times (bench/NOTES.md).
 */
#define MIN_ROWS_TIMES		5

/* The bytes of a row in the array of PostgreSQL's sort, besides the tuple. */
#define NATIVE_ROW_BYTES	24

/* Fewer rows of a sample may be in order by chance, and tell little. */
#define ROWS_TO_SEE_ORDER_IN 100

/*
 * Speed of PostgreSQL's own build, for the time that a sort may wait.  In a
 * millisecond of processor time, builds from 100,000 and 300,000 rows in random
 * order took 1,300 rows of int8, and those from 100,000 rows 1,150 of texts
 * under C, and 260 under en_US.
 */
#define NATIVE_ROWS_PER_MS		1200
#define NATIVE_LIBC_ROWS_PER_MS 260

typedef struct IndexBuild
{
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	TupleDesc	index_desc;
	GpuSortOrder order;
	GpuSortSpec spec;
	GpuSortTuplesort *sort;
	GpuSortIndexScan scan;		/* this process's */
	GpuSortIndexWorkers *workers;	/* NULL: the build is serial */
	double		rows;			/* of all processes */
} IndexBuild;

/* --- who builds ----------------------------------------------------------- */

double
gpusort_index_expected_rows(Relation heap)
{
	BlockNumber pages;
	double		rows;
	double		all_visible;

	table_relation_estimate_size(heap, NULL, &pages, &rows, &all_visible);
	return Max(rows, 1);
}

GpuSortNativeReason
gpusort_index_reason_of_rows(double rows)
{
	if (!gpusort_enabled)
		return GPUSORT_NATIVE_DISABLED;
	if (!gpusort_server_state()->serves)
		return GPUSORT_NATIVE_NO_DEVICE;
	if (!gpusort_debug_force &&
		rows < MIN_ROWS_TIMES * (double) gpusort_min_rows_of(gpusort_server_state()->kind))
		return GPUSORT_NATIVE_FEW_ROWS;
	return GPUSORT_NATIVE_NONE;
}

/*
 * Does the sample of a serial build show that PostgreSQL's own takes less time?
 * Its sort compares each row once if all lie in order and fit in memory: the
 * device, which moves each row several times, took 1.1 to 1.4 times the
 * processor time for 100,000 to 300,000 int4.
 */
static bool
sample_is_native(const GpuSortSpec *spec)
{
	uint64		n;

	if (spec->sample == NULL || gpusort_debug_force)
		return false;
	n = gpusort_row_array_rows(spec->sample);
	if (n >= ROWS_TO_SEE_ORDER_IN &&
		spec->rows * (spec->row_width + NATIVE_ROW_BYTES) <= spec->work_mem * 1024.0 &&
		gpusort_row_array_is_in_order(spec->sample, n))
		return true;
	return gpusort_sample_tells_to_compare(spec);
}

/* --- the sort ------------------------------------------------------------- */

int
gpusort_index_expected_width(TupleDesc desc)
{
	int			width = 0;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		width += attr->attlen > 0 ? attr->attlen :
			get_typavgwidth(attr->atttypid, attr->atttypmod);
	}
	return width;
}

static double
native_rows_per_ms(const GpuSortOrder *order)
{
	return gpusort_collation_kind(order->collations[0]) == GPUSORT_COLLATION_LIBC ?
		NATIVE_LIBC_ROWS_PER_MS : NATIVE_ROWS_PER_MS;
}

/* Describes the sort, whose order has n_keys keys with words. */
static void
make_spec(IndexBuild *build, double rows, TupleDesc row_desc, int n_keys)
{
	GpuSortSpec *spec = &build->spec;

	spec->desc = row_desc;
	spec->order = &build->order;
	spec->n_keys = n_keys;
	spec->rows = rows;
	spec->key_origins = gpusort_index_key_origins(build->heap, build->info, n_keys);
	spec->format = &build->scan.format;
	spec->row = spec->result = MakeSingleTupleTableSlot(row_desc,
														gpusort_row_slot_ops(spec->format));
	spec->native = MakeSingleTupleTableSlot(row_desc, &TTSOpsMinimalTuple);
	spec->projected = spec->format->narrow_bytes != 0 ? spec->row : NULL;
	spec->workers = -1;
	spec->row_width = sizeof(int64) + gpusort_index_expected_width(build->index_desc);
	spec->packed_bytes = gpusort_row_expected_bytes(spec->format, spec->row_width);
	spec->native_ms = (int) Min(INT_MAX, Max(1, rows / native_rows_per_ms(spec->order)));
	spec->work_mem = maintenance_work_mem;
	spec->may_use_device = true;
	spec->timed = gpusort_log_index_builds;
}

static bool
has_text_key(const GpuSortSpec *spec)
{
	for (int i = 0; i < spec->n_keys; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(spec->desc, spec->order->columns[i] - 1);
		int32		typmod = attr->atttypmod;

		if (gpusort_type_has_text_bytes(gpusort_key_type(attr->atttypid, &typmod,
														 spec->order->operators[i])))
			return true;
	}
	return false;
}

static void
put_into_sample(void *arg, TupleTableSlot *slot)
{
	IndexBuild *build = arg;

	(void) gpusort_row_array_put(build->spec.sample, slot);
}

/*
 * Takes a sample of the table, which tells whether its rows lie in order, and
 * by which texts are encoded.  The first rows may be alike.  Statistics are
 * missing after a restore.
 *
 * Expressions are not evaluated for it unless they are leakproof: errors would
 * name other rows than PostgreSQL's, functions would be called twice for a row,
 * and costly ones by this process alone.
 */
static void
take_sample(IndexBuild *build)
{
	GpuSortSpec *spec = &build->spec;

	/* only a serial build asks for the order */
	if (build->info->ii_ParallelWorkers > 0 && !has_text_key(spec))
		return;
	if (contain_leaked_vars((Node *) build->info->ii_Expressions))
		return;
	spec->sample = gpusort_row_array_begin(spec->order, spec->desc, spec->format, spec->row,
										   spec->work_mem * (Size) 1024 / PART_OF_SAMPLE);
	gpusort_index_scan_sample(&build->scan, put_into_sample, build);
	ExecClearTuple(spec->row);
}

/* Prepares the build, or returns a reason why PostgreSQL must do it. */
static GpuSortNativeReason
prepare(IndexBuild *build)
{
	int			n_keys;
	double		rows = gpusort_index_expected_rows(build->heap);
	GpuSortNativeReason reason = gpusort_index_reason_of_rows(rows);

	if (reason != GPUSORT_NATIVE_NONE)
		return reason;
	gpusort_index_scan_begin(&build->scan, build->heap, build->index, build->info);
	reason = gpusort_index_order(build->index, build->scan.row_desc, &build->order, &n_keys);
	if (reason != GPUSORT_NATIVE_NONE)
		return reason;
	make_spec(build, rows, build->scan.row_desc, n_keys);
	take_sample(build);
	build->workers = gpusort_index_workers_begin(&build->scan, &build->spec);
	return build->workers == NULL && sample_is_native(&build->spec) ?
		GPUSORT_NATIVE_COST : GPUSORT_NATIVE_NONE;
}

/* --- rows in -------------------------------------------------------------- */

static void
put_row(void *arg, TupleTableSlot *slot)
{
	IndexBuild *build = arg;

	if (build->workers != NULL)
		gpusort_index_workers_put(build->workers, build->sort, slot);
	else
		gpusort_tuplesort_put(build->sort, slot);
}

/* Returns the number of the table's rows.  *reason: why PostgreSQL builds the
 * index after all. */
static double
feed_table(IndexBuild *build, GpuSortNativeReason *reason)
{
	TableScanDesc shared_scan = build->workers != NULL ?
		gpusort_index_workers_leader_scan(build->workers) : NULL;
	double		heap_tuples;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 PROGRESS_BTREE_PHASE_INDEXBUILD_TABLESCAN);
	/* the sample tells more than first rows, unless few rows can be sampled */
	if (build->workers == NULL && build->spec.sample != NULL &&
		gpusort_row_array_rows(build->spec.sample) >= ROWS_TO_SEE_ORDER_IN &&
		build->info->ii_Predicate == NIL)
		gpusort_tuplesort_leave_array(build->sort);
	heap_tuples = gpusort_index_scan_run(&build->scan, put_row, build, shared_scan, true);
	build->rows = build->scan.rows;
	if (build->workers != NULL &&
		!gpusort_index_workers_wait(build->workers, build->sort, &heap_tuples, &build->rows))
		*reason = gpusort_tuplesort_native_reason(build->sort);
	return heap_tuples;
}

/* --- rows out ------------------------------------------------------------- */

/* Reports that the scan has ended and the sort begins. */
static void
report_sorting(const IndexBuild *build)
{
	const int	parameters[] = {
		PROGRESS_CREATEIDX_TUPLES_TOTAL,
		PROGRESS_SCAN_BLOCKS_TOTAL,
		PROGRESS_SCAN_BLOCKS_DONE,
		PROGRESS_CREATEIDX_SUBPHASE,
	};
	const int64 values[] = {
		(int64) build->rows, 0, 0, PROGRESS_BTREE_PHASE_PERFORMSORT_1
	};

	pgstat_progress_update_multi_param(lengthof(parameters), parameters, values);
}

/* Loads the sorted rows, each after its check. */
static void
load_rows(IndexBuild *build, GpuSortOutput *output)
{
	GpuSortIndexCheck *check = gpusort_index_check_begin(build->heap, build->index, build->info,
														 build->spec.n_keys);
	shm_mq_handle *loader = build->workers != NULL ?
		gpusort_index_workers_loader(build->workers) : NULL;
	GpuSortLoadBatches *batches = gpusort_load_batches_begin(build->index, build->info->ii_Unique,
															 loader);
	TupleTableSlot *slot;
	int64		rows = 0;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PROGRESS_BTREE_PHASE_LEAF_LOAD);
	while (slot = output->methods->next(output, true), !TupIsNull(slot))
	{
		MemoryContext old_context = MemoryContextSwitchTo(build->scan.row_context);
		bool		alive;
		IndexTuple	tuple = gpusort_index_row_tuple(build->spec.format, slot, build->index_desc,
													gpusort_load_batches_place(batches), &alive);

		CHECK_FOR_INTERRUPTS();
		gpusort_load_batches_add(batches, gpusort_index_check_tuple(check, tuple, alive));
		MemoryContextSwitchTo(old_context);
		MemoryContextReset(build->scan.row_context);
		if (++rows % ROWS_OF_REPORT == 0)
			pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, rows);
	}
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, rows);
	if (rows != (int64) build->rows)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("device received " INT64_FORMAT " rows for index \"%s\" and returned "
						INT64_FORMAT,
						(int64) build->rows, RelationGetRelationName(build->index), rows),
				 errhint("Run \"SET gpusort.index_builds = off\" to let PostgreSQL build the index.")));
	gpusort_load_batches_end(batches);
	if (build->workers != NULL)
		gpusort_index_workers_end(build->workers);
}

/* --- the build ------------------------------------------------------------ */

/* A sort that could not use the device was done by PostgreSQL's tuplesort. */
static void
count_build(const IndexBuild *build)
{
	GpuSortNativeReason reason = gpusort_tuplesort_native_reason(build->sort);

	if (reason != GPUSORT_NATIVE_NONE)
		gpusort_stats_count_native(reason);
	gpusort_stats_count_index_build();
}

/* Logs a build: its stages, and the sort as EXPLAIN ANALYZE shows it. */
static void
log_build(const IndexBuild *build, double scan_ms, double sort_ms, double load_ms)
{
	ExplainState *es = NewExplainState();

	es->timing = true;
	gpusort_tuplesort_explain(build->sort, es);
	while (es->str->len > 0 && es->str->data[es->str->len - 1] == '\n')
		es->str->data[--es->str->len] = '\0';
	ereport(LOG,
			(errmsg("gpusort built index \"%s\" of table \"%s\": %.0f rows, " UINT64_FORMAT " kB, scan %.3f ms, sort %.3f ms, load %.3f ms",
					RelationGetRelationName(build->index), RelationGetRelationName(build->heap),
					build->rows,
					(uint64) RelationGetNumberOfBlocks(build->index) * (BLCKSZ / 1024),
					scan_ms, sort_ms, load_ms),
			 errdetail_internal("%s", es->str->data)));
}

/* Builds the index, or returns a reason why it is still empty. */
static GpuSortNativeReason
build_index(IndexBuild *build, IndexBuildResult *result)
{
	GpuSortNativeReason reason = prepare(build);
	GpuSortOutput *output;
	instr_time	begun;
	double		fed_ms;
	double		sorted_ms;

	if (reason != GPUSORT_NATIVE_NONE)
		return reason;
	INSTR_TIME_SET_CURRENT(begun);
	build->sort = gpusort_tuplesort_begin(&build->spec, CurrentMemoryContext,
										  GPUSORT_NATIVE_NONE);
	result->heap_tuples = feed_table(build, &reason);
	if (reason != GPUSORT_NATIVE_NONE)
	{
		gpusort_tuplesort_end(build->sort);
		return reason;
	}
	fed_ms = gpusort_milliseconds_since(begun);
	report_sorting(build);
	output = gpusort_tuplesort_perform(build->sort);
	sorted_ms = gpusort_milliseconds_since(begun);
	load_rows(build, output);
	result->index_tuples = build->rows;
	count_build(build);
	if (gpusort_log_index_builds)
		log_build(build, fed_ms, sorted_ms - fed_ms,
				  gpusort_milliseconds_since(begun) - sorted_ms);
	gpusort_tuplesort_end(build->sort);
	return GPUSORT_NATIVE_NONE;
}

/* The setting is read here too, because an index that is kept open may be built
 * again. */
IndexBuildResult *
gpusort_index_build(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result;
	IndexBuild	build = {.heap = heap,.index = index,.info = info};
	MemoryContext context;
	MemoryContext old_context;
	GpuSortNativeReason reason;

	/* btbuild reports that as an error */
	if (!gpusort_index_builds || RelationGetNumberOfBlocks(index) != 0)
		return btbuild(heap, index, info);
	result = palloc0(sizeof(IndexBuildResult));
	build.index_desc = RelationGetDescr(index);
	context = AllocSetContextCreate(CurrentMemoryContext, "gpusort index build",
									ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(context);
	reason = build_index(&build, result);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	if (reason == GPUSORT_NATIVE_NONE)
		return result;
	pfree(result);
	gpusort_stats_count_native(reason);
	ereport(gpusort_log_index_builds ? LOG : DEBUG1,
			(errmsg("gpusort left index \"%s\" of table \"%s\" to PostgreSQL: %s",
					RelationGetRelationName(index), RelationGetRelationName(heap),
					gpusort_native_reason_text(reason))));
	return btbuild(heap, index, info);
}
