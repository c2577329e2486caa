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
 * the result is a narrow row (row_format.h).  Or it may add columns behind the
 * table's, as for ORDER BY lower(s).  The drain computes these itself.  If they
 * go out, it appends their values to the copied tuple, because to deform a wide
 * tuple and to form it again would take as long as all the rest.  If not, they
 * are the row's hidden part.
 *
 * Left to the scan are rows with too few columns, narrow rows with NULLs, and
 * the first row that does not fit the chunk.  The scan checks for interrupts
 * once a page, and the drain before it computes a row's columns.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "access/tupmacs.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
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
table_column(const SeqScanState *scan, AttrNumber column)
{
	TargetEntry *entry;

	if (scan->ss.ps.ps_ProjInfo == NULL)
		return column;
	entry = list_nth_node(TargetEntry, scan->ss.ps.plan->targetlist, column - 1);
	if (!IsA(entry->expr, Var))
		return 0;
	return Max(((Var *) entry->expr)->varattno, 0);
}

/* Finds a column of the table in its tuples. */
static void
find_column(GpuSortPageDrain *drain, AttrNumber attno, GpuSortDrainColumn *column)
{
	column->attno = attno;
	column->is_fixed = fixed_offset(drain->table, attno, &column->offset);
	drain->natts_needed = Max(drain->natts_needed, attno);
}

/* Finds the columns of narrow rows that a projection picks.  False: one is
 * computed, or its place varies. */
static bool
find_picked_columns(GpuSortPageDrain *drain)
{
	for (int i = 0; i < drain->format->natts; i++)
	{
		AttrNumber	attno = table_column(drain->scan, i + 1);

		if (attno == 0)
			return false;
		find_column(drain, attno, &drain->picked[i]);
		if (!drain->picked[i].is_fixed)
			return false;
	}
	return true;
}

/* --- columns that the scan computes --------------------------------------- */

/* Finds the columns that others are computed from.  False: these take more than
 * columns of the table, such as ctid, the row as a whole, or a subplan's
 * result. */
static bool
find_inputs(GpuSortPageDrain *drain, const SeqScanState *scan, List *computed)
{
	Bitmapset  *attnos = NULL;
	int			member = -1;

	pull_varattnos((Node *) computed, ((Scan *) scan->ss.ps.plan)->scanrelid, &attnos);
	drain->inputs = palloc(bms_num_members(attnos) * sizeof(AttrNumber));
	while ((member = bms_next_member(attnos, member)) >= 0)
	{
		AttrNumber	attno = member + FirstLowInvalidHeapAttributeNumber;

		if (attno <= 0)
			return false;
		drain->inputs[drain->n_inputs++] = attno;
	}
	return !contain_subplans((Node *) computed);
}

/* Prepares to compute columns, with the rights of the role that the executor
 * starts for.  False: the scan does not return the table's columns and then
 * others, or it must compute these itself. */
static bool
begin_computing(GpuSortPageDrain *drain, const SeqScanState *scan)
{
	const PlanState *ps = &scan->ss.ps;
	int			natts = drain->table->natts;
	List	   *computed = list_copy_tail(ps->plan->targetlist, natts);

	for (int i = 1; i <= natts; i++)
	{
		if (i > list_length(ps->plan->targetlist) || table_column(scan, i) != i)
			return false;
	}
	if (!find_inputs(drain, scan, computed))
		return false;
	drain->row = MakeSingleTupleTableSlot(ps->ps_ResultTupleDesc, &TTSOpsVirtual);
	drain->projection = ExecBuildProjectionInfo(computed, ps->ps_ExprContext, drain->row, NULL,
												NULL);
	ExecStoreVirtualTuple(drain->row);
	if (drain->format->hidden != NULL)
		computed = list_truncate(computed, drain->format->visible->natts - natts);
	drain->appended = ExecTypeFromTL(computed);
	return true;
}

/* Computes a tuple's columns.  The slot gets no column but the inputs, which
 * deforming the tuple up to the last input would take longer to find. */
static void
compute_columns(const GpuSortPageDrain *drain, HeapTuple tuple)
{
	ProjectionInfo *projection = drain->projection;

	/* a page of dear expressions would take too long */
	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < drain->n_inputs; i++)
	{
		AttrNumber	attno = drain->inputs[i];

		drain->row->tts_values[attno - 1] = heap_getattr(tuple, attno, drain->table,
														 &drain->row->tts_isnull[attno - 1]);
	}
	ResetExprContext(projection->pi_exprContext);
	projection->pi_exprContext->ecxt_scantuple = drain->row;
	compat_eval_projection(projection);
}

/* Adds the bytes of the values to append to a row's length, aligned as
 * heap_fill_tuple does.  False: they cannot just follow the tuple, since one is
 * NULL, is not flat, or the bitmap of NULLs lacks room. */
