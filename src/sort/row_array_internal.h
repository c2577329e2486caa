/*
 * row_array_internal.h
 *	  Declarations shared by row_array.c and row_array_sort.c: the array itself.
 */
#ifndef GPUSORT_ROW_ARRAY_INTERNAL_H
#define GPUSORT_ROW_ARRAY_INTERNAL_H

#include "keys/comparer.h"
#include "keys/sortkey.h"
#include "sort/entry_sort.h"
#include "sort/row_array.h"

/* The form of the first key in entries. */
typedef enum EntryWords
{
	VALUES,						/* its Datum */
	WORDS,						/* a word, which may stand for several values */
	EXACT_WORDS
} EntryWords;

struct GpuSortRowArray
{
	const GpuSortOrder *order;
	TupleDesc	desc;
	const GpuSortRowFormat *format;
	TupleTableSlot *result;
	MemoryContext context;
	Size		limit_bytes;
	Size		bytes;			/* of all but this struct */

	/* the rows */
	uint64		n;
	uint64		room;
	GpuSortEntry *entries;		/* in the order in which they came, or sorted */
	const char **rows;			/* as they came: rows of the format; or each one's value, a Datum */
	bool		by_value;		/* rows has values */
	MemoryContext row_context;	/* blocks of rows; NULL: none was needed yet */
	Size		block_bytes;	/* of the block being filled */
	char	   *place;			/* of the next row, in the block */
	char	   *end;

	/* the order */
	EntryWords	words;			/* the present form in entries */
	/* the key is passed by value, and gets exact words when rows are put */
	bool		by_value_key;
	GpuSortKey	key;			/* if by_value_key */
	bool		by_reference;	/* the first key's values lie in the rows */
	bool		more_keys;
	GpuSortComparer *comparer;	/* NULL: not needed yet */
	SortSupport support;		/* comparer's, for the key that entries are compared by */
	bool		tied;			/* some entries were equal in it */
	uint64		in_order;		/* this many first rows are in order, as they came */

	/* makes words of values when there are some rows: an encoder, or the type's
	 * abbreviation */
	bool		has_cheap_words;
	GpuSortKeys encoder;
	bool		may_abbreviate;
	SortSupportData abbreviated;
};

/* Puts a row into the result slot. */
static inline TupleTableSlot *
gpusort_row_array_store(const GpuSortRowArray *array, const char *row)
{
	return gpusort_row_store(array->format, row, array->result);
}

#endif							/* GPUSORT_ROW_ARRAY_INTERNAL_H */
