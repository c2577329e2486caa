/*
 * index_scan.c
 *	  A process's scan of a table, for an index build.
 *
 * In:  a table and an index that is being built.
 * Out: a row (index_row.c) for each table row that belongs to the index.
 *
 * The table's access method scans the table.  It knows HOT chains, rows that
 * are dead to some, and concurrent builds; nothing here does.  An index tuple
 * is formed once, here, unless the row is narrow (row_format.h).
 *
 * Before that, rows of some blocks can be had as a sample.  These are rows that
 * a query sees now, since a sample need not be right.  A predicate is evaluated
 * for it only if it is leakproof, so that nobody sees that.  Otherwise, the
 * sample has rows that the index has not.
 *
 * Runs in the backend that builds the index, and in its parallel workers.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "optimizer/clauses.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "index/index_row.h"
#include "index/index_scan.h"

/* A sample has this many blocks and rows of a block at most, and no more than
 * one of this many blocks, since forming its rows takes time. */
#define SAMPLED_BLOCKS_MAX		256
#define SAMPLED_ROWS_OF_BLOCK	32
#define BLOCKS_OF_SAMPLED_BLOCK 32

/* A larger index tuple does not fit a page unless its values are compressed. */
#define SAMPLED_ROW_BYTES_MAX	(BLCKSZ / 3)

void
gpusort_index_scan_begin(GpuSortIndexScan *scan, Relation heap, Relation index, IndexInfo *info)
{
	scan->heap = heap;
	scan->index = index;
	scan->info = info;
	scan->index_desc = RelationGetDescr(index);
	scan->row_desc = gpusort_index_row_desc(scan->index_desc);
	gpusort_row_format_choose(&scan->format, scan->row_desc, scan->row_desc->natts);
	scan->slot = MakeSingleTupleTableSlot(scan->row_desc, gpusort_row_slot_ops(&scan->format));
	scan->row_bytes = palloc(GPUSORT_INDEX_ROW_BYTES_MAX);
	scan->row_context = AllocSetContextCreate(CurrentMemoryContext, "gpusort index row",
											  ALLOCSET_DEFAULT_SIZES);
}

/* Is a value not whole, so that only the index tuple has it as it is sorted? */
static bool
has_external_value(TupleDesc desc, const Datum *values, const bool *is_null)
{
	for (int i = 0; i < desc->natts; i++)
		if (!is_null[i] && TupleDescAttr(desc, i)->attlen == -1 &&
			VARATT_IS_EXTERNAL(DatumGetPointer(values[i])))
			return true;
	return false;
}

/* Puts values into the slot, so that words need no deforming. */
static void
put_values(TupleTableSlot *slot, int64 tid, const Datum *values, const bool *is_null)
{
	int			natts = slot->tts_tupleDescriptor->natts;

	slot->tts_values[0] = Int64GetDatum(tid);
	slot->tts_isnull[0] = false;
	memcpy(slot->tts_values + 1, values, (natts - 1) * sizeof(Datum));
	memcpy(slot->tts_isnull + 1, is_null, (natts - 1) * sizeof(bool));
	slot->tts_nvalid = natts;
}

/* Stores the row of an index tuple, which has the values as the index will have
 * them. */
static void
store_row(GpuSortIndexScan *scan, ItemPointer tid, Datum *values, bool *is_null, bool alive)
{
	IndexTuple	tuple = index_form_tuple(scan->index_desc, values, is_null);

	tuple->t_tid = *tid;
	ExecStoreMinimalTuple(gpusort_index_row_make(tuple, alive, scan->index_desc, scan->row_bytes),
						  scan->slot, false);
	if (!has_external_value(scan->index_desc, values, is_null))
		put_values(scan->slot, gpusort_index_row_tid(tid, alive), values, is_null);
}

