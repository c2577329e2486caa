/*
 * radix_steps.c
 *	  The steps of the radix sort (see radix_steps.h).
 */
#include "host/radix_steps.h"

#include <stdlib.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* --- scatters ------------------------------------------------------------ */

/*
 * A scatter of many pairs collects each digit's pairs in a buffer of a few
 * cache lines.  A full buffer is written past the caches (Satish et al., "Fast
 * Sort on CPUs and GPUs", SIGMOD 2010).
 */

INLINED void
stream_lines(void *to, const void *from, size_t bytes)
{
#ifdef __SSE2__
	for (size_t i = 0; i < bytes / sizeof(__m128i); i++)
		_mm_stream_si128((__m128i *) to + i, _mm_load_si128((const __m128i *) from + i));
#else
	memcpy(to, from, bytes);
#endif
}

/* Writes a digit's pairs for places [begin, end), which one buffer holds. */
INLINED void
write_some(const line_buffers *lines, uint32_t digit, const host_pairs *to, uint32_t begin,
		   uint32_t end, pair_shape shape)
{
	uint32_t	at = begin % LINE_PAIRS;

	memcpy(to->keys + begin, lines->keys[digit] + at, (end - begin) * sizeof(*to->keys));
	if (shape != ROWS_IN_KEYS)
		memcpy(to->rows + begin, lines->rows[digit] + at, (end - begin) * sizeof(*to->rows));
}

/* Writes the digit's buffer, whose last pair belongs at last. */
INLINED void
write_full(const line_buffers *lines, uint32_t digit, const host_pairs *to, uint32_t last,
		   pair_shape shape)
{
	uint32_t	first = last - (LINE_PAIRS - 1);

	if (first < lines->begins[digit])
	{
		write_some(lines, digit, to, lines->begins[digit], last + 1, shape);
		return;
	}
	stream_lines(to->keys + first, lines->keys[digit], LINE_PAIRS * sizeof(*to->keys));
	if (shape != ROWS_IN_KEYS)
		stream_lines(to->rows + first, lines->rows[digit], LINE_PAIRS * sizeof(*to->rows));
}

static void
write_rests(const line_buffers *lines, const host_pairs *to, const uint32_t *places,
			uint32_t digits, pair_shape shape)
{
	for (uint32_t digit = 0; digit < digits; digit++)
	{
		uint32_t	first = places[digit] / LINE_PAIRS * LINE_PAIRS;

		if (first < lines->begins[digit])
			first = lines->begins[digit];
		if (first < places[digit])
			write_some(lines, digit, to, first, places[digit], shape);
	}
#ifdef __SSE2__
	_mm_sfence();
#endif
}

INLINED void
scatter_lines(line_buffers *lines, const host_pairs *from, const host_pairs *to, uint64_t begin,
			  uint64_t end, key_digit of, uint32_t digits, uint32_t *places, pair_shape shape,
			  int with_table)
{
	memcpy(lines->begins, places, digits * sizeof(*places));
	for (uint64_t i = begin; i < end; i++)
	{
		uint32_t	digit = digit_of(of, from->keys[i], with_table);
		uint32_t	place = places[digit]++;
		uint32_t	at = place % LINE_PAIRS;
		host_pairs	buffer = {lines->keys[digit], lines->rows[digit]};

		move_pair(from, i, &buffer, at, shape);
		if (at == LINE_PAIRS - 1)
			write_full(lines, digit, to, place, shape);
	}
	write_rests(lines, to, places, digits, shape);
}

int
radix_scatter_has_lines(const host_pairs *to, uint64_t n, pair_shape shape)
{
	uintptr_t	address = (uintptr_t) to->keys;

	if (shape != ROWS_IN_KEYS)
		address |= (uintptr_t) to->rows;
	return n >= STREAMED_ROWS && address % LINE_BYTES == 0;
}

INLINED void
scatter_as(line_buffers *lines, const host_pairs *from, const host_pairs *to, uint64_t begin,
		   uint64_t end, key_digit digit, uint32_t digits, uint32_t *places, pair_shape shape)
{
	if (digit.table != NULL)
		scatter_lines(lines, from, to, begin, end, digit, digits, places, shape, 1);
	else if (lines != NULL)
		scatter_lines(lines, from, to, begin, end, digit, digits, places, shape, 0);
	else
		scatter_plainly(from, to, begin, end, digit, places, shape);
}

void
radix_scatter(line_buffers *lines, const host_pairs *from, const host_pairs *to, uint64_t begin,
			  uint64_t end, key_digit digit, uint32_t digits, uint32_t *places, pair_shape shape)
{
	if (shape == ROWS_IN_KEYS)
		scatter_as(lines, from, to, begin, end, digit, digits, places, ROWS_IN_KEYS);
	else if (shape == ROWS_GIVEN)
		scatter_as(lines, from, to, begin, end, digit, digits, places, ROWS_GIVEN);
	else
		scatter_as(lines, from, to, begin, end, digit, digits, places, ROWS_NUMBERED);
}

/* --- the choice among digits, a table and passes ------------------------- */

