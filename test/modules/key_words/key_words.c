/*
 * key_words.c
 *	  Checks the words of values against the comparator of their type.
 *
 * In:  an array of values, as the type modifier and the collation have them;
 *	    DESC or not; how many words; their prefix.
 * Out: an error that names the first two values whose words break a promise of
 *	    sortkey.h; else how many of the values are inexact.
 *
 * The promises hold for all pairs: a < b implies words(a) <= words(b), a = b
 * implies the same words, and the same words of values that are not inexact
 * imply a = b.  Each value is taken in all forms in which a tuple may hold it,
 * with a short header, a long one, compressed, and has the same words in each.
 * Words by a dictionary keep the same promises.  None of its entries is inexact,
 * nor is a value that equals one.
 *
 * remembered_words takes the words of the strings in some rounds.  It returns how
 * many strings have their words from the memo then (key_memo.c): is_remembered
 * makes sort keys of the C library wrong.
 *
 * check_sort_keys makes sort keys of the strings of an array, over and over, and
 * compares each with the collation's provider's.  It returns how many are put
 * together by characters in the end (ascii_keys.c).
 *
 *	  create function check_key_words(elements anyarray, typmod int, descending bool, words int, prefix bytea)
 *		  returns int language c as '.../key_words';
 *	  create function check_dictionary_words(elements anyarray, entries anyarray, descending bool, words int)
 *		  returns int language c as '.../key_words';
 *	  create function most_key_words(value anyelement, typmod int) returns int language c as '.../key_words';
 *	  create function remembered_words(elements anyarray, words int, rounds int) returns int language c as '.../key_words';
 *	  create function check_sort_keys(elements text[], needed int, rounds int) returns int language c as '.../key_words';
 *
 * Sort support that abbreviates int8, by comparators that no type of PostgreSQL's
 * own uses for that; its converters leave memory behind:
 *
 *	  create function coarse_signed(internal) returns void language c as '.../key_words';
 *	  create function coarse_int32(internal) returns void language c as '.../key_words';
 */
#include "postgres.h"

#include "access/toast_internals.h"
#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"
#include "utils/typcache.h"

#include "keys/ascii_keys.h"
#include "keys/dictionary.h"
#include "keys/key_types.h"
#include "settings.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(check_key_words);
PG_FUNCTION_INFO_V1(check_dictionary_words);
PG_FUNCTION_INFO_V1(most_key_words);
PG_FUNCTION_INFO_V1(remembered_words);
PG_FUNCTION_INFO_V1(check_sort_keys);
PG_FUNCTION_INFO_V1(coarse_signed);
PG_FUNCTION_INFO_V1(coarse_int32);

/* The key under test. */
typedef struct Subject
{
	Oid			type;
	Oid			base;
	int32		typmod;
	Oid			collation;
	Oid			sort_operator;
	int16		length;
	bool		by_value;
	char		align;
	GpuSortKeys keys;
	SortSupportData support;
} Subject;

typedef struct Value
{
	Datum		datum;
	uint64		words[GPUSORT_WORDS_MAX];
	bool		inexact;
} Value;

