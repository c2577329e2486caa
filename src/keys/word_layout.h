/*
 * word_layout.h
 *	  How many words each key of a sort gets, and what they skip, by samples of its values.
 */
#ifndef GPUSORT_WORD_LAYOUT_H
#define GPUSORT_WORD_LAYOUT_H

#include "postgres.h"

#include "keys/key_samples.h"
#include "keys/sortkey.h"

/* What a key would have if it were alone. */
typedef struct GpuSortWantedWords
{
	int			least;
	int			wanted;
	int			needed;			/* of these; fewer than wanted only where words are dear */
	const bytea *skipped;
	int			width;			/* average bytes of a value; 0: not known */
	double		alike;			/* bytes of words that neighbours in order begin with */
	double		distinct;		/* values in the sort's rows; 0: not known */
	struct GpuSortDictionary *dictionary;	/* NULL: none */
} GpuSortWantedWords;

/*
 * Of a key of a base type that may have from least to most words (gpusort_sortkey_has_words), in a sort
 * of so many rows.  Memory: the current context.
 */
extern void gpusort_want_words(Oid type, int32 typmod, Oid collation, int least, int most,
							   const GpuSortKeySamples *samples, double rows, GpuSortWantedWords *words);

/*
 * Leaves out those of the wanted words, down to those needed, that tell hardly any rows apart, by sorted samples of a sort
 * of so many rows.
 */
extern void gpusort_spare_words(const GpuSortKeySamples *samples, double rows,
								GpuSortWantedWords *words);

/* Would a dictionary of its values give such a key, of text, words that are better than these? */
extern bool gpusort_dictionary_would_help(Oid collation, const GpuSortWantedWords *words);

/* The same of a key whose values a dictionary knows. */
extern void gpusort_want_words_by_dictionary(struct GpuSortDictionary *dictionary,
											 GpuSortWantedWords *words);

/* Lays the first n_keys keys of a sort of so many rows out.  Returns the number of all words. */
extern int	gpusort_share_words(const GpuSortWantedWords *words, int n_keys, double rows,
								GpuSortKeyLayout *layouts);

#endif							/* GPUSORT_WORD_LAYOUT_H */