/* Makes a row of a row of the table; called by the table's access method. */
static void
take_table_row(Relation index, ItemPointer tid, Datum *values, bool *is_null, bool alive,
			   void *arg)
{
	GpuSortIndexScan *scan = arg;
	MemoryContext old_context = MemoryContextSwitchTo(scan->row_context);

	if (scan->format.narrow_bytes == 0)
		store_row(scan, tid, values, is_null, alive);
	else
	{
		ExecClearTuple(scan->slot);
		put_values(scan->slot, gpusort_index_row_tid(tid, alive), values, is_null);
		ExecStoreVirtualTuple(scan->slot);
	}
	scan->take(scan->arg, scan->slot);
	scan->rows += 1;
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(scan->row_context);
}

double
gpusort_index_scan_run(GpuSortIndexScan *scan, GpuSortTakeIndexRow take, void *arg,
					   TableScanDesc shared_scan, bool progress)
{
	scan->take = take;
	scan->arg = arg;
	scan->rows = 0;
	return table_index_build_scan(scan->heap, scan->index, scan->info, true, progress,
								  take_table_row, scan, shared_scan);
}

/* --- a sample ------------------------------------------------------------- */

/* A row may be too large for an index tuple, and that error must name the row
 * that the build meets first. */
static bool
can_be_sampled(TupleDesc desc, Datum *values, bool *is_null)
{
	return !has_external_value(desc, values, is_null) &&
		heap_compute_data_size(desc, values, is_null) <= SAMPLED_ROW_BYTES_MAX;
}

/* Hands rows of a block on, if they satisfy the predicate. */
static void
take_rows_of_block(GpuSortIndexScan *scan, TableScanDesc blocks, ExprState *predicate,
				   EState *estate, TupleTableSlot *slot)
{
	ExprContext *econtext = GetPerTupleExprContext(estate);

	for (int rows = 0; rows < SAMPLED_ROWS_OF_BLOCK &&
		 table_scan_getnextslot_tidrange(blocks, ForwardScanDirection, slot);)
	{
		Datum		values[INDEX_MAX_KEYS];
		bool		is_null[INDEX_MAX_KEYS];

		CHECK_FOR_INTERRUPTS();
		ResetExprContext(econtext);
		econtext->ecxt_scantuple = slot;
		if (!ExecQual(predicate, econtext))
			continue;
		FormIndexDatum(scan->info, slot, estate, values, is_null);
		if (!can_be_sampled(scan->index_desc, values, is_null))
			continue;
		take_table_row(scan->index, &slot->tts_tid, values, is_null, true, scan);
		rows++;
	}
}

void
gpusort_index_scan_sample(GpuSortIndexScan *scan, GpuSortTakeIndexRow take, void *arg)
{
	BlockNumber all = RelationGetNumberOfBlocks(scan->heap);
	BlockNumber n = Min(all / BLOCKS_OF_SAMPLED_BLOCK, SAMPLED_BLOCKS_MAX);
	Snapshot	snapshot;
	EState	   *estate;
	TupleTableSlot *slot;
	ExprState  *predicate = NULL;

	/* another access method may have no blocks */
	if (n == 0 || scan->heap->rd_tableam->scan_set_tidrange == NULL)
		return;
	scan->take = take;
	scan->arg = arg;
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	estate = CreateExecutorState();
	slot = table_slot_create(scan->heap, NULL);
	if (!contain_leaked_vars((Node *) scan->info->ii_Predicate))
		predicate = ExecPrepareQual(scan->info->ii_Predicate, estate);
	for (BlockNumber i = 0; i < n; i++)
	{
		ItemPointerData first;
		ItemPointerData last;
		TableScanDesc blocks;

		ItemPointerSet(&first, (BlockNumber) ((uint64) i * all / n), FirstOffsetNumber);
		ItemPointerSet(&last, ItemPointerGetBlockNumber(&first), MaxOffsetNumber);
		blocks = compat_begin_tid_range_scan(scan->heap, snapshot, &first, &last);
		take_rows_of_block(scan, blocks, predicate, estate, slot);
		ExecClearTuple(slot);
		table_endscan(blocks);
	}
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);
	/* it was the executor state's */
	scan->info->ii_ExpressionsState = NIL;
	UnregisterSnapshot(snapshot);
}
