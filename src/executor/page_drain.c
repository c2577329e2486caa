/*
 * page_drain.c
 *	  Takes the rest of a heap page at once, because the executor's path to a
 *	  row costs more than packing it.
 *
 * In:  a sequential scan that has just returned a row.  Its page is pinned, and
 *	    the scan has listed the page's visible tuples.
 * Out: these tuples in the feed's chunk.  The scan stands behind the last one
 *	    taken, as if it had returned them, and its counts include them.
 *
 * Runs in the process that scans.  The scan must have no filter, and read a
 * heap page at a time, forward, outside EvalPlanQual.  All conditions that can
 * change are checked again for each page.  A projection may pick columns, if
 * the result is a narrow row (row_format.h).  Rows with NULLs or too few
 * columns are left to the scan, and so is the first row that does not fit the
 * chunk.  The scan checks for interrupts, once a page.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "access/tupmacs.h"
#include "executor/instrument.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "compat.h"
#include "executor/page_drain.h"

/* Finds the offset of a column in the data of a row without NULLs.  False: it
 * varies. */
static bool
fixed_offset(TupleDesc desc, AttrNumber attno, uint32 *offset)
{
	uint32		at = 0;

	for (int i = 0; i < attno; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		if (attr->attlen <= 0)
			return false;
		at = att_align_nominal(at, attr->attalign);
		if (i < attno - 1)
			at += attr->attlen;
	}
	*offset = at;
	return true;
}

/* Returns the table's column that the scan returns as its column; 0: it is
 * computed. */
static AttrNumber
table_column(SeqScanState *scan, AttrNumber column)
{
	TargetEntry *entry;

	if (scan->ss.ps.ps_ProjInfo == NULL)
		return column;
	entry = list_nth_node(TargetEntry, scan->ss.ps.plan->targetlist, column - 1);
	if (!IsA(entry->expr, Var))
		return 0;
	return Max(((Var *) entry->expr)->varattno, 0);
}

/* Finds one of the scan's columns in the table's tuples, and whether its offset
 * there is fixed.  0: it is computed. */
static AttrNumber
find_column(GpuSortPageDrain *drain, SeqScanState *scan, AttrNumber column,
			bool *is_fixed, uint32 *offset)
{
	AttrNumber	attno = table_column(scan, column);

	*is_fixed = attno != 0 &&
		fixed_offset(RelationGetDescr(scan->ss.ss_currentRelation), attno, offset);
	drain->natts_needed = Max(drain->natts_needed, attno);
	return attno;
}

bool
gpusort_page_drain_may_begin(const PlanState *child)
{
	return IsA(child, SeqScanState) && child->qual == NULL && child->state->es_epq_active == NULL;
}

/* All columns of keys and of narrow rows must be columns of the table. */
void
gpusort_page_drain_begin(GpuSortPageDrain *drain, PlanState *child,
						 const GpuSortRowFormat *format, const GpuSortKeys *keys)
{
	SeqScanState *scan = (SeqScanState *) child;
	bool		is_fixed;

	drain->scan = NULL;
	drain->format = format;
	if (!gpusort_page_drain_may_begin(child) ||
		scan->ss.ss_currentRelation->rd_tableam != GetHeapamTableAmRoutine())
		return;
	drain->natts_needed = 0;
	drain->whole_tuples = child->ps_ProjInfo == NULL;
	if (!drain->whole_tuples && format->narrow_bytes == 0)
		return;
	if (keys->n_keys > lengthof(drain->key_column))
		return;					/* of a grouping */
	for (int i = 0; i < keys->n_keys; i++)
	{
		drain->key_column[i] = find_column(drain, scan, keys->keys[i].attno,
										   &drain->key_is_fixed[i], &drain->key_offset[i]);
		if (drain->key_column[i] == 0)
			return;
	}
	for (int i = 0; format->narrow_bytes != 0 && i < format->natts; i++)
	{
		(void) find_column(drain, scan, i + 1, &is_fixed, &drain->column_offset[i]);
		if (!is_fixed)
			return;
	}
	drain->scan = scan;
}

/* Returns the scan if it can be drained: forward, on a page whose tuples are
 * listed. */
