/*
 * ascii_keys.h
 *	  Sort keys of ASCII strings, put together without the collation's provider.
 */
#ifndef GPUSORT_ASCII_KEYS_H
#define GPUSORT_ASCII_KEYS_H

#include "keys/collation_keys.h"

/* Bytes of a buffer for a sort key, beyond those that are needed. */
#define GPUSORT_ASCII_KEY_BYTES_BEYOND	8

/* Returns the means to put keys under a locale together.  NULL: there are none
 * yet, or they cannot be. */
extern GpuSortAsciiKeys *gpusort_ascii_keys_of(struct pg_locale_struct *locale);

/* Sets keys->ascii, if keys under this locale can be put together. */
extern void gpusort_ascii_keys_begin(GpuSortCollationKeys *keys);

/*
 * Writes the first level of a string's sort key into keys->key: at least the
 * first `needed` bytes, or all.  *key_length: their number.  False: the
 * provider has to make this key.
 */
extern PGDLLEXPORT bool gpusort_ascii_key(GpuSortCollationKeys *keys, const char *string,
										  Size length, Size *key_length);

#endif							/* GPUSORT_ASCII_KEYS_H */
