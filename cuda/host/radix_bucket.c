/*
 * radix_bucket.c
 *	  Sorts a bucket of pairs in one thread (see radix_steps.h).
 *
 * A bucket larger than a cache is split by the highest bits in which its keys
 * differ.  A smaller one is sorted least significant digit first, between its
 * place and the thread's buffer.  The passes cover only as many of the highest
 * bits as separate most pairs.  Pairs that tie in these bits are then sorted
 * among themselves.  Bits shared by a whole bucket thus cost nothing, and low
 * bits are read only where they decide.
 */
#include "host/radix_steps.h"

#define DIGIT_BITS		PLAIN_BITS_MAX	/* digit width of a pass within the cache */
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
			 uint64_t end, pair_shape shape)
{
	for (uint64_t i = begin; i < end; i++)
	{
		uint64_t	key = from->keys[i];
		uint32_t	row = shape == ROWS_GIVEN ? from->rows[i] : 0;
		uint64_t	value = value_of(window, key);
		uint64_t	at = i;

		for (; at > begin && value_of(window, to->keys[at - 1]) > value; at--)
			move_pair(to, at - 1, to, at, shape);
		to->keys[at] = key;
		if (shape == ROWS_GIVEN)
			to->rows[at] = row;
	}
}

/* Splits a bucket larger than a cache, and sorts each part. */
INLINED void
divide_bucket(const bucket_sorter *sort, int side, uint64_t begin, uint64_t end,
			  uint64_t varying, pair_shape shape, bucket_sort again)
{
	const host_pairs *from = &sort->sides[side];
	const host_pairs *to = &sort->sides[!side];
	uint32_t	bits = split_bits(end - begin, varying, 0);
	uint32_t	digits = 1u << bits;
	uint32_t	low_bits = bits_below(varying, bits);
	key_digit	digit_at = digit_above(sort->window, low_bits, bits);
	uint32_t	places[DIGITS] = {0};
	uint64_t	place = begin;

	count_digits(from->keys, begin, end, digit_at, places);
	counts_to_places(places, digits, (uint32_t) begin);
	scatter_plainly(from, to, begin, end, digit_at, places, shape);
	if (low_bits == 0)
	{
		if (side == 0)
			copy_pairs(to, from, begin, end, shape);
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
		  pair_shape shape, bucket_sort again)
{
	const host_pairs *pairs = &sort->sides[0];
	const uint64_t *keys = pairs->keys;
	key_window	window = sort->window;
	uint64_t	i = begin + 1;

	while (i < end)
	{
		uint64_t	value = value_of(window, keys[i]);
		uint64_t	first = i - 1;

		if (value >= value_of(window, keys[i - 1]))
		{
			i++;
			continue;
		}
		value >>= low_bits;
		while (first > begin && value_of(window, keys[first - 1]) >> low_bits == value)
			first--;
		while (i < end && value_of(window, keys[i]) >> low_bits == value)
			i++;
		if (i - first <= INSERTED_ROWS)
			insert_pairs(window, pairs, pairs, first, i, shape);
		else
			again(sort, 0, first, i);
	}
}

/* Sorts least significant digit first, through the thread's buffer. */
INLINED void
sort_cached_bucket(const bucket_sorter *sort, int side, uint64_t begin, uint64_t end,
				   uint64_t varying, pair_shape shape, bucket_sort again)
{
	uint32_t	n = (uint32_t) (end - begin);
	int			two_passes = n > ONE_PASS_ROWS && significant_bits(varying) > DIGIT_BITS;
	uint32_t	low_bits = bits_below(varying, two_passes ? 2 * DIGIT_BITS : DIGIT_BITS);
	key_digit	low = digit_above(sort->window, low_bits, DIGIT_BITS);
	key_digit	high = digit_above(sort->window, low_bits + DIGIT_BITS, DIGIT_BITS);
	uint32_t	places[2][DIGITS] = {{0}};
	host_pairs	from = pairs_at(&sort->sides[side], begin, shape);
	host_pairs	to = pairs_at(&sort->sides[0], begin, shape);
	host_pairs	buffer = {sort->work->keys, sort->work->rows};

	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	key = from.keys[i];

		places[0][digit_of(low, key, 0)]++;
		places[1][digit_of(high, key, 0)]++;
	}
	counts_to_places(places[0], DIGITS, 0);
	scatter_plainly(&from, &buffer, 0, n, low, places[0], shape);
	if (two_passes)
	{
		counts_to_places(places[1], DIGITS, 0);
		scatter_plainly(&buffer, &to, 0, n, high, places[1], shape);
	}
	else
		copy_pairs(&buffer, &to, 0, n, shape);
	if (low_bits > 0)
		sort_ties(sort, begin, end, low_bits, shape, again);
}

/* Sorts a bucket in the way that its size and its keys suggest. */
INLINED void
sort_bucket_as(const bucket_sorter *sort, int side, uint64_t begin, uint64_t end,
			   pair_shape shape, bucket_sort again)
{
	const host_pairs *from = &sort->sides[side];
	key_summary summary;

	if (end - begin <= INSERTED_ROWS)
	{
		insert_pairs(sort->window, from, &sort->sides[0], begin, end, shape);
		return;
	}
	summary = summarize(sort->window, from->keys, begin, end);
	if (summary.in_order)
	{
		if (side != 0)
			copy_pairs(from, &sort->sides[0], begin, end, shape);
	}
	else if (end - begin > CACHED_ROWS)
		divide_bucket(sort, side, begin, end, summary.any ^ summary.all, shape, again);
	else
		sort_cached_bucket(sort, side, begin, end, summary.any ^ summary.all, shape, again);
}

static void
sort_separate(const bucket_sorter *sort, int side, uint64_t begin, uint64_t end)
{
	sort_bucket_as(sort, side, begin, end, ROWS_GIVEN, sort_separate);
}

static void
sort_joined(const bucket_sorter *sort, int side, uint64_t begin, uint64_t end)
{
	sort_bucket_as(sort, side, begin, end, ROWS_IN_KEYS, sort_joined);
}

void
radix_bucket_sort(const host_pairs sides[2], key_window window, radix_workspace *work, int side,
				  uint64_t begin, uint64_t end)
{
	bucket_sorter sort = {sides, window, work};

	if (window.row_bits > 0)
		sort_joined(&sort, side, begin, end);
	else
		sort_separate(&sort, side, begin, end);
}
