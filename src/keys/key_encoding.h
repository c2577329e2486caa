/*
 * key_encoding.h
 *	  The number of words that each key of a sort gets, and the prefix that they
 *	  leave out, by samples of its values.
 */
#ifndef GPUSORT_KEY_ENCODING_H
#define GPUSORT_KEY_ENCODING_H

#include "postgres.h"

#include "keys/key_samples.h"
#include "keys/sortkey.h"

/* The words that a key would have if it were alone. */
typedef struct GpuSortWantedWords
{
	int			least;
	int			wanted;
	/* at least this many of the wanted ones; fewer only if words are
	 * expensive */
	int			required;
	const bytea *prefix;
	int			width;			/* average bytes of a value; 0: not known */
	/* bytes of words that neighbours in order have in common at their
	 * beginning */
	double		alike;
	double		distinct;		/* values in the sort's rows; 0: not known */
	struct GpuSortDictionary *dictionary;	/* NULL: none */
} GpuSortWantedWords;

/*
 * Sets the words for a key of a base type that may have from least to most of
 * them (gpusort_sortkey_has_words), in a sort of this many rows.  Memory: the
 * current context.
 */
extern void gpusort_want_words(Oid type, int32 typmod, Oid collation, int least, int most,
							   const GpuSortKeySamples *samples, double rows,
							   GpuSortWantedWords *words);

/*
 * Drops wanted words, down to the required ones, that tell hardly any rows
 * apart.  It uses sorted samples of a sort of this many rows.
 */
extern void gpusort_drop_optional_words(const GpuSortKeySamples *samples, double rows,
										GpuSortWantedWords *words);

/* Would a dictionary of its values give such a key, of text, better words than
 * these? */
extern bool gpusort_dictionary_would_help(Oid collation, const GpuSortWantedWords *words);

/* Does the same for a key whose values a dictionary knows. */
extern void gpusort_want_words_by_dictionary(struct GpuSortDictionary *dictionary,
											 GpuSortWantedWords *words);

/* Encodes the first n_keys keys of a sort of this many rows.  Returns the
 * number of all words. */
extern int	gpusort_share_words(const GpuSortWantedWords *words, int n_keys, double rows,
								GpuSortKeyEncoding *encodings);

#endif							/* GPUSORT_KEY_ENCODING_H */
