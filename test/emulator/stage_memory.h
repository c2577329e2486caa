/*
 * stage_memory.h
 *	  The common base of the tests of single stages: keys of several kinds,
 *	  memory for the data that stages share, and a count of failures.
 *
 * All random numbers derive from the seed, which is printed; each test takes it
 * as its argument.
 */
#ifndef GSORT_STAGE_MEMORY_H
#define GSORT_STAGE_MEMORY_H

#include "sort/launch_plan.cuh"
#include "sort/partition_plan.cuh"

#include <time.h>

#include <numeric>
#include <random>
#include <string>

#include "guarded_array.h"

typedef std::vector<uint64_t> words;
typedef std::vector<uint32_t> numbers;
typedef std::pair<uint64_t, uint32_t> key_and_row;

static int	failures;
static std::mt19937_64 dice;

[[maybe_unused]] static void
expect(bool right, const std::string &what)
{
	if (!right)
		printf("%s: BAD\n", what.c_str());
	failures += !right;
}

[[maybe_unused]] static uint64_t
below(uint64_t end)
{
	return dice() % end;
}

[[maybe_unused]] static uint64_t
low_bits(uint32_t bits)
{
	return bits >= 64 ? ~0ull : (1ull << bits) - 1;
}

[[maybe_unused]] static launch_target
target_of(int shared_bytes)
{
	emulator::the_chip.shared_bytes = shared_bytes;
	return {{emulator::the_chip.processors, shared_bytes, 0}, {NULL, true}, 0};
}

[[maybe_unused]] static uint32_t
row_bits_for(uint32_t n)
{
	return n > 1 ? significant_bits(n - 1) : 1;
}

/* --- keys ----------------------------------------------------------------- */

typedef enum key_kind
{
	KEYS_EVEN,
	KEYS_OF_BYTES,				/* few bytes values */
	KEYS_FEW,
	KEYS_IN_CLUSTERS,
	KEYS_EQUAL,
	KEYS_RISING,
	KEYS_FALLING,
	KEYS_RISING_BUT_ONE,
	KEY_KINDS
} key_kind;

[[maybe_unused]] static words
make_keys(key_kind kind, uint32_t n, uint64_t key_max)
{
	words		keys(n);
	uint64_t	step = key_max / n;

	for (uint32_t i = 0; i < n; i++)
	{
		switch (kind)
		{
			case KEYS_EVEN:
				keys[i] = dice();
				break;
			case KEYS_OF_BYTES:
				keys[i] = below(256);
				break;
			case KEYS_FEW:
				keys[i] = below(5) * 0x123456789abcdefull;
				break;
			case KEYS_IN_CLUSTERS:
				keys[i] = below(3) * (key_max / 3) + below(n * 4ull);
				break;
			case KEYS_EQUAL:
				keys[i] = 77;
				break;
			case KEYS_FALLING:
				keys[i] = (n - i) * step;
				break;
			default:
				keys[i] = i * step;
		}
		keys[i] &= key_max;
	}
	if (kind == KEYS_RISING_BUT_ONE)
		std::swap(keys[n / 2], keys[n / 2 + 1]);
	return keys;
}

[[maybe_unused]] static numbers
stable_order(const words &keys)
{
	numbers		order(keys.size());

	std::iota(order.begin(), order.end(), 0u);
	std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
	return order;
}

/* A stage's view of the caller's keys, for either type. */
template<typename Key>
static key_view
view_of(const std::vector<Key> &keys, uint64_t key_max)
{
	return {keys.data(), key_max, 8 * sizeof(Key)};
}

/* The bucket of a (key, row), by the splitters. */
[[maybe_unused]] static uint32_t
bucket_of(const bucket_splitters &splitters, uint64_t key, uint32_t row)
{
	uint32_t	b = splitters.buckets - 1;

	while (key_and_row(key, row) < key_and_row(splitters.lowest_key[b], splitters.lowest_row[b]))
		b--;
	return b;
}

/* --- device memory -------------------------------------------------------- */

/* The data shared by the stages of one sort, and the list of crowded
 * segments. */
template<typename Row>
struct stage_memory
{
	guarded_array<partition_plan> plan{1};
	guarded_array<uint64_t> first1, first2;
	guarded_array<uint32_t> second1, second2;
	guarded_array<sort_segment> segments;
	guarded_array<long_segment> long_segments;
	guarded_array<uint32_t> crowded;

	explicit stage_memory(uint32_t n): first1(level1_items_max(n)), first2(level2_items_max(n)), second1(n), second2(n), segments(segments_max<Row>(n)),
		long_segments(long_segments_max<Row>(n)), crowded(segments_max<Row>(n))
	{
	}

	segmented_items items()
	{
		return {{first1.data(), second1.data()}, {first2.data(), second2.data()}, segments.data(), long_segments.data()};
	}

	bool intact()
	{
		return plan.intact() && first1.intact() && first2.intact() && second1.intact() && second2.intact() &&
			segments.intact() && long_segments.intact() && crowded.intact();
	}
};

/* --- running -------------------------------------------------------------- */

static void
begin_test(const char *name, int argc, char **argv)
{
	uint64_t	seed = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t) time(NULL);

	printf("%s: seed %llu\n", name, (unsigned long long) seed);
	dice.seed(seed);
	emulator::random_state ^= seed;
}

/* Returns the exit status. */
static int
end_test()
{
	printf("failures: %d\n", failures);
	return failures != 0;
}

#endif							/* GSORT_STAGE_MEMORY_H */
