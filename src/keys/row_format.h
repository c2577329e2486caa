/*
 * row_format.h
 *	  The bytes of a row on its way through the device.
 *
 * A row is either a minimal tuple, whose t_len tells its length, or a narrow
 * row, if every column has a small fixed width.  A narrow row has its columns
 * as a heap tuple holds them, then a bitmap of NULLs, but no header.  All
 * narrow rows have the same length.  A narrow row needs no forming and no
 * deforming, and lacks 16 bytes or more.  Rows lie at multiples of 8.
 */
#ifndef GPUSORT_ROW_FORMAT_H
#define GPUSORT_ROW_FORMAT_H

#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "executor/tuptable.h"

#define GPUSORT_NARROW_COLUMNS_MAX 16

/* Bytes of a value.  Wider ones are not worth it: a NULL takes as many. */
#define GPUSORT_NARROW_VALUE_MAX 16

typedef struct GpuSortRowFormat
{
	uint32		narrow_bytes;	/* of a row, a multiple of 8; 0: rows are minimal tuples */
	int			natts;
	uint32		data_bytes;		/* of a row's columns; its NULL bitmap follows */
	uint32		offset[GPUSORT_NARROW_COLUMNS_MAX];
	int16		length[GPUSORT_NARROW_COLUMNS_MAX];
	bool		by_value[GPUSORT_NARROW_COLUMNS_MAX];
} GpuSortRowFormat;

/* The source of a row's bytes. */
typedef struct GpuSortRowSource
{
	/* of a minimal tuple; NULL: it must be formed from the slot's values */
	const char *bytes;
	Size		length;			/* of the row, not aligned */
	Size		values_size;	/* of a row that must be formed */
	bool		has_nulls;
} GpuSortRowSource;

/* Chooses the format for rows of type desc.  It is the same in every process of
 * a plan. */
extern void gpusort_row_format_choose(GpuSortRowFormat *format, TupleDesc desc);

/* Writes the slot's row at place, as a narrow row. */
extern void gpusort_row_format_write(const GpuSortRowFormat *format, TupleTableSlot *slot,
									 char *place);

/* Finds the bytes of the slot's row, or the size of the row that must be
 * formed. */
extern void gpusort_row_find(const GpuSortRowFormat *format, TupleTableSlot *slot,
							 GpuSortRowSource *source);

/* Writes the slot's row, as it was found, to place, which has
 * MAXALIGN(source->length) bytes. */
extern void gpusort_row_write(const GpuSortRowFormat *format, TupleTableSlot *slot,
							  const GpuSortRowSource *source, char *place);

/* Returns the kind of slot for rows of the format. */
static inline const TupleTableSlotOps *
gpusort_row_slot_ops(const GpuSortRowFormat *format)
{
	return format->narrow_bytes != 0 ? &TTSOpsVirtual : &TTSOpsMinimalTuple;
}

/* Returns the bytes that a row is expected to have, if its columns have
 * width. */
static inline int
gpusort_row_expected_bytes(const GpuSortRowFormat *format, int width)
{
	return format->narrow_bytes != 0 ? format->narrow_bytes :
		MAXALIGN(width + SizeofMinimalTupleHeader);
}

/* Writes a narrow row's column number i, which is not NULL, to its place. */
static inline void
gpusort_row_format_put(const GpuSortRowFormat *format, int i, Datum value, char *row)
{
	if (format->by_value[i])
		store_att_byval(row + format->offset[i], value, format->length[i]);
	else
		memcpy(row + format->offset[i], DatumGetPointer(value), format->length[i]);
}

static inline Size
gpusort_row_bytes(const GpuSortRowFormat *format, const char *row)
{
	return format->narrow_bytes != 0 ? format->narrow_bytes :
		MAXALIGN(((const MinimalTupleData *) row)->t_len);
}

/*
 * A heap tuple is a minimal tuple, except that the front of its header is in
 * the place of t_len.  Returns where its row begins, and how long it is.
 */
static inline const char *
gpusort_row_of_heap_tuple(HeapTupleHeader tuple)
{
	return (const char *) tuple + MINIMAL_TUPLE_OFFSET;
}

static inline Size
gpusort_row_length_of_heap_tuple(Size tuple_length)
{
	return tuple_length - MINIMAL_TUPLE_OFFSET;
}

/*
 * Writes a row of MAXALIGN(length) bytes to place, from length bytes of a
 * minimal tuple or of a result of the functions above.  A minimal tuple has
 * padding where a heap tuple has its ctid.  That may hold a datum's version, as
 * in a foreign table's tuples, and PostgreSQL would look for the type of such a
 * datum where the row has its length.
 */
static inline void
gpusort_row_copy_tuple(char *place, const char *bytes, Size length)
{
	/* the buffer's old contents must never be sent */
	*(uint64 *) (place + MAXALIGN(length) - sizeof(uint64)) = 0;
	memcpy(place, bytes, length);
	memset(((MinimalTuple) place)->mt_padding, 0, sizeof(((MinimalTuple) place)->mt_padding));
	((MinimalTuple) place)->t_len = length;
}

/* Fills an empty or filled virtual slot with a narrow row. */
static inline void
gpusort_row_format_read(const GpuSortRowFormat *format, const char *row, TupleTableSlot *slot)
{
	const uint8 *nulls = (const uint8 *) row + format->data_bytes;

	for (int i = 0; i < format->natts; i++)
	{
		slot->tts_isnull[i] = (nulls[i / 8] >> (i % 8) & 1) != 0;
		slot->tts_values[i] = fetch_att(row + format->offset[i], format->by_value[i],
										format->length[i]);
	}
	slot->tts_flags &= ~TTS_FLAG_EMPTY;
	slot->tts_nvalid = format->natts;
}

/*
 * Puts a row into a slot of the format's kind, virtual for narrow rows.  A
 * minimal tuple is stored as by ExecStoreMinimalTuple, but without a call for
 * each row.  Valid as long as the row's bytes.
 */
static inline TupleTableSlot *
gpusort_row_store(const GpuSortRowFormat *format, const char *row, TupleTableSlot *slot)
{
	MinimalTupleTableSlot *minimal = (MinimalTupleTableSlot *) slot;

	if (unlikely(TTS_SHOULDFREE(slot)))
		ExecClearTuple(slot);	/* somebody has materialized it */
	if (format->narrow_bytes != 0)
	{
		gpusort_row_format_read(format, row, slot);
		return slot;
	}
	slot->tts_flags &= ~TTS_FLAG_EMPTY;
	slot->tts_nvalid = 0;
	minimal->mintuple = (MinimalTuple) row;
	minimal->off = 0;
	minimal->minhdr.t_len = minimal->mintuple->t_len + MINIMAL_TUPLE_OFFSET;
	minimal->minhdr.t_data = (HeapTupleHeader) (row - MINIMAL_TUPLE_OFFSET);
	return slot;
}

#endif							/* GPUSORT_ROW_FORMAT_H */
