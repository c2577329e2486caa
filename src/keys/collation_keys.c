/*
 * collation_keys.c
 *	  Sort keys: bytes whose order, by memcmp, is that of strings under a
 *	  collation.
 *
 * In:  strings in the database's encoding, a collation.
 * Out: the first level of their sort keys by ICU or the C library, in a buffer
 *	    that stays.
 *
 * The first level tells nearly all strings apart.  The C library's strcoll
 * contradicts the others, and ICU takes as long for the second.  Other files
 * ask ascii_keys.c for keys, which puts those of ASCII strings together.
 *
 * Runs in every process that packs rows, and in the one that plans.  A string
 * leaves no allocation behind, except for larger buffers.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "mb/pg_wchar.h"

#include "compat.h"
#include "keys/collation_keys.h"
#include "keys/icu.h"

/* --- buffers -------------------------------------------------------------- */

/* Gives a buffer this much room.  Its contents are lost. */
static void
grow_buffer(const GpuSortCollationKeys *keys, char **buffer, Size *room, Size wanted)
{
	if (*buffer != NULL)
		pfree(*buffer);
	*buffer = NULL;
	*room = 0;
	wanted = Max(1024, wanted + wanted / 2);
	*buffer = MemoryContextAllocHuge(keys->context, wanted);
	*room = wanted;
}

/* Copies a string, with a NUL behind it. */
static void
terminate(GpuSortCollationKeys *keys, const char *string, Size length)
{
	if (unlikely(length >= keys->terminated_room))
		grow_buffer(keys, &keys->terminated, &keys->terminated_room, length + 1);
	memcpy(keys->terminated, string, length);
	keys->terminated[length] = '\0';
}

/* --- providers ------------------------------------------------------------ */

#if COMPAT_HAS_STRXFRM_PREFIX

static bool
is_icu_usable(pg_locale_t locale)
{
	return true;
}

static bool
is_icu(pg_locale_t locale)
{
	return pg_strxfrm_prefix_enabled(locale);
}

/*
 * Uses the function that PostgreSQL's own sort calls.  pg_strnxfrm_prefix takes
 * a length, but nothing in PostgreSQL calls it, and in 17.11 it was seen to
 * read beyond the string.
 */
static Size
write_icu_key(GpuSortCollationKeys *keys, const char *string, Size length, Size needed)
{
	terminate(keys, string, length);
	return pg_strxfrm_prefix(keys->key, keys->terminated, needed, keys->locale);
}

#else							/* before 16, each provider is asked by itself */

static bool
is_icu(pg_locale_t locale)
{
	return locale != NULL && locale->provider == COLLPROVIDER_ICU;
}

#ifdef USE_ICU

extern __typeof__(ucol_nextSortKeyPart) ucol_nextSortKeyPart __attribute__((weak));
extern __typeof__(uiter_setUTF8) uiter_setUTF8 __attribute__((weak));
extern __typeof__(uiter_setString) uiter_setString __attribute__((weak));

static bool
is_icu_usable(pg_locale_t locale)
{
	return ucol_nextSortKeyPart != NULL && uiter_setUTF8 != NULL && uiter_setString != NULL;
}

/* Writes the needed bytes of a string's sort key, and returns their number. */
static Size
write_icu_key(GpuSortCollationKeys *keys, const char *string, Size length, Size needed)
{
	UCharIterator iterator;
	UChar	   *units = NULL;
	uint32_t	state[2] = {0, 0};	/* from the key's beginning on */
	UErrorCode	status = U_ZERO_ERROR;
	int32_t		written;

	if (GetDatabaseEncoding() == PG_UTF8)
		uiter_setUTF8(&iterator, string, length);
	else
	{
		int32_t		n_units = icu_to_uchar(&units, string, length);

		uiter_setString(&iterator, units, n_units);
	}
	written = ucol_nextSortKeyPart(compat_icu_collator(keys->locale), &iterator, state,
								   (uint8_t *) keys->key, (int32_t) needed, &status);
	if (units != NULL)
		pfree(units);
	if (U_FAILURE(status))
		ereport(ERROR,
				(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
				 errmsg("could not make a sort key for a string"),
				 errdetail("ICU returned error code %d.", (int) status),
				 errhint("Run \"SET gpusort.enabled = off\" to sort without sort keys.")));
	return written;
}

#else							/* !USE_ICU */

static bool
is_icu_usable(pg_locale_t locale)
{
	return false;
}

static Size
write_icu_key(GpuSortCollationKeys *keys, const char *string, Size length, Size needed)
{
	elog(ERROR, "gpusort was built without ICU's headers");
	return 0;
}

#endif							/* USE_ICU */

