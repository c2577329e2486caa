/*
 * ascii_keys.c
 *	  Sort keys of ASCII strings, put together without the collation's provider.
 *
 * In:  strings, in an encoding that has ASCII; the provider's own sort keys of
 *	    single characters and of pairs.
 * Out: the first level of any string's sort key, as the provider makes it: put
 *	    together here, or else made by the provider (collation_keys.c).
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
 * them, which may belong to the last of them.  If a key has been put together
 * with a new part, the provider tells whether it is right.  If it is not, no
 * further key is put together.
 *
 * Often nobody checks the order of rows.  No keys are put together under an ICU
 * collation that sorts strings of ASCII characters as letters of their own, or
 * digits as numbers, nor under one of the C library in which a letter has two
 * characters without parts, which no pair shows, such as Uzbek o''.
 *
 * Runs in every process that packs rows.  A locale's parts, 128 kB, stay until
 * the process ends, as the locale does.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "compat.h"
#include "keys/ascii_keys.h"
#include "keys/icu.h"
#include "settings.h"

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

StaticAssertDecl(sizeof(Part) == GPUSORT_KEY_BYTES_BEYOND,
				 "a part is copied as a whole, behind the bytes that are needed");

typedef struct GpuSortAsciiKeys
{
	bool		wrong;			/* a key was, so no further one is put together */
	Part		parts[N_CHARACTERS][N_CHARACTERS];	/* by the character before, and the character */
} GpuSortAsciiKeys;

/* --- collations of ICU ---------------------------------------------------- */

#ifdef USE_ICU

extern __typeof__(ucol_getAttribute) ucol_getAttribute __attribute__((weak));
extern __typeof__(ucol_getContractionsAndExpansions)
			ucol_getContractionsAndExpansions __attribute__((weak));
extern __typeof__(uset_openEmpty) uset_openEmpty __attribute__((weak));
extern __typeof__(uset_close) uset_close __attribute__((weak));
extern __typeof__(uset_getItemCount) uset_getItemCount __attribute__((weak));
extern __typeof__(uset_getItem) uset_getItem __attribute__((weak));

/* The longest string that is sorted as a letter of its own has less. */
#define CONTRACTION_UNITS_MAX	64

/* Does this one of the set's items, if it is a string, begin with two ASCII
 * characters?  An item that cannot be read counts as one. */
static bool
begins_with_ascii_pair(const USet *set, int32_t i)
{
	UChar		units[CONTRACTION_UNITS_MAX];
	UErrorCode	status = U_ZERO_ERROR;
	UChar32		first;
	UChar32		last;
	int32_t		n = uset_getItem(set, i, &first, &last, units, CONTRACTION_UNITS_MAX, &status);

	return U_FAILURE(status) ||
		(n >= 2 && units[0] < N_CHARACTERS && units[1] < N_CHARACTERS);
}

/* Does ICU sort each ASCII character by itself, whatever is before it?  It may
 * take strings together, or digits. */
static bool
sorts_by_characters(pg_locale_t locale)
{
	const UCollator *collator = compat_icu_collator(locale);
	UErrorCode	status = U_ZERO_ERROR;
	bool		result;
	USet	   *strings;

	if (ucol_getAttribute == NULL || ucol_getContractionsAndExpansions == NULL ||
		uset_openEmpty == NULL || uset_close == NULL || uset_getItemCount == NULL ||
		uset_getItem == NULL)
		return false;
	strings = uset_openEmpty();
	ucol_getContractionsAndExpansions(collator, strings, NULL, true, &status);
	result = ucol_getAttribute(collator, UCOL_NUMERIC_COLLATION, &status) == UCOL_OFF &&
		U_SUCCESS(status);
	for (int32_t i = 0; result && i < uset_getItemCount(strings); i++)
		result = !begins_with_ascii_pair(strings, i);
	uset_close(strings);
	return result;
}

#else

static bool
sorts_by_characters(pg_locale_t locale)
{
	return false;
}

#endif							/* USE_ICU */

/* --- parts ---------------------------------------------------------------- */

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
		set_part(part, keys->key, length, keys->key, 0);
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

/* --- locales -------------------------------------------------------------- */

/* A locale that has been asked for. */
typedef struct KnownLocale
{
	pg_locale_t locale;			/* NULL: the process's own */
	GpuSortAsciiKeys *ascii;	/* NULL: its keys cannot be put together */
	struct KnownLocale *next;
} KnownLocale;

static KnownLocale *known_locales = NULL;

static KnownLocale *
find_locale(pg_locale_t locale)
{
	KnownLocale *known = known_locales;

	while (known != NULL && known->locale != locale)
		known = known->next;
	return known;
}

