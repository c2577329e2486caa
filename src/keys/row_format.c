/*
 * row_format.c
 *	  Rows: the layout of narrow ones, and the writing of all.
 *
 * In:  a child's tuple descriptor; its slots.
 * Out: rows (row_format.h), in the caller's memory.
 *
 * A narrow row's columns lie where a heap tuple without NULLs has them, so that
 * such a tuple's data can be copied as it is.  Runs in each process that packs
 * rows, and in the one that reads them.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "compat.h"
#include "keys/row_format.h"

/* Rows are narrow if all columns have a small fixed width, and are not too
 * many. */
static bool
place_narrow_columns(GpuSortRowFormat *format, TupleDesc desc)
{
	uint32		at = 0;

	if (desc->natts == 0 || desc->natts > GPUSORT_NARROW_COLUMNS_MAX)
		return false;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		if (attr->attlen <= 0 || attr->attlen > GPUSORT_NARROW_VALUE_MAX)
			return false;
		at = att_align_nominal(at, attr->attalign);
		format->offset[i] = at;
		format->length[i] = attr->attlen;
		format->by_value[i] = attr->attbyval;
		at += attr->attlen;
	}
	format->data_bytes = at;
	format->narrow_bytes = MAXALIGN(at + (desc->natts + 7) / 8);
	return true;
}

/* Returns a descriptor of n columns behind the first ones. */
static TupleDesc
describe_columns(TupleDesc desc, int first, int n)
{
	TupleDesc	part = CreateTemplateTupleDesc(n);

	for (int i = 1; i <= n; i++)
		TupleDescCopyEntry(part, i, desc, first + i);
	compat_finish_tuple_desc(part);
	return part;
}

void
gpusort_row_format_choose(GpuSortRowFormat *format, TupleDesc desc, int n_visible)
{
	memset(format, 0, sizeof(*format));
	format->natts = desc->natts;
	if (place_narrow_columns(format, desc) || n_visible == desc->natts)
		return;
	format->visible = describe_columns(desc, 0, n_visible);
	format->hidden = describe_columns(desc, n_visible, desc->natts - n_visible);
	format->length_word = 1;	/* in the padding */
}

/* Gaps and the bitmap are zero unless they are set. */
void
gpusort_row_format_write(const GpuSortRowFormat *format, TupleTableSlot *slot, char *place)
{
	uint8	   *nulls = (uint8 *) place + format->data_bytes;

	slot_getallattrs(slot);
	memset(place, 0, format->narrow_bytes);
	for (int i = 0; i < format->natts; i++)
	{
		if (slot->tts_isnull[i])
			nulls[i / 8] |= 1 << (i % 8);
		else
			gpusort_row_format_put(format, i, slot->tts_values[i], place);
	}
}

/* --- tuples that are formed ----------------------------------------------- */

static void
measure_tuple(TupleDesc desc, Datum *values, bool *is_null, GpuSortTupleSize *size)
{
	size->has_nulls = false;
	for (int i = 0; i < desc->natts; i++)
		size->has_nulls |= is_null[i];
	size->length = SizeofMinimalTupleHeader;
	if (size->has_nulls)
		size->length += BITMAPLEN(desc->natts);
	size->length = MAXALIGN(size->length);
	size->values = heap_compute_data_size(desc, values, is_null);
	size->length += size->values;
}

/* Forms a minimal tuple at place, which is MAXALIGN(size->length) long. */
static void
form_tuple(TupleDesc desc, Datum *values, bool *is_null, const GpuSortTupleSize *size,
		   char *place)
{
	MinimalTuple tuple = (MinimalTuple) place;
	Size		header = size->length - size->values;

	/* heap_fill_tuple leaves the gaps of alignment as they are */
	memset(place, 0, MAXALIGN(size->length));
	tuple->t_len = size->length;
	HeapTupleHeaderSetNatts(tuple, desc->natts);
	tuple->t_hoff = header + MINIMAL_TUPLE_OFFSET;
	heap_fill_tuple(desc, values, is_null, place + header, size->values, &tuple->t_infomask,
					size->has_nulls ? tuple->t_bits : NULL);
}

/* PostgreSQL allocates no longer row, and t_len cannot tell its length. */
static void
check_length(Size length)
{
	if (!AllocSizeIsValid(length))
		elog(ERROR, "invalid memory alloc request size %zu", length);
}

/* --- rows ----------------------------------------------------------------- */

