/*
 * dictionary.h
 *	  Dictionaries: the values of a key that has few, by their ranks.
 *
 * Texts under a collation have sort keys that are long and stand for values
 * only roughly.  If few values come again and again, their ranks are short, and
 * exact.  Each value has a code.  A value that is, or equals, one of the
 * dictionary's has an odd code: 2 * rank + 1.  Any other value has an even
 * code: 2 * the number of the dictionary's values before it.  Codes sort as
 * values do.
 */
#ifndef GPUSORT_DICTIONARY_H
#define GPUSORT_DICTIONARY_H

#include "postgres.h"

#include "lib/stringinfo.h"

#include "keys/text_bytes.h"

typedef struct GpuSortDictionary GpuSortDictionary;

/* The code of an unknown value; no value has it. */
#define GPUSORT_DICTIONARY_UNKNOWN	PG_UINT64_MAX

/* More values would fill the processor's cache, and cost a sort key each. */
#define GPUSORT_DICTIONARY_VALUES_MAX	1024

/* Bytes of all values together.  Each process that feeds a sort gets a copy. */
#define GPUSORT_DICTIONARY_BYTES_MAX	(64 * 1024)

/* May keys of a base type under a collation have a dictionary? */
extern bool gpusort_dictionary_may_be_of(Oid type, Oid collation);

/* --- making one ----------------------------------------------------------- */

/* Begins a dictionary for a base type that has text bytes and a collation.
 * Memory: the current context, which must outlive it. */
extern PGDLLEXPORT GpuSortDictionary *gpusort_dictionary_begin(Oid type, Oid collation,
															   Oid sort_operator);

/* Counts a value that is not NULL, which may be toasted.  False: there are too
 * many for a dictionary. */
extern PGDLLEXPORT bool gpusort_dictionary_count(GpuSortDictionary *dictionary, Datum value);

/* Are the counted values nearly all that will come? */
extern bool gpusort_dictionary_is_worth_it(const GpuSortDictionary *dictionary);

/* Returns the number of different values counted. */
extern int	gpusort_dictionary_values(const GpuSortDictionary *dictionary);

/*
 * Ranks the values.  False: their sort keys are in another order than the
 * values, and there is no dictionary.
 */
extern PGDLLEXPORT bool gpusort_dictionary_rank(GpuSortDictionary *dictionary);

/* --- in other processes --------------------------------------------------- */

/* Write appends the values of a dictionary.  Read makes a dictionary of the
 * same codes from them, and moves *from behind them.  Both processes use the
 * same operator and collation. */
extern void gpusort_dictionary_write(const GpuSortDictionary *dictionary, StringInfo to);
extern GpuSortDictionary *gpusort_dictionary_read(Oid type, Oid collation, Oid sort_operator,
												  const char **from);

/* --- codes ---------------------------------------------------------------- */

/* Returns the code of a string that is in the dictionary byte by byte; else
 * UNKNOWN. */
extern uint64 gpusort_dictionary_find(const GpuSortDictionary *dictionary, const char *bytes,
									  Size length);

/* Bytes of a sort key that place reads. */
#define GPUSORT_DICTIONARY_KEY_BYTES	64

/*
 * Returns the code of any other value, by the first bytes of its sort key: as
 * many as place reads, or all.  *n_common: for an even code, the bytes that all
 * sort keys between its two neighbours begin with.
 */
extern uint64 gpusort_dictionary_place(GpuSortDictionary *dictionary, Datum value,
									   const char *sort_key, Size length, Size *n_common);

#endif							/* GPUSORT_DICTIONARY_H */
