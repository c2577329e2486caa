/*
 * ascii_keys.h
 *	  Sort keys of ASCII strings, put together without the collation's provider.
 */
#ifndef GPUSORT_ASCII_KEYS_H
#define GPUSORT_ASCII_KEYS_H

#include "keys/collation_keys.h"

/*
 * Returns at least the first `needed` bytes of the first level of a string's
 * sort key, or all, put together or by the provider.  The bytes are valid until
 * the next call.  *length: their number.
 */
extern PGDLLEXPORT const char *gpusort_collation_key(GpuSortCollationKeys *keys,
													 const char *string, Size string_length,
													 Size *length);

/* Puts such a key together, in keys->key.  keys->ascii is set.  False: the
 * provider has to make it. */
extern PGDLLEXPORT bool gpusort_ascii_key(GpuSortCollationKeys *keys, const char *string,
										  Size length, Size *key_length);

#endif							/* GPUSORT_ASCII_KEYS_H */
