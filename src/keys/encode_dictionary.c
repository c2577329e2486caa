/*
 * encode_dictionary.c
 *	  Words of texts that a dictionary knows nearly all of.
 *
 * In:  values, as a tuple has them.
 * Out: words.  The first is the value's code (dictionary.h).  The second, if
 *	    there is one, is 0 for a value of the dictionary.  Another value has 63
 *	    bits of its sort key there, or of its own bytes under C, and 1 in the
 *	    last bit, which marks it as inexact.  Without a second word, values
 *	    with an even code are inexact.
 *
 * A dictionary that does not fit later values leaves about as much to be
 * compared as one word of the sort key does.  Words of the C library's sort
 * keys must be verified only once there are some.
 *
 * Runs in each process that packs rows.
 */
#include "postgres.h"

#include "keys/ascii_keys.h"
#include "keys/dictionary.h"
#include "keys/encoders.h"
#include "keys/key_memo.h"
#include "settings.h"

/* How the second word is cut from a sort key, behind the bytes that its
 * neighbours have in common. */
static const GpuSortByteCut one_word = {.n_words = 1};

typedef struct DictionaryEncoder
{
	GpuSortDictionary *dictionary;
	GpuSortTextBytes source;
	GpuSortKeyMemo *memo;		/* for values that the dictionary does not know */
	bool		by_sort_keys;	/* some values have been placed by their sort keys */
} DictionaryEncoder;

/* The second word begins behind the bytes that all values between two
 * neighbours share. */
static void
encode_by_sort_key(const GpuSortKey *key, DictionaryEncoder *encoder, Datum value,
				   const GpuSortVarlenaBytes *text, uint64 *words)
{
	const char *sort_key = text->bytes;
	Size		length = text->length;
	Size		n_common = 0;

	if (encoder->source.keys != NULL)
		sort_key = gpusort_collation_key(encoder->source.keys, text->bytes, text->length, &length);
	words[0] = gpusort_dictionary_place(encoder->dictionary, value, sort_key, length,
										&n_common);
	encoder->by_sort_keys = true;
	if (key->n_words == 1)
		return;
	words[1] = 0;
	if ((words[0] & 1) != 0)
		return;
	gpusort_byte_cut_uncoded(&one_word, sort_key + n_common, length - n_common, &words[1]);
	words[1] |= 1;
}

/* The memo knows values that have come lately. */
static void
encode_unknown(const GpuSortKey *key, DictionaryEncoder *encoder, Datum value,
			   const GpuSortVarlenaBytes *text, uint64 *words)
{
	bool		known;
	uint64	   *cached = gpusort_key_memo_find(encoder->memo, text->bytes, text->length, &known);

	if (known)
	{
		memcpy(words, cached, key->n_words * sizeof(uint64));
		return;
	}
	encode_by_sort_key(key, encoder, value, text, words);
	if (cached != NULL)
		memcpy(cached, words, key->n_words * sizeof(uint64));
}

/* Nearly all values are found by their bytes. */
static void
encode_by_dictionary(const GpuSortKey *key, Datum value, uint64 *words)
{
	DictionaryEncoder *encoder = key->state;
	GpuSortVarlenaBytes text;
	uint64		code;

	gpusort_text_value_open(&encoder->source, value, &text);
	code = gpusort_dictionary_find(encoder->dictionary, text.bytes, text.length);
	if (likely(code != GPUSORT_DICTIONARY_UNKNOWN))
	{
		words[0] = code;
		if (key->n_words > 1)
			words[1] = 0;
	}
	else
		encode_unknown(key, encoder, value, &text, words);
	gpusort_varlena_bytes_close(&text);
}

/* Sort keys are cut long enough for the search and for the second word. */
void
gpusort_encode_by_dictionary(GpuSortKey *key, const GpuSortKeyType *type,
							 const GpuSortKeyEncoding *encoding)
{
	DictionaryEncoder *encoder = palloc0(sizeof(DictionaryEncoder));

	gpusort_text_bytes_make(&encoder->source, type->type, type->collation,
							GPUSORT_DICTIONARY_KEY_BYTES + gpusort_byte_cut_needs(&one_word));
	/* a value is found by all its bytes */
	encoder->source.text_needed = MaxAllocSize;
	encoder->dictionary = encoding->dictionary;
	encoder->memo = gpusort_key_memo_make(encoding->n_words);
	key->state = encoder;
	key->encode = encode_by_dictionary;
	key->may_be_inexact = true;
	key->inexact_bits = 1;
	key->inexact_code = encoding->n_words > 1;
	if (encoder->source.keys != NULL && encoder->source.keys->kind == GPUSORT_COLLATION_LIBC &&
		gpusort_libc_collations != GPUSORT_LIBC_COLLATIONS_TRUST)
	{
		key->must_verify = true;
		key->verify_if = &encoder->by_sort_keys;
	}
}