/*
 * Texts, numbers in floating point and numbers of any length divide unevenly by
 * few bits.  A table then assigns a part to each value of more bits.  Short
 * keys are sorted least significant digit first, where crowded digits do no
 * harm.
 *
 * A search among splitters would cost more than a split.  A table of their
 * first bits needs one access, mostly to few of its lines.
 */

#define SAMPLE_MAX		4096
#define TABLE_BITS_MAX	20
/* The sample and the table take little of the sort's time. */
#define ROWS_PER_SAMPLE	256
#define ROWS_PER_ENTRY	8
/* A digit is crowded if it has this many times the average. */
#define CROWDED			4
/* Up to this many passes cost less than a table and the sort of its parts. */
#define PASSES_MAX		3

static int
compare_entries(const void *a, const void *b)
{
	uint32_t	x = *(const uint32_t *) a;
	uint32_t	y = *(const uint32_t *) b;

	return x < y ? -1 : x > y;
}

/* Fills in a sorted sample of the digit, and returns its size.  Each stretch of
 * the keys gives one, at a place that follows no period. */
static uint32_t
take_sample(const uint64_t *keys, uint64_t n, key_digit digit, uint32_t *sample)
{
	uint64_t	stretch = n / SAMPLE_MAX > ROWS_PER_SAMPLE ? n / SAMPLE_MAX : ROWS_PER_SAMPLE;
	uint32_t	size = n / stretch < SAMPLE_MAX ? (uint32_t) (n / stretch) : SAMPLE_MAX;
	uint32_t	random = 1;

	for (uint32_t i = 0; i < size; i++)
	{
		random = random * 1664525 + 1013904223;
		sample[i] = digit_of(digit, keys[i * stretch + (random >> 8) % stretch], 0);
	}
	qsort(sample, size, sizeof(*sample), compare_entries);
	return size;
}

/* True if half of the sample is crowded by its bits above low_bits, and the
 * bits below divide it. */
static int
is_crowded(const uint32_t *sample, uint32_t size, uint32_t low_bits)
{
	uint32_t	divided = 0;
	uint32_t	end;

	for (uint32_t begin = 0; begin < size; begin = end)
	{
		uint32_t	most = 0;	/* rows of the most frequent entry */
		uint32_t	same = 0;

		for (end = begin;
			 end < size && sample[end] >> low_bits == sample[begin] >> low_bits; end++)
		{
			same = end > begin && sample[end] == sample[end - 1] ? same + 1 : 1;
			most = same > most ? same : most;
		}
		if ((end - begin) * SPLIT_DIGITS > CROWDED * size)
			divided += end - begin - most;
	}
	return divided > size / 2;
}

static void
fill_table(uint16_t *table, uint32_t entries, const uint32_t *sample, uint32_t size)
{
	uint32_t	entry = 0;
	uint16_t	part = 0;

	for (uint32_t i = 1; i < SPLIT_DIGITS; i++)
	{
		uint32_t	splitter = sample[(uint64_t) i * size / SPLIT_DIGITS];

		/* an entry that comes again gets a part of its own */
		if (splitter < entry)
			continue;
		if (splitter == entry && part > 0)
			splitter++;
		while (entry < splitter)
			table[entry++] = part;
		part++;
	}
	while (entry < entries)
		table[entry++] = part;
}

uint32_t
radix_sample_choose(key_window window, const uint64_t *keys, uint64_t n, uint64_t varying,
					key_digit *digit, uint16_t **table)
{
	uint32_t	sample[SAMPLE_MAX];
	uint32_t	length = significant_bits(varying);
	uint32_t	span = length - (uint32_t) __builtin_ctzll(varying);
	uint32_t	passes = (span + PLAIN_BITS_MAX - 1) / PLAIN_BITS_MAX;
	uint32_t	bits = significant_bits(n / ROWS_PER_ENTRY);
	uint32_t	size;
	key_digit	entry;

	if (bits > TABLE_BITS_MAX)
		bits = TABLE_BITS_MAX;
	if (bits > length)
		bits = length;
	if (bits <= SPLIT_BITS_MAX)
		return 0;
	entry = digit_above(window, length - bits, bits);
	size = take_sample(keys, n, entry, sample);
	if (!is_crowded(sample, size, bits - SPLIT_BITS_MAX))
		return 0;
	if (passes <= PASSES_MAX)
		return passes;
	*table = malloc(sizeof(**table) << bits);
	if (*table != NULL)
	{
		fill_table(*table, 1u << bits, sample, size);
		*digit = (key_digit) {entry.shift, entry.mask, *table};
	}
	return 0;
}

/* --- a bucket ------------------------------------------------------------ */

/*
 * A bucket larger than a cache is split by the highest bits in which its keys
 * differ.  A smaller one is sorted least significant digit first, between its
 * place and the thread's buffer.  The passes cover only as many of the highest
 * bits as separate most pairs.  Pairs that tie in these bits are then sorted
 * among themselves.  Bits shared by a whole bucket thus cost nothing, and low
 * bits are read only where they decide.
 */

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
