/*
 * text_keys.h
 *	  Synthetic texts, as the first 8 bytes of a text column: big-endian words.
 *
 * In:  64 random bits per row.
 * Out: a word with the text's first byte on top.
 *
 * Letters, syllables and folders have uneven frequencies, like real text.  Host
 * and device code; distributions.h includes it.
 */
#ifndef GSORT_TEXT_KEYS_H
#define GSORT_TEXT_KEYS_H

#include <stdint.h>

#include "rows/host_device.h"

/* The bytes of a text, as far as they fit a word. */
typedef struct text_prefix
{
	uint64_t	word;
	int			bytes;
	uint64_t	random;			/* unused random bits, taken from the low end */
} text_prefix;

static inline GSORT_HD void
text_put(text_prefix *text, uint32_t byte)
{
	if (text->bytes < 8)
		text->word |= (uint64_t) byte << (56 - 8 * text->bytes);
	text->bytes++;
}

static inline GSORT_HD void
text_put_string(text_prefix *text, const char *string)
{
	for (; *string != 0; string++)
		text_put(text, (unsigned char) *string);
}

/* A number below limit, at most 4096: uniform, or with lower numbers more
 * frequent. */
static inline GSORT_HD uint32_t
text_even(text_prefix *text, uint32_t limit)
{
	uint32_t	number = (uint32_t) (text->random & 0xffff) * limit >> 16;

	text->random = text->random >> 16 | text->random << 48;
	return number;
}

static inline GSORT_HD uint32_t
text_uneven(text_prefix *text, uint32_t limit)
{
	uint32_t	half = (uint32_t) (text->random & 0xffff);

	text->random = text->random >> 16 | text->random << 48;
	return (uint32_t) ((uint64_t) half * half >> 16) * limit >> 16;
}

/* Appends one of a list's strings, each padded with blanks to width letters;
 * the blanks are skipped. */
static inline GSORT_HD void
text_put_one_of(text_prefix *text, const char *list, uint32_t width, uint32_t which)
{
	for (uint32_t i = 0; i < width; i++)
	{
		if (list[which * width + i] != ' ')
			text_put(text, (unsigned char) list[which * width + i]);
	}
}

static inline GSORT_HD void
text_put_syllable(text_prefix *text)
{
	text_put_one_of(text, "er an marso be lo ti desconra intel noreangunpalmi vestobalkafordosa su hi grawilbyt",
					3, text_uneven(text, 28));
}

static inline GSORT_HD void
text_put_utf8(text_prefix *text, uint32_t code)
{
	if (code < 0x800)
		text_put(text, 0xc0 | code >> 6);
	else
	{
		text_put(text, 0xe0 | code >> 12);
		text_put(text, 0x80 | (code >> 6 & 0x3f));
	}
	text_put(text, 0x80 | (code & 0x3f));
}

static inline GSORT_HD text_prefix
text_begin(uint64_t random)
{
	text_prefix text = {0, 0, random};

	return text;
}

/* The text behind https://www. */
static inline GSORT_HD uint64_t
url_key(uint64_t random)
{
	text_prefix text = text_begin(random);

	text_put_syllable(&text);
	text_put_syllable(&text);
	if (text_even(&text, 4) > 0)
		text_put_syllable(&text);
	text_put_string(&text, text_even(&text, 3) > 0 ? ".com/" : ".org/");
	return text.word;
}

static inline GSORT_HD uint64_t
whole_url_key(uint64_t random)
{
	text_prefix text = text_begin(random);

	text_put_string(&text, text_even(&text, 20) > 0 ? "https://" : "http://");
	text_put_syllable(&text);
	return text.word;
}

static inline GSORT_HD uint64_t
name_key(uint64_t random)
{
	text_prefix text = text_begin(random);

	text_put_syllable(&text);
	text_put_syllable(&text);
	text_put_string(&text, ", ");
	text_put(&text, 'A' + text_uneven(&text, 26));
	text_put_syllable(&text);
	text.word &= ~(1ull << 61);	/* makes the first letter a capital */
	return text.word;
}

static inline GSORT_HD uint64_t
path_key(uint64_t random)
{
	text_prefix text = text_begin(random);

	text_put_one_of(&text, "/usr/ /home//var/ /etc/ /opt/ /tmp/ ", 6, text_uneven(&text, 6));
	text_put_syllable(&text);
	text_put_syllable(&text);
	text_put_syllable(&text);
	return text.word;
}

/* Digits of a number in any base up to 16. */
static inline GSORT_HD uint64_t
digits_key(uint64_t random, uint32_t base)
{
	text_prefix text = text_begin(random);

	for (int i = 0; i < 8; i++)
	{
		text_put_one_of(&text, "0123456789abcdef", 1, (uint32_t) (text.random % base));
		text.random /= base;
	}
	return text.word;
}

/* Letters from first on, of a script with letters letters. */
static inline GSORT_HD uint64_t
script_key(uint64_t random, uint32_t first, uint32_t letters)
{
	text_prefix text = text_begin(random);

	for (int i = 0; i < 4; i++)
		text_put_utf8(&text, first + text_uneven(&text, letters));
	return text.word;
}

#endif							/* GSORT_TEXT_KEYS_H */
