/*
 * ascii_keys.c
 *	  Sort keys of ASCII strings, put together without the collation's provider.
 *
 * In:  strings, in an encoding that has ASCII; the provider's own sort keys of
 *	    single characters and of pairs.
 * Out: the first level of strings' sort keys, as the provider makes it.
 *
 * ICU and the C library take 150 to 500 ns for the sort key of a short string.
 * Its first level is a row of parts, one for each character.  A part depends on
 * the character and, with ICU, on the one before it: ICU leaves out a first
 * byte that two characters have in common, and marks where that ends
 * (CollationKeys in ICU's sources).  A character without a part, such as a
 * blank in the C library's locales, changes nothing for the one after it.
 *
 * Parts are learned from the provider when they are first needed.  A pair that
 * is a letter of its own, such as Czech ch, has no part, and strings with it
 * get their keys from the provider.  So do strings with a character that is not
 * ASCII.  Both count among the characters that are needed, and the one behind
 * them, which may belong to the last of them.  For the first string with a new part, the provider tells whether
 * the key is right.  If it is not, no further key is put together.
 *
 * Runs in every process that packs rows.
 */
#include "postgres.h"

#include "keys/ascii_keys.h"

#define N_CHARACTERS	128

/* In place of the character before the first one.  No string has a NUL. */
#define BEGINNING		0

#define PART_BYTES_MAX	7

/* Numbers of bytes of parts that cannot be used. */
#define PART_UNKNOWN	0xfe
#define PART_NONE		0xff

/* Bytes that hold the first level of any two characters with parts. */
#define PAIR_BYTES		(4 * PART_BYTES_MAX)

typedef struct Part
{
	char		bytes[PART_BYTES_MAX];
	uint8		n;				/* of bytes; or PART_UNKNOWN or PART_NONE */
} Part;

StaticAssertDecl(sizeof(Part) == GPUSORT_ASCII_KEY_BYTES_BEYOND,
				 "a part is copied as a whole, behind the bytes that are needed");

struct GpuSortAsciiKeys
{
	Part		parts[N_CHARACTERS][N_CHARACTERS];	/* by the character before, and the character */
};

/* How far a string's key could be put together. */
typedef enum Outcome
{
	COMPLETE,
	PART_MISSING,				/* after it has been learned, the key can be tried again */
	NOT_POSSIBLE
} Outcome;

GpuSortAsciiKeys *
gpusort_ascii_keys_make(void)
{
	GpuSortAsciiKeys *ascii = palloc(sizeof(GpuSortAsciiKeys));

	for (int before = 0; before < N_CHARACTERS; before++)
		for (int c = 0; c < N_CHARACTERS; c++)
			ascii->parts[before][c].n = PART_UNKNOWN;
	return ascii;
}

/* Sets a part to what follows these bytes in a key. */
static void
set_part(Part *part, const char *key, Size length, const char *before, Size n_before)
{
	part->n = PART_NONE;
	if (length < n_before || length - n_before > PART_BYTES_MAX ||
		memcmp(key, before, n_before) != 0)
		return;
	part->n = (uint8) (length - n_before);
	memcpy(part->bytes, key + n_before, part->n);
}

static void
learn_part(GpuSortCollationKeys *keys, uint8 before, uint8 c)
{
	Part	   *part = &keys->ascii->parts[before][c];
	const Part *first = &keys->ascii->parts[BEGINNING][before];
	const char	pair[] = {(char) before, (char) c};
	Size		length;

	if (before == BEGINNING)
	{
		length = gpusort_collation_first_level(keys, &pair[1], 1, PAIR_BYTES);
		set_part(part, keys->key, length, NULL, 0);
		return;
	}
	if (first->n == PART_UNKNOWN)
		learn_part(keys, BEGINNING, before);
	part->n = PART_NONE;
	if (first->n == PART_NONE)
		return;
	length = gpusort_collation_first_level(keys, pair, 2, PAIR_BYTES);
	set_part(part, keys->key, length, first->bytes, first->n);
}

/* Puts a key together, as far as it is needed.  If a part is missing, *before
 * and *c tell which. */
static Outcome
put_together(const GpuSortCollationKeys *keys, const char *string, Size length, Size *key_length,
			 uint8 *before, uint8 *c)
{
	Size		n = 0;

	*before = BEGINNING;
	for (Size i = 0; i < length; i++)
	{
		const Part *part;

		*c = (uint8) string[i];
		if (*c >= N_CHARACTERS)
			return NOT_POSSIBLE;
		part = &keys->ascii->parts[*before][*c];
		if (unlikely(part->n > PART_BYTES_MAX))
			return part->n == PART_UNKNOWN ? PART_MISSING : NOT_POSSIBLE;
		/* the character behind the needed ones has been looked at too */
		if (n >= keys->needed)
			break;
		memcpy(keys->key + n, part, sizeof(Part));
		n += part->n;
		if (part->n > 0)
			*before = *c;
	}
	*key_length = n;
	return COMPLETE;
}

/* Is this the key that the provider makes, as far as it is needed? */
static bool
is_right(GpuSortCollationKeys *keys, const char *string, Size length, Size key_length)
{
	char	   *key = memcpy(palloc(Max(1, key_length)), keys->key, key_length);
	Size		expected = gpusort_collation_first_level(keys, string, length, keys->needed);
	bool		right = Min(expected, keys->needed) == Min(key_length, keys->needed) &&
		memcmp(keys->key, key, Min(key_length, keys->needed)) == 0;

	pfree(key);
	return right;
}

bool
gpusort_ascii_key(GpuSortCollationKeys *keys, const char *string, Size length, Size *key_length)
{
	bool		has_learned = false;
	Outcome		outcome;
	uint8		before;
	uint8		c;

	while (outcome = put_together(keys, string, length, key_length, &before, &c),
		   unlikely(outcome == PART_MISSING))
	{
		learn_part(keys, before, c);
		has_learned = true;
	}
	if (outcome == NOT_POSSIBLE)
		return false;
	if (unlikely(has_learned))
	{
		if (!is_right(keys, string, length, *key_length))
		{
			pfree(keys->ascii);
			keys->ascii = NULL;
			return false;
		}
		/* the provider's key is in the same place */
		*key_length = Min(*key_length, keys->needed);
	}
	return true;
}
