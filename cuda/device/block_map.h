/*
 * block_map.h
 *	  An allocation map: which blocks of a stretch of memory are taken.
 *
 * In:  a number of neighbouring blocks to allocate.
 * Out: the first of them.
 *
 * The owner of the memory owns this plain data, and one thread uses it.  No
 * CUDA, so that it can be tested anywhere.
 */
#ifndef GSORT_BLOCK_MAP_H
#define GSORT_BLOCK_MAP_H

#include <stdint.h>
#include <string.h>

#define BLOCK_MAP_MAX	1024

typedef struct block_map
{
	uint32_t	blocks;			/* at most BLOCK_MAP_MAX */
	uint8_t		taken[BLOCK_MAP_MAX];
} block_map;

/* Takes n free neighbours and returns the first of them; map->blocks if there
 * are none.  Best fit: the shortest sufficient stretch is used, which limits
 * fragmentation. */
static inline uint32_t
block_map_take(block_map *map, uint32_t n)
{
	uint32_t	best = map->blocks;
	uint32_t	best_length = UINT32_MAX;
	uint32_t	at = 0;

	if (n == 0)
		return map->blocks;
	while (at < map->blocks)
	{
		uint32_t	first = at;

		while (at < map->blocks && !map->taken[at])
			at++;
		if (at - first >= n && at - first < best_length)
		{
			best = first;
			best_length = at - first;
		}
		while (at < map->blocks && map->taken[at])
			at++;
	}
	if (best < map->blocks)
		memset(map->taken + best, 1, n);
	return best;
}

static inline void
block_map_give(block_map *map, uint32_t first, uint32_t n)
{
	memset(map->taken + first, 0, n);
}

#endif							/* GSORT_BLOCK_MAP_H */
