/*
 * byte_words.h
 *	  Byte strings as words: text, bytea, sort keys of collations, bits.
 *
 * There are two forms.  Coded words are for strings whose order is memcmp's,
 * then the length's.  n words are 8n-1 bytes, padded with 0, and a code in the
 * lowest byte: 2 * (length + 1), or GPUSORT_BYTES_GO_ON.  So a string that ends
 * within its words has them to itself and sorts behind its own prefixes.
 * Values with an odd code are inexact.  Uncoded words are for strings that
 * stand for values only roughly.  n words are 8n bytes, and every value is
 * inexact.
 *
 * A prefix of nearly all values may be left out.  Words then hold the bytes
 * behind it, after one byte, the prefix marker GPUSORT_PREFIX_MARKER.  A value
 * without the prefix is inexact, and its marker tells at which byte it leaves
 * the prefix: the earlier, the farther it sorts from values that have it.
 * Words hold the value from that byte on.  So a prefix that too few values have
 * costs the others one byte, and not their words.
 */
#ifndef GPUSORT_BYTE_WORDS_H
#define GPUSORT_BYTE_WORDS_H

#include "postgres.h"

#include "port/pg_bswap.h"

#include "compat.h"

/* The code of a string that is longer, or lacks the prefix.  Even codes: the
 * string ends within its words. */
#define GPUSORT_BYTES_GO_ON		0xff

/*
 * The prefix marker of values that have the prefix.  Other values leave it at
 * byte number n: their marker is n if they are lower, 0xff - n if they are
 * higher.  Values that leave it at the last place or later all have the same
 * marker.
 */
#define GPUSORT_PREFIX_MARKER	0x80
#define GPUSORT_BYTES_PLACE_MAX	126

/* The marks of inexact values of coded words, for GpuSortKey. */
#define GPUSORT_BYTES_INEXACT_BITS	UINT64CONST(1)
#define GPUSORT_BYTES_INEXACT_CODE	UINT64CONST(1)

/* How to cut strings. */
typedef struct GpuSortByteCut
{
	int			n_words;
	Size		prefix_bytes;
	const char *prefix;			/* prefix_bytes bytes */
} GpuSortByteCut;

/* prefix: as in GpuSortKeyEncoding.  It is copied into the current context. */
extern void gpusort_byte_cut_make(GpuSortByteCut *cut, int n_words, const bytea *prefix);

/* Returns the number of a string's first bytes that its words depend on.
 * Further bytes do not matter. */
static inline Size
gpusort_byte_cut_needs(const GpuSortByteCut *cut)
{
	return cut->prefix_bytes + cut->n_words * sizeof(uint64);
}

/* --- values that may be toasted ------------------------------------------- */

/* The bytes of a varlena, as many as are needed. */
typedef struct GpuSortVarlenaBytes
{
	const char *bytes;
	Size		length;			/* all, or at least as many as were asked for */
	void	   *copy;			/* of a toasted value; else NULL */
} GpuSortVarlenaBytes;

extern void gpusort_varlena_bytes_detoast(Datum value, Size needed, GpuSortVarlenaBytes *bytes);

/* Finds a varlena's bytes: at least its first `needed` ones, or all.  Only a
 * toasted value is copied. */
static inline void
gpusort_varlena_bytes_open(Datum value, Size needed, GpuSortVarlenaBytes *bytes)
{
	const struct varlena *varlena = (const struct varlena *) DatumGetPointer(value);

	if (unlikely(VARATT_IS_COMPRESSED(varlena) || VARATT_IS_EXTERNAL(varlena)))
	{
		gpusort_varlena_bytes_detoast(value, needed, bytes);
		return;
	}
	bytes->bytes = VARDATA_ANY(varlena);
	bytes->length = VARSIZE_ANY_EXHDR(varlena);
	bytes->copy = NULL;
}

static inline void
gpusort_varlena_bytes_close(GpuSortVarlenaBytes *bytes)
{
	if (unlikely(bytes->copy != NULL))
		pfree(bytes->copy);
}

/* Returns how many of the first n bytes two strings have in common at their
 * beginning. */
static inline Size
gpusort_common_bytes(const char *a, const char *b, Size n)
{
	Size		common = 0;

	while (common < n && a[common] == b[common])
		common++;
	return common;
}

/* --- cutting -------------------------------------------------------------- */

