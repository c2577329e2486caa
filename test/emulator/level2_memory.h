/*
 * level2_memory.h
 *	  Scratch of the partition's second level, for the tests of its stages.
 */
#ifndef GSORT_LEVEL2_MEMORY_H
#define GSORT_LEVEL2_MEMORY_H

#include "sort/stage_partition.cuh"

#include "guarded_array.h"

/* Scratch for n items, narrow or wide. */
template<typename Row>
struct level2_memory
{
	uint32_t	n;
	guarded_array<unsigned char> bytes;

	explicit level2_memory(uint32_t items): n(items), bytes(lay_out(0).second)
	{
	}

	std::pair<level2_arrays, size_t> lay_out(uintptr_t begin) const
	{
		scratch_cursor cursor = {begin};
		level2_arrays level2 = take_level2<Row>(&cursor, n, true);

		return {level2, cursor.at - begin};
	}

	level2_arrays arrays()
	{
		return lay_out((uintptr_t) bytes.data()).first;
	}

	bool intact()
	{
		level2_arrays a = arrays();
		const std::pair<void *, size_t> stretches[] = {{a.counts, BUCKETS_MAX * Row::CELLS * 4},
			{a.bin_of_cell, BUCKETS_MAX * Row::CELLS * 2}, {a.next, BUCKETS_MAX * Row::BINS * 4},
			{a.splitters, BUCKETS_MAX * Row::CELLS * 8}, {a.splitter_rows, BUCKETS_MAX * Row::CELLS * 4},
			{a.table, BUCKETS_MAX * Row::CELLS * 4}, {a.cell_of_item, n * 2}};

		return gaps_intact(stretches, sizeof(stretches) / sizeof(*stretches)) && bytes.intact();
	}
};

#endif							/* GSORT_LEVEL2_MEMORY_H */
