/*
 * dictionary.c
 *	  Dictionaries: the values of a key that has few, by their ranks.
 *
 * In:  a key's values in a sort's first rows, counted one by one.  Then the
 *	    values of all rows.
 * Out: codes: of a value in the dictionary by a lookup of its bytes, of another
 *	    value by a search.
 *
 * Sort keys decide nearly all steps of a search, and the operator's comparator
 * the others.  The ranks are the comparator's: if it contradicts sort keys,
 * there is no dictionary.
 *
 * Runs in the processes that pack a sort's rows.  The leader counts, and the
 * others read the dictionary that it has written.  All memory is in the context
 * that was current when the dictionary was begun.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/sortsupport.h"

#include "keys/ascii_keys.h"
#include "keys/byte_words.h"
#include "keys/dictionary.h"

/* The longest value, in bytes.  All values together have 64 kB. */
#define VALUE_BYTES_MAX		1024

/* The least number of counted values that allows a conclusion. */
#define COUNTED_AT_LEAST	300

/* The largest share of later values that may be missing in a dictionary. */
#define UNKNOWN_SHARE_MAX	0.1

typedef struct ValueBytes
{
	const char *bytes;
	Size		length;
} ValueBytes;

typedef struct KnownValue
{
	ValueBytes	key;			/* of the hash table */
	uint32		hash;
	char		status;			/* the hash table's own */
	uint32		count;
	int			rank;			/* equal values have the same rank, whatever their bytes */
} KnownValue;