#endif							/* COMPAT_HAS_STRXFRM_PREFIX */

static Size
write_libc_key(const GpuSortCollationKeys *keys)
{
	return compat_strxfrm_libc(keys->key, keys->terminated, keys->key_room, keys->locale);
}

/*
 * A locale of glibc without rules of collation compares strings byte by byte,
 * and returns them as their own sort keys.  C.UTF-8 is such a locale since
 * 2.35, in the order of code points.  Planning asks for the same locale many
 * times, and a session keeps its locales.
 */
static bool
has_no_rules(pg_locale_t locale)
{
#ifdef __GLIBC__
	static const char string[] = "a B-b";
	static bool asked = false;
	static bool has_none;
	static pg_locale_t last;
	char		key[64];

	if (asked && locale == last)
		return has_none;
	has_none = compat_strxfrm_libc(key, string, sizeof(key), locale) == strlen(string) &&
		strcmp(key, string) == 0;
	last = locale;
	asked = true;
	return has_none;
#else
	return false;
#endif
}

/*
 * Returns the bytes of a sort key's first level.  That of the C library leaves
 * out blanks and punctuation.  Only the levels behind it tell their places, and
 * only about these do strcoll and glibc's strxfrm contradict each other.
 */
static Size
first_level(const char *key, Size length)
{
	const char *end = memchr(key, GPUSORT_LEVEL_SEPARATOR, length);

	return end != NULL ? end - key : length;
}

GpuSortCollationKind
gpusort_collation_kind(Oid collation)
{
	pg_locale_t locale;

	if (!OidIsValid(collation))
		return GPUSORT_COLLATION_NONE;
	if (compat_collation_is_c(collation))
		return GPUSORT_COLLATION_BYTES;
	locale = pg_newlocale_from_collation(collation);
	if (!is_icu(locale))
		return has_no_rules(locale) ? GPUSORT_COLLATION_BYTES : GPUSORT_COLLATION_LIBC;
	return is_icu_usable(locale) ? GPUSORT_COLLATION_ICU : GPUSORT_COLLATION_NONE;
}

/* --- keys ----------------------------------------------------------------- */

/*
 * A sort key of a string's first bytes, of at most this many, is a beginning of
 * the string's own key, except for the part of its last characters.  These may
 * contract with characters that follow.  A contraction has less than
 * UNSETTLED_BYTES.
 */
#define UNSETTLED_BYTES		(GPUSORT_LIBC_BYTES_BEYOND / 2)

static Size
make_libc_key(GpuSortCollationKeys *keys, const char *string, Size length)
{
	Size		key_length;

	terminate(keys, string, length);
	/* a key that does not fit is unreliable, and is made again */
	while (key_length = write_libc_key(keys), unlikely(key_length >= keys->key_room))
		grow_buffer(keys, &keys->key, &keys->key_room, key_length + 1);
	return first_level(keys->key, key_length);
}

/*
 * strxfrm takes time for each byte of a string, so it gets no more of a long
 * one than is needed.  Characters that the first level ignores may make that
 * too little.
 */
static Size
make_needed_libc_key(GpuSortCollationKeys *keys, const char *string, Size length, Size needed)
{
	for (Size part = needed + GPUSORT_LIBC_BYTES_BEYOND; part < length; part *= 2)
	{
		Size		key_length = make_libc_key(keys, string,
											   pg_mbcliplen(string, (int) length, (int) part));

		if (key_length >= needed + UNSETTLED_BYTES)
			return key_length - UNSETTLED_BYTES;
	}
	return make_libc_key(keys, string, length);
}

GpuSortCollationKeys *
gpusort_collation_keys_make(Oid collation, Size needed)
{
	GpuSortCollationKeys *keys = palloc0(sizeof(GpuSortCollationKeys));

	keys->kind = gpusort_collation_kind(collation);
	if (keys->kind != GPUSORT_COLLATION_ICU && keys->kind != GPUSORT_COLLATION_LIBC)
		elog(ERROR, "gpusort has no sort keys for collation %u", collation);
	keys->locale = pg_newlocale_from_collation(collation);
	keys->needed = needed;
	keys->context = CurrentMemoryContext;
	grow_buffer(keys, &keys->key, &keys->key_room, needed + GPUSORT_KEY_BYTES_BEYOND);
	return keys;
}

Size
gpusort_collation_first_level(GpuSortCollationKeys *keys, const char *string, Size length,
							  Size needed)
{
	if (keys->kind == GPUSORT_COLLATION_LIBC)
		return make_needed_libc_key(keys, string, length, needed);
	return first_level(keys->key, write_icu_key(keys, string, length, needed));
}
