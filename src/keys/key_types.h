/*
 * key_types.h
 *	  Which types have words, and the words of a sort's keys.
 *
 * The exported functions serve a module that tests words
 * (test/modules/key_words).
 */
#ifndef GPUSORT_KEY_TYPES_H
#define GPUSORT_KEY_TYPES_H

#include "postgres.h"

#include "access/tupdesc.h"

#include "keys/sortkey.h"

/* Returns the type that a domain stands for, with its modifier.  Any other type
 * is its own. */
extern Oid	gpusort_base_type(Oid type, int32 *typmod);

/* Returns the base type whose words a column of this type has, if it is sorted
 * by this operator.  An index stores names as cstrings. */
extern Oid	gpusort_key_type(Oid type, int32 *typmod, Oid sort_operator);

/* Is it an operator of text_pattern_ops or the like, which order texts as C
 * does under any collation? */
extern bool gpusort_is_pattern_operator(Oid sort_operator, bool *descending);

/*
 * Can a column of a type have words, if it is sorted by this operator under
 * this collation?  *least and *most: how many it may have.  The more it has,
 * the fewer of its values are inexact.
 */
extern PGDLLEXPORT bool gpusort_sortkey_has_words(Oid type_oid, int32 typmod, Oid sort_operator,
												  Oid collation, int *least, int *most);

/*
 * Makes the words of the first n_keys keys of order, of rows of type desc, with
 * these encodings.  0 keys: the one word of a grouping, of all keys.  The
 * result is the same in each process of a plan.  Memory: the current context.
 */
extern PGDLLEXPORT void gpusort_keys_make(const GpuSortOrder *order, int n_keys,
										  const GpuSortKeyEncoding *encodings, TupleDesc desc,
										  GpuSortKeys *keys);

/*
 * Makes the word of key number i of order, if its type is passed by value and
 * has one word, which is exact.  False: the type does not.
 */
extern bool gpusort_sortkey_make_by_value(const GpuSortOrder *order, int i, TupleDesc desc,
										  GpuSortKey *key);

/* Can equal values of a column be brought together by a hash? */
extern bool gpusort_sortkey_has_hash(Oid type_oid, Oid sort_operator);

#endif							/* GPUSORT_KEY_TYPES_H */
