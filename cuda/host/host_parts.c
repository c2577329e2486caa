/*
 * host_parts.c
 *	  The number of parts of a pass over rows (see host_parts.h).
 */
#include "host/host_parts.h"

#define PARTS_MAX		256

uint32_t
host_parts(const host_pool *pool, uint64_t n)
{
	uint64_t	parts = (uint64_t) host_pool_threads(pool);

	if (n / HOST_SMALL_ROWS < parts)
		return n < HOST_SMALL_ROWS ? 1 : (uint32_t) (n / HOST_SMALL_ROWS);
	if (n / PART_ROWS_MAX > parts)
		parts = n / PART_ROWS_MAX;
	return parts < PARTS_MAX ? (uint32_t) parts : PARTS_MAX;
}