static void
describe_subject(Subject *subject, Oid type, int32 typmod, Oid collation, bool descending)
{
	TypeCacheEntry *cache;

	memset(subject, 0, sizeof(*subject));
	subject->type = type;
	subject->base = getBaseType(type);
	subject->typmod = typmod;
	subject->collation = OidIsValid(get_typcollation(type)) ? collation : InvalidOid;
	cache = lookup_type_cache(subject->base, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
	subject->sort_operator = descending ? cache->gt_opr : cache->lt_opr;
	get_typlenbyvalalign(type, &subject->length, &subject->by_value, &subject->align);
}

static void
make_subject_keys(Subject *subject, const GpuSortKeyEncoding *encoding)
{
	TupleDesc	desc = CreateTemplateTupleDesc(1);
	AttrNumber *column = palloc(sizeof(AttrNumber));
	bool	   *nulls_first = palloc0(sizeof(bool));
	GpuSortOrder order = {
		.n_keys = 1,
		.columns = column,
		.operators = &subject->sort_operator,
		.collations = &subject->collation,
		.nulls_first = nulls_first,
	};

	*column = 1;
	TupleDescInitEntry(desc, 1, "k", subject->type, subject->typmod, 0);
	TupleDescInitEntryCollation(desc, 1, subject->collation);
	gpusort_keys_make(&order, 1, encoding, desc, &subject->keys);
	subject->support.ssup_cxt = CurrentMemoryContext;
	subject->support.ssup_collation = subject->collation;
	subject->support.ssup_attno = 1;
	PrepareSortSupportFromOrderingOp(subject->sort_operator, &subject->support);
}

static void
raise_mismatch(const Subject *subject, const char *problem, const Value *a, const Value *b,
			   int order)
{
	Oid			output;
	bool		is_varlena;
	StringInfoData words;

	getTypeOutputInfo(subject->type, &output, &is_varlena);
	initStringInfo(&words);
	for (int w = 0; w < subject->keys.n_words; w++)
		appendStringInfo(&words, " %016llx/%016llx", (unsigned long long) a->words[w],
						 (unsigned long long) b->words[w]);
	elog(ERROR, "%s: %s '%.400s' and '%.400s' (order %d, words%s)", problem,
		 format_type_be(subject->type), OidOutputFunctionCall(output, a->datum),
		 OidOutputFunctionCall(output, b->datum), order, words.data);
}

/* --- forms ---------------------------------------------------------------- */

/* At an odd address, as packed values may be. */
static Datum
with_short_header(struct varlena *plain)
{
	char	   *copy = (char *) palloc(VARSIZE(plain) + 1) + 1;

	SET_VARSIZE_SHORT(copy, VARSIZE(plain) - VARHDRSZ + VARHDRSZ_SHORT);
	memcpy(copy + VARHDRSZ_SHORT, VARDATA(plain), VARSIZE(plain) - VARHDRSZ);
	return PointerGetDatum(copy);
}

static void
check_form(const Subject *subject, const char *form, const Value *value, Datum datum)
{
	Value		other = {.datum = datum};

	gpusort_sortkey_encode(subject->keys.keys, datum, other.words);
	if (memcmp(other.words, value->words, sizeof(other.words)) != 0)
		raise_mismatch(subject, form, value, &other, 0);
}

static void
check_forms(const Subject *subject, const Value *value)
{
	struct varlena *plain;
	Datum		compressed;

	if (subject->length != -1)
		return;
	plain = PG_DETOAST_DATUM_COPY(value->datum);
	check_form(subject, "a long header changes words", value, PointerGetDatum(plain));
	if (VARSIZE(plain) - VARHDRSZ + VARHDRSZ_SHORT <= VARATT_SHORT_MAX)
		check_form(subject, "a short header changes words", value, with_short_header(plain));
	compressed = toast_compress_datum(PointerGetDatum(plain), TOAST_PGLZ_COMPRESSION);
	if (DatumGetPointer(compressed) != NULL)
		check_form(subject, "compression changes words", value, compressed);
}

/* --- pairs ---------------------------------------------------------------- */

static void
take_value(const Subject *subject, Datum datum, Value *value)
{
	const GpuSortKeys *keys = &subject->keys;
	int			last = keys->n_words - 1;

	memset(value, 0, sizeof(*value));
	value->datum = datum;
	gpusort_sortkey_encode(keys->keys, datum, value->words);
	value->inexact = (keys->inexact_mask >> last & 1) != 0 &&
		(value->words[last] & keys->inexact_bits[last]) == keys->inexact_code[last];
	check_forms(subject, value);
}

static int
compare_words(const GpuSortKeys *keys, const Value *a, const Value *b)
{
	for (int w = 0; w < keys->n_words; w++)
		if (a->words[w] != b->words[w])
			return a->words[w] < b->words[w] ? -1 : 1;
	return 0;
}

static void
check_pair(Subject *subject, const Value *a, const Value *b)
{
	int			order = ApplySortComparator(a->datum, false, b->datum, false, &subject->support);
	int			by_words = compare_words(&subject->keys, a, b);

	if (order != 0 && by_words != 0 && (order < 0) != (by_words < 0))
		raise_mismatch(subject, "words are in another order", a, b, order);
	if (order == 0 && by_words != 0)
		raise_mismatch(subject, "equal values differ in words", a, b, order);
	if (order != 0 && by_words == 0 && !a->inexact)
		raise_mismatch(subject, "different values have the same words and are not inexact", a,
					   b, order);
}

static void
list_values(ArrayType *array, Datum **datums, int *n)
{
	int16		length;
	bool		by_value;
	char		align;
	bool	   *nulls;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, align, datums, &nulls, n);
	for (int i = 0; i < *n; i++)
		if (nulls[i])
			elog(ERROR, "a value is NULL");
}

