/*
 * encode_text.c
 *	  Texts as words: text, varchar, bpchar and name, under any collation.
 *
 * In:  values, as a tuple has them.
 * Out: under C and similar collations, words of the text's bytes.  A text that
 *	    ends within them has them to itself.  Under ICU and the C library, words
 *	    of the first bytes of its sort key.  Every value is inexact then, since
 *	    two different texts may have one sort key.
 *
 * If a dictionary knows a key's values, it makes the words
 * (encode_dictionary.c).
 *
 * PostgreSQL trusts ICU's sort keys, but not the C library's.  The order of
 * rows by the latter is checked, unless gpusort.libc_collations tells that they
 * can be trusted.
 *
 * Runs in every process that packs rows.
 */
#include "postgres.h"

#include "keys/ascii_keys.h"
#include "keys/encoders.h"
#include "keys/key_memo.h"
#include "keys/text_bytes.h"
#include "settings.h"

/* More words would be moved for every row, to save a few rows a comparison. */
#define TEXT_WORDS_MAX	4

typedef struct TextEncoder
{
	GpuSortTextBytes source;
	GpuSortByteCut cut;
	GpuSortKeyMemo *memo;		/* of sort keys; NULL: words are cut from the value's own bytes */
} TextEncoder;

static bool
can_encode_text(const GpuSortKeyType *type, int *least, int *most)
{
	GpuSortCollationKind kind = gpusort_collation_kind(type->collation);

	*least = 1;
	*most = TEXT_WORDS_MAX;
	if (kind == GPUSORT_COLLATION_LIBC)
		return gpusort_libc_collations != GPUSORT_LIBC_COLLATIONS_OFF;
	return kind != GPUSORT_COLLATION_NONE;
}

/* For text and varchar under C: the most frequent keys, with as few calls as
 * possible. */
static void
encode_plain_text(const GpuSortKey *key, Datum value, uint64 *words)
{
	const TextEncoder *encoder = key->state;
	GpuSortVarlenaBytes text;

	gpusort_varlena_bytes_open(value, encoder->source.text_needed, &text);
	gpusort_byte_cut_coded(&encoder->cut, text.bytes, text.length, words);
	gpusort_varlena_bytes_close(&text);
}

static void
encode_other_text(const GpuSortKey *key, Datum value, uint64 *words)
{
	const TextEncoder *encoder = key->state;
	GpuSortVarlenaBytes text;

	gpusort_text_bytes_open(&encoder->source, value, &text);
	gpusort_byte_cut_coded(&encoder->cut, text.bytes, text.length, words);
	gpusort_varlena_bytes_close(&text);
}

/* The memo saves the sort keys of strings that have come lately. */
static void
encode_sort_key(const GpuSortKey *key, Datum value, uint64 *words)
{
	const TextEncoder *encoder = key->state;
	GpuSortVarlenaBytes text;
	uint64	   *cached;
	bool		known;

	gpusort_text_value_open(&encoder->source, value, &text);
	cached = gpusort_key_memo_find(encoder->memo, text.bytes, text.length, &known);
	if (!known)
	{
		Size		length;
		const char *sort_key = gpusort_collation_key(encoder->source.keys, text.bytes, text.length,
													 &length);

		gpusort_byte_cut_uncoded(&encoder->cut, sort_key, length, words);
		if (cached != NULL)
			memcpy(cached, words, encoder->cut.n_words * sizeof(uint64));
	}
	else
		memcpy(words, cached, encoder->cut.n_words * sizeof(uint64));
	gpusort_varlena_bytes_close(&text);
}

/* Picks the encoder by the dictionary and the collation. */
static void
make_text(GpuSortKey *key, const GpuSortKeyType *type, const GpuSortKeyEncoding *encoding)
{
	TextEncoder *encoder;
	const GpuSortCollationKeys *sort_keys;

	if (encoding->dictionary != NULL)
	{
		gpusort_encode_by_dictionary(key, type, encoding);
		return;
	}
	encoder = palloc(sizeof(TextEncoder));
	gpusort_byte_cut_make(&encoder->cut, encoding->n_words, encoding->prefix);
	gpusort_text_bytes_make(&encoder->source, type->type, type->collation,
							gpusort_byte_cut_needs(&encoder->cut));
	sort_keys = encoder->source.keys;
	encoder->memo = sort_keys != NULL ? gpusort_key_memo_make(encoding->n_words) : NULL;
	key->state = encoder;
	key->may_be_inexact = true;
	if (sort_keys != NULL)
	{
		key->encode = encode_sort_key;
		key->must_verify = sort_keys->kind == GPUSORT_COLLATION_LIBC &&
			gpusort_libc_collations != GPUSORT_LIBC_COLLATIONS_TRUST;
		return;
	}
	key->encode = encoder->source.form == GPUSORT_TEXT_VARLENA ? encode_plain_text :
		encode_other_text;
	key->inexact_bits = GPUSORT_BYTES_INEXACT_BITS;
	key->inexact_code = GPUSORT_BYTES_INEXACT_CODE;
}

const GpuSortEncoder gpusort_encode_text = {
	.can_encode = can_encode_text,
	.make = make_text,
};
