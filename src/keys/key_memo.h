/*
 * key_memo.h
 *	  Words of the strings seen lately.
 */
#ifndef GPUSORT_KEY_MEMO_H
#define GPUSORT_KEY_MEMO_H

#include "postgres.h"

#include "keys/sortkey.h"

typedef struct GpuSortKeyMemo GpuSortKeyMemo;

/* For keys of so many words.  Memory: the current context, when strings turn out to come again. */
extern GpuSortKeyMemo *gpusort_key_memo_make(int n_words);

/*
 * The place of a string's words.  *known: they are there; else the caller writes them.  NULL: the
 * string is not one to be kept.
 */
extern uint64 *gpusort_key_memo_find(GpuSortKeyMemo *memo, const char *string, Size length,
									 bool *known);

#endif							/* GPUSORT_KEY_MEMO_H */
