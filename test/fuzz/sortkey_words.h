/*
 * sortkey_words.h
 *	  sortkey.h for fuzz_keys.c, which also needs headers of cuda/: no file may
 *	  include both sides' headers.
 */
#ifndef SORTKEY_WORDS_H
#define SORTKEY_WORDS_H

#include <stdint.h>

/* The key word, of a column of some kind, of the value that these bits are cut to. */
extern uint64_t sortkey_word(unsigned kind, int descending, uint64_t bits, int64_t *value);

#endif							/* SORTKEY_WORDS_H */
