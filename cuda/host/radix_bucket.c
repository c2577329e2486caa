/*
 * radix_bucket.c
 *	  Sorts a bucket of pairs in one thread (see radix_bucket.h).
 *
 * A bucket larger than a cache is split by the highest bits in which its keys
 * differ.  A smaller one is sorted least significant digit first, between its
 * place and the thread's buffer.  The passes cover only as many of the highest
 * bits as separate most pairs.  Pairs that tie in these bits are then sorted
 * among themselves.  Bits shared by a whole bucket thus cost nothing, and low
 * bits are read only where they decide.
 */
#include "host/radix_bucket.h"

#define DIGIT_BITS		8		/* digit width of a pass within the cache */
#define DIGITS			(1u << DIGIT_BITS)
/* Up to this size, few pairs tie in one digit. */
#define ONE_PASS_ROWS	(HOST_SMALL_ROWS / 32)
/* Insertion sort is used up to this size. */
#define INSERTED_ROWS	24

typedef struct bucket_sorter
{
	const host_pairs *sides;
	key_window	window;
	radix_workspace *work;
} bucket_sorter;

/* A sort of the pairs [begin, end) of a side into side 0; the function that
 * recursive sorts call. */
typedef void (*bucket_sort) (const bucket_sorter *sort, int side, uint64_t begin, uint64_t end);

/* Insertion sort.  Stable; from and to may be equal. */
INLINED void
insert_pairs(key_window window, const host_pairs *from, const host_pairs *to, uint64_t begin,
			 uint64_t end, int wide)
{
	for (uint64_t i = begin; i < end; i++)
	{
		uint64_t	key = key_at(from->keys, i, wide);
		uint64_t	value = value_at(window, from->keys, i, wide);
		uint32_t	row = from->rows[i];
		uint64_t	at = i;

		for (; at > begin && value_at(window, to->keys, at - 1, wide) > value; at--)
		{
			put_key(to->keys, at, key_at(to->keys, at - 1, wide), wide);
			to->rows[at] = to->rows[at - 1];
		}
		put_key(to->keys, at, key, wide);
		to->rows[at] = row;
	}
}

/* Splits a bucket larger than a cache, and sorts each part. */
INLINED void
divide_bucket(const bucket_sorter *sort, int side, uint64_t begin, uint64_t end,
			  uint64_t varying, int wide, bucket_sort again)
{
	const host_pairs *from = &sort->sides[side];
	const host_pairs *to = &sort->sides[!side];
	uint64_t	n = end - begin;
	uint32_t	bits = split_bits(n, varying, radix_scatter_has_lines(to, n));
	uint32_t	digits = 1u << bits;
	uint32_t	low_bits = bits_below(varying, bits);
	key_digit	digit_at = digit_above(sort->window, low_bits, bits);
	uint32_t	places[SPLIT_DIGITS] = {0};
	uint64_t	place = begin;

	count_digits(from->keys, begin, end, digit_at, places, wide);
	counts_to_places(places, digits, (uint32_t) begin);
	radix_scatter(&sort->work->lines, from, to, begin, end, n, digit_at, digits, places, wide);
	if (low_bits == 0)
	{
		if (side == 0)
			copy_pairs(to, from, begin, end, wide);
		return;
	}
	for (uint32_t digit = 0; digit < digits; place = places[digit++])
	{
		if (places[digit] > place)
			again(sort, !side, place, places[digit]);
	}
}