static bool
add_appended_length(const GpuSortPageDrain *drain, HeapTupleHeader header, Size *length)
{
	int			natts = drain->table->natts;
	Size		header_bytes = SizeofHeapTupleHeader + BITMAPLEN(natts + drain->appended->natts);

	if ((header->t_infomask & HEAP_HASNULL) != 0 && header->t_hoff != MAXALIGN(header_bytes))
		return false;
	for (int i = 0; i < drain->appended->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(drain->appended, i);
		Datum		value = drain->row->tts_values[natts + i];
		char	   *varlena = attr->attlen == -1 ? DatumGetPointer(value) : NULL;

		if (drain->row->tts_isnull[natts + i] ||
			(varlena != NULL && VARATT_IS_EXTERNAL_EXPANDED(varlena)))
			return false;
		if (varlena != NULL && attr->attstorage != TYPSTORAGE_PLAIN &&
			VARATT_CAN_MAKE_SHORT(varlena))
			*length += VARATT_CONVERTED_SHORT_SIZE(varlena);
		else
			*length = att_addlength_datum(att_align_datum(*length, attr->attalign, attr->attlen,
														  value), attr->attlen, value);
	}
	return true;
}

/* Writes these values, none of them NULL, behind a tuple's. */
static void
append_values(const GpuSortPageDrain *drain, Size tuple_length, Size length, char *place)
{
	MinimalTuple row = (MinimalTuple) place;
	int			natts = drain->table->natts;
	int			all_natts = natts + drain->appended->natts;
	uint16		infomask = 0;	/* heap_fill_tuple keeps the bits that it does not set */

	memset(place + tuple_length, 0, MAXALIGN(length) - tuple_length);
	heap_fill_tuple(drain->appended, drain->row->tts_values + natts,
					drain->row->tts_isnull + natts, place + tuple_length, length - tuple_length,
					&infomask, NULL);
	row->t_len = length;
	row->t_infomask |= infomask;
	HeapTupleHeaderSetNatts(row, all_natts);
	for (int i = natts; (row->t_infomask & HEAP_HASNULL) != 0 && i < all_natts; i++)
		row->t_bits[i / 8] |= 1 << (i % 8);
}

/* --- begin ---------------------------------------------------------------- */

void
gpusort_page_drain_init(GpuSortPageDrain *drain, PlanState *child, const GpuSortRowFormat *format)
{
	SeqScanState *scan = (SeqScanState *) child;

	drain->child = child;
	drain->format = format;
	if (!IsA(child, SeqScanState) || child->qual != NULL || child->state->es_epq_active != NULL ||
		scan->ss.ss_currentRelation->rd_tableam != GetHeapamTableAmRoutine())
		return;
	drain->table = RelationGetDescr(scan->ss.ss_currentRelation);
	if (format->hidden != NULL && format->visible->natts < drain->table->natts)
		return;
	drain->whole_tuples = child->ps_ProjInfo == NULL || format->narrow_bytes == 0;
	if (child->ps_ProjInfo == NULL || !drain->whole_tuples || begin_computing(drain, scan))
		drain->scan = scan;
}

void
gpusort_page_drain_begin(GpuSortPageDrain *drain, GpuSortFeed *feed)
{
	const GpuSortKeys *keys = feed->keys;

	drain->feed = feed;
	/* computed columns and a narrow row's bytes follow all of the table's */
	drain->natts_needed = drain->projection != NULL ||
		(drain->scan != NULL && drain->whole_tuples && drain->format->narrow_bytes != 0) ?
		drain->table->natts : 0;
	if (keys->n_keys > lengthof(drain->keys) || /* of a grouping */
		(drain->scan != NULL && !drain->whole_tuples && !find_picked_columns(drain)))
		drain->scan = NULL;
	if (drain->scan == NULL)
		return;
	for (int i = 0; i < keys->n_keys; i++)
	{
		AttrNumber	column = keys->keys[i].attno;

		if (!drain->whole_tuples)
			column = table_column(drain->scan, column);
		if (column <= drain->table->natts)	/* else it is computed */
			find_column(drain, column, &drain->keys[i]);
	}
}

/* --- draining ------------------------------------------------------------- */

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

/* Writes a row of row_length bytes, or its visible part. */
static inline void
write_row(const GpuSortPageDrain *drain, HeapTuple tuple, Size row_length, char *place)
{
	const GpuSortRowFormat *format = drain->format;
	const char *data = (const char *) tuple->t_data + tuple->t_data->t_hoff;
	Size		tuple_length = gpusort_row_length_of_heap_tuple(tuple->t_len);

	if (format->narrow_bytes == 0)
	{
		gpusort_row_copy_tuple(place, gpusort_row_of_heap_tuple(tuple->t_data), tuple_length);
		if (row_length > tuple_length)
			append_values(drain, tuple_length, row_length, place);
	}
	else if (drain->whole_tuples)
	{
		memcpy(place, data, format->data_bytes);
		memset(place + format->data_bytes, 0, row_length - format->data_bytes);
	}
	else
	{
		memset(place, 0, row_length);
		for (int i = 0; i < format->natts; i++)
			gpusort_row_format_put(format, i, fetch_att(data + drain->picked[i].offset,
														format->by_value[i], format->length[i]),
								   place);
	}
}