static HeapScanDesc
drainable_page(GpuSortPageDrain *drain)
{
	HeapScanDesc heap = (HeapScanDesc) drain->scan->ss.ss_currentScanDesc;

	if (heap == NULL || (heap->rs_base.rs_flags & SO_ALLOW_PAGEMODE) == 0 ||
		heap->rs_base.rs_nkeys > 0 || !BufferIsValid(heap->rs_cbuf) ||
		!ScanDirectionIsForward(drain->scan->ss.ps.state->es_direction))
		return NULL;
	return heap;
}

/* Writes the row of a tuple of length bytes. */
static inline void
write_tuple(const GpuSortPageDrain *drain, HeapTupleHeader tuple, Size length,
			char *place, Size row_bytes)
{
	const GpuSortRowFormat *format = drain->format;
	const char *data = (const char *) tuple + tuple->t_hoff;

	if (format->narrow_bytes == 0)
		gpusort_row_copy_tuple(place, gpusort_row_of_heap_tuple(tuple),
							   gpusort_row_length_of_heap_tuple(length));
	else if (drain->whole_tuples)
	{
		memcpy(place, data, format->data_bytes);
		memset(place + format->data_bytes, 0, row_bytes - format->data_bytes);
	}
	else
	{
		memset(place, 0, row_bytes);
		for (int i = 0; i < format->natts; i++)
			store_att_byval(place + format->offset[i],
							fetch_att(data + drain->column_offset[i], true, format->length[i]),
							format->length[i]);
	}
}

/* Returns the value of key number i, whose place varies. */
static pg_noinline Datum
find_value(const GpuSortPageDrain *drain, int i, HeapTupleHeader header, Size length)
{
	HeapTupleData tuple = {.t_len = length,.t_data = header};
	bool		is_null;

	return heap_getattr(&tuple, drain->key_column[i],
						RelationGetDescr(drain->scan->ss.ss_currentRelation), &is_null);
}

/* Writes the words of a tuple that has no NULLs among its first natts_needed
 * columns. */
static inline void
write_words(const GpuSortPageDrain *drain, const GpuSortKeys *keys, HeapTupleHeader header,
			Size length, uint64 *words)
{
	const char *data = (const char *) header + header->t_hoff;
	int			n_keys = keys->n_keys;

	for (int i = 0; i < n_keys; i++)
	{
		const GpuSortKey *key = &keys->keys[i];

		if (likely(drain->key_is_fixed[i]))
			gpusort_sortkey_encode_at(key, data + drain->key_offset[i], words + key->first_word);
		else
			gpusort_sortkey_encode(key, find_value(drain, i, header, length),
								   words + key->first_word);
	}
}

/* The scan has returned this many rows more, for instrumentation. */
static void
count_rows(SeqScanState *scan, uint64 rows)
{
	if (scan->ss.ps.instrument != NULL)
		scan->ss.ps.instrument->tuplecount += rows;
	compat_count_heap_rows(scan->ss.ss_currentRelation, rows);
}

/* Stops at the first tuple that must go the usual way. */
void
gpusort_page_drain(GpuSortPageDrain *drain, GpuSortFeed *feed)
{
	HeapScanDesc heap = drainable_page(drain);
	Page		page;
	int			first;
	int			i;

	if (heap == NULL)
		return;
	page = BufferGetPage(heap->rs_cbuf);
	first = heap->rs_cindex + 1;
	for (i = first; i < (int) heap->rs_ntuples; i++)
	{
		ItemId		item = PageGetItemId(page, heap->rs_vistuples[i]);
		HeapTupleHeader tuple = (HeapTupleHeader) PageGetItem(page, item);
		Size		length = ItemIdGetLength(item);
		Size		row_bytes = drain->format->narrow_bytes != 0 ? drain->format->narrow_bytes :
			MAXALIGN(gpusort_row_length_of_heap_tuple(length));
		char	   *place;
		uint64	   *words;

		if ((tuple->t_infomask & HEAP_HASNULL) != 0 ||
			HeapTupleHeaderGetNatts(tuple) < drain->natts_needed ||
			!gpusort_feed_reserve_row(feed, row_bytes, &place, &words))
			break;
		write_tuple(drain, tuple, length, place, row_bytes);
		write_words(drain, feed->keys, tuple, length, words);
		for (int w = 0; w < feed->n_words; w++)
			gpusort_feed_count_key(&feed->stats[w], words[w]);
	}
	heap->rs_cindex = i - 1;
	count_rows(drain->scan, i - first);
}
