/*
 * index_order.h
 *	  The order of an index's tuples, for the sort and for the check of what it
 *	  returns.
 */
#ifndef GPUSORT_INDEX_ORDER_H
#define GPUSORT_INDEX_ORDER_H

#include "postgres.h"

#include "access/itup.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "keys/sort_order.h"
#include "keys/key_samples.h"
#include "job/counters.h"

/* A key of an index. */
typedef struct GpuSortIndexKey
{
	Oid			family;			/* operator family */
	Oid			type;			/* that its operators take */
	Oid			collation;
	int16		options;		/* INDOPTION_... */
} GpuSortIndexKey;

/*
 * Sets the order of rows (index_row.h): the index's keys, then the TID,
 * ascending.  *n_keys: its leading keys that have words.  Or returns a reason
 * why the device cannot sort them.  Memory: the current context.
 */
extern GpuSortNativeReason gpusort_index_order(Relation index, TupleDesc row_desc,
											   GpuSortOrder *order, int *n_keys);

/* The same, for an index that need not be there. */
extern GpuSortNativeReason gpusort_index_order_of_keys(const GpuSortIndexKey *keys, int n,
													   TupleDesc row_desc, GpuSortOrder *order,
													   int *n_keys);

/* Returns the columns that the order's keys come from, in the current
 * context. */
extern GpuSortKeyOrigin *gpusort_index_key_origins(Relation heap, const IndexInfo *info,
												   int n_keys);

/* Compares each tuple with the one before. */
typedef struct GpuSortIndexCheck GpuSortIndexCheck;

/* n_words: the leading keys that the device may have sorted by.  Memory: the
 * current context. */
extern GpuSortIndexCheck *gpusort_index_check_begin(Relation heap, Relation index,
													const IndexInfo *info, int n_words);

/* The next tuple.  Raises PostgreSQL's error for a duplicate of a unique
 * index's or a tuple that is too large, and an error for a tuple that is before
 * the last one.  alive: it is
 * to be unique.  True: its keys equal those of the last one.  The tuple's bytes
 * must stay until the next call. */
extern bool gpusort_index_check_tuple(GpuSortIndexCheck *check, IndexTuple tuple, bool alive);

#endif							/* GPUSORT_INDEX_ORDER_H */
