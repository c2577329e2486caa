/*
 * index_scan.c
 *	  A process's scan of a table, for an index build.
 *
 * In:  a table and an index that is being built.
 * Out: a row (index_row.c) for each table row that belongs to the index.
 *
 * The table's access method scans the table.  It knows HOT chains, rows that
 * are dead to some, and concurrent builds; nothing here does.  An index tuple
 * is formed once, here.
 *
 * Runs in the backend that builds the index, and in its parallel workers.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "executor/executor.h"
#include "utils/memutils.h"

#include "compat.h"
#include "index/index_row.h"
#include "index/index_scan.h"

void
gpusort_index_scan_begin(GpuSortIndexScan *scan, Relation heap, Relation index, IndexInfo *info)
{
	scan->heap = heap;
	scan->index = index;
	scan->info = info;
	scan->index_desc = RelationGetDescr(index);
	scan->row_desc = gpusort_index_row_desc(scan->index_desc);
	scan->slot = MakeSingleTupleTableSlot(scan->row_desc, &TTSOpsMinimalTuple);
	scan->row_bytes = palloc(GPUSORT_INDEX_ROW_BYTES_MAX);
	scan->row_context = AllocSetContextCreate(CurrentMemoryContext, "gpusort index row",
											  ALLOCSET_DEFAULT_SIZES);
	scan->rows = 0;
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

/* Stores a row whose columns are known, so that words need no deforming. */
static void
store_row(GpuSortIndexScan *scan, MinimalTuple row, int64 tid, const Datum *values,
		  const bool *is_null)
{
	TupleTableSlot *slot = scan->slot;
	int			n = scan->index_desc->natts;

	ExecStoreMinimalTuple(row, slot, false);
	if (has_external_value(scan->index_desc, values, is_null))
		return;
	slot->tts_values[0] = Int64GetDatum(tid);
	slot->tts_isnull[0] = false;
	memcpy(slot->tts_values + 1, values, n * sizeof(Datum));
	memcpy(slot->tts_isnull + 1, is_null, n * sizeof(bool));
	slot->tts_nvalid = n + 1;
}

/* Makes a row of a row of the table; called by the table's access method. */
static void
take_table_row(Relation index, ItemPointer tid, Datum *values, bool *is_null, bool alive,
			   void *arg)
{
	GpuSortIndexScan *scan = arg;
	MemoryContext old_context = MemoryContextSwitchTo(scan->row_context);
	IndexTuple	tuple = index_form_tuple(scan->index_desc, values, is_null);

	tuple->t_tid = *tid;
	store_row(scan, gpusort_index_row_make(tuple, alive, scan->index_desc, scan->row_bytes),
			  gpusort_index_row_tid(tid, alive), values, is_null);
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
	return table_index_build_scan(scan->heap, scan->index, scan->info, true, progress,
								  take_table_row, scan, shared_scan);
}
