/*
 * key_plan.h
 *	  How the key columns of a run become as few and as short sort words as
 *	  their statistics allow.
 *
 * In:  each column's min, max, OR, AND and NULL count, folded over all chunks.
 * Out: a plan that turns a row's columns into words whose unsigned order, from
 *	    the first word to the last, is the order of the columns, as long as their
 *	    keys keep to these statistics (key_stats.h).
 *
 * A column's value becomes the shorter of (value - min) and the bits that vary
 * among its values, moved together.  NULL takes the code below or above all of
 * them; where the values fill all 64 bits, a flag bit in front says NULL.
 * Fields are packed from the last column to the first and never straddle two
 * words, so most keys of several columns end as one word.
 *
 * The plan is a value: it goes to kernels as an argument.
 */
#ifndef GSORT_KEY_PLAN_H
#define GSORT_KEY_PLAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "rows/key_stats.h"

#define KEY_PLAN_MAX_WORDS		(2 * GSORT_MAX_KEY_COLUMNS)	/* a value that fills a word, and a NULL flag that fits in none */
#define KEY_PLAN_MAX_SEGMENTS	6

/* A stretch of neighbouring varying bits, and where it goes in the code. */
typedef struct key_segment
{
	uint8_t		from_bit;
	uint8_t		bits;
	uint8_t		to_bit;
} key_segment;

typedef struct key_field
{
	uint64_t	base;			/* subtracted from the value; unused with segments */
	uint64_t	add;			/* 1 where the code 0 is NULL's */
	uint64_t	null_code;
	uint8_t		word;			/* the sort word that holds the field, 0 the most significant */
	uint8_t		shift;
	uint8_t		bits;
	uint8_t		n_segments;		/* 0: value - base */
	uint8_t		flag_bits;		/* 1: a flag in front tells NULL */
	uint8_t		flag_word;
	uint8_t		flag_shift;
	uint8_t		flag_of_null;
	key_segment segments[KEY_PLAN_MAX_SEGMENTS];
} key_field;

typedef struct key_plan
{
	uint32_t	columns;
	uint32_t	words;			/* 0: all keys are equal */
	uint32_t	bits;			/* over all words */
	uint8_t		word_bits[KEY_PLAN_MAX_WORDS];	/* significant bits of each word */
	key_field	fields[GSORT_MAX_KEY_COLUMNS];
	gsort_column_stats stats[GSORT_MAX_KEY_COLUMNS];	/* that it was made from */
} key_plan;

/* Bits needed for the codes 0 to top. */
static inline GSORT_HD uint32_t
key_bits_of(uint64_t top)
{
	uint32_t	bits = 0;

	for (; top != 0; top >>= 1)
		bits++;
	return bits;
}

static inline GSORT_HD uint64_t
key_low_bits(uint32_t bits)
{
	return bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
}

/* The code of a value by the field's segments or base; NULL not yet thought of. */
static inline GSORT_HD uint64_t
key_field_value(const key_field *field, uint64_t value)
{
	uint64_t	code = 0;

	if (field->n_segments == 0)
		return value - field->base;
	for (int s = 0; s < field->n_segments; s++)
		code |= (value >> field->segments[s].from_bit & key_low_bits(field->segments[s].bits))
			<< field->segments[s].to_bit;
	return code;
}

/* Cuts the set bits of varying into segments; 0 if there are too many of them. */
static inline int
key_field_cut_segments(key_field *field, uint64_t varying)
{
	uint32_t	to_bit = 0;
	uint32_t	bit = 0;

	field->n_segments = 0;
	while (bit < 64 && varying >> bit != 0)
	{
		uint32_t	bits = 0;

		while (!(varying >> bit & 1))
			bit++;
		while (bit + bits < 64 && (varying >> (bit + bits) & 1))
			bits++;
		if (field->n_segments == KEY_PLAN_MAX_SEGMENTS)
		{
			field->n_segments = 0;
			return 0;
		}
		field->segments[field->n_segments].from_bit = (uint8_t) bit;
		field->segments[field->n_segments].bits = (uint8_t) bits;
		field->segments[field->n_segments].to_bit = (uint8_t) to_bit;
		field->n_segments++;
		to_bit += bits;
		bit += bits;
	}
	return field->n_segments > 0;
}

/* Chooses the field's code; word and shift come later. */
static inline void
key_field_make(key_field *field, const gsort_column_stats *stats, int null_first)
{
	int			any_value = stats->min <= stats->max;
	uint64_t	top = any_value ? stats->max - stats->min : 0;
	uint64_t	varying = any_value ? stats->any ^ stats->all : 0;

	field->base = any_value ? stats->min : 0;
	field->add = 0;
	field->null_code = 0;
	field->n_segments = 0;
	field->flag_bits = 0;
	field->flag_word = 0;
	field->flag_shift = 0;
	field->flag_of_null = !null_first;
	if (key_field_cut_segments(field, varying))
	{
		uint64_t	segments_top = key_field_value(field, stats->max);

		if (segments_top < top)
			top = segments_top;
		else
			field->n_segments = 0;
	}
	if (stats->nulls > 0 && any_value)
	{
		if (top == UINT64_MAX)
			field->flag_bits = 1;
		else
		{
			field->add = null_first ? 1 : 0;
			field->null_code = null_first ? 0 : top + 1;
			top++;
		}
	}
	field->bits = (uint8_t) key_bits_of(top);
}

