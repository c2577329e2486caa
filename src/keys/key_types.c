/*
 * key_types.c
 *	  Which types have words, and the words of a sort's keys.
 *
 * In:  a column's type, its sort operator and collation, at plan time and again
 *	    before rows are packed; and each key's encoding.
 * Out: GpuSortKeys, by which rows are packed.
 *
 * Only the default btree order of each type is known here, and that of the
 * pattern operators of texts, which is C's.  A key of another operator family,
 * or of a type that is not in the table, has no words.
 *
 * Runs in the backend that plans, and in each process that packs rows.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "parser/parse_oper.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "compat.h"
#include "keys/encoders.h"
#include "keys/group_hash.h"
#include "keys/key_types.h"
#include "keys/text_bytes.h"

/* --- types ---------------------------------------------------------------- */

/* How a type gets its words. */
typedef struct EncodedType
{
	Oid			type;
	GpuSortKeyKind kind;
	const GpuSortEncoder *encoder;	/* if the kind is ENCODED */
} EncodedType;

static const EncodedType encoded_types[] = {
	{.type = BOOLOID,.kind = GPUSORT_KEY_UINT8},
	{.type = CHAROID,.kind = GPUSORT_KEY_UINT8},
	{.type = INT2OID,.kind = GPUSORT_KEY_INT16},
	{.type = INT4OID,.kind = GPUSORT_KEY_INT32},
	{.type = DATEOID,.kind = GPUSORT_KEY_INT32},
	{.type = INT8OID,.kind = GPUSORT_KEY_INT64},
	{.type = MONEYOID,.kind = GPUSORT_KEY_INT64},
	{.type = TIMEOID,.kind = GPUSORT_KEY_INT64},
	{.type = TIMESTAMPOID,.kind = GPUSORT_KEY_INT64},
	{.type = TIMESTAMPTZOID,.kind = GPUSORT_KEY_INT64},
	{.type = OIDOID,.kind = GPUSORT_KEY_UINT32},
	{.type = PG_LSNOID,.kind = GPUSORT_KEY_UINT64},
	{.type = XID8OID,.kind = GPUSORT_KEY_UINT64},
	{.type = COMPAT_OID8OID,.kind = GPUSORT_KEY_UINT64},
	{.type = FLOAT4OID,.kind = GPUSORT_KEY_FLOAT4},
	{.type = FLOAT8OID,.kind = GPUSORT_KEY_FLOAT8},
	{.type = BITOID,.kind = GPUSORT_KEY_ENCODED,.encoder = &gpusort_encode_bit},
	{.type = VARBITOID,.kind = GPUSORT_KEY_ENCODED,.encoder = &gpusort_encode_bit},
	{.type = BYTEAOID,.kind = GPUSORT_KEY_ENCODED,.encoder = &gpusort_encode_bytea},
	{.type = CIDROID,.kind = GPUSORT_KEY_ENCODED,.encoder = &gpusort_encode_network},
	{.type = INETOID,.kind = GPUSORT_KEY_ENCODED,.encoder = &gpusort_encode_network},
	{.type = INTERVALOID,.kind = GPUSORT_KEY_ENCODED,.encoder = &gpusort_encode_interval},
	{.type = MACADDROID,.kind = GPUSORT_KEY_ENCODED,.encoder = &gpusort_encode_macaddr},
	{.type = MACADDR8OID,.kind = GPUSORT_KEY_ENCODED,.encoder = &gpusort_encode_macaddr8},
	{.type = NUMERICOID,.kind = GPUSORT_KEY_ENCODED,.encoder = &gpusort_encode_numeric},
	{.type = TIMETZOID,.kind = GPUSORT_KEY_ENCODED,.encoder = &gpusort_encode_timetz},
	{.type = BPCHAROID,.kind = GPUSORT_KEY_ENCODED,.encoder = &gpusort_encode_text},
	{.type = NAMEOID,.kind = GPUSORT_KEY_ENCODED,.encoder = &gpusort_encode_text},
	{.type = TEXTOID,.kind = GPUSORT_KEY_ENCODED,.encoder = &gpusort_encode_text},
	{.type = VARCHAROID,.kind = GPUSORT_KEY_ENCODED,.encoder = &gpusort_encode_text},
	{.type = UUIDOID,.kind = GPUSORT_KEY_ENCODED,.encoder = &gpusort_encode_uuid},
};

