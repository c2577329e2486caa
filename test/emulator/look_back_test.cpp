/*
 * look_back_test.cpp
 *	  The look-back of the radix sort.  The emulator's kernels do not exercise
 *	  it, because there a tile always finds its predecessor finished.
 *
 * In:  synthetic rows of states.  Some tiles have published their counts only,
 *	    some their sums.  Unpublished states and states behind the tile hold
 *	    leftovers of the preceding pass.
 * Out: a line with the number of wrong results, and the exit status.  The seed
 *	    is fixed.
 *
 * The first test uses constant states.  In the second, another thread publishes
 * them concurrently, word by word, in random order.
 */
#include "sort/look_back.cuh"

#include <random>
#include <thread>
#include <vector>

#define TILES				40
#define FIXED_ROUNDS		100000
#define CHANGING_ROUNDS		300
#define COUNT_MAX			7680
#define FIRST_PLACE_MAX		900000000

struct tile_counts
{
	uint32_t	of_tile[STATES_A_THREAD];
	uint32_t	up_to_end[STATES_A_THREAD];
};

alignas(16) static uint32_t states[TILES * RADIX_BINS];
static std::minstd_rand random_numbers(7);

static uint32_t
random_below(uint32_t end)
{
	return (uint32_t) (random_numbers() % end);
}

static void
make_counts(tile_counts tiles[TILES])
{
	for (int t = 0; t < TILES; t++)
	{
		for (int i = 0; i < STATES_A_THREAD; i++)
		{
			uint32_t	before = t > 0 ? tiles[t - 1].up_to_end[i] : random_below(FIRST_PLACE_MAX);

			tiles[t].of_tile[i] = random_below(COUNT_MAX);
			tiles[t].up_to_end[i] = before + tiles[t].of_tile[i];
		}
	}
}

static int
wrong_places(const tile_counts tiles[TILES], uint32_t tile, uint32_t pass)
{
	uint32_t	places[STATES_A_THREAD];
	int			wrong = 0;

	look_back(states, tile, pass, places);
	for (int i = 0; i < STATES_A_THREAD; i++)
		wrong += places[i] != tiles[tile - 1].up_to_end[i];
	return wrong;
}

static int
test_fixed_states()
{
	int			wrong = 0;

	for (int round = 0; round < FIXED_ROUNDS; round++)
	{
		tile_counts tiles[TILES];
		uint32_t	pass = random_below(RADIX_PASSES_MAX);
		uint32_t	tile = 1 + random_below(TILES - 1);

		make_counts(tiles);
		for (uint32_t t = 0; t < TILES; t++)
		{
			bool		all = t == 0 || random_below(6) == 0;
			uint32_t	kind = t >= tile ? STATE_ALL(pass + 1) : all ? STATE_ALL(pass) : STATE_OF_TILE;

			store_states(states + t * RADIX_BINS, kind == STATE_OF_TILE ? tiles[t].of_tile : tiles[t].up_to_end, kind);
		}
		wrong += wrong_places(tiles, tile, pass);
	}
	return wrong;
}

/* Publishes one word at a time, with pauses, because only single words are read
 * atomically. */
static void
publish_slowly(uint32_t tile, const uint32_t counts[STATES_A_THREAD], uint32_t kind, std::minstd_rand &pauses)
{
	volatile uint32_t *row = states + tile * RADIX_BINS;

	for (int i = 0; i < STATES_A_THREAD; i++)
	{
		row[i] = counts[i] << STATE_KIND_BITS | kind;
		for (volatile uint32_t pause = pauses() % 50; pause > 0; pause = pause - 1)
			;
	}
}

static int
test_changing_states()
{
	int			wrong = 0;

	for (int round = 0; round < CHANGING_ROUNDS; round++)
	{
		tile_counts tiles[TILES];
		uint32_t	pass = random_below(RADIX_PASSES_MAX);
		uint32_t	order[TILES];

		make_counts(tiles);
		for (uint32_t t = 0; t < TILES; t++)
		{
			uint32_t	stale[STATES_A_THREAD] = {random_below(COUNT_MAX), random_below(COUNT_MAX), 0, random_below(COUNT_MAX)};

			store_states(states + t * RADIX_BINS, stale, STATE_ALL(pass + 1));
			order[t] = t;
			std::swap(order[t], order[random_below(t + 1)]);
		}
		std::thread publisher([&] {
			std::minstd_rand pauses((unsigned) round + 1);

			for (uint32_t t : order)
			{
				if (t > 0)
					publish_slowly(t, tiles[t].of_tile, STATE_OF_TILE, pauses);
				if (t == 0 || pauses() % 3 == 0)
					publish_slowly(t, tiles[t].up_to_end, STATE_ALL(pass), pauses);
			}
		});
		wrong += wrong_places(tiles, TILES - 1, pass);
		publisher.join();
	}
	return wrong;
}

static void
look_back_kernel(uint64_t *sum_states, uint32_t tile, uint64_t *sums)
{
	sums[lane_id()] = sum_of_tiles_before(sum_states, tile);
}

/* Tiles up to ended have published their sums, the others their own counts. */
static int
wrong_sums(uint32_t tile, uint32_t ended)
{
	std::vector<uint64_t> sum_states(tile + 1, 0);
	std::vector<uint64_t> sums(WARP_THREADS, 0);
	uint64_t	sum = 0;
	int			wrong = 0;

	for (uint32_t i = 0; i < tile; i++)
	{
		uint64_t	own = (uint64_t) random_numbers() << 9;

		sum += own;
		sum_states[i] = (uint64_t) (i <= ended ? STATE_ALL(0) : STATE_OF_TILE) << SUM_STATE_BITS | (i <= ended ? sum : own);
	}
	wrong += launch(look_back_kernel, 1, WARP_THREADS, 0, NULL, sum_states.data(), tile, sums.data()) != cudaSuccess;
	for (uint64_t each : sums)
		wrong += each != sum;
	return wrong;
}

static int
test_sums()
{
	int			wrong = 0;

	for (uint32_t tile : {1u, 2u, 31u, 32u, 33u, 64u, 65u, 100u, 1000u})
	{
		for (uint32_t ended : {0u, tile / 2, tile > 33 ? tile - 33 : 0, tile > 32 ? tile - 32 : 0, tile - 1})
			wrong += wrong_sums(tile, ended);
	}
	return wrong;
}

int
main()
{
	int			wrong = test_fixed_states() + test_changing_states() + test_sums();

	printf("failures: %d\n", wrong);
	return wrong != 0;
}
