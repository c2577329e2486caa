/*
 * radix_scatter.c
 *	  Scatters of pairs, with streaming stores if the output exceeds the caches.
 *
 * A scatter of many pairs collects each digit's pairs in a buffer of a few
 * cache lines.  A full buffer is written past the caches (Satish et al., "Fast
 * Sort on CPUs and GPUs", SIGMOD 2010).
 */
#include "host/radix_scatter.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Writes whole cache lines past the caches. */
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
		   uint32_t end, int wide)
{
	host_pairs	target = pairs_at(to, begin, wide);
	uint32_t	at = begin % LINE_PAIRS;

	memcpy(target.keys, (const char *) lines->keys[digit] + at * key_bytes(wide),
		   (end - begin) * key_bytes(wide));
	memcpy(target.rows, lines->rows[digit] + at, (end - begin) * sizeof(uint32_t));
}

/* Writes the digit's buffer, whose last pair belongs at last. */
INLINED void
write_full(const line_buffers *lines, uint32_t digit, const host_pairs *to, uint32_t last, int wide)
{
	uint32_t	first = last - (LINE_PAIRS - 1);
	host_pairs	target = pairs_at(to, first, wide);

	if (first < lines->begins[digit])
	{
		write_some(lines, digit, to, lines->begins[digit], last + 1, wide);
		return;
	}
	stream_lines(target.keys, lines->keys[digit], LINE_PAIRS * key_bytes(wide));
	stream_lines(target.rows, lines->rows[digit], LINE_PAIRS * sizeof(uint32_t));
}

static void
write_rests(const line_buffers *lines, const host_pairs *to, const uint32_t *places,
			uint32_t digits, int wide)
{
	for (uint32_t digit = 0; digit < digits; digit++)
	{
		uint32_t	first = places[digit] / LINE_PAIRS * LINE_PAIRS;

		if (first < lines->begins[digit])
			first = lines->begins[digit];
		if (first < places[digit])
			write_some(lines, digit, to, first, places[digit], wide);
	}
#ifdef __SSE2__
	_mm_sfence();
#endif
}

/* Scatters by whole cache lines.  Requires that to is aligned to cache
 * lines. */
INLINED void
scatter_lines(line_buffers *lines, const host_pairs *from, const host_pairs *to, uint64_t begin,
			  uint64_t end, key_digit of, uint32_t digits, uint32_t *places, int wide,
			  int with_rows)
{
	memcpy(lines->begins, places, digits * sizeof(*places));
	for (uint64_t i = begin; i < end; i++)
	{
		uint64_t	key = key_at(from->keys, i, wide);
		uint32_t	digit = digit_of(of, key);
		uint32_t	place = places[digit]++;
		uint32_t	at = place % LINE_PAIRS;

		put_key(lines->keys[digit], at, key, wide);
		lines->rows[digit][at] = with_rows ? from->rows[i] : (uint32_t) i;
		if (at == LINE_PAIRS - 1)
			write_full(lines, digit, to, place, wide);
	}
	write_rests(lines, to, places, digits, wide);
}

int
radix_scatter_has_lines(const host_pairs *to, uint64_t n)
{
	return n >= STREAMED_ROWS &&
		((uintptr_t) to->keys | (uintptr_t) to->rows) % LINE_BYTES == 0;
}

INLINED void
scatter_as(line_buffers *lines, const host_pairs *from, const host_pairs *to, uint64_t begin,
		   uint64_t end, uint64_t n, key_digit digit, uint32_t digits, uint32_t *places, int wide,
		   int with_rows)
{
	if (radix_scatter_has_lines(to, n))
		scatter_lines(lines, from, to, begin, end, digit, digits, places, wide, with_rows);
	else
		scatter_plainly(from, to, begin, end, digit, places, wide, with_rows);
}

void
radix_scatter(line_buffers *lines, const host_pairs *from, const host_pairs *to, uint64_t begin,
			  uint64_t end, uint64_t n, key_digit digit, uint32_t digits, uint32_t *places,
			  int wide)
{
	if (wide && from->rows != NULL)
		scatter_as(lines, from, to, begin, end, n, digit, digits, places, 1, 1);
	else if (wide)
		scatter_as(lines, from, to, begin, end, n, digit, digits, places, 1, 0);
	else if (from->rows != NULL)
		scatter_as(lines, from, to, begin, end, n, digit, digits, places, 0, 1);
	else
		scatter_as(lines, from, to, begin, end, n, digit, digits, places, 0, 0);
}
