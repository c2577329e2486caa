/*
 * encode_enum.c
 *	  Words of enums.
 *
 * In:  labels' OIDs; for odd ones only, the catalog.
 * Out: one word.  Labels with even OIDs sort by these, as enum_cmp assumes too,
 *	    and such a label has its OID to itself.  A label with an odd OID was
 *	    added between others later.  It stands behind the last even one before
 *	    it, and is inexact.
 *
 * The labels' sort order in the catalog would tell more.  But processes of one
 * plan may read it at different times, and ALTER TYPE may number all labels
 * again in between.  A label's word changes in one case only: after OIDs have
 * wrapped around, a label with an even OID may be added behind one with a lower
 * even OID, or before all.  Odd ones up to the next even one then follow it.
 *
 * Runs in each process that packs rows.  The map of odd labels belongs to the
 * key's context.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_enum.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

#include "keys/encoders.h"

/* An odd label. */
typedef struct OddLabel
{
	Oid			oid;
	uint64		word;
} OddLabel;

typedef struct EnumLabels
{
	Oid			type;
	int			n_odd;
	int			odd_room;
	OddLabel   *odd;			/* by OID */
} EnumLabels;

static inline uint64
word_of_even(Oid oid)
{
	return (uint64) oid << 32;
}

/* Returns the inexact word behind that of the even label. */
static inline uint64
word_behind(Oid even_oid)
{
	return word_of_even(even_oid) | 1;
}

static void
add_odd_label(EnumLabels *labels, Oid oid, Oid last_even)
{
	if (labels->n_odd == labels->odd_room)
	{
		labels->odd_room *= 2;
		labels->odd = repalloc(labels->odd, labels->odd_room * sizeof(OddLabel));
	}
	labels->odd[labels->n_odd++] = (OddLabel)
	{
		.oid = oid,.word = word_behind(last_even)
	};
}

static int
compare_labels(const void *a, const void *b)
{
	const OddLabel *label_a = a;
	const OddLabel *label_b = b;

	return label_a->oid < label_b->oid ? -1 : label_a->oid > label_b->oid;
}

/* Reads the labels in their order. */
static void
read_labels(EnumLabels *labels)
{
	Relation	enums = table_open(EnumRelationId, AccessShareLock);
	Relation	by_order = index_open(EnumTypIdSortOrderIndexId, AccessShareLock);
	Oid			last_even = InvalidOid;
	ScanKeyData of_type;
	SysScanDesc scan;
	HeapTuple	tuple;

	labels->n_odd = 0;
	ScanKeyInit(&of_type, Anum_pg_enum_enumtypid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(labels->type));
	scan = systable_beginscan_ordered(enums, by_order, NULL, 1, &of_type);
	while (HeapTupleIsValid(tuple = systable_getnext_ordered(scan, ForwardScanDirection)))
	{
		Oid			oid = ((Form_pg_enum) GETSTRUCT(tuple))->oid;

		if (oid % 2 == 0)
			last_even = oid;
		else
			add_odd_label(labels, oid, last_even);
	}
	systable_endscan_ordered(scan);
	index_close(by_order, AccessShareLock);
	table_close(enums, AccessShareLock);
	qsort(labels->odd, labels->n_odd, sizeof(OddLabel), compare_labels);
}

static const OddLabel *
find_odd_label(const EnumLabels *labels, Oid oid)
{
	OddLabel	sought = {.oid = oid};

	return bsearch(&sought, labels->odd, labels->n_odd, sizeof(OddLabel), compare_labels);
}

/* Reads the labels again for one that is not known yet. */
static uint64
word_of_odd(EnumLabels *labels, Oid oid)
{
	const OddLabel *label = find_odd_label(labels, oid);

	if (label == NULL)
	{
		/* the first odd one, or one added since the others were read */
		read_labels(labels);
		label = find_odd_label(labels, oid);
	}
	if (label != NULL)
		return label->word;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("enum value %u of type %s is not in the catalog", oid,
					format_type_be(labels->type))));
}

static void
encode_enum(const GpuSortKey *key, Datum value, uint64 *words)
{
	Oid			oid = DatumGetObjectId(value);

	words[0] = likely(oid % 2 == 0) ? word_of_even(oid) : word_of_odd(key->state, oid);
}

static bool
can_encode(const GpuSortKeyType *type, int *least, int *most)
{
	*least = *most = 1;
	return true;
}

static void
make(GpuSortKey *key, const GpuSortKeyType *type, const GpuSortKeyEncoding *encoding)
{
	EnumLabels *labels = palloc0(sizeof(EnumLabels));

	labels->type = type->type;
	labels->odd_room = 16;
	labels->odd = palloc(labels->odd_room * sizeof(OddLabel));
	key->encode = encode_enum;
	key->state = labels;
	key->may_be_inexact = true;
	key->inexact_bits = 1;
	key->inexact_code = 1;
}

const GpuSortEncoder gpusort_encode_enum = {.can_encode = can_encode,.make = make};
