/*
 * key_plan.h
 *	  Packs the key columns of a run into as few and as short sort words as
 *	  their statistics allow.
 *
 * In:  each column's min, max, OR, AND and NULL count, folded over all chunks.
 * Out: a plan that turns a row's columns into words.  The unsigned order of the
 *	    words, first to last, is the order of the columns, provided that the
 *	    keys match the statistics (key_stats.h).
 *
 * A value's code is the shorter of two forms: value - min, or the varying bits
 * of the values, moved together.  Text bytes have few distinct values, so that
 * five to seven bits per byte remain.  NULL takes the code below or above all
 * others.  If the values fill all 64 bits, a flag bit in front marks NULL.
 *
 * The codes of all columns form one string of bits, first column first, cut
 * into words.  Every word but the last has 64 bits.  The number of words is
 * thus minimal, and the first word distinguishes as many rows as possible.
 *
 * The plan is a value and travels to kernels as an argument.
 */
#ifndef GSORT_KEY_PLAN_H
#define GSORT_KEY_PLAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "rows/key_stats.h"

/* The maximum: each column fills a word and adds a NULL flag. */
#define KEY_PLAN_MAX_WORDS		(GSORT_MAX_KEY_COLUMNS + 1)
#define KEY_PLAN_MOVES			6

/* Position of some bits in the words.  The lower bits lie in this word; any
 * upper bits are the lowest bits of the preceding word. */
typedef struct key_place
{
	uint8_t		bits;			/* 0: absent */
	uint8_t		word;			/* 0 is the most significant */
	uint8_t		low_bits;		/* number of bits in this word */
	uint8_t		shift;			/* shift of the bits in this word */
} key_place;

typedef struct key_field
{
	uint64_t	base;			/* subtracted from the value; 0 for a squeezed value */
	uint64_t	squeezed;		/* mask of the bits that move together; 0: value - base */
	uint64_t	moves[KEY_PLAN_MOVES];	/* step i moves these down by 1 << i */
	uint64_t	add;			/* 1 if code 0 is NULL */
	uint64_t	null_code;
	key_place	code;
	key_place	flag;			/* in front of the code: marks NULL */
	uint8_t		n_moves;
	uint8_t		flag_of_null;
} key_field;

typedef struct key_plan
{
	uint32_t	columns;
	uint32_t	words;			/* 0: all keys are equal */
	uint32_t	bits;			/* sum over all words */
	/* Significant bits of each word: 64, except in the last. */
	uint8_t		word_bits[KEY_PLAN_MAX_WORDS];
	key_field	fields[GSORT_MAX_KEY_COLUMNS];
	gsort_column_stats stats[GSORT_MAX_KEY_COLUMNS];	/* source of the plan */
} key_plan;

static inline GSORT_HD uint64_t
key_low_bits(uint32_t bits)
{
	return bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
}

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
 * Computes the moves that close the gaps between the squeezed bits (Warren,
 * "Hacker's Delight", 7-4).  A bit above g gaps moves down by g: by 1 << i in
 * step i if g has that bit.
 */
static inline void
key_field_squeeze(key_field *field, uint64_t squeezed)
{
	uint64_t	left = squeezed;	/* positions of the bits after the steps so far */
	/* Bit b: a gap below b is not counted yet. */
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

/* Chooses the field's code; the positions follow later. */
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

/* Places bits that end end_bit bits behind the front of the string.  Requires
 * plan->words. */
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

/* Makes the plan: all codes first, then their positions from the first column
 * on. */
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

static inline GSORT_HD int
key_place_is_in(const key_place *place, uint32_t word)
{
	return place->bits > 0 &&
		(place->word == word || (place->word == word + 1 && place->low_bits < place->bits));
}

/* Shifts bits to their position in a word; the result may have bits above those
 * of the word. */
static inline GSORT_HD uint64_t
key_place_put(const key_place *place, uint32_t word, uint64_t bits)
{
	if (!key_place_is_in(place, word))
		return 0;
	return place->word == word ? bits << place->shift : bits >> place->low_bits;
}

/* Contribution of one column to a sort word.  Bits above the word may be set
 * too. */
static inline GSORT_HD uint64_t
key_field_bits(const key_field *field, uint32_t word, uint64_t value, int is_null)
{
	uint64_t	code = is_null ? field->null_code : key_field_value(field, value) + field->add;
	uint64_t	flag = is_null ? field->flag_of_null : !field->flag_of_null;

	return key_place_put(&field->code, word, code) | key_place_put(&field->flag, word, flag);
}

/*
 * A sort word of a row. keys[c * stride] is the key of column c; bit c of nulls
 * marks NULL.  Sorts rely on the result having the word's bits only, even if
 * the row's keys contradict the statistics.
 */
static inline GSORT_HD uint64_t
key_plan_word(const key_plan *plan, uint32_t word, const uint64_t *keys, size_t stride,
			  uint32_t nulls)
{
	uint64_t	bits = 0;

	for (uint32_t c = 0; c < plan->columns; c++)
	{
		const key_field *field = &plan->fields[c];

		/* skips reading a key without bits in this word */
		if (key_place_is_in(&field->code, word) || key_place_is_in(&field->flag, word))
			bits |= key_field_bits(field, word, keys[c * stride], nulls >> c & 1);
	}
	return bits & key_low_bits(plan->word_bits[word]);
}

static inline uint64_t
key_plan_bits_of_column(const key_plan *plan, uint32_t word, uint32_t column)
{
	const key_field *field = &plan->fields[column];

	return (key_place_put(&field->code, word, key_low_bits(field->code.bits)) |
			key_place_put(&field->flag, word,
						  key_low_bits(field->flag.bits))) & key_low_bits(plan->word_bits[word]);
}

/* True if the bits in this word decide whether two rows agree in the column. */
static inline int
key_plan_column_is_in(const key_plan *plan, uint32_t word, uint32_t column)
{
	const key_place *code = &plan->fields[column].code;
	const key_place *flag = &plan->fields[column].flag;

	return (code->bits == 0 || (code->word == word && code->low_bits == code->bits)) &&
		(flag->bits == 0 || flag->word == word);
}

/* True if the row's keys match the statistics.  Otherwise its words are
 * meaningless. */
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
