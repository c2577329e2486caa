/*
 * host_parts.h
 *	  How a pass over rows is cut into parts that the threads share.
 */
#ifndef GSORT_HOST_PARTS_H
#define GSORT_HOST_PARTS_H

#include <stdint.h>

#include "host/host_pool.h"

/*
 * Below this, waking other threads costs more than they save.  Builds that look
 * for races have it small: then short inputs, all that their slow programs can
 * take, are shared too.
 */
#ifndef HOST_SMALL_ROWS
#define HOST_SMALL_ROWS	(1u << 14)
#endif

/* Larger parts would make light tasks wait for long. */
#define PART_ROWS_MAX	(1u << 20)

/* Where a pass over n rows is cut so that the threads share it. */
uint32_t	host_parts(const host_pool *pool, uint64_t n);

static inline uint64_t
host_part_begin(uint64_t n, uint32_t parts, uint32_t part)
{
	/* multiples of 64: parts of a bit map never share a word */
	uint64_t	each = ((n + parts - 1) / parts + 63) / 64 * 64;

	return each * part < n ? each * part : n;
}

#endif							/* GSORT_HOST_PARTS_H */
