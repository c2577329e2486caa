/*
 * sortkey_words.c
 *	  Values and their key words by sortkey.h, for fuzz_keys.c.
 */
#include "postgres.h"

#include "keys/sortkey.h"

#include "sortkey_words.h"

#define KINDS	(GPUSORT_KEY_UINT32 + 1)

uint64_t
sortkey_word(unsigned kind, int descending, uint64_t bits, int64_t *value)
{
	GpuSortKey	key = {.kind = (GpuSortKeyKind) (kind % KINDS)};
	Datum		datum = 0;

	key.flip = gpusort_sortkey_flip(key.kind, descending);
	switch (key.kind)
	{
		case GPUSORT_KEY_INT16:
			*value = (int16) bits;
			datum = Int16GetDatum((int16) bits);
			break;
		case GPUSORT_KEY_INT32:
			*value = (int32) bits;
			datum = Int32GetDatum((int32) bits);
			break;
		case GPUSORT_KEY_INT64:
			*value = (int64) bits;
			datum = Int64GetDatum((int64) bits);
			break;
		case GPUSORT_KEY_UINT32:
			*value = (uint32) bits;
			datum = UInt32GetDatum((uint32) bits);
			break;
	}
	return gpusort_sortkey_encode(&key, datum);
}
