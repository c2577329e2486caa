/*
 * encoding_copy.h
 *	  Encodings of a sort's keys for other processes, as bytes.
 */
#ifndef GPUSORT_ENCODING_COPY_H
#define GPUSORT_ENCODING_COPY_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "lib/stringinfo.h"

#include "keys/sortkey.h"

/* Returns the most bytes that the encodings of the first n_keys keys of this
 * order take. */
extern Size gpusort_encodings_bytes_max(const GpuSortOrder *order, int n_keys, TupleDesc desc);

/* Appends the encodings of n_keys keys. */
extern void gpusort_encodings_write(const GpuSortKeyEncoding *encodings, int n_keys, StringInfo to);

/* Reads encodings of keys of this order, over rows of type desc.  Returns the
 * number of keys.  Memory: the current context.  from must outlive the
 * encodings. */
extern int	gpusort_encodings_read(const char *from, const GpuSortOrder *order, TupleDesc desc,
								 GpuSortKeyEncoding encodings[GPUSORT_WORDS_MAX]);

#endif							/* GPUSORT_ENCODING_COPY_H */
