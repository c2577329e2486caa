/*
 * row_format.h
 *	  The bytes of a row on its way through the device.
 *
 * A row is either a minimal tuple, whose t_len tells its length, or a narrow
 * row, if every column has a small fixed width.  A narrow row has its columns
 * as a heap tuple holds them, then a bitmap of NULLs, but no header.  All
 * narrow rows have the same length.  A narrow row needs no forming and no
 * deforming, and lacks 16 bytes or more.  Rows lie at multiples of 8.
 *
 * If only the sort reads the last columns, a row that is not narrow has two
 * parts: the minimal tuple of the visible columns and, at a multiple of 8, that
 * of the hidden ones.  The first part has the row's length in its padding, and
 * is otherwise what PostgreSQL forms of the visible columns.  So it can go into
 * a table as it is.  A tuple with a hidden column could not, since that would
 * be read as the value of the next column that the table gets.
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
	/* the columns of rows in two parts; NULL: rows have one part */
	TupleDesc	visible;
	TupleDesc	hidden;
	int			length_word;	/* the 32 bits of a minimal tuple that tell the row's length */
} GpuSortRowFormat;

/* A minimal tuple that must be formed. */
typedef struct GpuSortTupleSize
{
	Size		length;			/* not aligned */
	Size		values;			/* the bytes behind the header */
	bool		has_nulls;
} GpuSortTupleSize;

/* The source of a row's bytes. */
typedef struct GpuSortRowSource
{
	/* of a minimal tuple; NULL: it must be formed from the slot's values */
	const char *bytes;
	Size		length;			/* of the row, not aligned */
	GpuSortTupleSize tuple;		/* the only part, or the visible one */
	GpuSortTupleSize hidden;
} GpuSortRowSource;

/* Chooses the format for rows of type desc, of which the first n_visible
 * columns go out.  It is the same in every process of a plan.  Memory: the
 * current context. */
extern void gpusort_row_format_choose(GpuSortRowFormat *format, TupleDesc desc, int n_visible);

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

/* Do the same for a row in two parts of which the caller writes the first one,
 * visible_length long.  The slot's other columns are not looked at. */
extern void gpusort_row_find_hidden(const GpuSortRowFormat *format, Size visible_length,
									TupleTableSlot *slot, GpuSortRowSource *source);
extern void gpusort_row_write_hidden(const GpuSortRowFormat *format, TupleTableSlot *slot,
									 const GpuSortRowSource *source, char *place);

/* Returns the kind of slot for all columns of the format's rows. */
static inline const TupleTableSlotOps *
gpusort_row_slot_ops(const GpuSortRowFormat *format)
{
	return format->narrow_bytes != 0 || format->hidden != NULL ? &TTSOpsVirtual :
		&TTSOpsMinimalTuple;
}

/* Returns the kind of slot for their visible columns. */
static inline const TupleTableSlotOps *
gpusort_row_visible_slot_ops(const GpuSortRowFormat *format)
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
		MAXALIGN(((const uint32 *) row)[format->length_word]);
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

/* Fills the arrays of a virtual slot from both parts of a row. */
extern void gpusort_row_deform(const GpuSortRowFormat *format, const char *row,
							   TupleTableSlot *slot);

/* Returns a column of a row in two parts. */
extern Datum gpusort_row_value(const GpuSortRowFormat *format, const char *row, AttrNumber column,
							   bool *is_null);

/* Fills the arrays of a virtual slot with a narrow row, or its visible
 * columns. */
static inline void
gpusort_row_read_narrow(const GpuSortRowFormat *format, const char *row, TupleTableSlot *slot)
{
	const uint8 *nulls = (const uint8 *) row + format->data_bytes;

	for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		slot->tts_isnull[i] = (nulls[i / 8] >> (i % 8) & 1) != 0;
		slot->tts_values[i] = fetch_att(row + format->offset[i], format->by_value[i],
										format->length[i]);
	}
}

/*
 * Puts a row into a slot of one of the format's kinds, for all columns or for
 * the visible ones.  A minimal tuple is stored as by ExecStoreMinimalTuple, but
 * without a call for each row.  Valid as long as the row's bytes.
 */
static inline TupleTableSlot *
gpusort_row_store(const GpuSortRowFormat *format, const char *row, TupleTableSlot *slot)
{
	MinimalTupleTableSlot *minimal = (MinimalTupleTableSlot *) slot;

	if (unlikely(TTS_SHOULDFREE(slot)))
		ExecClearTuple(slot);	/* somebody has materialized it */
	slot->tts_flags &= ~TTS_FLAG_EMPTY;
	if (slot->tts_ops == &TTSOpsVirtual)
	{
		if (format->hidden == NULL)
			gpusort_row_read_narrow(format, row, slot);
		else
			gpusort_row_deform(format, row, slot);
		slot->tts_nvalid = slot->tts_tupleDescriptor->natts;
		return slot;
	}
	slot->tts_nvalid = 0;
	minimal->mintuple = (MinimalTuple) row;
	minimal->off = 0;
	minimal->minhdr.t_len = minimal->mintuple->t_len + MINIMAL_TUPLE_OFFSET;
	minimal->minhdr.t_data = (HeapTupleHeader) (row - MINIMAL_TUPLE_OFFSET);
	return slot;
}

/* Returns a column of a row.  slot: of the kind for all columns. */
static inline Datum
gpusort_row_attribute(const GpuSortRowFormat *format, const char *row, TupleTableSlot *slot,
					  AttrNumber column, bool *is_null)
{
	if (format->hidden != NULL)
		return gpusort_row_value(format, row, column, is_null);
	return slot_getattr(gpusort_row_store(format, row, slot), column, is_null);
}

#endif							/* GPUSORT_ROW_FORMAT_H */
