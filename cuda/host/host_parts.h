/*
 * host_parts.h
 *	  The division of a pass over rows into parts that the threads share.
 *
 * In:  the number of rows, and the pool's threads.
 * Out: the number of parts, and where each begins.  Runs on any thread.
 */
#ifndef GSORT_HOST_PARTS_H
#define GSORT_HOST_PARTS_H

#include <stdint.h>

#include "host/host_pool.h"

/*
 * Waking a thread for fewer rows costs more than it saves.  Builds with
 * race detection set it low, so that the threads share short inputs too.  Their
 * slow programs cannot take longer ones.
 */
#ifndef HOST_SMALL_ROWS
#define HOST_SMALL_ROWS	(1u << 14)
#endif

/* Light tasks wait for at most one part, which bounds its size. */
#define PART_ROWS_MAX	(1u << 20)

#define PARTS_MAX		256

/* The number of parts for a pass over n rows. */
static inline uint32_t
host_parts(const host_pool *pool, uint64_t n)
{
	uint64_t	parts = (uint64_t) host_pool_threads(pool);

	if (n / HOST_SMALL_ROWS < parts)
		return n < HOST_SMALL_ROWS ? 1 : (uint32_t) (n / HOST_SMALL_ROWS);
	if (n / PART_ROWS_MAX > parts)
		parts = n / PART_ROWS_MAX;
	return parts < PARTS_MAX ? (uint32_t) parts : PARTS_MAX;
}

static inline uint64_t
host_part_begin(uint64_t n, uint32_t parts, uint32_t part)
{
	/* multiples of 64: two parts never share a word of a bit map */
	uint64_t	each = ((n + parts - 1) / parts + 63) / 64 * 64;

	return each * part < n ? each * part : n;
}

#endif							/* GSORT_HOST_PARTS_H */
