/*
 * key_plan.h
 *	  How the key columns of a run become as few and as short sort words as
 *	  their statistics allow.
 *
 * In:  each column's min, max, OR, AND and NULL count, folded over all chunks.
 * Out: a plan that turns a row's columns into words whose unsigned order, from
 *	    the first word to the last, is the order of the columns, as long as
 *	    their keys keep to these statistics (key_stats.h).
 *
 * A column's value becomes the shorter of (value - min) and the bits that vary
 * among its values, moved together: of text, whose bytes have few values, five
 * to seven bits a byte are left.  NULL takes the code below or above all of
 * them; where the values fill all 64 bits, a flag bit in front says NULL.  The
 * codes of all columns make one row of bits, the first column's in front, which
 * is cut into words: every word but the last has 64 bits, so there are as few
 * as can be, and the first tells apart as many rows as can be.
 *
 * The plan is a value: it goes to kernels as an argument.
 */
#ifndef GSORT_KEY_PLAN_H
#define GSORT_KEY_PLAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "rows/key_stats.h"

/* Values that fill words, and a NULL flag for each. */
#define KEY_PLAN_MAX_WORDS		(GSORT_MAX_KEY_COLUMNS + 1)
#define KEY_PLAN_MOVES			6

/* Where some bits lie in the words: the lower ones in this word, the upper
 * ones, if any, in the lowest bits of the word before. */
typedef struct key_place
{
	uint8_t		bits;			/* 0: nowhere */
	uint8_t		word;			/* 0 is the most significant */
	uint8_t		low_bits;		/* of the bits, those in this word */
	uint8_t		shift;			/* of these */
} key_place;

typedef struct key_field
{
	uint64_t	base;			/* subtracted from the value; 0 if it is squeezed */
	uint64_t	squeezed;		/* the bits that are moved together; 0: value - base */
	uint64_t	moves[KEY_PLAN_MOVES];	/* step i moves these down by 1 << i */
	uint64_t	add;			/* 1 where the code 0 is NULL's */
	uint64_t	null_code;
	key_place	code;
	key_place	flag;			/* in front of the code: tells NULL */
	uint8_t		n_moves;
	uint8_t		flag_of_null;
} key_field;

typedef struct key_plan
{
	uint32_t	columns;
	uint32_t	words;			/* 0: all keys are equal */
	uint32_t	bits;			/* over all words */
	/* Significant bits of each word: 64, but of the last. */
	uint8_t		word_bits[KEY_PLAN_MAX_WORDS];
	key_field	fields[GSORT_MAX_KEY_COLUMNS];
	gsort_column_stats stats[GSORT_MAX_KEY_COLUMNS];	/* that it was made from */
} key_plan;

static inline GSORT_HD uint64_t
key_low_bits(uint32_t bits)
{
	return bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
}

/* The code of a value; NULL not yet thought of. */
static inline GSORT_HD uint64_t
key_field_value(const key_field *field, uint64_t value)
{
	if (field->squeezed == 0)
		return value - field->base;
	value &= field->squeezed;
	for (uint32_t i = 0; i < field->n_moves; i++)
	{
		uint64_t	moved = value & field->moves[i];

		value = (value ^ moved) | moved >> (1u << i);
	}
	return value;
}

/*
 * The field's moves, which close the gaps below the bits of squeezed (Warren,
 * "Hacker's Delight", 7-4).  A bit with g gaps below it moves by g: in step i
 * by 1 << i, if g has that bit.
 */
static inline void
key_field_squeeze(key_field *field, uint64_t squeezed)
{
	uint64_t	left = squeezed;	/* where the bits lie after the steps so far */
	/* Bit b: there is one below b that no step so far counted. */
	uint64_t	gaps = ~squeezed << 1;

	field->squeezed = squeezed;
	field->n_moves = 0;
	for (uint32_t i = 0; i < KEY_PLAN_MOVES; i++)
	{
		uint64_t	odd = gaps;		/* bit b: the number of gaps below b is odd */

		for (uint32_t distance = 1; distance < 64; distance *= 2)
			odd ^= odd << distance;
		field->moves[i] = odd & left;
		left = (left ^ field->moves[i]) | field->moves[i] >> (1u << i);
		gaps &= ~odd;
		if (field->moves[i] != 0)
			field->n_moves = (uint8_t) (i + 1);
	}
}

/* Chooses the field's code; places come later. */
static inline void
key_field_make(key_field *field, const gsort_column_stats *stats, int null_first)
{
	int			any_value = stats->min <= stats->max;
	uint64_t	top = any_value ? stats->max - stats->min : 0;

	memset(field, 0, sizeof(*field));
	field->flag_of_null = !null_first;
	if (any_value)
	{
		uint64_t	squeezed_top;

		key_field_squeeze(field, stats->any ^ stats->all);
		squeezed_top = key_field_value(field, stats->max);
		if (field->squeezed != 0 && squeezed_top < top)
			top = squeezed_top;
		else
		{
			field->squeezed = 0;
			field->base = stats->min;
		}
	}
	if (stats->nulls > 0 && any_value)
	{
		if (top == UINT64_MAX)
			field->flag.bits = 1;
		else
		{
			field->add = null_first ? 1 : 0;
			field->null_code = null_first ? 0 : top + 1;
			top++;
		}
	}
	field->code.bits = (uint8_t) significant_bits(top);
}

