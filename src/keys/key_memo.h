/*
 * key_memo.h
 *	  Words of the strings seen lately.
 */
#ifndef GPUSORT_KEY_MEMO_H
#define GPUSORT_KEY_MEMO_H

#include "postgres.h"

#include "keys/sortkey.h"

typedef struct GpuSortKeyMemo GpuSortKeyMemo;

/* Makes a memo for keys of this many words.  Memory: the current context, once
 * strings turn out to come again. */
extern GpuSortKeyMemo *gpusort_key_memo_make(int n_words);

/*
 * Finds the place of a string's words.  *known: they are there; otherwise the
 * caller writes them.  NULL: the memo does not take the string.
 */
extern uint64 *gpusort_key_memo_find(GpuSortKeyMemo *memo, const char *string, Size length,
									 bool *known);

#endif							/* GPUSORT_KEY_MEMO_H */