/* For types that are not listed. */
static const EncodedType any_enum = {.kind = GPUSORT_KEY_ENCODED,.encoder = &gpusort_encode_enum};
static const EncodedType any_other = {
	.kind = GPUSORT_KEY_ENCODED,.encoder = &gpusort_encode_abbreviated
};

/* Returns NULL if the type is not listed. */
static const EncodedType *
find_listed_type(Oid type)
{
	for (int i = 0; i < lengthof(encoded_types); i++)
		if (encoded_types[i].type == type)
			return &encoded_types[i];
	return NULL;
}

static const EncodedType *
find_encoded_type(Oid type)
{
	const EncodedType *listed = find_listed_type(type);

	return listed != NULL ? listed : type_is_enum(type) ? &any_enum : &any_other;
}

Oid
gpusort_base_type(Oid type, int32 *typmod)
{
	/* PostgreSQL's own types, which it knows by number, have no domains among
	 * them */
	return type < FirstGenbkiObjectId ? type : getBaseTypeAndTypmod(type, typmod);
}

Oid
gpusort_key_type(Oid type, int32 *typmod, Oid sort_operator)
{
	Oid			left;
	Oid			right;

	type = gpusort_base_type(type, typmod);
	if (type != CSTRINGOID)
		return type;
	op_input_types(sort_operator, &left, &right);
	return left == NAMEOID ? NAMEOID : type;
}

bool
gpusort_is_pattern_operator(Oid sort_operator, bool *descending)
{
	int			strategy = get_op_opfamily_strategy(sort_operator, TEXT_PATTERN_BTREE_FAM_OID);

	if (strategy == 0)
		strategy = get_op_opfamily_strategy(sort_operator, BPCHAR_PATTERN_BTREE_FAM_OID);
	*descending = strategy == BTGreaterStrategyNumber;
	return *descending || strategy == BTLessStrategyNumber;
}

/*
 * Describes a key's type.  If its values are sorted as those of a listed type,
 * as regclass is as oid, they have that type's words.  False: the operator is
 * neither of the type's default order nor, under C, a pattern operator.
 */
