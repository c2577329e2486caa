/*
 * byte_words.h
 *	  Byte strings as words: text, bytea, sort keys of collations, bits.
 *
 * What nearly all values begin with may be skipped: words then hold what comes after it.  A
 * value that does not begin so gets the lowest or the highest words, and is open.
 *
 * Two ways.  Coded, for strings whose order is memcmp's, then the length's: n words are 8n-1 bytes,
 * padded with 0, and in the lowest byte a code: GPUSORT_BYTES_LOW, 2 * (length + 1), or
 * GPUSORT_BYTES_GO_ON, so that a string that ends within its words has them to itself, sorts behind
 * its own prefixes, and open values are those with an odd code.  Uncoded, for strings that stand
 * for values only roughly: n words are 8n bytes, and every value is open.
 */
#ifndef GPUSORT_BYTE_WORDS_H
#define GPUSORT_BYTE_WORDS_H

#include "postgres.h"

#include "port/pg_bswap.h"

#include "compat.h"

/* Codes, in the lowest byte of the last word.  Between these two, even: the string ends within its
 * words. */
#define GPUSORT_BYTES_LOW		0x01	/* it sorts before the skipped bytes */
#define GPUSORT_BYTES_GO_ON		0xff	/* it is longer, or sorts behind the skipped bytes */

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

/* --- cutting ---------------------------------------------------------------------- */

/*
 * Steps over what is skipped.  False: the string does not begin so; its words are all 0 or the
 * highest.
 */
static inline bool
gpusort_byte_cut_skip(const GpuSortByteCut *cut, const char **bytes, Size *length, uint64 *words)
{
	int			order;

	if (cut->n_skipped == 0)
		return true;
	order = memcmp(*bytes, cut->skipped, Min(*length, cut->n_skipped));
	if (likely(order == 0 && *length >= cut->n_skipped))
	{
		*bytes += cut->n_skipped;
		*length -= cut->n_skipped;
		return true;
	}
	/* one that is a beginning of what is skipped sorts before it */
	memset(words, order > 0 ? 0xff : 0, cut->n_words * sizeof(uint64));
	return false;
}

/* The first 8n bytes, padded with 0. */
static inline void
gpusort_byte_cut_load(const GpuSortByteCut *cut, const char *bytes, Size length, uint64 *words)
{
	Size		most = cut->n_words * sizeof(uint64);

	if (likely(length >= most))
		memcpy(words, bytes, most);
	else
	{
		memset(words, 0, most);
		memcpy(words, bytes, length);
	}
	for (int w = 0; w < cut->n_words; w++)
		words[w] = pg_ntoh64(words[w]);
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
	if (unlikely(!gpusort_byte_cut_skip(cut, &bytes, &length, words)))
	{
		words[cut->n_words - 1] |= GPUSORT_BYTES_LOW;
		return;
	}
	gpusort_byte_cut_load(cut, bytes, length, words);
	gpusort_byte_cut_code(cut, length, cut->n_words * sizeof(uint64) - 1, words);
}

/* The uncoded ones. */
static inline void
gpusort_byte_cut_uncoded(const GpuSortByteCut *cut, const char *bytes, Size length, uint64 *words)
{
	if (likely(gpusort_byte_cut_skip(cut, &bytes, &length, words)))
		gpusort_byte_cut_load(cut, bytes, length, words);
}

#endif							/* GPUSORT_BYTE_WORDS_H */