/* Sorts pairs of side 0 that tie in all higher bits by their low bits. */
INLINED void
sort_ties(const bucket_sorter *sort, uint64_t begin, uint64_t end, uint32_t low_bits,
		  int wide, bucket_sort again)
{
	const host_pairs *pairs = &sort->sides[0];
	const void *keys = pairs->keys;
	key_window	window = sort->window;
	uint64_t	i = begin + 1;

	while (i < end)
	{
		uint64_t	value = value_at(window, keys, i, wide);
		uint64_t	first = i - 1;

		if (value >= value_at(window, keys, i - 1, wide))
		{
			i++;
			continue;
		}
		value >>= low_bits;
		while (first > begin && value_at(window, keys, first - 1, wide) >> low_bits == value)
			first--;
		while (i < end && value_at(window, keys, i, wide) >> low_bits == value)
			i++;
		if (i - first <= INSERTED_ROWS)
			insert_pairs(window, pairs, pairs, first, i, wide);
		else
			again(sort, 0, first, i);
	}
}

/* Sorts least significant digit first, through the thread's buffer. */
INLINED void
sort_cached_bucket(const bucket_sorter *sort, int side, uint64_t begin, uint64_t end,
				   uint64_t varying, int wide, bucket_sort again)
{
	uint32_t	n = (uint32_t) (end - begin);
	int			two_passes = n > ONE_PASS_ROWS && bit_length(varying) > DIGIT_BITS;
	uint32_t	low_bits = bits_below(varying, two_passes ? 2 * DIGIT_BITS : DIGIT_BITS);
	key_digit	low = digit_above(sort->window, low_bits, DIGIT_BITS);
	key_digit	high = digit_above(sort->window, low_bits + DIGIT_BITS, DIGIT_BITS);
	uint32_t	places[2][DIGITS] = {{0}};
	host_pairs	from = pairs_at(&sort->sides[side], begin, wide);
	host_pairs	to = pairs_at(&sort->sides[0], begin, wide);
	host_pairs	buffer = {sort->work->pairs.keys, sort->work->pairs.rows};

	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	key = key_at(from.keys, i, wide);

		places[0][digit_of(low, key)]++;
		places[1][digit_of(high, key)]++;
	}
	counts_to_places(places[0], DIGITS, 0);
	scatter_plainly(&from, &buffer, 0, n, low, places[0], wide, 1);
	if (two_passes)
	{
		counts_to_places(places[1], DIGITS, 0);
		scatter_plainly(&buffer, &to, 0, n, high, places[1], wide, 1);
	}
	else
		copy_pairs(&buffer, &to, 0, n, wide);
	if (low_bits > 0)
		sort_ties(sort, begin, end, low_bits, wide, again);
}

INLINED void
sort_bucket_as(const bucket_sorter *sort, int side, uint64_t begin, uint64_t end,
			   int wide, bucket_sort again)
{
	const host_pairs *from = &sort->sides[side];
	key_summary summary;

	if (end - begin <= INSERTED_ROWS)
	{
		insert_pairs(sort->window, from, &sort->sides[0], begin, end, wide);
		return;
	}
	summary = summarize(sort->window, from->keys, begin, end, wide);
	if (summary.in_order)
	{
		if (side != 0)
			copy_pairs(from, &sort->sides[0], begin, end, wide);
	}
	else if (end - begin > CACHED_ROWS)
		divide_bucket(sort, side, begin, end, summary.any ^ summary.all, wide, again);
	else
		sort_cached_bucket(sort, side, begin, end, summary.any ^ summary.all, wide, again);
}

static void
sort_wide_bucket(const bucket_sorter *sort, int side, uint64_t begin, uint64_t end)
{
	sort_bucket_as(sort, side, begin, end, 1, sort_wide_bucket);
}

static void
sort_narrow_bucket(const bucket_sorter *sort, int side, uint64_t begin, uint64_t end)
{
	sort_bucket_as(sort, side, begin, end, 0, sort_narrow_bucket);
}

void
radix_bucket_sort(const host_pairs sides[2], key_window window, radix_workspace *work, int side,
				  uint64_t begin, uint64_t end)
{
	bucket_sorter sort = {sides, window, work};

	if (window.wide)
		sort_wide_bucket(&sort, side, begin, end);
	else
		sort_narrow_bucket(&sort, side, begin, end);
}
