/*
 * host_memory.h
 *	  The host device's memory for rows: extents, which are kept for the next
 *	  job when given back, and blocks of any size, which are not.
 *
 * Every function may be called from any thread; one mutex guards the counters
 * and the idle lists.  An account counts what one job has, and the most it had;
 * read it only while no other thread works for that job.
 */
#ifndef GSORT_HOST_MEMORY_H
#define GSORT_HOST_MEMORY_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "api/gsort_device.h"

/* Kinds of extents: rows, and keys by their columns with and without NULLs. */
#define HOST_EXTENT_ROWS	0
#define HOST_EXTENT_KINDS	(1 + 2 * GSORT_MAX_KEY_COLUMNS)

/* Idle extents that stay when no job is open. */
#define HOST_IDLE_BYTES		(64ull << 20)

typedef struct host_account
{
	uint64_t	bytes;
	uint64_t	peak_bytes;
} host_account;

typedef struct host_memory
{
	pthread_mutex_t lock;
	uint64_t	used_bytes;		/* idle extents included */
	uint64_t	idle_bytes;
	gsort_faults *faults;
	void	   *idle[HOST_EXTENT_KINDS];	/* each begins with a pointer to the next */
} host_memory;

static inline int
host_key_extent_kind(uint32_t columns, int with_nulls)
{
	return (int) (2 * columns - 1) + (with_nulls ? 1 : 0);
}

void		host_memory_init(host_memory *memory, gsort_faults *faults);

/* Gives the idle extents back; everything else must have come back before. */
void		host_memory_destroy(host_memory *memory);

uint64_t	host_memory_used(host_memory *memory);

size_t		host_extent_bytes(int kind);

/* What a block of so many bytes really takes. */
size_t		host_block_bytes(size_t bytes);

/* NULL: out of memory.  Idle extents go first where used_bytes would pass
 * limit_bytes.  Not zeroed. */
void	   *host_extent_take(host_memory *memory, host_account *account, int kind,
							 uint64_t limit_bytes);
void		host_extent_give(host_memory *memory, host_account *account, int kind, void *extent);

/* The same for a block; a block is zeroed.  Giving NULL does nothing. */
void	   *host_block_take(host_memory *memory, host_account *account, size_t bytes,
							uint64_t limit_bytes);
void		host_block_give(host_memory *memory, host_account *account, void *block, size_t bytes);

/* Gives the end of a block back, all but bytes_left of it. */
void		host_block_shrink(host_memory *memory, host_account *account, void *block, size_t bytes,
							  size_t bytes_left);

/* Unmaps idle extents until at most so many bytes of them are left. */
void		host_memory_trim(host_memory *memory, uint64_t idle_bytes);

#endif							/* GSORT_HOST_MEMORY_H */
