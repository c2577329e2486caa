/*
 * distributions.h
 *	  The inputs of the sort's tests and benchmarks; a key depends on its row's
 *	  number alone.
 *
 * Host and device code, so that the bench fills device memory with the inputs
 * of the emulator's tests.
 */
#ifndef GSORT_DISTRIBUTIONS_H
#define GSORT_DISTRIBUTIONS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "rows/host_device.h"
#include "text_keys.h"

typedef enum distribution
{
	UNIFORM, ZIPF, ZIPF_HASHED, SIXTEEN, SIXTEEN_HASHED, THOUSAND_HASHED, SORTED, REVERSED,
	RANGE_2_20, NORMAL, DOUBLES, LOGNORMAL, ALL_EQUAL, OUTLIER, CLUSTERS,
	/* end of the usual ones; the following ones were designed to defeat the
	 * sort */
	DISTRIBUTIONS,
	MANY_CLUSTERS = DISTRIBUTIONS, EXPONENTIAL, HALF_EQUAL, RARE_CLUSTERS, FEW_TIED, ONE_SWAPPED,
	HARD_DISTRIBUTIONS,			/* end of these; the following ones resemble real tables */
	HOLES = HARD_DISTRIBUTIONS, DAYS, MANY_DAYS, ZIPF_FEW_HASHED, SNOWFLAKE, BIT_REVERSED, MORTON, NEAR_SORTED, SAWTOOTH,
	ALTERNATING_ENDS,
	/* Texts of text_keys.h. */
	URLS, WHOLE_URLS, NAMES, PATHS, HEX_DIGITS, DECIMAL_DIGITS, CYRILLIC, GREEK, CJK, DEVANAGARI,
	ALL_DISTRIBUTIONS
} distribution;

static const char *const distribution_names[] = {
	"uniform", "zipf", "zipf_hashed", "16_values", "16_random", "1000_random", "sorted", "reversed",
	"range_2^20", "normal", "doubles", "lognormal", "all_equal", "outlier", "clusters",
	"many_clusters", "exponential", "half_equal", "rare_clusters", "few_tied", "one_swapped",
	"holes", "days", "many_days", "zipf2", "snowflake", "bit_reversed", "morton", "near_sorted", "sawtooth", "alternating",
	"urls", "whole_urls", "names", "paths", "hex", "decimal", "cyrillic", "greek", "cjk", "devanagari"
};

