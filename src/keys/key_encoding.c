/*
 * key_encoding.c
 *	  The rules by which a key gets a number of words, and a prefix that the
 *	  words leave out.
 *
 * In:  the limits of the keys' types, and samples of their values.
 * Out: for each key its number of words and the bytes that they leave out.
 *
 * Words are cheap: a word adds eight bytes to a row on its way to the device,
 * and a further word is sorted only for rows that tie in earlier ones.  The
 * backend compares the rows that words do not tell apart, so any choice here
 * leads to the right order.  But a sort of 10 M URLs by one word too few took
 * 7 s in place of 0.5 s.
 *
 * Runs in the backend that leads a sort, with samples of its first rows and of
 * statistics.  Also runs in the backend that plans, which has no samples and
 * only estimates the number of words.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "keys/dictionary.h"
#include "keys/key_encoding.h"

/* The words of a key that nothing is known of, if it may have more. */
#define USUAL_WORDS			2

/* Fewer samples may have bytes in common by chance, unless they are all
 * values. */
#define SAMPLES_FOR_PREFIX	8

/* Fewer samples do not tell how many bytes two of many rows may have in
 * common. */
#define SAMPLES_TO_DROP_BY 50

/* Bytes before the others in words with a prefix (byte_words.h). */
#define MARKER_BYTES	1

/* The share of the samples whose bytes all have room in the words. */
#define SHARE_HELD	0.95

/* One word for values that a dictionary knows, and one for the others. */
#define WORDS_BY_DICTIONARY	2

/* Bytes of a numeric that one word holds completely: its headers and four
 * digits to the base 10000. */
#define NUMERIC_BYTES_OF_ONE_WORD	11

static int
words_of_bytes(double bytes)
{
	return (int) Max(1, Min(GPUSORT_WORDS_MAX, ceil(bytes / sizeof(uint64))));
}

/* Returns the prefix of all samples.  NULL: to leave it out would save nothing,
 * or there are too few samples. */
static const bytea *
common_prefix(const GpuSortKeySamples *samples, Size *prefix_bytes)
{
	bytea	   *prefix;

	*prefix_bytes = 0;
	if (samples->n < SAMPLES_FOR_PREFIX && !(samples->n > 1 && samples->n >= samples->distinct))
		return NULL;
	*prefix_bytes = gpusort_key_samples_common(samples);
	if (*prefix_bytes <= MARKER_BYTES)
	{
		*prefix_bytes = 0;
		return NULL;
	}
	prefix = palloc(VARHDRSZ + *prefix_bytes);
	SET_VARSIZE(prefix, VARHDRSZ + *prefix_bytes);
	memcpy(VARDATA(prefix), samples->samples[0].bytes, *prefix_bytes);
	return prefix;
}

/* Returns the number of bytes that this share of n samples does not exceed.
 * counts has the number of samples of each size. */
static Size
size_of_share(const int *counts, int n, double share)
{
	int			left = Min(n - 1, (int) (n * share));
	Size		size = 0;

	while (left >= counts[size])
		left -= counts[size++];
	return size;
}

/* Returns the bytes behind the prefix that nearly all samples have. */
static Size
bytes_of_samples(const GpuSortKeySamples *samples, Size prefix_bytes)
{
	int			counts[GPUSORT_SAMPLE_BYTES_MAX + 1] = {0};

	for (int i = 0; i < samples->n; i++)
		counts[samples->samples[i].length - prefix_bytes]++;
	return size_of_share(counts, samples->n, SHARE_HELD);
}

/*
 * Wants words for all bytes that nearly all samples have.  Samples cannot tell
 * how many words would tell the values apart, because values between two of
 * them may have a hundred bytes in common.  A string's own bytes are decisive
 * if they are all there, with one more byte for their number.
 */
static void
want_words_by_samples(const GpuSortKeySamples *samples, GpuSortCollationKind kind,
					  GpuSortWantedWords *words)
{
	Size		prefix_bytes;
	Size		bytes;

	words->prefix = common_prefix(samples, &prefix_bytes);
	bytes = bytes_of_samples(samples, prefix_bytes);
	if (kind == GPUSORT_COLLATION_BYTES)
		bytes++;
	if (prefix_bytes > 0)
		bytes += MARKER_BYTES;
	words->wanted = words_of_bytes(bytes);
}

/* Samples are sorted: if the first and the last one have the prefix, all do. */
static bool
all_begin_with(const GpuSortKeySamples *samples, const char *bytes, Size n)
{
	const GpuSortKeySample *first = &samples->samples[0];
	const GpuSortKeySample *last = &samples->samples[samples->n - 1];

	return Min(first->length, last->length) >= n && memcmp(first->bytes, bytes, n) == 0 &&
		memcmp(last->bytes, bytes, n) == 0;
}

/*
 * Returns the words that leave hardly any of this many rows tied.
 *
 * The longest beginning that two of n samples share is the longest of n * n / 2
 * pairs, so about one pair in so many agrees that far.  One in four of R rows
 * may tie: R / 8 of R * R / 2 pairs, which is one in 4 R.  If each further byte
 * parts the pairs as the earlier ones have done, that takes log(4 R) / log(n *
 * n / 2) times as many bytes, and one to differ in.  If it does not, some more
 * rows are compared, as by PostgreSQL, which has one word only.  Bounds of a
 * histogram lie evenly apart, and share less than random rows do, so this is
 * the least for samples of statistics.
 */
