/*
 * key_memo.c
 *	  Words of the strings seen lately.
 *
 * In:  strings whose words cost a sort key of ICU or the C library.
 * Out: words that an equal string had before.
 *
 * Groups and reports are sorted by keys of few values, each of which soon comes
 * again.  A look here takes a tenth of the time of a sort key.  Each string has
 * one place, by its hash, and replaces the string that is there.  If strings
 * hardly ever come again, the memo ends.
 *
 * Runs in each process that packs rows.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "keys/key_memo.h"

/* A small sort is worth no memory. */
#define STRINGS_BEFORE_MEMO		200

#define PLACES					4096	/* a power of two */
#define STRING_BYTES_MAX		47

/* If there are fewer hits than this in so many looks, the looks do not pay. */
#define LOOKS_TO_JUDGE_BY		4096
#define HITS_WORTH_IT			(LOOKS_TO_JUDGE_BY / 8)

typedef struct Place
{
	bool		taken;
	uint8		length;
	char		string[STRING_BYTES_MAX];
	uint64		words[FLEXIBLE_ARRAY_MEMBER];
} Place;

struct GpuSortKeyMemo
{
	int			n_words;
	bool		ended;
	uint32		strings;		/* seen before there were places */
	uint32		looks;			/* since it was last judged */
	uint32		hits;
	MemoryContext context;
	char	   *places;			/* [PLACES] of place_bytes; NULL: not yet, or no longer */
	Size		place_bytes;
};

GpuSortKeyMemo *
gpusort_key_memo_make(int n_words)
{
	GpuSortKeyMemo *memo = palloc0(sizeof(GpuSortKeyMemo));

	memo->n_words = n_words;
	memo->context = CurrentMemoryContext;
	memo->place_bytes = offsetof(Place, words) + n_words * sizeof(uint64);
	return memo;
}

/* Does the memo pay?  This is judged from time to time. */
static bool
is_worth_it(GpuSortKeyMemo *memo)
{
	if (memo->places == NULL)
	{
		if (++memo->strings < STRINGS_BEFORE_MEMO)
			return false;
		memo->places = MemoryContextAllocZero(memo->context, PLACES * memo->place_bytes);
	}
	if (memo->looks == LOOKS_TO_JUDGE_BY)
	{
		memo->ended = memo->hits < HITS_WORTH_IT;
		memo->looks = 0;
		memo->hits = 0;
	}
	if (memo->ended)
	{
		pfree(memo->places);
		memo->places = NULL;
	}
	return !memo->ended;
}

/* The caller fills the place of a string that is not known. */
uint64 *
gpusort_key_memo_find(GpuSortKeyMemo *memo, const char *string, Size length, bool *known)
{
	uint32		hash;
	Place	   *place;

	*known = false;
	if (memo->ended || length > STRING_BYTES_MAX || !is_worth_it(memo))
		return NULL;
	hash = hash_bytes((const unsigned char *) string, (int) length);
	place = (Place *) (memo->places + (hash & (PLACES - 1)) * memo->place_bytes);
	memo->looks++;
	if (place->taken && place->length == length && memcmp(place->string, string, length) == 0)
	{
		memo->hits++;
		*known = true;
		return place->words;
	}
	place->taken = true;
	place->length = (uint8) length;
	memcpy(place->string, string, length);
	return place->words;
}
