/*
 * encode_numeric.c
 *	  Words of numeric.
 *
 * In:  values as tuples hold them; the digits are read in place.
 * Out: one or two words, as a signed number of 64 or 128 bits.
 *
 * Both forms double a magnitude that is cut off at some digit, and add 1 if
 * digits were cut off.  Then it gets the value's sign.  So the lowest bit tells
 * that the value is inexact.  This holds for negative values too: -(2m + 1) is
 * 2 * (-m - 1) + 1, the next lower number and a little more, so that it sorts
 * below -m.
 *
 * For a column of at most 18 digits, encode_fixed, the magnitude is the value
 * times 10^scale.  A value may violate its type, since functions that return
 * records do not check it.  For any other column, encode_floating, the
 * magnitude is the place of the first base-10000 digit, then 4 digits, or 8.
 *
 * Runs in each process that packs rows.  Nothing stays allocated.
 */
#include "postgres.h"

#include "fmgr.h"

#include "keys/byte_words.h"
#include "keys/encoders.h"

/* --- the bytes of a numeric ----------------------------------------------- */

/*
 * The form of numeric on disk is private to PostgreSQL's numeric.c, but
 * pg_upgrade keeps it.  It begins with a header of 16 bits, whose highest two
 * tell its form, and another 16 bits if it is a long one.  Then come digits to
 * the base 10000, the first and the last of which are not 0.  The number 0 has
 * none.  test/t/042_key_words.pl tests that this is still so, with values of
 * each form of header.
 */
#define FORM_MASK			0xC000
#define FORM_LONG_NEGATIVE	0x4000
#define FORM_SHORT			0x8000
#define FORM_SPECIAL		0xC000
#define SPECIAL_MASK		0xF000
#define SPECIAL_NAN			0xC000
#define SPECIAL_INFINITY	0xD000
#define SHORT_NEGATIVE		0x2000
#define SHORT_WEIGHT_SIGN	0x0040
#define SHORT_WEIGHT_MASK	0x003F

/* The part of a value that is read: header, weight and 9 digits. */
#define NEEDED_BYTES		24

typedef int16 NumericDigit;

typedef struct Number
{
	bool		special;
	bool		negative;
	uint16		header;
	int			weight;			/* the first digit counts 10000^weight */
	int			n_digits;		/* at least as many as it has, or more than are read */
	const char *digits;			/* may not be aligned */
} Number;

