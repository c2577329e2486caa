/*
 * byte_words.c
 *	  Byte strings as words: the parts that run once for a key, or for toasted
 *	  values only.
 *
 * In:  the prefix that words leave out; toasted values.
 * Out: for a key, the number of bytes that its words hold, and the prefix that
 *	    strings must have; for a toasted value, the bytes that its words need.
 *
 * Runs in the processes that pack rows.  The caller frees a detoasted value
 * after it has made the words.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/memutils.h"

#include "keys/byte_words.h"

void
gpusort_byte_cut_make(GpuSortByteCut *cut, int n_words, const bytea *prefix)
{
	cut->n_words = n_words;
	cut->prefix_bytes = prefix != NULL ? VARSIZE_ANY_EXHDR(prefix) : 0;
	cut->prefix = NULL;
	if (cut->prefix_bytes > 0)
	{
		char	   *copy = palloc(cut->prefix_bytes);

		memcpy(copy, VARDATA_ANY(prefix), cut->prefix_bytes);
		cut->prefix = copy;
	}
}

void
gpusort_varlena_bytes_detoast(Datum value, Size needed, GpuSortVarlenaBytes *bytes)
{
	struct varlena *slice = PG_DETOAST_DATUM_SLICE(value, 0, (int32) Min(needed, MaxAllocSize));

	bytes->bytes = VARDATA_ANY(slice);
	bytes->length = VARSIZE_ANY_EXHDR(slice);
	bytes->copy = slice;
}
