/*
 * group_hash.h
 *	  The keys of a grouping: one hash of them all.
 */
#ifndef GPUSORT_GROUP_HASH_H
#define GPUSORT_GROUP_HASH_H

#include "postgres.h"

#include "keys/sortkey.h"

/*
 * The extended hash function that gives the same to values that are equal by the operator's own
 * equality; InvalidOid: there is none.
 */
extern Oid	gpusort_group_hash_function(const GpuSortKeyType *type);

/*
 * Sets the key's encode and encode_null; the first key begins the word, others add to it.  Memory:
 * the current context, which outlives the key.
 */
extern void gpusort_group_hash_make(GpuSortKey *key, const GpuSortKeyType *type, bool is_first);

#endif							/* GPUSORT_GROUP_HASH_H */
