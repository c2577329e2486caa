/*
 * row_format.c
 *	  Narrow rows: their layout, and writing them.
 *
 * In:  a child's tuple descriptor; its slots.
 * Out: rows without header (row_format.h), in whatever memory the caller names.
 *
 * The columns lie where a heap tuple without NULLs has them, so that such a tuple's data
 * can be copied as it is.
 */
#include "postgres.h"

#include "keys/row_format.h"

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

		if (!attr->attbyval)
			return;
		at = att_align_nominal(at, attr->attalign);
		format->offset[i] = at;
		format->length[i] = attr->attlen;
		at += attr->attlen;
	}
	format->data_bytes = at;
	format->narrow_bytes = MAXALIGN(at + (desc->natts + 7) / 8);
}

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
			store_att_byval(place + format->offset[i], slot->tts_values[i], format->length[i]);
	}
}