/* Takes them, checks all pairs, and returns how many are inexact. */
static int
check_values(Subject *subject, const Datum *datums, int n, Value *values)
{
	int			n_inexact = 0;

	for (int i = 0; i < n; i++)
	{
		take_value(subject, datums[i], &values[i]);
		n_inexact += values[i].inexact;
		for (int j = 0; j < i; j++)
			check_pair(subject, &values[i], &values[j]);
		CHECK_FOR_INTERRUPTS();
	}
	return n_inexact;
}

Datum
check_key_words(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	GpuSortKeyEncoding encoding = {
		.n_words = PG_GETARG_INT32(3),
		.prefix = PG_ARGISNULL(4) ? NULL : PG_GETARG_BYTEA_PP(4),
	};
	Subject		subject;
	Datum	   *datums;
	int			n;

	list_values(array, &datums, &n);
	describe_subject(&subject, ARR_ELEMTYPE(array), PG_GETARG_INT32(1), PG_GET_COLLATION(),
					 PG_GETARG_BOOL(2));
	make_subject_keys(&subject, &encoding);
	PG_RETURN_INT32(check_values(&subject, datums, n, palloc(n * sizeof(Value))));
}

static void
check_entry(Subject *subject, Datum entry, const Value *values, int n)
{
	Value		known;

	take_value(subject, entry, &known);
	if (known.inexact)
		raise_mismatch(subject, "a value of the dictionary is inexact", &known, &known, 0);
	for (int i = 0; i < n; i++)
	{
		check_pair(subject, &known, &values[i]);
		if (values[i].inexact &&
			ApplySortComparator(entry, false, values[i].datum, false, &subject->support) == 0)
			raise_mismatch(subject, "a value that equals one of the dictionary is inexact", &known,
						   &values[i], 0);
	}
}

Datum
check_dictionary_words(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	GpuSortKeyEncoding encoding = {.n_words = PG_GETARG_INT32(3)};
	Subject		subject;
	Datum	   *entries;
	Datum	   *datums;
	Value	   *values;
	int			n_entries;
	int			n;
	int			n_inexact;

	list_values(array, &datums, &n);
	list_values(PG_GETARG_ARRAYTYPE_P(1), &entries, &n_entries);
	describe_subject(&subject, ARR_ELEMTYPE(array), -1, PG_GET_COLLATION(), PG_GETARG_BOOL(2));
	encoding.dictionary = gpusort_dictionary_begin(subject.base, subject.collation,
												   subject.sort_operator);
	for (int i = 0; i < n_entries; i++)
		if (!gpusort_dictionary_count(encoding.dictionary, entries[i]))
			elog(ERROR, "the dictionary takes no more");
	if (!gpusort_dictionary_rank(encoding.dictionary))
		elog(ERROR, "the dictionary's sort keys are in another order than its values");
	make_subject_keys(&subject, &encoding);
	values = palloc(n * sizeof(Value));
	n_inexact = check_values(&subject, datums, n, values);
	for (int i = 0; i < n_entries; i++)
		check_entry(&subject, entries[i], values, n);
	PG_RETURN_INT32(n_inexact);
}

/* The most words that a value's type can have; 0: it has none. */
Datum
most_key_words(PG_FUNCTION_ARGS)
{
	Subject		subject;
	int			least;
	int			most;

	describe_subject(&subject, get_fn_expr_argtype(fcinfo->flinfo, 0), PG_GETARG_INT32(1),
					 PG_GET_COLLATION(), false);
	if (!gpusort_sortkey_has_words(subject.type, subject.typmod, subject.sort_operator,
								   subject.collation, &least, &most))
		PG_RETURN_INT32(0);
	PG_RETURN_INT32(most);
}

/* Has the value these words again, when strings of its length get wrong sort
 * keys? */
static bool
is_remembered(const Subject *subject, const Value *value)
{
	uint64		words[GPUSORT_WORDS_MAX] = {0};
	int			fault = gpusort_debug_collation_fault;

	gpusort_debug_collation_fault = VARSIZE_ANY_EXHDR(DatumGetPointer(value->datum));
	gpusort_sortkey_encode(subject->keys.keys, value->datum, words);
	gpusort_debug_collation_fault = fault;
	return memcmp(words, value->words, sizeof(words)) == 0;
}

