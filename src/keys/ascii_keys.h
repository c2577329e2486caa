/*
 * ascii_keys.h
 *	  Sort keys of ASCII strings, put together without the collation's provider.
 */
#ifndef GPUSORT_ASCII_KEYS_H
#define GPUSORT_ASCII_KEYS_H

#include "keys/collation_keys.h"

/* Bytes of a buffer for a sort key, beyond those that are needed. */
#define GPUSORT_ASCII_KEY_BYTES_BEYOND	8

/* Memory: the current context. */
extern GpuSortAsciiKeys *gpusort_ascii_keys_make(void);

/*
 * Writes the first level of a string's sort key into keys->key: at least the
 * first `needed` bytes, or all.  *key_length: their number.  False: the
 * provider has to make this key.
 */
extern PGDLLEXPORT bool gpusort_ascii_key(GpuSortCollationKeys *keys, const char *string,
										  Size length, Size *key_length);

#endif							/* GPUSORT_ASCII_KEYS_H */
