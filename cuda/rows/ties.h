/*
 * ties.h
 *	  Ties of a run: neighbours in sorted order that the sort words do not
 *	  order, and their tie bits, one for each row (see gsort_block).
 *
 * Most neighbours differ in the first sort word, which is sorted already, and
 * need no key.  Columns that lie in this word as a whole are compared there;
 * their keys are read only to test for an inexact value.  Columns behind the
 * last relevant one are never read.
 *
 * The rule is a value and travels to kernels as an argument.
 */
#ifndef GSORT_TIES_H
#define GSORT_TIES_H

#include "rows/key_plan.h"

/* --- the rule ------------------------------------------------------------- */

typedef struct tie_rule
{
	uint32_t	columns;		/* relevant columns, from the first on */
	uint32_t	nullable_mask;
	uint32_t	inexact_mask;
	/* Bit c: the first word decides whether rows agree in column c. */
	uint32_t	in_first_word;
	int			equal_rows_tie; /* GSORT_TIES */
	uint64_t	decisive_bits;	/* bits of the first word: rows that differ in them do not tie */
	uint64_t	first_word_bits[GSORT_MAX_KEY_COLUMNS];	/* bits of column c in the first word */
	uint64_t	inexact_bits[GSORT_MAX_KEY_COLUMNS];
	uint64_t	inexact_code[GSORT_MAX_KEY_COLUMNS];
} tie_rule;

typedef struct row_keys
{
	const uint64_t *keys;		/* keys[c * stride] is the key of column c */
	size_t		stride;
	const uint32_t *nulls;		/* bit c: column c is NULL; read only for nullable columns */
} row_keys;

static inline tie_rule
tie_rule_make(const gsort_job_options *options, const key_plan *plan)
{
	tie_rule	rule;
	int			is_read = 0;

	memset(&rule, 0, sizeof(rule));
	rule.equal_rows_tie = (options->flags & GSORT_TIES) != 0;
	rule.columns = rule.equal_rows_tie ? options->key_columns :
		significant_bits(options->inexact_mask);
	rule.nullable_mask = options->null_mask;
	rule.inexact_mask = options->inexact_mask;
	for (uint32_t c = 0; c < rule.columns; c++)
	{
		rule.inexact_bits[c] = options->inexact_bits[c];
		rule.inexact_code[c] = options->inexact_code[c];
		rule.first_word_bits[c] = key_plan_bits_of_column(plan, 0, c);
		if (key_plan_column_is_in(plan, 0, c))
			rule.in_first_word |= 1u << c;
		/* tied rows may differ in everything behind the first key that is
		 * read */
		if (!is_read)
			rule.decisive_bits |= rule.first_word_bits[c];
		is_read |= (options->inexact_mask >> c & 1) || !(rule.in_first_word >> c & 1);
	}
	return rule;
}

static inline GSORT_HD int
tie_rule_is_null(const tie_rule *rule, const row_keys *row, uint32_t column)
{
	return (rule->nullable_mask >> column & 1) && (*row->nulls >> column & 1);
}

static inline GSORT_HD int
tie_rule_agree(const tie_rule *rule, const row_keys *row, const row_keys *before, uint32_t column)
{
	int			is_null = tie_rule_is_null(rule, row, column);

	if (is_null != tie_rule_is_null(rule, before, column))
		return 0;
	return is_null || row->keys[column * row->stride] == before->keys[column * before->stride];
}

static inline GSORT_HD int
tie_rule_is_inexact(const tie_rule *rule, const row_keys *row, uint32_t column)
{
	return (rule->inexact_mask >> column & 1) && !tie_rule_is_null(rule, row, column) &&
		(row->keys[column * row->stride] & rule->inexact_bits[column]) ==
		rule->inexact_code[column];
}

/* difference: XOR of the two rows' first sort words; 0 if there is no word. */
static inline GSORT_HD int
tie_rule_ties(const tie_rule *rule, uint64_t difference, const row_keys *row,
			  const row_keys *before)
{
	for (uint32_t c = 0; c < rule->columns; c++)
	{
		if ((difference & rule->first_word_bits[c]) != 0)
			return 0;
		if (!(rule->in_first_word >> c & 1) && !tie_rule_agree(rule, row, before, c))
			return 0;
		if (tie_rule_is_inexact(rule, row, c))
			return 1;
	}
	return rule->equal_rows_tie;
}

/* --- tie bits: bit r % 32 of word r / 32 is row r's ----------------------- */

static inline int
tie_bits_wanted(const gsort_job_options *options)
{
	return (options->flags & GSORT_TIES) != 0 || options->inexact_mask != 0;
}

static inline GSORT_HD size_t
tie_bits_bytes(uint64_t rows)
{
	return (size_t) (rows + 31) / 32 * sizeof(uint32_t);
}

/* 64 tie bits from row first on; bits at count and above are 0. */
static inline GSORT_HD uint64_t
tie_bits_from(const uint32_t *ties, uint64_t total_rows, uint64_t first, uint64_t count)
{
	uint64_t	last_word = (total_rows - 1) / 32;
	uint64_t	word = first / 32;
	uint32_t	shift = (uint32_t) (first % 32);
	uint64_t	bits = (uint64_t) ties[word] >> shift;

	if (word + 1 <= last_word)
		bits |= (uint64_t) ties[word + 1] << (32 - shift);
	if (shift > 0 && word + 2 <= last_word)
		bits |= (uint64_t) ties[word + 2] << (64 - shift);
	return count >= 64 ? bits : bits & ((1ull << count) - 1);
}

/* Number of 64-bit tie words in a block: one bit per row and one for the next
 * row. */
static inline GSORT_HD uint32_t
tie_words_of_block(uint32_t block_rows)
{
	return block_rows > 0 ? block_rows / 64 + 1 : 0;
}

/* A tie word of a block that begins at first_row. */
static inline GSORT_HD uint64_t
tie_word_of_block(const uint32_t *ties, uint64_t total_rows, uint64_t first_row,
				  uint32_t block_rows, uint32_t word)
{
	uint64_t	first = first_row + (uint64_t) word * 64;
	uint64_t	count = block_rows + 1 - word * 64;

	if (first >= total_rows)
		return 0;
	return tie_bits_from(ties, total_rows, first,
						 count < total_rows - first ? count : total_rows - first);
}

#endif							/* GSORT_TIES_H */
