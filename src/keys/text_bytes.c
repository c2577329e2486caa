/*
 * text_bytes.c
 *	  The byte strings that the words of texts and byteas are cut from.
 *
 * In:  values, as a tuple or statistics have them.
 * Out: the bytes of them that count, or their sort keys under a collation.
 *
 * Runs in every process that packs rows, and in the one that plans.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "keys/ascii_keys.h"
#include "keys/text_bytes.h"

bool
gpusort_type_has_text_bytes(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == BPCHAROID || type == NAMEOID ||
		type == BYTEAOID;
}

GpuSortTextForm
gpusort_text_form(Oid type)
{
	switch (type)
	{
		case NAMEOID:
			return GPUSORT_TEXT_NAME;
		case BPCHAROID:
			return GPUSORT_TEXT_BLANK_PADDED;
		default:
			return GPUSORT_TEXT_VARLENA;
	}
}

void
gpusort_text_bytes_make(GpuSortTextBytes *source, Oid type, Oid collation, Size needed)
{
	source->form = gpusort_text_form(type);
	source->needed = needed;
	source->keys = NULL;
	if (type != BYTEAOID && gpusort_collation_kind(collation) != GPUSORT_COLLATION_BYTES)
		source->keys = gpusort_collation_keys_make(collation, needed);
	/* the end of a text may matter for the first byte of its sort key, and for
	 * the place where its blanks begin */
	source->text_needed = source->keys == NULL && source->form == GPUSORT_TEXT_VARLENA ?
		needed : MaxAllocSize;
}

void
gpusort_text_value_open(const GpuSortTextBytes *source, Datum value, GpuSortVarlenaBytes *bytes)
{
	if (source->form == GPUSORT_TEXT_NAME)
	{
		bytes->bytes = NameStr(*DatumGetName(value));
		bytes->length = strnlen(bytes->bytes, NAMEDATALEN);
		bytes->copy = NULL;
	}
	else
		gpusort_varlena_bytes_open(value, source->text_needed, bytes);
	if (source->form == GPUSORT_TEXT_BLANK_PADDED)
		bytes->length = bpchartruelen((char *) bytes->bytes, (int) bytes->length);
}

/* A sort key has its own memory, so the copy of a toasted value goes at
 * once. */
void
gpusort_text_bytes_open(const GpuSortTextBytes *source, Datum value, GpuSortVarlenaBytes *bytes)
{
	gpusort_text_value_open(source, value, bytes);
	if (source->keys != NULL)
	{
		void	   *copy = bytes->copy;

		bytes->bytes = gpusort_collation_key(source->keys, bytes->bytes, bytes->length,
											 &bytes->length);
		bytes->copy = NULL;
		if (unlikely(copy != NULL))
			pfree(copy);
	}
}
