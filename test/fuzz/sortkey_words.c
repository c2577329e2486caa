/*
 * sortkey_words.c
 *	  Values and their key words by sortkey.h, for fuzz_keys.c.
 */
#include "postgres.h"

#include "keys/sortkey.h"

#include "sortkey_words.h"

/* the signed ones, and those that fit an int64 */
#define KINDS	GPUSORT_KEY_UINT64

uint64_t
sortkey_word(unsigned kind, int descending, uint64_t bits, int64_t *value)
{
	GpuSortKey	key = {.kind = (GpuSortKeyKind) (kind % KINDS),.flip = descending ? PG_UINT64_MAX : 0};
	uint64		word;

	/* the value as a tuple holds it: the machines that PostgreSQL runs these tests on are little-endian */
	gpusort_sortkey_encode_at(&key, (const char *) &bits, &word);
	switch (key.kind)
	{
#define CUT(kind, type, get, word_of) case kind: *value = (int64_t) (type) bits; break;
		GPUSORT_FIXED_KEY_KINDS(CUT)
#undef CUT
		case GPUSORT_KEY_ENCODED:
			break;
	}
	return word;
}