static inline GSORT_HD uint64_t
mix_bits(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* A number in [0, 1). */
static inline GSORT_HD double
unit_of(uint64_t random)
{
	return (double) (random >> 11) * (1.0 / 9007199254740992.0);
}

static inline GSORT_HD uint64_t
double_key(double x, int bits)
{
	if (bits == 64)
	{
		uint64_t	key;

		memcpy(&key, &x, sizeof(key));
		return key >> 63 ? ~key : key | 1ull << 63;
	}
	else
	{
		float		y = (float) x;
		uint32_t	key;

		memcpy(&key, &y, sizeof(key));
		return key >> 31 ? ~key : key | 1u << 31;
	}
}

/* Sums of uniform numbers, with a bell-shaped distribution. */
static inline GSORT_HD uint64_t
normal_key(uint64_t random, int bits)
{
	uint64_t	sum = 0;

	for (int i = 0; i < 8; i++)
	{
		random = mix_bits(random);
		sum += random >> (64 - bits + 3);
	}
	return sum;
}

static inline GSORT_HD uint64_t
lognormal_key(uint64_t random, int bits)
{
	double		sum = 0;

	for (int i = 0; i < 12; i++)
	{
		random = mix_bits(random);
		sum += unit_of(random);
	}
	return (uint64_t) exp2((sum - 6) * 3.0 + bits / 2);
}

static inline GSORT_HD uint64_t
reversed_bits(uint64_t x)
{
	uint64_t	reversed = 0;

	for (int bit = 0; bit < 64; bit++)
		reversed |= (x >> bit & 1) << (63 - bit);
	return reversed;
}

/* Two interleaved coordinates, like places on a map around one centre. */
static inline GSORT_HD uint64_t
morton_key(uint64_t random)
{
	uint64_t	x = normal_key(random, 32);
	uint64_t	y = normal_key(mix_bits(random), 32);
	uint64_t	key = 0;

	for (int bit = 0; bit < 32; bit++)
		key |= (x >> bit & 1) << (2 * bit) | (y >> bit & 1) << (2 * bit + 1);
	return key;
}

/* The 64-bit key of a row, as in real tables. */
static inline GSORT_HD uint64_t
table_key(distribution which, uint64_t i, uint64_t n, uint64_t random)
{
	switch (which)
	{
		case HOLES:
			return random & 0x5555555555555555ull;
		case DAYS:				/* in microseconds */
			return random % 9000 * 86400000000ull + mix_bits(random) % 100;
		case MANY_DAYS:			/* more distinct values than sampled keys, but fewer than tiles */
			return random % (n < 1000000 ? 30000 : 200000) * 86400000000ull + mix_bits(random) % 100;
		case ZIPF_FEW_HASHED:
			return mix_bits((uint64_t) (1 / (1 - unit_of(random))));
		case SNOWFLAKE:			/* milliseconds, one of 32 nodes, a counter */
			return i / 16 << 22 | (random & 31) << 12 | (i & 15);
		case BIT_REVERSED:
			return reversed_bits(i);
		case MORTON:
			return morton_key(random);
		case NEAR_SORTED:
			return (i + random % 1000) << 20;
		case SAWTOOTH:
			return i % (n / 16 + 1) << 24;
		case ALTERNATING_ENDS:
			return i & 1 ? ~(i << 20) : i << 20;
		case URLS:
			return url_key(random);
		case WHOLE_URLS:
			return whole_url_key(random);
		case NAMES:
			return name_key(random);
		case PATHS:
			return path_key(random);
		case HEX_DIGITS:
			return digits_key(random, 16);
		case DECIMAL_DIGITS:
			return digits_key(random, 10);
		case CYRILLIC:
			return script_key(random, 0x430, 32);
		case GREEK:
			return script_key(random, 0x3b1, 25);
		case CJK:
			return script_key(random, 0x4e00, 4096);
		case DEVANAGARI:
			return script_key(random, 0x905, 53);
		default:
			return random;
	}
}

/* The key of row i of n, in the low bits (32 or 64) of the result. */
static inline GSORT_HD uint64_t
distribution_key(distribution which, uint64_t i, uint64_t n, uint64_t seed, int bits)
{
	uint64_t	random = mix_bits(i * 2 + seed);
	uint64_t	top = bits == 64 ? ~0ull : 0xffffffffull;
	uint64_t	half = 1ull << (bits - 1);

	if (which >= HARD_DISTRIBUTIONS)
		return table_key(which, i, n, random) >> (64 - bits);
	switch (which)
	{
		case ZIPF:
			return (uint64_t) exp2(30.0 * unit_of(random));
		case ZIPF_HASHED:
			return mix_bits((uint64_t) exp2(30.0 * unit_of(random))) >> (64 - bits);
		case SIXTEEN:
			return random & 15;
		case SIXTEEN_HASHED:
			return mix_bits(random & 15) >> (64 - bits);
		case THOUSAND_HASHED:
			return mix_bits(random % 1000 + 77) >> (64 - bits);
		case SORTED:
			return (uint64_t) ((double) i / (double) n * (double) half) * 2;
		case REVERSED:
			return (uint64_t) ((double) (n - 1 - i) / (double) n * (double) half) * 2;
		case RANGE_2_20:
			return random & 0xfffff;
		case NORMAL:
			return normal_key(random, bits);
		case DOUBLES:
			return double_key(unit_of(random) * 2 - 1, bits);
		case LOGNORMAL:
			return lognormal_key(random, bits);
		case ALL_EQUAL:
			return 42;
		case OUTLIER:
			return i % 1000003 == 5 ? (random >> (64 - bits)) | half : 1000000 + (random & 0xffff);
		case CLUSTERS:
			return (random & 7) * (half >> 3) + (random >> 8 & 0x3ffff);
		case MANY_CLUSTERS:
			return (mix_bits(random & 0xfff) >> (64 - bits) & ~0x3ffull) | (random >> 12 & 0x3ff);
		case EXPONENTIAL:
			return (1ull << (random % (uint64_t) (bits - 1))) + (random >> 40 & 15);
		case HALF_EQUAL:
			return i & 1 ? half + 7 : random >> (64 - bits);
		/* one row in a hundred in a narrow cluster, the rest widely spread */
		case RARE_CLUSTERS:
			return random % 100 == 0 ? half / 3 + (random >> 8 & 0xfffff) : mix_bits(random) >> (64 - bits);
		case FEW_TIED:			/* too few for any sample to show that their words tie */
			return random % 900 == 0 ? half / 3 + (random >> 8 & 0x3f) : mix_bits(random) >> (64 - bits);
		/* sorted, except for two neighbours near the end, which hardly any
		 * sample contains */
		case ONE_SWAPPED:
			i += i == n - n / 9 ? 1 : i == n - n / 9 + 1 ? (uint64_t) -1 : 0;
			return (uint64_t) ((double) i / (double) n * (double) half) * 2;
		default:
			return random >> (64 - bits) & top;
	}
}

#endif							/* GSORT_DISTRIBUTIONS_H */
