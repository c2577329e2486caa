/*
 * guarded_array.h
 *	  Arrays of the emulator's tests that detect writes behind their end.
 *
 * Each array owns its memory, which is aligned like scratch and filled with a
 * pattern.
 */
#ifndef GSORT_GUARDED_ARRAY_H
#define GSORT_GUARDED_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <utility>
#include <vector>

#define PATTERN		0xa5
#define END_BYTES	64			/* size of the guard behind each array */

static inline bool
holds_pattern(const void *memory, size_t bytes)
{
	const unsigned char *first = (const unsigned char *) memory;

	return std::all_of(first, first + bytes, [](unsigned char c) { return c == PATTERN; });
}

template<typename T>
struct guarded_array
{
	std::vector<unsigned char> bytes;
	size_t		used;

	explicit guarded_array(size_t length): bytes(length * sizeof(T) + END_BYTES + 256, PATTERN), used(length * sizeof(T)) {}

	T		   *data()
	{
		return (T *) (bytes.data() + (256 - (uintptr_t) bytes.data() % 256) % 256);
	}

	bool		intact()
	{
		return holds_pattern((unsigned char *) data() + used, END_BYTES);
	}
};

/* True if every gap, (begin, bytes), that GSORT_GUARD_BYTES leaves in the
 * scratch still holds the pattern. */
static inline bool
gaps_intact(const std::pair<void *, size_t> *stretches, size_t n)
{
	return std::all_of(stretches, stretches + n, [](const std::pair<void *, size_t> &stretch) {
		return holds_pattern((unsigned char *) stretch.first + stretch.second, GSORT_GUARD_BYTES);
	});
}

#endif							/* GSORT_GUARDED_ARRAY_H */
