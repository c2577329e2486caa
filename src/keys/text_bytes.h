/*
 * text_bytes.h
 *	  The byte string that the words of a text, or of a bytea, are cut from.
 */
#ifndef GPUSORT_TEXT_BYTES_H
#define GPUSORT_TEXT_BYTES_H

#include "postgres.h"

#include "keys/byte_words.h"
#include "keys/collation_keys.h"

typedef enum GpuSortTextForm
{
	GPUSORT_TEXT_VARLENA,		/* all bytes count: text, varchar, bytea */
	GPUSORT_TEXT_BLANK_PADDED,	/* blanks at the end do not: bpchar */
	GPUSORT_TEXT_NAME			/* up to the first NUL */
} GpuSortTextForm;

typedef struct GpuSortTextBytes
{
	GpuSortTextForm form;
	Size		needed;			/* bytes that anybody looks at */
	Size		text_needed;	/* of the value's own */
	GpuSortCollationKeys *keys; /* NULL: the value's own bytes are what words are cut from */
} GpuSortTextBytes;

/* Is a type's order that of byte strings, or of their sort keys? */
extern bool gpusort_type_has_text_bytes(Oid type);

extern GpuSortTextForm gpusort_text_form(Oid type);

/* Of such a type.  collation: 0 for bytea.  Memory: the current context. */
extern void gpusort_text_bytes_make(GpuSortTextBytes *source, Oid type, Oid collation, Size needed);

/* The bytes of a value that is not NULL, its own ones, whatever words are cut from; else as
 * gpusort_text_bytes_open. */
extern void gpusort_text_value_open(const GpuSortTextBytes *source, Datum value,
									GpuSortVarlenaBytes *bytes);

/* The bytes of a value that is not NULL, which may be toasted: valid until closed by
 * gpusort_varlena_bytes_close, and until the next call. */
extern void gpusort_text_bytes_open(const GpuSortTextBytes *source, Datum value,
									GpuSortVarlenaBytes *bytes);

#endif							/* GPUSORT_TEXT_BYTES_H */