static GpuSortAsciiKeys *
make_ascii_keys(void)
{
	GpuSortAsciiKeys *ascii = MemoryContextAlloc(TopMemoryContext, sizeof(GpuSortAsciiKeys));

	ascii->wrong = false;
	for (int before = 0; before < N_CHARACTERS; before++)
		for (int c = 0; c < N_CHARACTERS; c++)
			ascii->parts[before][c].n = PART_UNKNOWN;
	return ascii;
}

/* Does each letter of the C library consist of at most one character without a
 * part? */
static bool
pairs_show_letters(GpuSortCollationKeys *keys)
{
	const Part *parts = keys->ascii->parts[BEGINNING];

	for (int c = 1; c < N_CHARACTERS; c++)
		learn_part(keys, BEGINNING, c);
	for (int c = ' '; c < N_CHARACTERS; c++)
		for (int letter = 'A'; parts[c].n == 0 && letter <= 'z'; letter++)
		{
			const char	string[] = {c, c, letter, c, c};
			Size		length = gpusort_collation_first_level(keys, string, sizeof(string),
															   PAIR_BYTES);

			if (length != parts[letter].n || memcmp(keys->key, parts[letter].bytes, length) != 0)
				return false;
		}
	return true;
}

static KnownLocale *
add_locale(GpuSortCollationKeys *keys)
{
	KnownLocale *known = MemoryContextAllocZero(TopMemoryContext, sizeof(KnownLocale));

	known->locale = keys->locale;
	known->next = known_locales;
	known_locales = known;
	keys->ascii = make_ascii_keys();
	if (keys->kind == GPUSORT_COLLATION_LIBC ? pairs_show_letters(keys) :
		sorts_by_characters(keys->locale))
		known->ascii = keys->ascii;
	else
		pfree(keys->ascii);
	return known;
}

/* After so many keys, it is worth it to learn how to put them together. */
#define KEYS_BEFORE_ASCII	1000

/* Finds the parts of a locale that earlier sorts have learned, or begins to
 * learn them. */
static void
count_key(GpuSortCollationKeys *keys)
{
	KnownLocale *known;

	if (++keys->made > 1 && keys->made < KEYS_BEFORE_ASCII)
		return;
	known = find_locale(keys->locale);
	if (known == NULL && keys->made == KEYS_BEFORE_ASCII)
		known = add_locale(keys);
	keys->ascii = known != NULL ? known->ascii : NULL;
}

/* --- keys ----------------------------------------------------------------- */

/* Puts a key together, as far as it is needed.  Returns the string's length, or
 * the place of the first character, behind *before, that has no known part or
 * is not ASCII. */
static Size
put_together(const GpuSortCollationKeys *keys, const char *string, Size length, Size *key_length,
			 uint8 *before)
{
	Size		n = 0;
	Size		i;

	*before = BEGINNING;
	for (i = 0; i < length; i++)
	{
		uint8		c = (uint8) string[i];
		const Part *part = &keys->ascii->parts[*before][c % N_CHARACTERS];

		if (unlikely(c >= N_CHARACTERS || part->n > PART_BYTES_MAX))
			break;
		/* the character behind the needed ones has been looked at too */
		if (n >= keys->needed)
		{
			i = length;
			break;
		}
		memcpy(keys->key + n, part, sizeof(Part));
		n += part->n;
		if (part->n > 0)
			*before = c;
	}
	*key_length = n;
	return i;
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

/* New parts are checked even if the string as a whole has no such key. */
bool
gpusort_ascii_key(GpuSortCollationKeys *keys, const char *string, Size length, Size *key_length)
{
	bool		has_learned = false;
	Size		end;
	uint8		before;

	while (end = put_together(keys, string, length, key_length, &before),
		   unlikely(end < length && (uint8) string[end] < N_CHARACTERS &&
					keys->ascii->parts[before][(uint8) string[end]].n == PART_UNKNOWN))
	{
		learn_part(keys, before, (uint8) string[end]);
		has_learned = true;
	}
	if (unlikely(has_learned))
	{
		keys->ascii->wrong |= !is_right(keys, string, end, *key_length);
		/* the provider's key is in the same place */
		*key_length = Min(*key_length, keys->needed);
	}
	return end == length && !keys->ascii->wrong;
}

/* For tests, gpusort.debug_collation_fault makes keys of some strings wrong. */
const char *
gpusort_collation_key(GpuSortCollationKeys *keys, const char *string, Size string_length,
					  Size *length)
{
	if (unlikely(gpusort_debug_collation_fault > 0 && keys->kind == GPUSORT_COLLATION_LIBC &&
				 string_length == (Size) gpusort_debug_collation_fault))
	{
		string++;
		string_length--;
	}
	if (unlikely(keys->made < KEYS_BEFORE_ASCII))
		count_key(keys);
	if (keys->ascii == NULL || keys->ascii->wrong ||
		!gpusort_ascii_key(keys, string, string_length, length))
		*length = gpusort_collation_first_level(keys, string, string_length, keys->needed);
	return keys->key;
}
