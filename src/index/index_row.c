/*
 * index_row.c
 *	  Rows of an index build: copies index tuples into rows, and back.
 *
 * In:  index tuples of a table's rows; the sorted rows.
 * Out: rows for the sort; index tuples for the index.
 *
 * Runs in the backend that builds the index, and in its workers.  Memory is the
 * caller's.
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "compat.h"
#include "index/index_row.h"

/* The columns begin at a multiple of 8 in all forms, so they have the same
 * offsets from there. */
StaticAssertDecl(sizeof(int64) == MAXIMUM_ALIGNOF, "a row's TID keeps its columns aligned");
StaticAssertDecl(sizeof(IndexTupleData) == sizeof(int64),
				 "a narrow row's columns lie where an index tuple without NULLs has them");
StaticAssertDecl((GPUSORT_NARROW_COLUMNS_MAX + 1) * GPUSORT_NARROW_VALUE_MAX <= INDEX_SIZE_MASK,
				 "an index tuple can be as long as a narrow row");

TupleDesc
gpusort_index_row_desc(TupleDesc index_desc)
{
	TupleDesc	desc = CreateTemplateTupleDesc(index_desc->natts + 1);

	TupleDescInitEntry(desc, GPUSORT_INDEX_ROW_TID, "tid", INT8OID, -1, 0);
	for (int i = 1; i <= index_desc->natts; i++)
		TupleDescCopyEntry(desc, GPUSORT_INDEX_ROW_COLUMN(i), index_desc, i);
	compat_finish_tuple_desc(desc);
	return desc;
}

/* Returns where a row's first column lies, from the row's beginning. */
static Size
offset_of_columns(bool has_nulls, int natts)
{
	return MAXALIGN(SizeofMinimalTupleHeader + (has_nulls ? BITMAPLEN(natts) : 0));
}

/* Both bitmaps have a bit for each column that is not NULL. */
static uint8 *
bitmap_of_index_tuple(IndexTuple tuple)
{
	return ((IndexAttributeBitMap) ((char *) tuple + sizeof(IndexTupleData)))->bits;
}

static bool
has_bit(const uint8 *bits, int i)
{
	return (bits[i / 8] >> (i % 8) & 1) != 0;
}

static void
set_bit(uint8 *bits, int i)
{
	bits[i / 8] |= 1 << (i % 8);
}

MinimalTuple
gpusort_index_row_make(IndexTuple tuple, bool alive, TupleDesc index_desc, char *place)
{
	MinimalTuple row = (MinimalTuple) place;
	bool		has_nulls = IndexTupleHasNulls(tuple);
	int			natts = index_desc->natts + 1;
	Size		columns_at = IndexInfoFindDataOffset(tuple->t_info);
	Size		columns_bytes = IndexTupleSize(tuple) - columns_at;
	Size		begin = offset_of_columns(has_nulls, natts);

	memset(place, 0, begin);
	row->t_len = begin + sizeof(int64) + columns_bytes;
	HeapTupleHeaderSetNatts(row, natts);
	row->t_hoff = begin + MINIMAL_TUPLE_OFFSET;
	if (IndexTupleHasVarwidths(tuple))
		row->t_infomask |= HEAP_HASVARWIDTH;
	if (has_nulls)
	{
		row->t_infomask |= HEAP_HASNULL;
		set_bit(row->t_bits, 0);
		for (int i = 0; i < index_desc->natts; i++)
			if (has_bit(bitmap_of_index_tuple(tuple), i))
				set_bit(row->t_bits, i + 1);
	}
	*(int64 *) (place + begin) = gpusort_index_row_tid(&tuple->t_tid, alive);
	memcpy(place + begin + sizeof(int64), (const char *) tuple + columns_at, columns_bytes);
	return row;
}

/* A row that is no index tuple's would be written beyond its place, or leave
 * the next tuple unaligned. */
static void
check_length(MinimalTuple row, Size least, Size most)
{
	if (row->t_len >= least && row->t_len <= most && row->t_len == MAXALIGN(row->t_len))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("device returned a row of %u bytes for an index", row->t_len),
			 errdetail("Rows of its columns have from %zu to %zu bytes.", least, most),
			 errhint("Run \"SET gpusort.index_builds = off\" to let PostgreSQL build the index.")));
}

/* Makes the index tuple but for its TID, which is returned. */
static int64
copy_minimal_tuple(MinimalTuple row, TupleDesc index_desc, IndexTuple tuple)
{
	bool		has_nulls = (row->t_infomask & HEAP_HASNULL) != 0;
	unsigned short flags = has_nulls ? INDEX_NULL_MASK : 0;
	Size		begin = offset_of_columns(has_nulls, index_desc->natts + 1);
	Size		columns_at = IndexInfoFindDataOffset(flags);
	Size		least = begin + sizeof(int64);
	Size		columns_bytes;

	check_length(row, least, least + INDEX_SIZE_MASK - columns_at);
	columns_bytes = row->t_len - least;
	memset(tuple, 0, columns_at);
	if ((row->t_infomask & HEAP_HASVARWIDTH) != 0)
		flags |= INDEX_VAR_MASK;
	tuple->t_info = flags | (columns_at + columns_bytes);
	for (int i = 0; has_nulls && i < index_desc->natts; i++)
		if (has_bit(row->t_bits, i + 1))
			set_bit(bitmap_of_index_tuple(tuple), i);
	memcpy((char *) tuple + columns_at, (const char *) row + begin + sizeof(int64),
		   columns_bytes);
	return *(const int64 *) ((const char *) row + begin);
}

static int64
copy_narrow_row(const GpuSortRowFormat *format, TupleTableSlot *row, TupleDesc index_desc,
				IndexTuple tuple)
{
	Size		bytes = MAXALIGN(format->data_bytes);
	int64		tid = DatumGetInt64(row->tts_values[0]);
	bool		has_nulls = false;

	for (int i = 1; i < format->natts; i++)
		has_nulls |= row->tts_isnull[i];
	if (has_nulls)
	{
		IndexTuple	formed = index_form_tuple(index_desc, row->tts_values + 1,
											  row->tts_isnull + 1);

		memcpy(tuple, formed, IndexTupleSize(formed));
		return tid;
	}
	memset(tuple, 0, bytes);
	tuple->t_info = bytes;
	for (int i = 1; i < format->natts; i++)
		gpusort_row_format_put(format, i, row->tts_values[i], (char *) tuple);
	return tid;
}

IndexTuple
gpusort_index_row_tuple(const GpuSortRowFormat *format, TupleTableSlot *row, TupleDesc index_desc,
						char *place, bool *alive)
{
	IndexTuple	tuple = (IndexTuple) place;
	int64		tid = format->narrow_bytes != 0 ?
		copy_narrow_row(format, row, index_desc, tuple) :
		copy_minimal_tuple(((MinimalTupleTableSlot *) row)->mintuple, index_desc, tuple);

	ItemPointerSet(&tuple->t_tid, (BlockNumber) (tid >> 17), (OffsetNumber) (tid >> 1 & 0xFFFF));
	*alive = (tid & 1) == 0;
	return tuple;
}