/* Gives a field of bits its place: in the word now being filled, from its least
 * significant bits up, or in a new one.  Words are counted from the last. */
static inline void
key_plan_place(key_plan *plan, uint32_t bits, uint8_t *word, uint8_t *shift)
{
	if (bits == 0)
	{
		*word = 0;
		*shift = 0;
		return;
	}
	if (plan->words == 0 || plan->word_bits[plan->words - 1] + bits > 64)
		plan->word_bits[plan->words++] = 0;
	*word = (uint8_t) (plan->words - 1);
	*shift = plan->word_bits[plan->words - 1];
	plan->word_bits[plan->words - 1] += (uint8_t) bits;
	plan->bits += bits;
}

static inline key_plan
key_plan_make(uint32_t columns, uint32_t null_first_mask, const gsort_column_stats *stats)
{
	key_plan	plan;

	memset(&plan, 0, sizeof(plan));
	plan.columns = columns;
	memcpy(plan.stats, stats, columns * sizeof(*stats));
	for (int c = (int) columns - 1; c >= 0; c--)
	{
		key_field  *field = &plan.fields[c];

		key_field_make(field, &stats[c], null_first_mask >> c & 1);
		key_plan_place(&plan, field->bits, &field->word, &field->shift);
		key_plan_place(&plan, field->flag_bits, &field->flag_word, &field->flag_shift);
	}
	/* the last word placed is the most significant: number them from there */
	for (uint32_t w = 0; w < plan.words / 2; w++)
	{
		uint8_t		bits = plan.word_bits[w];

		plan.word_bits[w] = plan.word_bits[plan.words - 1 - w];
		plan.word_bits[plan.words - 1 - w] = bits;
	}
	for (uint32_t c = 0; c < columns; c++)
	{
		key_field  *field = &plan.fields[c];

		if (field->bits > 0)
			field->word = (uint8_t) (plan.words - 1 - field->word);
		if (field->flag_bits > 0)
			field->flag_word = (uint8_t) (plan.words - 1 - field->flag_word);
	}
	return plan;
}

/* What one column of a row adds to sort word number word. */
static inline GSORT_HD uint64_t
key_field_bits(const key_field *field, uint32_t word, uint64_t value, int is_null)
{
	uint64_t	bits = 0;

	if (field->bits > 0 && field->word == word)
		bits = (is_null ? field->null_code : key_field_value(field, value) + field->add)
			<< field->shift;
	if (field->flag_bits > 0 && field->flag_word == word)
		bits |= (uint64_t) (is_null ? field->flag_of_null : !field->flag_of_null)
			<< field->flag_shift;
	return bits;
}

/*
 * Sort word number word of a row.  The key of column c is keys[c * stride]; nulls: bit c,
 * column c is NULL.  Also of a row whose keys do not keep to the statistics it has the word's
 * bits and no more: sorts may rely on that.
 */
static inline GSORT_HD uint64_t
key_plan_word(const key_plan *plan, uint32_t word, const uint64_t *keys, size_t stride, uint32_t nulls)
{
	uint64_t	bits = 0;

	for (uint32_t c = 0; c < plan->columns; c++)
	{
		const key_field *field = &plan->fields[c];

		/* a key that is not in this word is not read */
		if ((field->bits > 0 && field->word == word) ||
			(field->flag_bits > 0 && field->flag_word == word))
			bits |= key_field_bits(field, word, keys[c * stride], nulls >> c & 1);
	}
	return bits & key_low_bits(plan->word_bits[word]);
}

/* The bits that a column has in a word. */
static inline uint64_t
key_plan_bits_of_column(const key_plan *plan, uint32_t word, uint32_t column)
{
	const key_field *field = &plan->fields[column];
	uint64_t	bits = 0;

	if (field->bits > 0 && field->word == word)
		bits = key_low_bits(field->bits) << field->shift;
	if (field->flag_bits > 0 && field->flag_word == word)
		bits |= 1ull << field->flag_shift;
	return bits;
}

/* Do rows agree in a column if they agree in its bits of this word? */
static inline int
key_plan_column_is_in(const key_plan *plan, uint32_t word, uint32_t column)
{
	const key_field *field = &plan->fields[column];

	return (field->bits == 0 || field->word == word) &&
		(field->flag_bits == 0 || field->flag_word == word);
}

/* Do the row's keys keep to the statistics?  Else its words say nothing. */
static inline GSORT_HD int
key_plan_holds(const key_plan *plan, const uint64_t *keys, size_t stride, uint32_t nulls)
{
	int			holds = 1;

	for (uint32_t c = 0; c < plan->columns; c++)
		holds &= nulls >> c & 1 ? plan->stats[c].nulls > 0 :
			key_stats_hold_value(&plan->stats[c], keys[c * stride]);
	return holds;
}

#endif							/* GSORT_KEY_PLAN_H */
