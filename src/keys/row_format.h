/*
 * row_format.h
 *	  What a row's bytes are on their way through the device.
 *
 * Either a minimal tuple, whose t_len tells its length; or, when every column is of a
 * fixed width and passed by value, a narrow row: the columns as a heap tuple holds
 * them, then a bitmap of NULLs, no header, and the same length for all rows.  A narrow row
 * needs no forming and no deforming, and is half as long.  Rows lie at multiples of 8.
 */
#ifndef GPUSORT_ROW_FORMAT_H
#define GPUSORT_ROW_FORMAT_H

#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "executor/tuptable.h"

#define GPUSORT_NARROW_COLUMNS_MAX 16

typedef struct GpuSortRowFormat
{
	uint32		narrow_bytes;	/* of a row, a multiple of 8; 0: rows are minimal tuples */
	int			natts;
	uint32		data_bytes;		/* of a row's columns; its NULL bitmap follows */
	uint32		offset[GPUSORT_NARROW_COLUMNS_MAX];
	int16		length[GPUSORT_NARROW_COLUMNS_MAX];
} GpuSortRowFormat;

/* The format for rows of type desc; the same in every process of a plan. */
extern void gpusort_row_format_choose(GpuSortRowFormat *format, TupleDesc desc);

/* Writes the slot's row, narrow, at place. */
extern void gpusort_row_format_write(const GpuSortRowFormat *format, TupleTableSlot *slot,
									 char *place);

static inline Size
gpusort_row_bytes(const GpuSortRowFormat *format, const char *row)
{
	return format->narrow_bytes != 0 ? format->narrow_bytes :
		MAXALIGN(((const MinimalTupleData *) row)->t_len);
}

/* Fills an empty or filled virtual slot with a narrow row. */
static inline void
gpusort_row_format_read(const GpuSortRowFormat *format, const char *row, TupleTableSlot *slot)
{
	const uint8 *nulls = (const uint8 *) row + format->data_bytes;

	for (int i = 0; i < format->natts; i++)
	{
		slot->tts_isnull[i] = (nulls[i / 8] >> (i % 8) & 1) != 0;
		slot->tts_values[i] = fetch_att(row + format->offset[i], true, format->length[i]);
	}
	slot->tts_flags &= ~TTS_FLAG_EMPTY;
	slot->tts_nvalid = format->natts;
}

#endif							/* GPUSORT_ROW_FORMAT_H */