Datum
remembered_words(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	GpuSortKeyEncoding encoding = {.n_words = PG_GETARG_INT32(1)};
	Subject		subject;
	Datum	   *datums;
	Value	   *values;
	int			n;
	int			remembered = 0;

	list_values(array, &datums, &n);
	describe_subject(&subject, ARR_ELEMTYPE(array), -1, PG_GET_COLLATION(), false);
	make_subject_keys(&subject, &encoding);
	values = palloc0(n * sizeof(Value));
	for (int round = 0; round < PG_GETARG_INT32(2); round++)
		for (int i = 0; i < n; i++)
		{
			Value		again = {.datum = datums[i]};

			gpusort_sortkey_encode(subject.keys.keys, datums[i], again.words);
			if (round > 0 && memcmp(again.words, values[i].words, sizeof(again.words)) != 0)
				raise_mismatch(&subject, "words change", &values[i], &again, 0);
			values[i] = again;
		}
	for (int i = 0; i < n; i++)
		remembered += is_remembered(&subject, &values[i]);
	PG_RETURN_INT32(remembered);
}

/* Raises an error if a text's sort key is not the provider's, as far as it is
 * needed.  Returns whether it was put together by characters. */
static bool
check_sort_key(GpuSortCollationKeys *keys, GpuSortCollationKeys *by_provider, const text *string)
{
	const char *bytes = VARDATA_ANY(string);
	Size		n = VARSIZE_ANY_EXHDR(string);
	Size		length;
	const char *key = gpusort_collation_key(keys, bytes, n, &length);
	Size		expected = gpusort_collation_first_level(by_provider, bytes, n, keys->needed);

	if (Min(length, keys->needed) != Min(expected, keys->needed) ||
		memcmp(key, by_provider->key, Min(length, keys->needed)) != 0)
		elog(ERROR, "sort key of \"%s\": %zu bytes, and the provider's has %zu",
			 text_to_cstring(string), length, expected);
	return keys->ascii != NULL && gpusort_ascii_key(keys, bytes, n, &length);
}

Datum
check_sort_keys(PG_FUNCTION_ARGS)
{
	GpuSortCollationKeys *keys = gpusort_collation_keys_make(PG_GET_COLLATION(),
															 PG_GETARG_INT32(1));
	GpuSortCollationKeys *by_provider = gpusort_collation_keys_make(PG_GET_COLLATION(),
																	PG_GETARG_INT32(1));
	Datum	   *datums;
	int			n;
	int			put_together = 0;

	list_values(PG_GETARG_ARRAYTYPE_P(0), &datums, &n);
	for (int round = 0; round < PG_GETARG_INT32(2); round++)
	{
		put_together = 0;
		for (int i = 0; i < n; i++)
			put_together += check_sort_key(keys, by_provider, DatumGetTextPP(datums[i]));
	}
	PG_RETURN_INT32(put_together);
}

/* --- sort support --------------------------------------------------------- */

static int
compare_int8(Datum a, Datum b, SortSupport support)
{
	return DatumGetInt64(a) < DatumGetInt64(b) ? -1 : DatumGetInt64(a) > DatumGetInt64(b);
}

static Datum
by_thousands(Datum value, SortSupport support)
{
	return Int64GetDatum(*(int64 *) memcpy(palloc(1000), &value, sizeof(value)) / 1000);
}

static Datum
by_high_half(Datum value, SortSupport support)
{
	return Int32GetDatum((int32) (*(int64 *) memcpy(palloc(1000), &value, sizeof(value)) >> 32));
}

static bool
never_abort(int memtupcount, SortSupport support)
{
	return false;
}

static void
set_support(SortSupport support, int (*comparator) (Datum, Datum, SortSupport),
			Datum (*converter) (Datum, SortSupport))
{
	support->comparator = compare_int8;
	if (!support->abbreviate)
		return;
	support->comparator = comparator;
	support->abbrev_full_comparator = compare_int8;
	support->abbrev_converter = converter;
	support->abbrev_abort = never_abort;
}

Datum
coarse_signed(PG_FUNCTION_ARGS)
{
	set_support((SortSupport) PG_GETARG_POINTER(0), ssup_datum_signed_cmp, by_thousands);
	PG_RETURN_VOID();
}

Datum
coarse_int32(PG_FUNCTION_ARGS)
{
	set_support((SortSupport) PG_GETARG_POINTER(0), ssup_datum_int32_cmp, by_high_half);
	PG_RETURN_VOID();
}