/* Returns the value of key number i. */
static pg_noinline Datum
key_value(const GpuSortPageDrain *drain, int i, HeapTuple tuple, bool *is_null)
{
	AttrNumber	column = drain->feed->keys->keys[i].attno;

	if (drain->keys[i].attno != 0)
		return heap_getattr(tuple, drain->keys[i].attno, drain->table, is_null);
	*is_null = drain->row->tts_isnull[column - 1];
	return drain->row->tts_values[column - 1];
}

/* Writes the words of a row.  Returns the bits of words whose keys are NULL. */
static inline uint32
write_words(const GpuSortPageDrain *drain, HeapTuple tuple, uint64 *words)
{
	const GpuSortKeys *keys = drain->feed->keys;
	const char *data = (const char *) tuple->t_data + tuple->t_data->t_hoff;
	bool		has_nulls = HeapTupleHasNulls(tuple);
	int			n_keys = keys->n_keys;
	uint32		nulls = 0;

	for (int i = 0; i < n_keys; i++)
	{
		const GpuSortKey *key = &keys->keys[i];
		bool		is_null = false;

		if (likely(drain->keys[i].is_fixed && !has_nulls))
			gpusort_sortkey_encode_at(key, data + drain->keys[i].offset, words + key->first_word);
		else
		{
			Datum		value = key_value(drain, i, tuple, &is_null);

			if (likely(!is_null))
				gpusort_sortkey_encode(key, value, words + key->first_word);
			else
				nulls |= gpusort_sortkey_encode_null(key, words + key->first_word);
		}
	}
	return nulls;
}

/* Packs a tuple.  False: it must go the usual way. */
static inline bool
pack_tuple(const GpuSortPageDrain *drain, HeapTuple tuple)
{
	GpuSortFeed *feed = drain->feed;
	Size		row_length = drain->format->narrow_bytes;	/* of the visible part, if there are two */
	bool		hidden = drain->format->hidden != NULL;
	GpuSortRowSource source;
	char	   *place;
	uint64	   *words;

	if (row_length == 0)
		row_length = gpusort_row_length_of_heap_tuple(tuple->t_len);
	if (drain->projection != NULL && !add_appended_length(drain, tuple->t_data, &row_length))
		return false;
	if (hidden)
		gpusort_row_find_hidden(drain->format, row_length, drain->row, &source);
	if (!gpusort_feed_reserve_row(feed, MAXALIGN(hidden ? source.length : row_length), &place,
								  &words))
		return false;
	write_row(drain, tuple, row_length, place);
	if (hidden)
		gpusort_row_write_hidden(drain->format, drain->row, &source, place);
	gpusort_feed_count_keys(feed, words, write_words(drain, tuple, words));
	return true;
}

/* The scan has returned this many rows more, for instrumentation. */
static void
count_rows(SeqScanState *scan, uint64 rows)
{
	if (scan->ss.ps.instrument != NULL)
		scan->ss.ps.instrument->tuplecount += rows;
	compat_count_heap_rows(scan->ss.ss_currentRelation, rows);
}

/* Stops at the first tuple that must go the usual way.  If its columns have
 * been computed, returns its row, because they are computed only once. */
static TupleTableSlot *
drain_page(const GpuSortPageDrain *drain, HeapScanDesc heap)
{
	bool		takes_nulls = drain->format->narrow_bytes == 0;
	Page		page = BufferGetPage(heap->rs_cbuf);
	int			first = heap->rs_cindex + 1;
	TupleTableSlot *row = NULL;
	int			i;

	for (i = first; row == NULL && i < (int) heap->rs_ntuples; i++)
	{
		ItemId		item = PageGetItemId(page, heap->rs_vistuples[i]);
		HeapTupleData tuple = {.t_len = ItemIdGetLength(item),
		.t_data = (HeapTupleHeader) PageGetItem(page, item)};

		if ((HeapTupleHasNulls(&tuple) && !takes_nulls) ||
			HeapTupleHeaderGetNatts(tuple.t_data) < drain->natts_needed)
			break;
		if (drain->projection != NULL)
			compute_columns(drain, &tuple);
		if (likely(pack_tuple(drain, &tuple)))
			continue;
		if (drain->projection == NULL)
			break;
		heap_deform_tuple(&tuple, drain->table, drain->row->tts_values, drain->row->tts_isnull);
		row = drain->row;
	}
	heap->rs_cindex = i - 1;
	count_rows(drain->scan, i - first);
	return row;
}

TupleTableSlot *
gpusort_page_drain(GpuSortPageDrain *drain)
{
	HeapScanDesc heap = drain->scan != NULL ? drainable_page(drain) : NULL;
	TupleTableSlot *row = heap != NULL ? drain_page(drain, heap) : NULL;

	return row != NULL ? row : ExecProcNode(drain->child);
}
