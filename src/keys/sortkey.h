/*
 * sortkey.h
 *	  Keys as words: how values become unsigned 64-bit words that sort as they
 *	  do.
 *
 * The first keys of a sort have words, one or several each, and the device
 * sorts by these.  An encoder is monotone: a < b implies words(a) <= words(b),
 * by the words' unsigned order from the first to the last.  A value is inexact
 * if its words may stand for other values too; its last word tells.  Rows are
 * undecided if they agree up to an inexact value, or in all words while the
 * sort has more keys.  comparer.h tells their order.
 *
 * DESC inverts words.  A NULL's words are 0, and its key's bits are set beside
 * them.
 *
 * If equal rows need only come together, a hash of all keys is the only word.
 * Rows with the same hash are undecided.  The order of rows is that of their
 * hashes, then of their keys.
 */
#ifndef GPUSORT_SORTKEY_H
#define GPUSORT_SORTKEY_H

#include "postgres.h"

#include "access/tupmacs.h"
#include "executor/tuptable.h"

#include "gpusort.h"
#include "keys/sort_order.h"

/*
 * Kinds of keys whose values have a fixed width and one word, always exact.
 * Their columns: the kind, the C type in a tuple, how a Datum gives it, and how
 * it becomes a word that sorts ascending.
 */
#define GPUSORT_FIXED_KEY_KINDS(EACH) \
	EACH(GPUSORT_KEY_INT16, int16, DatumGetInt16, gpusort_word_of_signed) \
	EACH(GPUSORT_KEY_INT32, int32, DatumGetInt32, gpusort_word_of_signed) \
	EACH(GPUSORT_KEY_INT64, int64, DatumGetInt64, gpusort_word_of_signed) \
	EACH(GPUSORT_KEY_UINT8, uint8, DatumGetUInt8, gpusort_word_of_unsigned) \
	EACH(GPUSORT_KEY_UINT32, uint32, DatumGetUInt32, gpusort_word_of_unsigned) \
	EACH(GPUSORT_KEY_UINT64, uint64, DatumGetUInt64, gpusort_word_of_unsigned) \
	EACH(GPUSORT_KEY_FLOAT4, float4, DatumGetFloat4, gpusort_word_of_float) \
	EACH(GPUSORT_KEY_FLOAT8, float8, DatumGetFloat8, gpusort_word_of_float)

typedef enum GpuSortKeyKind
{
#define ENUMERATOR(kind, type, get, word_of) kind,
	GPUSORT_FIXED_KEY_KINDS(ENUMERATOR)
#undef ENUMERATOR
	GPUSORT_KEY_ENCODED			/* by its encode function */
} GpuSortKeyKind;

typedef struct GpuSortKey GpuSortKey;

/*
 * Writes the key->n_words words of a value that is not NULL, as for ASC.  value
 * is as a tuple holds it, and may be toasted.  Nothing stays allocated.  The
 * keys of a grouping have one word together: the first key writes it, and each
 * other one adds its value.
 */
typedef void (*GpuSortEncode) (const GpuSortKey *key, Datum value, uint64 *words);

/* Does the same for a NULL, for keys whose NULLs are not set apart by bits. */
typedef void (*GpuSortEncodeNull) (const GpuSortKey *key, uint64 *words);

struct GpuSortKey
{
	AttrNumber	attno;			/* of the child's tuple */
	bool		by_value;		/* the column's type, for readers of a tuple */
	int16		length;
	GpuSortKeyKind kind;
	bool		nulls_first;
	uint64		flip;			/* XORed onto each word: all bits for DESC */
	int			first_word;		/* among the row's words */
	int			n_words;
	uint32		word_bits;		/* a bit for each of the key's words */

	/* for the kind ENCODED */
	GpuSortEncode encode;
	/* the encoder's own, which it may change; only one process uses it */
	void	   *state;

	GpuSortEncodeNull encode_null;	/* NULL: a NULL's words are 0, and its bits are set */

	/* Its value is inexact if (last word & inexact_bits) == inexact_code, as
	 * for ASC. */
	bool		may_be_inexact;
	uint64		inexact_bits;
	uint64		inexact_code;

	/* The words' order is not to be trusted, so rows that they decide are
	 * compared too. */
	bool		must_verify;
	const bool *verify_if;		/* as soon as this is true of the words made so far; NULL: always */
};

/* The form of a key's words, chosen by a sort's first rows, and the same in
 * each process that packs rows. */
typedef struct GpuSortKeyEncoding
{
	int			n_words;
	/* prefix of nearly all values, in the form that words are cut from; words
	 * leave it out; NULL: nothing */
	const bytea *prefix;
	struct GpuSortDictionary *dictionary;	/* makes the words, two at most; NULL: there is none */
} GpuSortKeyEncoding;

/*
 * The words of a row.  A grouping, whose equal rows need only come together,
 * has one word of all keys, and each value is inexact.
 */
typedef struct GpuSortKeys
{
	/* keys that have words: the first ones of the sort's; all, for a
	 * grouping */
	int			n_keys;
	GpuSortKey *keys;
	int			n_words;		/* the device's key columns */
	uint32		null_first_mask;	/* as in gsort_job_options: a bit for each word */
	uint32		inexact_mask;
	uint64		inexact_bits[GPUSORT_WORDS_MAX];
	uint64		inexact_code[GPUSORT_WORDS_MAX];
	bool		grouping;
	bool		more_keys;		/* the sort has keys without words */
	int			first_inexact_key; /* no pair of rows is undecided by an earlier key */
	bool		must_verify;	/* one of the keys must be verified */
	int			n_dictionaries; /* keys that have a dictionary */
} GpuSortKeys;