static int
words_to_tell_apart(const GpuSortKeySamples *samples, const bytea *prefix, double rows)
{
	Size		prefix_bytes = prefix != NULL ? VARSIZE_ANY_EXHDR(prefix) : 0;
	double		pairs = (double) samples->n * samples->n / 2;
	double		alike;

	if (samples->n < SAMPLES_TO_DROP_BY ||
		(prefix_bytes > 0 && !all_begin_with(samples, VARDATA_ANY(prefix), prefix_bytes)))
		return GPUSORT_WORDS_MAX;
	alike = Max(1, gpusort_key_samples_most_common(samples) - prefix_bytes);
	return words_of_bytes(alike * Max(1, log(4 * rows) / log(pairs)) + 1 +
						  (prefix_bytes > 0 ? MARKER_BYTES : 0));
}

/* Returns the most bytes that a value can have; 0: there is no bound. */
static int
most_bytes(Oid type, int32 typmod)
{
	int			size;

	if (type == NAMEOID)
		return NAMEDATALEN - 1;
	size = type_maximum_size(type, typmod);
	return size > VARHDRSZ ? size - VARHDRSZ : 0;
}

static void
want_words_by_width(Oid type, int32 typmod, int width, bool is_exact, GpuSortWantedWords *words)
{
	int			bytes = most_bytes(type, typmod);

	words->wanted = USUAL_WORDS;
	if (is_exact && width > 0)
		words->wanted = Min(words->wanted, words_of_bytes(width));
	if (is_exact && bytes > 0)
		words->wanted = Min(words->wanted, words_of_bytes(bytes + 1));
}

/* The number depends on samples for texts, and on the width or the type
 * otherwise. */
void
gpusort_want_words(Oid type, int32 typmod, Oid collation, int least, int most,
				   const GpuSortKeySamples *samples, double rows, GpuSortWantedWords *words)
{
	bool		are_expensive = false;

	words->least = least;
	words->prefix = NULL;
	words->width = samples->width;
	words->alike = gpusort_key_samples_alike(samples);
	words->distinct = samples->distinct;
	words->dictionary = NULL;
	if (gpusort_type_has_text_bytes(type))
	{
		GpuSortCollationKind kind = type == BYTEAOID ? GPUSORT_COLLATION_BYTES :
			gpusort_collation_kind(collation);

		/* making a word of ICU's sort key takes as long as comparing two
		 * strings */
		are_expensive = kind == GPUSORT_COLLATION_ICU;
		if (samples->n > 0)
			want_words_by_samples(samples, kind, words);
		else
			want_words_by_width(type, typmod, samples->width, kind == GPUSORT_COLLATION_BYTES,
								words);
	}
	else if (type == NUMERICOID)
		words->wanted = samples->width > NUMERIC_BYTES_OF_ONE_WORD ? 2 : 1;
	else
		words->wanted = USUAL_WORDS;
	words->wanted = Max(least, Min(most, words->wanted));
	words->required = words->wanted;
	if (are_expensive && words->wanted > 1)
		words->required = Max(least, Min(words->wanted,
										 words_to_tell_apart(samples, words->prefix, rows)));
}

void
gpusort_drop_optional_words(const GpuSortKeySamples *samples, double rows,
							GpuSortWantedWords *words)
{
	words->wanted = Max(words->required, Min(words->wanted,
											 words_to_tell_apart(samples, words->prefix, rows)));
}

/* A text's own bytes are exact if they are all there, and take no time to
 * make. */
bool
gpusort_dictionary_would_help(Oid collation, const GpuSortWantedWords *words)
{
	return gpusort_collation_kind(collation) != GPUSORT_COLLATION_BYTES ||
		words->wanted > WORDS_BY_DICTIONARY;
}

void
gpusort_want_words_by_dictionary(GpuSortDictionary *dictionary, GpuSortWantedWords *words)
{
	words->wanted = WORDS_BY_DICTIONARY;
	words->required = WORDS_BY_DICTIONARY;
	words->distinct = gpusort_dictionary_values(dictionary);
	words->dictionary = dictionary;
}

/*
 * Each key gets its least, then the first keys get what they want.  If the keys
 * so far tell nearly all rows apart, words of later keys are hardly ever
 * needed.
 */
int
gpusort_share_words(const GpuSortWantedWords *words, int n_keys, double rows,
					GpuSortKeyEncoding *encodings)
{
	double		distinct = 1;
	int			n_words = 0;

	for (int i = 0; i < n_keys; i++)
		n_words += words[i].least;
	for (int i = 0; i < n_keys; i++)
	{
		int			wanted = distinct > 2 * rows ? words[i].least : words[i].wanted;

		encodings[i].n_words = Min(wanted, words[i].least + GPUSORT_WORDS_MAX - n_words);
		encodings[i].prefix = words[i].prefix;
		encodings[i].dictionary = words[i].dictionary;
		n_words += encodings[i].n_words - words[i].least;
		/* a key that tells all rows apart does so alone */
		distinct *= Max(1, words[i].distinct);
		if (words[i].distinct >= 0.9 * rows)
			distinct = HUGE_VAL;
	}
	return n_words;
}
