/*
 * row_array_internal.h
 *	  What row_array.c and row_array_sort.c share: the array itself.
 */
#ifndef GPUSORT_ROW_ARRAY_INTERNAL_H
#define GPUSORT_ROW_ARRAY_INTERNAL_H

#include "keys/comparer.h"
#include "keys/sortkey.h"
#include "sort/entry_sort.h"
#include "sort/row_array.h"

/* What entries have of the first key. */
typedef enum EntryWords
{
	VALUES,						/* its Datum */
	WORDS,						/* a word, which may stand for several values */
	EXACT_WORDS
} EntryWords;

/* What rows lie in. */
typedef struct RowBlock
{
	struct RowBlock *previous;
	Size		bytes;
} RowBlock;

struct GpuSortRowArray
{
	const GpuSortOrder *order;
	TupleDesc	desc;
	const GpuSortRowFormat *format;
	TupleTableSlot *result;
	MemoryContext context;
	Size		limit_bytes;
	Size		bytes;			/* of all that follows */

	/* the rows */
	uint64		n;
	uint64		room;
	GpuSortEntry *entries;		/* in the order in which they came, or sorted */
	const char **rows;			/* as they came: of the format; or each one's value, a Datum */
	bool		by_value;		/* the latter */
	RowBlock   *block;			/* that is being filled, and the ones before it */
	char	   *place;			/* in it */
	char	   *end;

	/* the order */
	EntryWords	words;			/* that entries have now */
	bool		fixed;			/* and that they get when rows are put: exact ones, else values */
	GpuSortKey	key;			/* of a fixed one */
	bool		by_reference;	/* the first key's values lie in the rows */
	bool		more_keys;
	GpuSortComparer *comparer;	/* NULL: not needed yet */
	SortSupport support;		/* of the key that entries are compared by */
	bool		tied;			/* some were equal in it */
	uint64		in_order;		/* so many first rows are, as they came */

	/* what makes words of values when there are some rows: an encoder, or the type's abbreviation */
	bool		has_cheap_words;
	GpuSortKeys encoder;
	bool		may_abbreviate;
	SortSupportData abbreviated;
};

/* The result slot with a row. */
static inline TupleTableSlot *
gpusort_row_array_store(const GpuSortRowArray *array, const char *row)
{
	return gpusort_row_store(array->format, row, array->result);
}

#endif							/* GPUSORT_ROW_ARRAY_INTERNAL_H */
