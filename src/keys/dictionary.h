/*
 * dictionary.h
 *	  The values of a key that has few, by their ranks.
 *
 * Texts under a collation have sort keys that are long and stand for values only roughly.  Where
 * few values come again and again their ranks are short, and exact.  A value has a code: odd if
 * it is, or equals, one of the dictionary, which is 2 * rank + 1; else even, 2 * the number of the
 * dictionary's values before it.  Codes sort as values do.
 */
#ifndef GPUSORT_DICTIONARY_H
#define GPUSORT_DICTIONARY_H

#include "postgres.h"

#include "lib/stringinfo.h"

#include "keys/text_bytes.h"

typedef struct GpuSortDictionary GpuSortDictionary;

/* No value has such a code: that it is not known. */
#define GPUSORT_DICTIONARY_UNKNOWN	PG_UINT64_MAX

/* More values fill the processor's cache, and cost a sort key each. */
#define GPUSORT_DICTIONARY_VALUES_MAX	1024

/* Bytes of all values together: processes that feed a sort get a copy. */
#define GPUSORT_DICTIONARY_BYTES_MAX	(64 * 1024)

/* May keys of a base type under a collation have one? */
extern bool gpusort_dictionary_may_be_of(Oid type, Oid collation);

/* --- making one ------------------------------------------------------------------ */

/* Of a base type that has text bytes and a collation.  Memory: the current context, which outlives
 * it. */
extern PGDLLEXPORT GpuSortDictionary *gpusort_dictionary_begin(Oid type, Oid collation,
															   Oid sort_operator);

/* Counts a value that is not NULL, which may be toasted.  False: there are too many for a
 * dictionary. */
extern PGDLLEXPORT bool gpusort_dictionary_count(GpuSortDictionary *dictionary, Datum value);

/* Are the values that have been counted nearly all that will come? */
extern bool gpusort_dictionary_is_worth_it(const GpuSortDictionary *dictionary);

/* Values that have been counted, each once. */
extern int	gpusort_dictionary_values(const GpuSortDictionary *dictionary);

/*
 * Ranks the values.  False: their sort keys are in another order than they themselves, and there is
 * no dictionary.
 */
extern PGDLLEXPORT bool gpusort_dictionary_rank(GpuSortDictionary *dictionary);

/* --- in other processes -------------------------------------------------------------- */

/* Appends the values of a dictionary; and makes one of the same codes of what was appended, behind which *from
 * points then.  Both processes have the same operator and collation. */
extern void gpusort_dictionary_write(const GpuSortDictionary *dictionary, StringInfo to);
extern GpuSortDictionary *gpusort_dictionary_read(Oid type, Oid collation, Oid sort_operator, const char **from);

/* --- codes ------------------------------------------------------------------------ */

/* The code of a string, if it is in the dictionary byte by byte; else UNKNOWN. */
extern uint64 gpusort_dictionary_find(const GpuSortDictionary *dictionary, const char *bytes,
									  Size length);

/* Bytes of a sort key that place looks at. */
#define GPUSORT_DICTIONARY_KEY_BYTES	64

/*
 * The code of any other value, by the first bytes of its sort key: as many as place looks at, or
 * all. *n_common: of an even code, bytes that all sort keys between its two neighbours begin with.
 */
extern uint64 gpusort_dictionary_place(GpuSortDictionary *dictionary, Datum value,
									   const char *sort_key, Size length, Size *n_common);

#endif							/* GPUSORT_DICTIONARY_H */