static inline uint16
load_uint16(const char *at)
{
	uint16		value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline int
digit(const Number *number, int i)
{
	return i < number->n_digits ?
		(NumericDigit) load_uint16(number->digits + i * sizeof(NumericDigit)) : 0;
}

/* Reads the header, and finds the digits behind it. */
static inline void
read_number(const GpuSortVarlenaBytes *bytes, Number *number)
{
	uint16		header = load_uint16(bytes->bytes);
	Size		header_bytes = sizeof(uint16);

	number->header = header;
	number->special = (header & FORM_MASK) == FORM_SPECIAL;
	if ((header & FORM_SHORT) != 0)
	{
		number->negative = (header & SHORT_NEGATIVE) != 0;
		number->weight = (header & SHORT_WEIGHT_MASK) -
			((header & SHORT_WEIGHT_SIGN) != 0 ? SHORT_WEIGHT_MASK + 1 : 0);
	}
	else
	{
		number->negative = (header & FORM_MASK) == FORM_LONG_NEGATIVE;
		number->weight = (int16) load_uint16(bytes->bytes + header_bytes);
		header_bytes += sizeof(int16);
	}
	number->digits = bytes->bytes + header_bytes;
	number->n_digits = (bytes->length - header_bytes) / sizeof(NumericDigit);
}

/* --- signed numbers as words ---------------------------------------------- */

/* The words of -Infinity, Infinity and NaN are beyond all magnitudes, and
 * even. */
#define BEYOND				(INT64CONST(1) << 62)

static inline int64
special_word(const Number *number)
{
	if ((number->header & SPECIAL_MASK) == SPECIAL_NAN)
		return BEYOND + 2;
	return (number->header & SPECIAL_MASK) == SPECIAL_INFINITY ? BEYOND : -BEYOND;
}

/* --- fixed ---------------------------------------------------------------- */

#define FIXED_DIGITS_MAX	18
/* 4 more digits would make a number from here on too large */
#define FIXED_FULL			INT64CONST(100000000000000)
/* for values that do not fit: inexact, above all that do */
#define FIXED_CLAMPED		(BEYOND - 1)

static const int powers_of_ten[] = {1, 10, 100, 1000, 10000};

/* A column's scale, divided into digits to the base 10000. */
typedef struct FixedScale
{
	int			whole_digits;	/* whole digits behind the point */
	int			multiplier;		/* for the decimals of the next digit that count */
	int			divisor;		/* and for the others */
	int64		full;			/* the multiplier would make a number from here on too large */
} FixedScale;

/* Returns the magnitude, doubled, with its lowest bit. */
static inline int64
fixed_magnitude(const FixedScale *scale, const Number *number)
{
	/* digits that count as a whole */
	int			n_whole = number->weight + 1 + scale->whole_digits;
	int64		magnitude = 0;
	int			part;

	if (n_whole < 0)
		return number->n_digits > 0;
	for (int i = 0; i < n_whole; i++)
	{
		if (unlikely(magnitude >= FIXED_FULL))
			return FIXED_CLAMPED;
		magnitude = magnitude * 10000 + digit(number, i);
	}
	if (unlikely(magnitude >= scale->full))
		return FIXED_CLAMPED;
	part = digit(number, n_whole);
	if (scale->multiplier > 1)
	{
		magnitude = magnitude * scale->multiplier + part / scale->divisor;
		part %= scale->divisor;
	}
	return magnitude * 2 + (part != 0 || number->n_digits > n_whole + 1);
}

/* Encodes a value of a column with a fixed scale. */
static void
encode_fixed(const GpuSortKey *key, Datum value, uint64 *words)
{
	GpuSortVarlenaBytes bytes;
	Number		number;
	int64		word;

	gpusort_varlena_bytes_open(value, NEEDED_BYTES, &bytes);
	read_number(&bytes, &number);
	if (unlikely(number.special))
		word = special_word(&number);
	else
	{
		word = number.n_digits == 0 ? 0 : fixed_magnitude(key->state, &number);
		if (number.negative)
			word = -word;
	}
	words[0] = gpusort_word_of_signed(word);
	gpusort_varlena_bytes_close(&bytes);
}

/* --- floating ------------------------------------------------------------- */

/* Parts of the first word: 7 bits of weight, 54 of digits, and the lowest bit.
 * More digits go into the second word. */
#define WEIGHT_BITS			7
#define WEIGHT_SHIFT		55
#define WEIGHT_BIAS			(1 << (WEIGHT_BITS - 1))
#define WEIGHTS_MAX			((1 << WEIGHT_BITS) - 1)
#define DIGITS_A_WORD		4

static inline uint64
four_digits(const Number *number, int first)
{
	return ((digit(number, first) * UINT64CONST(10000) + digit(number, first + 1)) * 10000 +
			digit(number, first + 2)) * 10000 + digit(number, first + 3);
}

/* Sets the magnitude, doubled, with its lowest bit, of a number that is not
 * 0. */
static inline void
floating_magnitude(const Number *number, int n_words, uint64 *magnitude)
{
	/* 0 and the highest stand for all weights beyond */
	int			weight = number->weight + WEIGHT_BIAS;
	uint64	   *last = &magnitude[n_words - 1];

	if (unlikely(weight <= 0 || weight >= WEIGHTS_MAX))
	{
		memset(magnitude, 0, n_words * sizeof(uint64));
		magnitude[0] = weight <= 0 ? 0 : (uint64) WEIGHTS_MAX << WEIGHT_SHIFT;
		*last |= 1;
		return;
	}
	magnitude[0] = (uint64) weight << WEIGHT_SHIFT | four_digits(number, 0) << 1;
	if (n_words == 2)
		magnitude[1] = four_digits(number, DIGITS_A_WORD) << 1;
	*last |= number->n_digits > n_words * DIGITS_A_WORD;
}

static inline void
negate(int n_words, uint64 *magnitude)
{
	if (n_words == 1)
	{
		magnitude[0] = -magnitude[0];
		return;
	}
	magnitude[1] = -magnitude[1];
	magnitude[0] = ~magnitude[0] + (magnitude[1] == 0);
}

/* Encodes a value of any other column. */
static void
encode_floating(const GpuSortKey *key, Datum value, uint64 *words)
{
	GpuSortVarlenaBytes bytes;
	Number		number;

	gpusort_varlena_bytes_open(value, NEEDED_BYTES, &bytes);
	read_number(&bytes, &number);
	words[0] = words[key->n_words - 1] = 0;
	if (unlikely(number.special))
		words[0] = special_word(&number);
	else if (likely(number.n_digits > 0))
	{
		floating_magnitude(&number, key->n_words, words);
		if (number.negative)
			negate(key->n_words, words);
	}
	words[0] = gpusort_word_of_signed((int64) words[0]);
	gpusort_varlena_bytes_close(&bytes);
}

/* --- the encoder ---------------------------------------------------------- */

/* Does the type promise at most 18 digits?  The modifier has the form of
 * numerictypmodin: 16 bits of precision, and 11 bits of scale, with a sign. */
static bool
is_fixed(int32 typmod, int *scale)
{
	int			precision;

	if (typmod < (int32) VARHDRSZ)
		return false;
	precision = ((typmod - VARHDRSZ) >> 16) & 0xffff;
	*scale = (((typmod - VARHDRSZ) & 0x7ff) ^ 1024) - 1024;
	return precision <= FIXED_DIGITS_MAX && *scale >= 0 && *scale <= FIXED_DIGITS_MAX;
}

static bool
can_encode(const GpuSortKeyType *type, int *least, int *most)
{
	int			scale;

	*least = 1;
	*most = is_fixed(type->typmod, &scale) ? 1 : 2;
	return true;
}

/* The fixed form needs one word and a type with a scale. */
static void
make(GpuSortKey *key, const GpuSortKeyType *type, const GpuSortKeyEncoding *encoding)
{
	int			scale;

	key->encode = encode_floating;
	key->may_be_inexact = true;
	key->inexact_bits = 1;
	key->inexact_code = 1;
	if (encoding->n_words == 1 && is_fixed(type->typmod, &scale))
	{
		FixedScale *fixed = palloc(sizeof(FixedScale));

		fixed->whole_digits = scale / 4;
		fixed->multiplier = powers_of_ten[scale % 4];
		fixed->divisor = powers_of_ten[4 - scale % 4];
		fixed->full = FIXED_FULL * 10000 / fixed->multiplier;
		key->encode = encode_fixed;
		key->state = fixed;
	}
}

const GpuSortEncoder gpusort_encode_numeric = {.can_encode = can_encode,.make = make};
