/*
 * text_bytes.h
 *	  The byte strings that the words of texts and byteas are cut from.
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
	Size		needed;			/* bytes that anybody reads */
	Size		text_needed;	/* of the value itself */
	GpuSortCollationKeys *keys; /* NULL: words are cut from the value's own bytes */
} GpuSortTextBytes;

/* Is a type's order that of byte strings, or of their sort keys? */
extern bool gpusort_type_has_text_bytes(Oid type);

extern GpuSortTextForm gpusort_text_form(Oid type);

/* Describes a type that has text bytes.  collation: 0 for bytea.  Memory: the
 * current context. */
extern void gpusort_text_bytes_make(GpuSortTextBytes *source, Oid type, Oid collation, Size needed);

/* Finds the bytes of a value that is not NULL.  These are its own bytes,
 * whatever words are cut from; otherwise it works as
 * gpusort_text_bytes_open. */
extern void gpusort_text_value_open(const GpuSortTextBytes *source, Datum value,
									GpuSortVarlenaBytes *bytes);

/* Finds the bytes of a value that is not NULL, which may be toasted.  They are
 * valid until gpusort_varlena_bytes_close, and until the next call. */
extern void gpusort_text_bytes_open(const GpuSortTextBytes *source, Datum value,
									GpuSortVarlenaBytes *bytes);

#endif							/* GPUSORT_TEXT_BYTES_H */