#define SH_PREFIX known_values
#define SH_ELEMENT_TYPE KnownValue
#define SH_KEY_TYPE ValueBytes
#define SH_KEY key
#define SH_HASH_KEY(table, key) hash_bytes((const unsigned char *) (key).bytes, (int) (key).length)
#define SH_EQUAL(table, a, b) \
	((a).length == (b).length && memcmp((a).bytes, (b).bytes, (a).length) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(table, element) ((element)->hash)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "keys/hash_table.h"

/* One of the values in their order. */
typedef struct RankedValue
{
	Datum		value;
	KnownValue *known;
	const char *sort_key;
	Size		sort_key_length;	/* at most GPUSORT_DICTIONARY_KEY_BYTES */
} RankedValue;

struct GpuSortDictionary
{
	GpuSortTextBytes source;
	SortSupportData support;	/* ascending */
	known_values_hash *known;
	uint64		counted;
	int			once;			/* values counted only once */
	Size		bytes;			/* of all values */
	RankedValue *ranked;		/* [known->members] */
	int			ranks;
	MemoryContext context;
};

bool
gpusort_dictionary_may_be_of(Oid type, Oid collation)
{
	return gpusort_type_has_text_bytes(type) && type != BYTEAOID && OidIsValid(collation);
}

/* --- counting ------------------------------------------------------------- */

/* The comparator is that of ascending order, whatever the operator's. */
GpuSortDictionary *
gpusort_dictionary_begin(Oid type, Oid collation, Oid sort_operator)
{
	GpuSortDictionary *dictionary = palloc0(sizeof(GpuSortDictionary));

	dictionary->context = CurrentMemoryContext;
	gpusort_text_bytes_make(&dictionary->source, type, collation, GPUSORT_DICTIONARY_KEY_BYTES);
	dictionary->source.text_needed = MaxAllocSize;
	dictionary->support.ssup_cxt = CurrentMemoryContext;
	dictionary->support.ssup_collation = collation;
	PrepareSortSupportFromOrderingOp(sort_operator, &dictionary->support);
	dictionary->support.ssup_reverse = false;
	dictionary->known = known_values_create(CurrentMemoryContext, 64, NULL);
	return dictionary;
}

/* Copies the bytes of a new value, in the form of its type. */
static const char *
copy_bytes(const GpuSortDictionary *dictionary, const GpuSortVarlenaBytes *bytes)
{
	MemoryContext old_context = MemoryContextSwitchTo(dictionary->context);
	const char *copy;

	if (dictionary->source.form == GPUSORT_TEXT_NAME)
		copy = memcpy(palloc0(NAMEDATALEN), bytes->bytes, bytes->length);
	else
		copy = VARDATA(cstring_to_text_with_len(bytes->bytes, (int) bytes->length));
	MemoryContextSwitchTo(old_context);
	return copy;
}

static Datum
datum_of_copy(const GpuSortDictionary *dictionary, const char *copy)
{
	return PointerGetDatum(dictionary->source.form == GPUSORT_TEXT_NAME ? copy : copy - VARHDRSZ);
}

/* A value is found by its bytes, so equal values may be counted apart. */
bool
gpusort_dictionary_count(GpuSortDictionary *dictionary, Datum value)
{
	GpuSortVarlenaBytes bytes;
	ValueBytes	key;
	KnownValue *known;
	bool		found;

	if (dictionary->source.form != GPUSORT_TEXT_NAME &&
		toast_raw_datum_size(value) > VALUE_BYTES_MAX + VARHDRSZ)
		return false;
	gpusort_text_value_open(&dictionary->source, value, &bytes);
	key.bytes = bytes.bytes;
	key.length = bytes.length;
	known = known_values_insert(dictionary->known, key, &found);
	if (!found)
	{
		known->key.bytes = copy_bytes(dictionary, &bytes);
		known->count = 0;
		dictionary->bytes += bytes.length;
	}
	gpusort_varlena_bytes_close(&bytes);
	dictionary->counted++;
	known->count++;
	dictionary->once += known->count == 1 ? 1 : known->count == 2 ? -1 : 0;
	return dictionary->known->members <= GPUSORT_DICTIONARY_VALUES_MAX &&
		dictionary->bytes <= GPUSORT_DICTIONARY_BYTES_MAX;
}

/* Among later values, the share of those not counted yet equals the share of
 * values counted once (Good and Turing). */
bool
gpusort_dictionary_is_worth_it(const GpuSortDictionary *dictionary)
{
	return dictionary->counted >= COUNTED_AT_LEAST &&
		dictionary->once <= UNKNOWN_SHARE_MAX * dictionary->counted;
}

int
gpusort_dictionary_values(const GpuSortDictionary *dictionary)
{
	return (int) dictionary->known->members;
}

/* --- ranks ---------------------------------------------------------------- */

/* Compares sort keys, of which only the first bytes may be there. */
static int
compare_sort_keys(const char *a, Size a_length, const char *b, Size b_length)
{
	int			order = memcmp(a, b, Min(a_length, b_length));

	if (order != 0)
		return order;
	return (a_length > b_length) - (a_length < b_length);
}

static int
compare_ranked(const void *left, const void *right, void *arg)
{
	const RankedValue *a = left;
	const RankedValue *b = right;
	GpuSortDictionary *dictionary = arg;
	int			order = compare_sort_keys(a->sort_key, a->sort_key_length, b->sort_key,
										  b->sort_key_length);

	if (order != 0)
		return order;
	return ApplySortComparator(a->value, false, b->value, false, &dictionary->support);
}

/* Copies the first bytes of a value's sort key. */
static void
take_sort_key(GpuSortDictionary *dictionary, RankedValue *ranked)
{
	const ValueBytes *value = &ranked->known->key;
	const char *sort_key = value->bytes;
	Size		length = value->length;

	if (dictionary->source.keys != NULL)
		sort_key = gpusort_collation_key(dictionary->source.keys, value->bytes, value->length,
										 &length);
	length = Min(length, GPUSORT_DICTIONARY_KEY_BYTES);
	ranked->sort_key = memcpy(MemoryContextAlloc(dictionary->context, Max(length, 1)), sort_key,
							  length);
	ranked->sort_key_length = length;
}

/* Equal neighbours have the same rank. */
bool
gpusort_dictionary_rank(GpuSortDictionary *dictionary)
{
	int			n = gpusort_dictionary_values(dictionary);
	known_values_iterator iterator;
	KnownValue *known;
	RankedValue *ranked;

	ranked = MemoryContextAlloc(dictionary->context, Max(n, 1) * sizeof(RankedValue));
	dictionary->ranked = ranked;
	n = 0;
	known_values_start_iterate(dictionary->known, &iterator);
	while ((known = known_values_iterate(dictionary->known, &iterator)) != NULL)
	{
		ranked[n].known = known;
		ranked[n].value = datum_of_copy(dictionary, known->key.bytes);
		take_sort_key(dictionary, &ranked[n++]);
	}
	qsort_arg(ranked, n, sizeof(RankedValue), compare_ranked, dictionary);
	dictionary->ranks = 0;
	for (int i = 0; i < n; i++)
	{
		int			order = i == 0 ? -1 :
			ApplySortComparator(ranked[i - 1].value, false, ranked[i].value, false,
								&dictionary->support);

		if (order > 0)
			return false;
		dictionary->ranks += order < 0;
		ranked[i].known->rank = dictionary->ranks - 1;
	}
	return true;
}

/* --- in other processes --------------------------------------------------- */

/* Writes the number of values, and each value's length and bytes. */
void
gpusort_dictionary_write(const GpuSortDictionary *dictionary, StringInfo to)
{
	int			n = gpusort_dictionary_values(dictionary);

	appendBinaryStringInfo(to, (char *) &n, sizeof(n));
	for (int i = 0; i < n; i++)
	{
		const ValueBytes *value = &dictionary->ranked[i].known->key;
		int			length = (int) value->length;

		appendBinaryStringInfo(to, (char *) &length, sizeof(length));
		appendBinaryStringInfo(to, value->bytes, length);
	}
}

/* Counts and ranks the values again, which gives the same ranks. */
GpuSortDictionary *
gpusort_dictionary_read(Oid type, Oid collation, Oid sort_operator, const char **from)
{
	GpuSortDictionary *dictionary = gpusort_dictionary_begin(type, collation, sort_operator);
	int			n;

	memcpy(&n, *from, sizeof(n));
	*from += sizeof(n);
	for (int i = 0; i < n; i++)
	{
		GpuSortVarlenaBytes bytes = {0};
		int			length;

		memcpy(&length, *from, sizeof(length));
		bytes.bytes = *from + sizeof(length);
		bytes.length = length;
		(void) gpusort_dictionary_count(dictionary,
										datum_of_copy(dictionary, copy_bytes(dictionary, &bytes)));
		*from += sizeof(length) + length;
	}
	if (!gpusort_dictionary_rank(dictionary))
		elog(ERROR, "gpusort cannot rank the values of a dictionary as its leader has");
	return dictionary;
}

/* --- codes ---------------------------------------------------------------- */

static inline uint64
code_of_known(const KnownValue *known)
{
	return 2 * (uint64) known->rank + 1;
}

uint64
gpusort_dictionary_find(const GpuSortDictionary *dictionary, const char *bytes, Size length)
{
	ValueBytes	key = {.bytes = bytes,.length = length};
	const KnownValue *known;

	if (unlikely(length > VALUE_BYTES_MAX))
		return GPUSORT_DICTIONARY_UNKNOWN;
	known = known_values_lookup(dictionary->known, key);
	return likely(known != NULL) ? code_of_known(known) : GPUSORT_DICTIONARY_UNKNOWN;
}

/* Returns the bytes that the sort keys of two neighbours have in common at
 * their beginning, and so all keys between them.  Before the first value and
 * behind the last one there may be any key. */
static Size
common_bytes(const GpuSortDictionary *dictionary, int low)
{
	const RankedValue *before;
	const RankedValue *behind;

	if (low == 0 || low == gpusort_dictionary_values(dictionary))
		return 0;
	before = &dictionary->ranked[low - 1];
	behind = &dictionary->ranked[low];
	return gpusort_common_bytes(before->sort_key, behind->sort_key,
								Min(before->sort_key_length, behind->sort_key_length));
}

/* A binary search by sort keys.  The comparator decides where they tie. */
uint64
gpusort_dictionary_place(GpuSortDictionary *dictionary, Datum value, const char *sort_key,
						 Size length, Size *n_common)
{
	int			low = 0;
	int			high = gpusort_dictionary_values(dictionary);

	length = Min(length, GPUSORT_DICTIONARY_KEY_BYTES);
	while (low < high)
	{
		int			middle = (low + high) / 2;
		const RankedValue *ranked = &dictionary->ranked[middle];
		int			order = compare_sort_keys(sort_key, length, ranked->sort_key,
											  ranked->sort_key_length);

		if (order == 0)
			order = ApplySortComparator(value, false, ranked->value, false, &dictionary->support);
		if (order == 0)
			return code_of_known(ranked->known);
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	*n_common = Min(length, common_bytes(dictionary, low));
	return low == 0 ? 0 : 2 * (uint64) (dictionary->ranked[low - 1].known->rank + 1);
}