/* The types of a key's values, for encoders. */
typedef struct GpuSortKeyType
{
	Oid			type;			/* a base type */
	int32		typmod;
	Oid			sort_operator;
	Oid			collation;
	bool		descending;
} GpuSortKeyType;

/* Can words leave rows undecided? */
static inline bool
gpusort_keys_leave_ties(const GpuSortKeys *keys)
{
	return keys->inexact_mask != 0 || keys->more_keys;
}

/* Must the order of the words made so far be verified? */
static inline bool
gpusort_keys_are_to_verify(const GpuSortKeys *keys)
{
	for (int i = 0; keys->must_verify && i < keys->n_keys; i++)
		if (keys->keys[i].must_verify &&
			(keys->keys[i].verify_if == NULL || *keys->keys[i].verify_if))
			return true;
	return false;
}

/* --- fixed widths --------------------------------------------------------- */

static inline uint64
gpusort_word_of_signed(int64 value)
{
	return (uint64) value ^ (UINT64CONST(1) << 63);
}

static inline uint64
gpusort_word_of_unsigned(uint64 value)
{
	return value;
}

/* PostgreSQL's order: all NaNs are equal and above everything else, and -0
 * equals 0.  A float4 widens to a float8 of the same value. */
static inline uint64
gpusort_word_of_float(float8 value)
{
	union
	{
		float8		value;
		uint64		bits;
	}			word;

	if (unlikely(value != value))
		return PG_UINT64_MAX;
	word.value = value + 0.0;	/* -0 becomes 0 */
	return word.bits >> 63 != 0 ? ~word.bits : word.bits | UINT64CONST(1) << 63;
}

/* --- words ---------------------------------------------------------------- */

/* Writes the words of a value. */
static inline void
gpusort_sortkey_encode(const GpuSortKey *key, Datum value, uint64 *words)
{
#define ENCODE_DATUM(kind, type, get, word_of) \
		case kind: words[0] = word_of(get(value)) ^ key->flip; return;
	switch (key->kind)
	{
		GPUSORT_FIXED_KEY_KINDS(ENCODE_DATUM)
		case GPUSORT_KEY_ENCODED:
			break;
	}
#undef ENCODE_DATUM
	key->encode(key, value, words);
	for (int w = 0; w < key->n_words; w++)
		words[w] ^= key->flip;
}

/* Does the same for a value where it lies in a tuple. */
static inline void
gpusort_sortkey_encode_at(const GpuSortKey *key, const char *at, uint64 *words)
{
#define ENCODE_PLACE(kind, type, get, word_of) \
		case kind: words[0] = word_of(*(const type *) at) ^ key->flip; return;
	switch (key->kind)
	{
		GPUSORT_FIXED_KEY_KINDS(ENCODE_PLACE)
		case GPUSORT_KEY_ENCODED:
			break;
	}
#undef ENCODE_PLACE
	gpusort_sortkey_encode(key, fetch_att(at, key->by_value, key->length), words);
}

/* Does the same for a NULL.  Returns the bits of the words that are NULL. */
static inline uint32
gpusort_sortkey_encode_null(const GpuSortKey *key, uint64 *words)
{
	if (unlikely(key->encode_null != NULL))
	{
		key->encode_null(key, words);
		return 0;
	}
	memset(words, 0, key->n_words * sizeof(uint64));
	return key->word_bits;
}

/* Takes the words of a slot's row.  Returns the bits of words whose keys are
 * NULL. */
static inline uint32
gpusort_keys_take(const GpuSortKeys *keys, TupleTableSlot *slot, uint64 *words)
{
	uint32		nulls = 0;

	for (int i = 0; i < keys->n_keys; i++)
	{
		const GpuSortKey *key = &keys->keys[i];
		bool		is_null;
		Datum		value = slot_getattr(slot, key->attno, &is_null);

		if (likely(!is_null))
			gpusort_sortkey_encode(key, value, words + key->first_word);
		else
			nulls |= gpusort_sortkey_encode_null(key, words + key->first_word);
	}
	return nulls;
}

/*
 * Compares two rows by their words and NULL bits.  Returns a negative number, 0
 * or a positive one; 0 also means undecided, if words can leave rows so.
 */
static inline int
gpusort_keys_compare(const GpuSortKeys *keys, const uint64 *a, uint32 a_nulls,
					 const uint64 *b, uint32 b_nulls)
{
	for (int w = 0; w < keys->n_words; w++)
	{
		uint32		bit = 1u << w;

		if (unlikely(((a_nulls ^ b_nulls) & bit) != 0))
			return ((a_nulls & bit) != 0) == ((keys->null_first_mask & bit) != 0) ? -1 : 1;
		if (a[w] != b[w])
			return a[w] < b[w] ? -1 : 1;
		if (unlikely((keys->inexact_mask & bit) != 0 && (a_nulls & bit) == 0 &&
					 (a[w] & keys->inexact_bits[w]) == keys->inexact_code[w]))
			return 0;
	}
	return 0;
}

#endif							/* GPUSORT_SORTKEY_H */
