/*
 * tied_rows_test.cpp
 *	  The kernels that sort only the ties of the first word, in the emulator.
 *
 * In:  rows of two words; the first is distinct, or shared by few, half, or all
 *	    rows.
 * Out: a line for each failure, the number of failures, and the exit status.
 *
 * The steps are those of cuda_order.cu.  The test replaces the library's
 * selection and scan, and sorts pairs by the radix sort's kernels.  The order
 * must be that of std::stable_sort by both words.
 */
#include "sort/pairs_radix.cu"
#include "device/tied_rows.cuh"

#include <algorithm>
#include <numeric>
#include <vector>

#include "distributions.h"

#define THREADS		64

typedef std::vector<uint32_t> numbers;
typedef std::vector<uint64_t> words;

static int	failures;

static unsigned
blocks_of(uint64_t n)
{
	return (unsigned) ((n + THREADS - 1) / THREADS);
}

/* Sorts the row numbers, which are in order, by their words, and consumes
 * these. */
template<typename Word>
static numbers
sorted_by(std::vector<Word> keys, const numbers &order, uint32_t bits, std::vector<Word> *sorted)
{
	numbers		out(order.size());
	gsort_pairs pairs = {};
	std::vector<unsigned char> scratch;
	void	   *aligned;
	size_t		bytes;

	pairs.key_bits = 8 * sizeof(Word);
	pairs.bits = bits;
	pairs.n = order.size();
	pairs.d_keys = keys.data();
	pairs.d_rows = order.data();
	pairs.d_rows_out = out.data();
	pairs.d_keys_out = sorted != NULL ? sorted->data() : NULL;
	bytes = pairs_radix_scratch_bytes(&pairs);
	scratch.resize(bytes + 256);
	aligned = (void *) (((uintptr_t) scratch.data() + 255) / 256 * 256);
	failures += pairs_radix_sort(&pairs, aligned, bytes, NULL) != cudaSuccess;
	return out;
}

static numbers
tied_places(const words &first)
{
	is_in_segment tied = {first.data(), first.size()};
	numbers		places;

	for (uint32_t i = 0; i < first.size(); i++)
	{
		if (tied(i))
			places.push_back(i);
	}
	return places;
}

/* Does the work of cuda_order_tied_rows for one more word. */
static void
sort_tied_rows(const words &first, const words &second, uint32_t segments, numbers &order)
{
	numbers		places = tied_places(first);
	size_t		tied = places.size();
	numbers		rows(tied);
	numbers		begins(tied);
	numbers		segment_of_row(order.size(), 0xffffffffu);
	words		tied_words(tied);
	numbers		segment_words(tied);

	launch(list_tied_rows_kernel, blocks_of(tied), THREADS, 0, NULL, first.data(), (uint64_t) first.size(),
		   (const uint32_t *) order.data(), (const uint32_t *) places.data(), (uint64_t) tied, rows.data(), begins.data());
	std::partial_sum(begins.begin(), begins.end(), begins.begin());
	failures += begins.back() != segments;
	launch(number_segments_kernel, blocks_of(tied), THREADS, 0, NULL, (const uint32_t *) rows.data(),
		   (const uint32_t *) begins.data(), (uint64_t) tied, segment_of_row.data());
	for (size_t i = 0; i < tied; i++)
		tied_words[i] = second[rows[i]];
	rows = sorted_by<uint64_t>(tied_words, rows, 64, NULL);
	if (significant_bits(segments - 1) > 0)
	{
		launch(segment_words_kernel, blocks_of(tied), THREADS, 0, NULL, (const uint32_t *) segment_of_row.data(),
			   (const uint32_t *) rows.data(), (uint64_t) tied, segment_words.data());
		rows = sorted_by<uint32_t>(segment_words, rows, significant_bits(segments - 1), NULL);
	}
	launch(put_tied_rows_kernel, blocks_of(tied), THREADS, 0, NULL, (const uint32_t *) places.data(),
		   (const uint32_t *) rows.data(), (uint64_t) tied, order.data());
}

static uint64_t
first_word_of(int how, uint32_t i, uint32_t n)
{
	uint64_t	random = mix_bits(i + 1000003ull * n);

	switch (how)
	{
		case 0:
			return random;
		case 1:
			return random % 50 == 0 ? mix_bits(random / 50 % 3) : random;
		case 2:
			return i % 2 == 0 ? 77 : random;
		case 3:
			return mix_bits(random % (n / 2 + 1));
		case 4:
			return random % 3 << 60;
		default:
			return 5;
	}
}

static void
run_case(int how, uint32_t n)
{
	words		keys[2] = {words(n), words(n)};
	words		first(n);
	numbers		order(n);
	numbers		expected(n);
	run_header	header = {};
	uint32_t	segments = 0;
	bool		ok;

	for (uint32_t i = 0; i < n; i++)
	{
		keys[0][i] = first_word_of(how, i, n);
		keys[1][i] = n % 2 == 0 ? mix_bits(i) % 5 : mix_bits(i);
		order[i] = expected[i] = i;
	}
	std::stable_sort(expected.begin(), expected.end(), [&](uint32_t a, uint32_t b) {
		return keys[0][a] != keys[0][b] ? keys[0][a] < keys[0][b] : keys[1][a] < keys[1][b];
	});
	order = sorted_by<uint64_t>(keys[0], order, 64, &first);
	launch(count_segments_kernel, blocks_of(n), THREADS, 0, NULL, (const first_word *) first.data(), (uint64_t) n, &header);
	for (uint32_t i = 0; i + 1 < n; i++)
		segments += first[i] == first[i + 1] && (i == 0 || first[i - 1] != first[i]);
	if (!tied_places(first).empty())
		sort_tied_rows(first, keys[1], segments, order);
	ok = header.segments == segments && order == expected;
	if (!ok)
		printf("segments: n=%u, first words of kind %d: BAD\n", n, how);
	failures += !ok;
}

int
main()
{
	emulator::the_chip.shared_bytes = 64 << 10;
	for (int how = 0; how < 6; how++)
	{
		for (uint32_t n : {1u, 2u, 3u, 63u, 64u, 65u, 129u, 1000u, 4097u})
			run_case(how, n);
	}
	printf("failures: %d\n", failures);
	return failures != 0;
}
