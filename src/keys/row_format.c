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

#include "keys/row_format.h"

/* Rows are narrow if all columns have a small fixed width, and are not too
 * many. */
void
gpusort_row_format_choose(GpuSortRowFormat *format, TupleDesc desc)
{
	uint32		at = 0;

	format->narrow_bytes = 0;
	format->natts = desc->natts;
	if (desc->natts == 0 || desc->natts > GPUSORT_NARROW_COLUMNS_MAX)
		return;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		if (attr->attlen <= 0 || attr->attlen > GPUSORT_NARROW_VALUE_MAX)
			return;
		at = att_align_nominal(at, attr->attalign);
		format->offset[i] = at;
		format->length[i] = attr->attlen;
		format->by_value[i] = attr->attbyval;
		at += attr->attlen;
	}
	format->data_bytes = at;
	format->narrow_bytes = MAXALIGN(at + (desc->natts + 7) / 8);
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

/* Slots that hold a tuple need no forming. */
void
gpusort_row_find(const GpuSortRowFormat *format, TupleTableSlot *slot, GpuSortRowSource *source)
{
	HeapTuple	heap_tuple = NULL;
	TupleDesc	desc = slot->tts_tupleDescriptor;

	if (format->narrow_bytes != 0)
	{
		source->length = format->narrow_bytes;
		return;
	}
	if (TTS_IS_BUFFERTUPLE(slot) || TTS_IS_HEAPTUPLE(slot))
		heap_tuple = ((HeapTupleTableSlot *) slot)->tuple;
	if (heap_tuple != NULL)
	{
		source->bytes = gpusort_row_of_heap_tuple(heap_tuple->t_data);
		source->length = gpusort_row_length_of_heap_tuple(heap_tuple->t_len);
		return;
	}
	if (TTS_IS_MINIMALTUPLE(slot) && ((MinimalTupleTableSlot *) slot)->mintuple != NULL)
	{
		source->bytes = (const char *) ((MinimalTupleTableSlot *) slot)->mintuple;
		source->length = ((MinimalTupleTableSlot *) slot)->mintuple->t_len;
		return;
	}

	slot_getallattrs(slot);
	source->bytes = NULL;
	source->has_nulls = false;
	for (int i = 0; i < desc->natts; i++)
		source->has_nulls |= slot->tts_isnull[i];
	source->length = SizeofMinimalTupleHeader;
	if (source->has_nulls)
		source->length += BITMAPLEN(desc->natts);
	source->length = MAXALIGN(source->length);
	source->values_size = heap_compute_data_size(desc, slot->tts_values, slot->tts_isnull);
	source->length += source->values_size;
	/* PostgreSQL allocates no longer row, and t_len cannot tell its length */
	if (!AllocSizeIsValid(source->length))
		elog(ERROR, "invalid memory alloc request size %zu", source->length);
}

/* Forms a minimal tuple at place, which is MAXALIGN(source->length) long. */
static void
form_row(TupleTableSlot *slot, const GpuSortRowSource *source, char *place)
{
	MinimalTuple tuple = (MinimalTuple) place;
	TupleDesc	desc = slot->tts_tupleDescriptor;
	Size		header = source->length - source->values_size;

	/* heap_fill_tuple leaves the gaps of alignment as they are */
	memset(place, 0, MAXALIGN(source->length));
	tuple->t_len = source->length;
	HeapTupleHeaderSetNatts(tuple, desc->natts);
	tuple->t_hoff = header + MINIMAL_TUPLE_OFFSET;
	heap_fill_tuple(desc, slot->tts_values, slot->tts_isnull, place + header,
					source->values_size, &tuple->t_infomask,
					source->has_nulls ? tuple->t_bits : NULL);
}

void
gpusort_row_write(const GpuSortRowFormat *format, TupleTableSlot *slot,
				  const GpuSortRowSource *source, char *place)
{
	if (format->narrow_bytes != 0)
	{
		gpusort_row_format_write(format, slot, place);
		return;
	}
	if (source->bytes != NULL)
		gpusort_row_copy_tuple(place, source->bytes, source->length);
	else
		form_row(slot, source, place);
}
