/*
 * sortkey.h
 *	  Keys as words: how values become unsigned 64-bit words that sort as they do.
 *
 * The first keys of a sort have words, one or several each; the device sorts by these.  An
 * encoder is monotone: a < b implies words(a) <= words(b), by the words' unsigned order
 * from the first to the last.  A value whose words may stand for other values too is open;
 * its last word tells.  Rows that agree up to an open value, or in all words while the
 * sort has more keys, are undecided: comparer.h tells their order.
 *
 * DESC inverts words.  A NULL's words are 0, and its key's bits are set beside them.
 *
 * Where equal rows need only come together, a hash of all keys is the one word, and rows with
 * the same hash are undecided: their order is that of their hashes, then of their keys.
 */
#ifndef GPUSORT_SORTKEY_H
#define GPUSORT_SORTKEY_H

#include "postgres.h"

#include "access/tupmacs.h"
#include "executor/tuptable.h"

#include "gpusort.h"
#include "keys/sort_order.h"

/*
 * Kinds of keys whose values are of a fixed width and one word, always exact: kind, the C
 * type in a tuple, how a Datum gives it, and how it becomes a word that sorts ascending.
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
 * Writes the key->n_words words of a value that is not NULL, as for ASC.  value is as a tuple
 * holds it: it may be toasted.  Leaves nothing allocated.  Keys of a grouping have one word
 * together: the first one writes it, and each of the others adds its value.
 */
typedef void (*GpuSortEncode) (const GpuSortKey *key, Datum value, uint64 *words);

/* The same of a NULL, where these are not set apart by bits. */
typedef void (*GpuSortEncodeNull) (const GpuSortKey *key, uint64 *words);

struct GpuSortKey
{
	AttrNumber	attno;			/* of the child's tuple */
	bool		by_value;		/* its column's type, for whoever reads it from a tuple */
	int16		length;
	GpuSortKeyKind kind;
	bool		nulls_first;
	uint64		flip;			/* XORed onto each word: all bits for DESC */
	int			first_word;		/* among the row's */
	int			n_words;
	uint32		word_bits;		/* a bit for each of them */

	/* of a kind that is ENCODED */
	GpuSortEncode encode;
	void	   *state;			/* the encoder's own; it may change it, one process alone uses it */

	GpuSortEncodeNull encode_null;	/* NULL: a NULL's words are 0, and its bits are set */

	/* Its value is open if (last word & open_bits) == open_code, as for ASC. */
	bool		may_be_open;
	uint64		open_bits;
	uint64		open_code;

	/* The words' order is not to be trusted: rows that they decide are compared too. */
	bool		must_verify;
	const bool *verify_if;		/* once this is true of the words that have been made; NULL: always */
};

/* How a key has words: chosen by a sort's first rows, and the same in each process that packs rows. */
typedef struct GpuSortKeyLayout
{
	int			n_words;
	const bytea *skipped;		/* what nearly all values begin with, in the form that words are cut
								 * from, and what words leave out; NULL: nothing */
	struct GpuSortDictionary *dictionary;	/* by which words are made, of two at most; NULL: there is none */
} GpuSortKeyLayout;

/*
 * The words of a row.  Of a grouping, where all that is asked for is that equal rows come together,
 * one word is made of all keys, of which each value is open.
 */
typedef struct GpuSortKeys
{
	int			n_keys;			/* that have words: the first ones of the sort's; of a grouping all */
	GpuSortKey *keys;
	int			n_words;		/* the device's key columns */
	uint32		null_first_mask;	/* these as in gsort_job_options: a bit for each word */
	uint32		open_mask;
	uint64		open_bits[GPUSORT_WORDS_MAX];
	uint64		open_code[GPUSORT_WORDS_MAX];
	bool		grouping;
	bool		more_keys;		/* the sort has keys without words */
	int			first_open_key; /* no pair of rows is undecided by a key before this one */
	bool		must_verify;	/* one of the keys must */
	int			n_dictionaries; /* keys that have one */
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

/* Can rows be undecided by their words? */
static inline bool
gpusort_keys_leave_ties(const GpuSortKeys *keys)
{
	return keys->open_mask != 0 || keys->more_keys;
}

/* Is the order of the words made so far not to be trusted? */
static inline bool
gpusort_keys_are_to_verify(const GpuSortKeys *keys)
{
	for (int i = 0; keys->must_verify && i < keys->n_keys; i++)
		if (keys->keys[i].must_verify &&
			(keys->keys[i].verify_if == NULL || *keys->keys[i].verify_if))
			return true;
	return false;
}

/* --- fixed widths ------------------------------------------------------------- */

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

/* PostgreSQL's order: all NaNs are equal and above all else, -0 equals 0.  A float4 widens to
 * a float8 of the same value. */
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

/* --- words ---------------------------------------------------------------------- */

/* Writes the key's words of a value. */
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

/* The same of a value where it lies in a tuple. */
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

/* The same of a NULL; returns the bits of the words that are NULL. */
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

/* Takes the words of a slot's row; returns the bits of those whose keys are NULL. */
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
 * The order of two rows by their words and NULL bits: negative, 0 or positive.  0: they are
 * equal, or undecided if words can leave that open.
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
		if (unlikely((keys->open_mask & bit) != 0 && (a_nulls & bit) == 0 &&
					 (a[w] & keys->open_bits[w]) == keys->open_code[w]))
			return 0;
	}
	return 0;
}

#endif							/* GPUSORT_SORTKEY_H */
