/*
 * layout_copy.h
 *	  Layouts of a sort's keys for other processes, as bytes.
 */
#ifndef GPUSORT_LAYOUT_COPY_H
#define GPUSORT_LAYOUT_COPY_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "lib/stringinfo.h"

#include "keys/sortkey.h"

/* Returns the most bytes that the layouts of the first n_keys keys of this
 * order take. */
extern Size gpusort_layouts_bytes_max(const GpuSortOrder *order, int n_keys, TupleDesc desc);

/* Appends the layouts of n_keys keys. */
extern void gpusort_layouts_write(const GpuSortKeyLayout *layouts, int n_keys, StringInfo to);

/* Reads layouts of keys of this order, over rows of type desc.  Returns the
 * number of keys.  Memory: the current context.  from must outlive the
 * layouts. */
extern int	gpusort_layouts_read(const char *from, const GpuSortOrder *order, TupleDesc desc,
								 GpuSortKeyLayout layouts[GPUSORT_WORDS_MAX]);

#endif							/* GPUSORT_LAYOUT_COPY_H */
