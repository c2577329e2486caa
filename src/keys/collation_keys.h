/*
 * collation_keys.h
 *	  Sort keys: bytes whose order, by memcmp, is that of strings under a
 *	  collation.
 */
#ifndef GPUSORT_COLLATION_KEYS_H
#define GPUSORT_COLLATION_KEYS_H

#include "postgres.h"

typedef enum GpuSortCollationKind
{
	GPUSORT_COLLATION_NONE,		/* no order, or no sort keys */
	GPUSORT_COLLATION_BYTES,	/* a string's bytes are its sort key: C, POSIX, the built-in ones */
	GPUSORT_COLLATION_ICU,		/* by ICU */
	GPUSORT_COLLATION_LIBC		/* by the C library's strxfrm, which strcoll may contradict */
} GpuSortCollationKind;

/* The byte that ends each level of a sort key of ICU's and of glibc's. */
#define GPUSORT_LEVEL_SEPARATOR	1

/* Bytes of room for a sort key, beyond those that are needed. */
#define GPUSORT_KEY_BYTES_BEYOND	8

/* Bytes of a string that the C library gets beyond those that the sort key
 * needs. */
#define GPUSORT_LIBC_BYTES_BEYOND	32

/* Returns where sort keys of strings under a collation come from.  The
 * database's default counts as the collation that it stands for. */
extern GpuSortCollationKind gpusort_collation_kind(Oid collation);

/* The means to make sort keys, with their buffers. */
typedef struct GpuSortCollationKeys
{
	GpuSortCollationKind kind;
	struct pg_locale_struct *locale;	/* NULL: the process's own */
	Size		needed;			/* bytes of a sort key that anybody reads */
	int			made;			/* keys, until there are enough for `ascii` (ascii_keys.c) */
	struct GpuSortAsciiKeys *ascii; /* puts keys together; NULL: not yet, or not here */
	char	   *terminated;		/* a string and a NUL */
	Size		terminated_room;
	char	   *key;
	Size		key_room;
	MemoryContext context;
} GpuSortCollationKeys;

/* The collation's kind is ICU or LIBC.  Memory: the current context. */
extern PGDLLEXPORT GpuSortCollationKeys *gpusort_collation_keys_make(Oid collation, Size needed);

/*
 * Has the provider write at least the first `needed` bytes of the first level
 * of a string's sort key, or all, into keys->key.  Returns their number.  The
 * bytes are valid until the next call.
 */
extern PGDLLEXPORT Size gpusort_collation_first_level(GpuSortCollationKeys *keys,
													  const char *string, Size length,
													  Size needed);

#endif							/* GPUSORT_COLLATION_KEYS_H */
