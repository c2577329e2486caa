/*
 * group_hash.c
 *	  The keys of a grouping: one hash of them all.
 *
 * In:  values as tuples hold them, key by key.
 * Out: one word: the keys' hashes, combined.  NULLs are equal to each other and
 *	    have a hash too.
 *
 * A key's hash is that of its type's default hash operator class, if its
 * equality is the sort operator's.  The hash depends on the collation.
 *
 * Runs in each process that packs rows.  Nothing stays allocated.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "fmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "keys/group_hash.h"

#define HASH_OF_NULL	UINT64CONST(0x9e3779b97f4a7c15)

typedef struct GroupHash
{
	FmgrInfo	function;
	Oid			collation;
	bool		is_first;
	MemoryContext scratch;		/* for memory that the function leaves */
} GroupHash;

Oid
gpusort_group_hash_function(const GpuSortKeyType *type)
{
	TypeCacheEntry *cache = lookup_type_cache(type->type,
											  TYPECACHE_EQ_OPR | TYPECACHE_HASH_EXTENDED_PROC);

	/* the cache has a function only if it matches eq_opr */
	if (get_equality_op_for_ordering_op(type->sort_operator, NULL) != cache->eq_opr)
		return InvalidOid;
	return cache->hash_extended_proc;
}

static inline void
add_hash(const GroupHash *group_hash, uint64 hash, uint64 *words)
{
	words[0] = group_hash->is_first ? hash : hash_combine64(words[0], hash);
}

static void
encode_hash(const GpuSortKey *key, Datum value, uint64 *words)
{
	GroupHash  *group_hash = key->state;
	MemoryContext old_context = MemoryContextSwitchTo(group_hash->scratch);
	Datum		hash = FunctionCall2Coll(&group_hash->function, group_hash->collation, value,
										 UInt64GetDatum(0));

	add_hash(group_hash, DatumGetUInt64(hash), words);
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(group_hash->scratch);
}

static void
encode_null_hash(const GpuSortKey *key, uint64 *words)
{
	add_hash(key->state, HASH_OF_NULL, words);
}

/* The hash function may leave memory behind, which goes into a context of its
 * own. */
void
gpusort_group_hash_make(GpuSortKey *key, const GpuSortKeyType *type, bool is_first)
{
	GroupHash  *group_hash = palloc(sizeof(GroupHash));
	Oid			function = gpusort_group_hash_function(type);

	if (!OidIsValid(function))
		elog(ERROR, "gpusort has no hash for type %u", type->type);
	fmgr_info_cxt(function, &group_hash->function, CurrentMemoryContext);
	group_hash->collation = type->collation;
	group_hash->is_first = is_first;
	group_hash->scratch = AllocSetContextCreate(CurrentMemoryContext, "gpusort hash",
												ALLOCSET_SMALL_SIZES);
	key->kind = GPUSORT_KEY_ENCODED;
	key->encode = encode_hash;
	key->encode_null = encode_null_hash;
	key->state = group_hash;
}
