/*
 * group_hash.h
 *	  The keys of a grouping: one hash of them all.
 */
#ifndef GPUSORT_GROUP_HASH_H
#define GPUSORT_GROUP_HASH_H

#include "postgres.h"

#include "keys/sortkey.h"

/*
 * Returns the extended hash function that is the same for values that the
 * operator considers equal; InvalidOid: there is none.
 */
extern Oid	gpusort_group_hash_function(const GpuSortKeyType *type);

/*
 * Sets the key's encode and encode_null.  The first key begins the word, and
 * others add to it.  Memory: the current context, which must outlive the key.
 */
extern void gpusort_group_hash_make(GpuSortKey *key, const GpuSortKeyType *type, bool is_first);

#endif							/* GPUSORT_GROUP_HASH_H */
