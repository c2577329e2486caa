/*
 * byte_words.h
 *	  Byte strings as words: text, bytea, sort keys of collations, bits.
 *
 * Two ways.  Coded, for strings whose order is memcmp's, then the length's: n words are 8n-1 bytes,
 * padded with 0, and in the lowest byte a code: 2 * (length + 1), or GPUSORT_BYTES_GO_ON, so that a
 * string that ends within its words has them to itself, sorts behind its own prefixes, and open
 * values are those with an odd code.  Uncoded, for strings that stand for values only roughly: n
 * words are 8n bytes, and every value is open.
 *
 * What nearly all values begin with may be skipped: words then hold what comes after it, behind one
 * byte, the sign, GPUSORT_BYTES_BEGIN_SO.  A value that begins otherwise is open, and its sign says
 * at which byte it leaves what is skipped: the earlier, the farther it is from those that begin so.
 * Words hold it from that byte on.  So a prefix that was seen in too few values costs the others a
 * byte, and not their words.
 */
#ifndef GPUSORT_BYTE_WORDS_H
#define GPUSORT_BYTE_WORDS_H

#include "postgres.h"

#include "port/pg_bswap.h"

#include "compat.h"

/* The code of what is longer, or does not begin with the skipped bytes.  Even ones: the string ends
 * within its words. */
#define GPUSORT_BYTES_GO_ON		0xff

/* The sign of values that begin with what is skipped.  Others leave it at byte number n, of these
 * nothing is told apart from the last place on: n if they are lower, 0xff - n if they are higher. */
#define GPUSORT_BYTES_BEGIN_SO	0x80
#define GPUSORT_BYTES_PLACE_MAX	126

/* The signs of open values, for GpuSortKey, of coded words. */
#define GPUSORT_BYTES_OPEN_BITS	UINT64CONST(1)
#define GPUSORT_BYTES_OPEN_CODE	UINT64CONST(1)

/* How strings are cut. */
typedef struct GpuSortByteCut
{
	int			n_words;
	Size		n_skipped;
	const char *skipped;		/* n_skipped bytes */
} GpuSortByteCut;

/* skipped: as in GpuSortKeyLayout; it is copied into the current context. */
extern void gpusort_byte_cut_make(GpuSortByteCut *cut, int n_words, const bytea *skipped);

/* Bytes from a string's begin on that its words depend on, all further ones do not matter. */
static inline Size
gpusort_byte_cut_needs(const GpuSortByteCut *cut)
{
	return cut->n_skipped + cut->n_words * sizeof(uint64);
}

/* --- values that may be toasted ------------------------------------------------- */

/* A varlena's bytes, as many as are needed. */
typedef struct GpuSortVarlenaBytes
{
	const char *bytes;
	Size		length;			/* all, or at least as many as were asked for */
	void	   *copy;			/* of a toasted value; else NULL */
} GpuSortVarlenaBytes;

extern void gpusort_varlena_bytes_detoast(Datum value, Size needed, GpuSortVarlenaBytes *bytes);

/* Finds a varlena's bytes, its first `needed` ones at least, or all.  Nothing is copied unless it
 * is toasted. */
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

/* Of n bytes, those that two strings begin with. */
static inline Size
gpusort_common_bytes(const char *a, const char *b, Size n)
{
	Size		common = 0;

	while (common < n && a[common] == b[common])
		common++;
	return common;
}

/* --- cutting ---------------------------------------------------------------------- */

/* Of a value that does not begin with what is skipped, and is higher or lower: the sign, and the
 * bytes that words hold. */
static inline void
gpusort_byte_cut_outside(const GpuSortByteCut *cut, bool is_higher, const char **bytes, Size *length,
						 uint8 *sign)
{
	Size		place = gpusort_common_bytes(*bytes, cut->skipped,
											 Min(Min(*length, cut->n_skipped), GPUSORT_BYTES_PLACE_MAX));

	*sign = is_higher ? 0xff - place : place;
	*bytes += place;
	*length -= place;
}

/* Steps over what is skipped, and sets the sign.  False: the string does not begin so. */
static inline bool
gpusort_byte_cut_skip(const GpuSortByteCut *cut, const char **bytes, Size *length, uint8 *sign)
{
	int			order = memcmp(*bytes, cut->skipped, Min(*length, cut->n_skipped));

	if (unlikely(order != 0 || *length < cut->n_skipped))
	{
		/* one that is a beginning of what is skipped sorts before it */
		gpusort_byte_cut_outside(cut, order > 0, bytes, length, sign);
		return false;
	}
	*sign = GPUSORT_BYTES_BEGIN_SO;
	*bytes += cut->n_skipped;
	*length -= cut->n_skipped;
	return true;
}

/* The bytes of n words, padded with 0, a sign before them if the key has signs. */
static inline void
gpusort_byte_cut_load(const GpuSortByteCut *cut, uint8 sign, const char *bytes, Size length,
					  uint64 *words)
{
	char	   *first = (char *) words;
	Size		most = cut->n_words * sizeof(uint64);

	if (cut->n_skipped > 0)
	{
		*first++ = (char) sign;
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

/* How many bytes coded words hold. */
static inline Size
gpusort_byte_cut_held(const GpuSortByteCut *cut)
{
	return cut->n_words * sizeof(uint64) - (cut->n_skipped > 0 ? 2 : 1);
}

/* The code of a value that its words do not hold all of. */
static inline void
gpusort_byte_cut_leave_open(const GpuSortByteCut *cut, uint64 *words)
{
	words[cut->n_words - 1] |= GPUSORT_BYTES_GO_ON;
}

/* Puts a code into the last word: of a string that has so many units (bytes, or bits), of which
 * words hold so many. */
static inline void
gpusort_byte_cut_code(const GpuSortByteCut *cut, Size units, Size held, uint64 *words)
{
	uint64	   *last = &words[cut->n_words - 1];
	uint64		code = units <= held && 2 * (units + 1) < GPUSORT_BYTES_GO_ON ?
		2 * (units + 1) : GPUSORT_BYTES_GO_ON;

	*last = (*last & ~UINT64CONST(0xff)) | code;
}

/* The coded words of a string, or of its first bytes, as many as are needed. */
static inline void
gpusort_byte_cut_coded(const GpuSortByteCut *cut, const char *bytes, Size length, uint64 *words)
{
	uint8		sign = GPUSORT_BYTES_BEGIN_SO;

	if (cut->n_skipped > 0 && unlikely(!gpusort_byte_cut_skip(cut, &bytes, &length, &sign)))
	{
		gpusort_byte_cut_load(cut, sign, bytes, length, words);
		gpusort_byte_cut_leave_open(cut, words);
		return;
	}
	gpusort_byte_cut_load(cut, sign, bytes, length, words);
	gpusort_byte_cut_code(cut, length, gpusort_byte_cut_held(cut), words);
}

/* The uncoded ones. */
static inline void
gpusort_byte_cut_uncoded(const GpuSortByteCut *cut, const char *bytes, Size length, uint64 *words)
{
	uint8		sign = GPUSORT_BYTES_BEGIN_SO;

	if (cut->n_skipped > 0)
		(void) gpusort_byte_cut_skip(cut, &bytes, &length, &sign);
	gpusort_byte_cut_load(cut, sign, bytes, length, words);
}

#endif							/* GPUSORT_BYTE_WORDS_H */