void
gpusort_row_find_hidden(const GpuSortRowFormat *format, Size visible_length,
						TupleTableSlot *slot, GpuSortRowSource *source)
{
	int			n_visible = format->visible->natts;

	source->tuple.length = visible_length;
	measure_tuple(format->hidden, slot->tts_values + n_visible, slot->tts_isnull + n_visible,
				  &source->hidden);
	source->length = MAXALIGN(visible_length) + source->hidden.length;
	check_length(source->length);
}

void
gpusort_row_write_hidden(const GpuSortRowFormat *format, TupleTableSlot *slot,
						 const GpuSortRowSource *source, char *place)
{
	int			n_visible = format->visible->natts;

	form_tuple(format->hidden, slot->tts_values + n_visible, slot->tts_isnull + n_visible,
			   &source->hidden, place + MAXALIGN(source->tuple.length));
	((uint32 *) place)[format->length_word] = source->length;
}

/* Finds the tuple that a slot holds.  False: it must be formed. */
static bool
find_tuple(TupleTableSlot *slot, GpuSortRowSource *source)
{
	HeapTuple	heap_tuple = NULL;

	if (TTS_IS_BUFFERTUPLE(slot) || TTS_IS_HEAPTUPLE(slot))
		heap_tuple = ((HeapTupleTableSlot *) slot)->tuple;
	if (heap_tuple != NULL)
	{
		source->bytes = gpusort_row_of_heap_tuple(heap_tuple->t_data);
		source->length = gpusort_row_length_of_heap_tuple(heap_tuple->t_len);
		return true;
	}
	if (TTS_IS_MINIMALTUPLE(slot) && ((MinimalTupleTableSlot *) slot)->mintuple != NULL)
	{
		source->bytes = (const char *) ((MinimalTupleTableSlot *) slot)->mintuple;
		source->length = ((MinimalTupleTableSlot *) slot)->mintuple->t_len;
		return true;
	}
	return false;
}

void
gpusort_row_find(const GpuSortRowFormat *format, TupleTableSlot *slot, GpuSortRowSource *source)
{
	bool		parts = format->hidden != NULL;

	if (format->narrow_bytes != 0)
	{
		source->length = format->narrow_bytes;
		return;
	}
	if (!parts && find_tuple(slot, source))
		return;
	slot_getallattrs(slot);
	source->bytes = NULL;
	measure_tuple(parts ? format->visible : slot->tts_tupleDescriptor, slot->tts_values,
				  slot->tts_isnull, &source->tuple);
	source->length = source->tuple.length;
	check_length(source->length);
	if (parts)
		gpusort_row_find_hidden(format, source->length, slot, source);
}

void
gpusort_row_write(const GpuSortRowFormat *format, TupleTableSlot *slot,
				  const GpuSortRowSource *source, char *place)
{
	if (format->narrow_bytes != 0)
		gpusort_row_format_write(format, slot, place);
	else if (source->bytes != NULL)
		gpusort_row_copy_tuple(place, source->bytes, source->length);
	else
		form_tuple(format->visible != NULL ? format->visible : slot->tts_tupleDescriptor,
				   slot->tts_values, slot->tts_isnull, &source->tuple, place);
	if (format->hidden != NULL)
		gpusort_row_write_hidden(format, slot, source, place);
}

/* --- rows in two parts ---------------------------------------------------- */

/* Returns a minimal tuple as PostgreSQL's functions take it. */
static HeapTupleData
tuple_at(const char *bytes)
{
	return (HeapTupleData) {
		.t_len = ((const MinimalTupleData *) bytes)->t_len + MINIMAL_TUPLE_OFFSET,
		.t_data = (HeapTupleHeader) (bytes - MINIMAL_TUPLE_OFFSET)
	};
}

static HeapTupleData
hidden_tuple(const char *row)
{
	return tuple_at(row + MAXALIGN(((const MinimalTupleData *) row)->t_len));
}

void
gpusort_row_deform(const GpuSortRowFormat *format, const char *row, TupleTableSlot *slot)
{
	HeapTupleData visible = tuple_at(row);
	HeapTupleData hidden = hidden_tuple(row);
	int			n_visible = format->visible->natts;

	heap_deform_tuple(&visible, format->visible, slot->tts_values, slot->tts_isnull);
	heap_deform_tuple(&hidden, format->hidden, slot->tts_values + n_visible,
					  slot->tts_isnull + n_visible);
}

Datum
gpusort_row_value(const GpuSortRowFormat *format, const char *row, AttrNumber column,
				  bool *is_null)
{
	bool		is_visible = column <= format->visible->natts;
	HeapTupleData tuple = is_visible ? tuple_at(row) : hidden_tuple(row);

	return heap_getattr(&tuple, is_visible ? column : column - format->visible->natts,
						is_visible ? format->visible : format->hidden, is_null);
}
