/*
 * encode_abbreviated.c
 *	  A word for any type whose btree sort support abbreviates, also for types
 *	  of extensions.
 *
 * In:  values; the operator class's converter.
 * Out: the abbreviated key as a word.  Every value is inexact.
 *
 * Abbreviated keys can be words if their comparator is one of the three that
 * PostgreSQL exports for this.
 *
 * Runs in each process that packs rows.  A converter may keep things in
 * ssup_cxt, which is the key's context.  Other memory is freed after each call.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"

#include "keys/encoders.h"

typedef struct Abbreviation
{
	SortSupportData support;
	MemoryContext scratch;
} Abbreviation;

/* Sets up the type's sort support.  False: it does not abbreviate so. */
static bool
prepare_support(const GpuSortKeyType *type, SortSupport support)
{
	memset(support, 0, sizeof(*support));
	support->ssup_cxt = CurrentMemoryContext;
	support->ssup_collation = type->collation;
	support->abbreviate = true;
	PrepareSortSupportFromOrderingOp(type->sort_operator, support);
	return support->abbrev_converter != NULL &&
		(support->comparator == ssup_datum_unsigned_cmp ||
		 support->comparator == ssup_datum_signed_cmp ||
		 support->comparator == ssup_datum_int32_cmp);
}

static inline Datum
abbreviate(const GpuSortKey *key, Datum value)
{
	Abbreviation *abbreviation = key->state;
	MemoryContext old_context = MemoryContextSwitchTo(abbreviation->scratch);
	Datum		abbreviated = abbreviation->support.abbrev_converter(value, &abbreviation->support);

	MemoryContextSwitchTo(old_context);
	MemoryContextReset(abbreviation->scratch);
	return abbreviated;
}

static void
encode_unsigned(const GpuSortKey *key, Datum value, uint64 *words)
{
	words[0] = abbreviate(key, value);
}

static void
encode_signed(const GpuSortKey *key, Datum value, uint64 *words)
{
	words[0] = gpusort_word_of_signed(DatumGetInt64(abbreviate(key, value)));
}

static void
encode_int32(const GpuSortKey *key, Datum value, uint64 *words)
{
	words[0] = gpusort_word_of_signed(DatumGetInt32(abbreviate(key, value)));
}

/* The sort support is set up only for the answer. */
static bool
can_encode(const GpuSortKeyType *type, int *least, int *most)
{
	MemoryContext context;
	MemoryContext old_context;
	SortSupportData support;
	bool		abbreviates;

	/* a type with a collation needs an encoder that knows the collation */
	if (OidIsValid(type->collation))
		return false;
	context = AllocSetContextCreate(CurrentMemoryContext, "gpusort sort support",
									ALLOCSET_SMALL_SIZES);
	old_context = MemoryContextSwitchTo(context);
	abbreviates = prepare_support(type, &support);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	*least = *most = 1;
	return abbreviates;
}

/* The comparator tells how an abbreviation becomes an unsigned word. */
static void
make(GpuSortKey *key, const GpuSortKeyType *type, const GpuSortKeyEncoding *encoding)
{
	Abbreviation *abbreviation = palloc(sizeof(Abbreviation));

	if (!prepare_support(type, &abbreviation->support))
		elog(ERROR, "gpusort has no words for type %u", type->type);
	abbreviation->scratch = AllocSetContextCreate(CurrentMemoryContext, "gpusort abbreviation",
												  ALLOCSET_DEFAULT_SIZES);
	if (abbreviation->support.comparator == ssup_datum_unsigned_cmp)
		key->encode = encode_unsigned;
	else if (abbreviation->support.comparator == ssup_datum_signed_cmp)
		key->encode = encode_signed;
	else
		key->encode = encode_int32;
	key->state = abbreviation;
	key->may_be_inexact = true;
}

const GpuSortEncoder gpusort_encode_abbreviated = {.can_encode = can_encode,.make = make};