/* For a value that lacks the prefix, and is higher or lower: sets the marker,
 * and the bytes that words hold. */
static inline void
gpusort_byte_cut_outside(const GpuSortByteCut *cut, bool is_higher, const char **bytes,
						 Size *length, uint8 *marker)
{
	Size		place = gpusort_common_bytes(*bytes, cut->prefix,
											 Min(Min(*length, cut->prefix_bytes),
												 GPUSORT_BYTES_PLACE_MAX));

	*marker = is_higher ? 0xff - place : place;
	*bytes += place;
	*length -= place;
}

/* Steps over the prefix, and sets the marker.  False: the string lacks it. */
static inline bool
gpusort_byte_cut_strip_prefix(const GpuSortByteCut *cut, const char **bytes, Size *length,
							  uint8 *marker)
{
	int			order = memcmp(*bytes, cut->prefix, Min(*length, cut->prefix_bytes));

	if (unlikely(order != 0 || *length < cut->prefix_bytes))
	{
		/* a string that is a beginning of the prefix sorts before it */
		gpusort_byte_cut_outside(cut, order > 0, bytes, length, marker);
		return false;
	}
	*marker = GPUSORT_PREFIX_MARKER;
	*bytes += cut->prefix_bytes;
	*length -= cut->prefix_bytes;
	return true;
}

/* Loads the bytes of n words, padded with 0, with a marker before them if the
 * key has markers. */
static inline void
gpusort_byte_cut_load(const GpuSortByteCut *cut, uint8 marker, const char *bytes, Size length,
					  uint64 *words)
{
	char	   *first = (char *) words;
	Size		most = cut->n_words * sizeof(uint64);

	if (cut->prefix_bytes > 0)
	{
		*first++ = (char) marker;
		most--;
	}
	if (likely(length >= most))
		memcpy(first, bytes, most);
	else
	{
		memset(first, 0, most);
		memcpy(first, bytes, length);
	}
	for (int w = 0; w < cut->n_words; w++)
		words[w] = pg_ntoh64(words[w]);
}

/* Returns how many bytes coded words hold. */
static inline Size
gpusort_byte_cut_held(const GpuSortByteCut *cut)
{
	return cut->n_words * sizeof(uint64) - (cut->prefix_bytes > 0 ? 2 : 1);
}

/* Sets the code of a value that its words do not hold completely. */
static inline void
gpusort_byte_cut_mark_inexact(const GpuSortByteCut *cut, uint64 *words)
{
	words[cut->n_words - 1] |= GPUSORT_BYTES_GO_ON;
}

/* Puts a code into the last word of a string: units is its length (in bytes, or
 * bits), held the part in its words. */
static inline void
gpusort_byte_cut_code(const GpuSortByteCut *cut, Size units, Size held, uint64 *words)
{
	uint64	   *last = &words[cut->n_words - 1];
	uint64		code = units <= held && 2 * (units + 1) < GPUSORT_BYTES_GO_ON ?
		2 * (units + 1) : GPUSORT_BYTES_GO_ON;

	*last = (*last & ~UINT64CONST(0xff)) | code;
}

/* Makes the coded words of a string, or of its first bytes, as many as are
 * needed. */
static inline void
gpusort_byte_cut_coded(const GpuSortByteCut *cut, const char *bytes, Size length, uint64 *words)
{
	uint8		marker = GPUSORT_PREFIX_MARKER;

	if (cut->prefix_bytes > 0 &&
		unlikely(!gpusort_byte_cut_strip_prefix(cut, &bytes, &length, &marker)))
	{
		gpusort_byte_cut_load(cut, marker, bytes, length, words);
		gpusort_byte_cut_mark_inexact(cut, words);
		return;
	}
	gpusort_byte_cut_load(cut, marker, bytes, length, words);
	gpusort_byte_cut_code(cut, length, gpusort_byte_cut_held(cut), words);
}

/* Makes the uncoded words. */
static inline void
gpusort_byte_cut_uncoded(const GpuSortByteCut *cut, const char *bytes, Size length, uint64 *words)
{
	uint8		marker = GPUSORT_PREFIX_MARKER;

	if (cut->prefix_bytes > 0)
		(void) gpusort_byte_cut_strip_prefix(cut, &bytes, &length, &marker);
	gpusort_byte_cut_load(cut, marker, bytes, length, words);
}

#endif							/* GPUSORT_BYTE_WORDS_H */