static bool
describe_type(Oid type_oid, int32 typmod, Oid sort_operator, Oid collation, GpuSortKeyType *type)
{
	TypeCacheEntry *cache;

	type->typmod = typmod;
	type->type = gpusort_key_type(type_oid, &type->typmod, sort_operator);
	type->sort_operator = sort_operator;
	type->collation = collation;
	cache = lookup_type_cache(type->type, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
	if (find_listed_type(type->type) == NULL && find_listed_type(cache->btree_opintype) != NULL)
		type->type = cache->btree_opintype;
	type->descending = sort_operator == cache->gt_opr;
	if (OidIsValid(sort_operator) && (type->descending || sort_operator == cache->lt_opr))
		return true;
	return gpusort_type_has_text_bytes(type->type) &&
		gpusort_collation_kind(collation) == GPUSORT_COLLATION_BYTES &&
		gpusort_is_pattern_operator(sort_operator, &type->descending);
}

bool
gpusort_sortkey_has_words(Oid type_oid, int32 typmod, Oid sort_operator, Oid collation,
						  int *least, int *most)
{
	const EncodedType *encoded;
	GpuSortKeyType type;

	if (!describe_type(type_oid, typmod, sort_operator, collation, &type))
		return false;
	encoded = find_encoded_type(type.type);
	*least = *most = 1;
	return encoded->kind != GPUSORT_KEY_ENCODED ||
		encoded->encoder->can_encode(&type, least, most);
}

/* --- keys ----------------------------------------------------------------- */

static void
make_key(GpuSortKey *key, const GpuSortKeyType *type, const GpuSortKeyEncoding *encoding)
{
	const EncodedType *encoded = find_encoded_type(type->type);

	key->kind = encoded->kind;
	if (key->kind == GPUSORT_KEY_ENCODED)
		encoded->encoder->make(key, type, encoding);
}

/* Enters how the key's last word marks inexact values. */
static void
add_inexact_word(GpuSortKeys *keys, const GpuSortKey *key)
{
	int			word = key->first_word + key->n_words - 1;

	keys->inexact_mask |= 1u << word;
	keys->inexact_bits[word] = key->inexact_bits;
	keys->inexact_code[word] = (key->inexact_code ^ key->flip) & key->inexact_bits;
}

/* Describes a key of a grouping or of a sort.  False: it has no words. */
static bool
describe_key_if_any(GpuSortKey *key, const GpuSortOrder *order, int i, TupleDesc desc,
					GpuSortKeyType *type)
{
	Form_pg_attribute attr = TupleDescAttr(desc, order->columns[i] - 1);

	key->attno = order->columns[i];
	key->by_value = attr->attbyval;
	key->length = attr->attlen;
	key->nulls_first = order->nulls_first[i];
	return describe_type(attr->atttypid, attr->atttypmod, order->operators[i],
						 order->collations[i], type);
}

static void
describe_key(GpuSortKey *key, const GpuSortOrder *order, int i, TupleDesc desc,
			 GpuSortKeyType *type)
{
	if (!describe_key_if_any(key, order, i, desc, type))
		elog(ERROR, "gpusort has no words for column %d of its child", order->columns[i]);
}

/* Adds a key behind the others, with its words behind theirs. */
static void
add_key(GpuSortKeys *keys, const GpuSortOrder *order, const GpuSortKeyEncoding *encoding,
		TupleDesc desc)
{
	int			i = keys->n_keys++;
	GpuSortKey *key = &keys->keys[i];
	GpuSortKeyType type;

	describe_key(key, order, i, desc, &type);
	if (encoding->n_words < 1 || keys->n_words + encoding->n_words > GPUSORT_WORDS_MAX)
		elog(ERROR, "gpusort has no %d words for column %d of its child", encoding->n_words,
			 order->columns[i]);
	key->flip = type.descending ? PG_UINT64_MAX : 0;
	key->first_word = keys->n_words;
	key->n_words = encoding->n_words;
	key->word_bits = ((1u << key->n_words) - 1) << key->first_word;
	make_key(key, &type, encoding);

	keys->n_words += key->n_words;
	if (key->nulls_first)
		keys->null_first_mask |= key->word_bits;
	if (key->may_be_inexact)
		add_inexact_word(keys, key);
	if (key->may_be_inexact && keys->first_inexact_key > i)
		keys->first_inexact_key = i;
	keys->must_verify |= key->must_verify;
	keys->n_dictionaries += encoding->dictionary != NULL;
}

/* Makes the word of all keys. */
static void
make_for_grouping(const GpuSortOrder *order, TupleDesc desc, GpuSortKeys *keys)
{
	keys->keys = palloc0(order->n_keys * sizeof(GpuSortKey));
	keys->n_keys = order->n_keys;
	keys->n_words = 1;
	keys->grouping = true;
	keys->inexact_mask = 1;		/* of no bits, so each value is inexact */
	for (int i = 0; i < order->n_keys; i++)
	{
		GpuSortKeyType type;

		describe_key(&keys->keys[i], order, i, desc, &type);
		keys->keys[i].n_words = 1;
		gpusort_group_hash_make(&keys->keys[i], &type, i == 0);
	}
}

/* No keys with encodings means a grouping. */
void
gpusort_keys_make(const GpuSortOrder *order, int n_keys, const GpuSortKeyEncoding *encodings,
				  TupleDesc desc, GpuSortKeys *keys)
{
	memset(keys, 0, sizeof(*keys));
	if (n_keys == 0)
	{
		make_for_grouping(order, desc, keys);
		return;
	}
	keys->keys = palloc0(n_keys * sizeof(GpuSortKey));
	keys->more_keys = n_keys < order->n_keys;
	keys->first_inexact_key = n_keys;
	for (int i = 0; i < n_keys; i++)
		add_key(keys, order, &encodings[i], desc);
}

bool
gpusort_sortkey_make_by_value(const GpuSortOrder *order, int i, TupleDesc desc, GpuSortKey *key)
{
	GpuSortKeyType type;

	memset(key, 0, sizeof(*key));
	if (!TupleDescAttr(desc, order->columns[i] - 1)->attbyval ||
		!describe_key_if_any(key, order, i, desc, &type))
		return false;
	key->flip = type.descending ? PG_UINT64_MAX : 0;
	key->n_words = 1;
	key->kind = find_encoded_type(type.type)->kind;
	return key->kind != GPUSORT_KEY_ENCODED;
}

/* --- groupings ------------------------------------------------------------ */

bool
gpusort_sortkey_has_hash(Oid type_oid, Oid sort_operator)
{
	GpuSortKeyType type;

	return describe_type(type_oid, -1, sort_operator, InvalidOid, &type) &&
		OidIsValid(gpusort_group_hash_function(&type));
}