/* Places bits that end end_bit bits from the front of all; the plan's words are
 * known. */
static inline void
key_plan_place(const key_plan *plan, key_place *place, uint32_t end_bit)
{
	uint32_t	word;

	if (place->bits == 0)
		return;
	word = (end_bit - 1) / 64;
	place->word = (uint8_t) word;
	place->low_bits = (uint8_t) (end_bit - 64 * word < place->bits ? end_bit - 64 * word :
								 place->bits);
	place->shift = (uint8_t) (64 * word + plan->word_bits[word] - end_bit);
}

/* Makes the plan: each column's code first, then the places of all codes, the
 * first column's in front. */
static inline key_plan
key_plan_make(uint32_t columns, uint32_t null_first_mask, const gsort_column_stats *stats)
{
	key_plan	plan;
	uint32_t	end_bit = 0;

	memset(&plan, 0, sizeof(plan));
	plan.columns = columns;
	memcpy(plan.stats, stats, columns * sizeof(*stats));
	for (uint32_t c = 0; c < columns; c++)
	{
		key_field_make(&plan.fields[c], &stats[c], null_first_mask >> c & 1);
		plan.bits += plan.fields[c].flag.bits + plan.fields[c].code.bits;
	}
	plan.words = (plan.bits + 63) / 64;
	for (uint32_t w = 0; w < plan.words; w++)
		plan.word_bits[w] = (uint8_t) (plan.bits - 64 * w < 64 ? plan.bits - 64 * w : 64);
	for (uint32_t c = 0; c < columns; c++)
	{
		key_plan_place(&plan, &plan.fields[c].flag, end_bit += plan.fields[c].flag.bits);
		key_plan_place(&plan, &plan.fields[c].code, end_bit += plan.fields[c].code.bits);
	}
	return plan;
}

/* Are some of the bits in a word? */
static inline GSORT_HD int
key_place_is_in(const key_place *place, uint32_t word)
{
	return place->bits > 0 &&
		(place->word == word || (place->word == word + 1 && place->low_bits < place->bits));
}

/* Bits as they lie in a word; above it there may be some of another. */
static inline GSORT_HD uint64_t
key_place_put(const key_place *place, uint32_t word, uint64_t bits)
{
	if (!key_place_is_in(place, word))
		return 0;
	return place->word == word ? bits << place->shift : bits >> place->low_bits;
}

/* What one column of a row adds to sort word number word, and maybe bits above
 * it. */
static inline GSORT_HD uint64_t
key_field_bits(const key_field *field, uint32_t word, uint64_t value, int is_null)
{
	uint64_t	code = is_null ? field->null_code : key_field_value(field, value) + field->add;
	uint64_t	flag = is_null ? field->flag_of_null : !field->flag_of_null;

	return key_place_put(&field->code, word, code) | key_place_put(&field->flag, word, flag);
}

/*
 * Sort word number word of a row.  The key of column c is keys[c * stride];
 * nulls: bit c, column c is NULL.  Also of a row whose keys do not keep to the
 * statistics it has the word's bits and no more: sorts may rely on that.
 */
static inline GSORT_HD uint64_t
key_plan_word(const key_plan *plan, uint32_t word, const uint64_t *keys, size_t stride,
			  uint32_t nulls)
{
	uint64_t	bits = 0;

	for (uint32_t c = 0; c < plan->columns; c++)
	{
		const key_field *field = &plan->fields[c];

		/* a key that is not in this word is not read */
		if (key_place_is_in(&field->code, word) || key_place_is_in(&field->flag, word))
			bits |= key_field_bits(field, word, keys[c * stride], nulls >> c & 1);
	}
	return bits & key_low_bits(plan->word_bits[word]);
}

/* The bits that a column has in a word. */
static inline uint64_t
key_plan_bits_of_column(const key_plan *plan, uint32_t word, uint32_t column)
{
	const key_field *field = &plan->fields[column];

	return (key_place_put(&field->code, word, key_low_bits(field->code.bits)) |
			key_place_put(&field->flag, word,
						  key_low_bits(field->flag.bits))) & key_low_bits(plan->word_bits[word]);
}

/* Do rows agree in a column if they agree in its bits of this word? */
static inline int
key_plan_column_is_in(const key_plan *plan, uint32_t word, uint32_t column)
{
	const key_place *code = &plan->fields[column].code;
	const key_place *flag = &plan->fields[column].flag;

	return (code->bits == 0 || (code->word == word && code->low_bits == code->bits)) &&
		(flag->bits == 0 || flag->word == word);
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
