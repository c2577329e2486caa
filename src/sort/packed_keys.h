/*
 * packed_keys.h
 *	  Sorts rows by several keys at once, whose values are few or near each other.
 */
#ifndef GPUSORT_PACKED_KEYS_H
#define GPUSORT_PACKED_KEYS_H

#include "postgres.h"

#include "keys/comparer.h"
#include "sort/entry_sort.h"

/* Fewer rows are compared sooner than looked at. */
#define GPUSORT_ROWS_TO_PACK_KEYS	256

/* What that takes, of each row. */
extern Size gpusort_bytes_to_pack_keys(const GpuSortOrder *order, const GpuSortComparer *comparer);

/*
 * Sorts n rows of type desc, equal in the keys before the comparer's first one, stably by that key and by as
 * many of those behind it as have room in a word: *entries has their numbers in order, and equal words
 * where all of these keys are equal.  Returns the first key that the rows are not sorted by; the comparer's
 * first one: none has room, and nothing is done.  Memory: the current context.
 */
extern int	gpusort_sort_by_packed_keys(const GpuSortOrder *order, TupleDesc desc,
										const GpuSortComparer *comparer, const char *const *rows,
										uint64 n, GpuSortEntry **entries);

#endif							/* GPUSORT_PACKED_KEYS_H */
