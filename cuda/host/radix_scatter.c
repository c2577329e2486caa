/*
 * radix_scatter.c
 *	  Scatters of pairs, with streaming stores if the output exceeds the caches.
 *
 * A scatter of many pairs collects each digit's pairs in a buffer of a few
 * cache lines.  A full buffer is written past the caches (Satish et al., "Fast
 * Sort on CPUs and GPUs", SIGMOD 2010).
 */
#include "host/radix_steps.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

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

/* Scatters by whole cache lines.  to must be aligned to cache lines. */
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
