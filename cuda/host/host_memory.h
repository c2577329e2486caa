/*
 * host_memory.h
 *	  The host device's memory for rows: extents, which are reused by later
 *	  jobs, and blocks of any size, which are not.
 *
 * Every function may be called from any thread.  One mutex guards the counters
 * and the idle lists.  An account counts the current and the peak memory of one
 * job.  Read it only while no other thread works for that job.
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

/* Idle memory that stays mapped when no job is open. */
#define HOST_IDLE_BYTES		(64ull << 20)

typedef struct host_account
{
	uint64_t	bytes;
	uint64_t	peak_bytes;
} host_account;

typedef struct host_memory
{
	pthread_mutex_t lock;
	uint64_t	used_bytes;		/* includes idle extents */
	uint64_t	idle_bytes;
	gsort_faults *faults;
	/* lists; each idle extent begins with a pointer to the next */
	void	   *idle[HOST_EXTENT_KINDS];
} host_memory;

static inline int
host_key_extent_kind(uint32_t columns, int with_nulls)
{
	return (int) (2 * columns - 1) + (with_nulls ? 1 : 0);
}

void		host_memory_init(host_memory *memory, gsort_faults *faults);

/* Unmaps the idle extents; everything else must have been returned before. */
void		host_memory_destroy(host_memory *memory);

uint64_t	host_memory_used(host_memory *memory);

size_t		host_extent_bytes(int kind);

/* Returns an extent, not zeroed, or NULL if memory is exhausted.  First unmaps
 * idle extents if used_bytes would exceed limit_bytes. */
void	   *host_extent_take(host_memory *memory, host_account *account, int kind,
							 uint64_t limit_bytes);
void		host_extent_give(host_memory *memory, host_account *account, int kind, void *extent);

/* The same for a zeroed block.  Its pages may be given back separately.  Giving
 * NULL or no bytes has no effect. */
void	   *host_block_take(host_memory *memory, host_account *account, size_t bytes,
							uint64_t limit_bytes);
void		host_block_give(host_memory *memory, host_account *account, void *block, size_t bytes);

/* Unmaps idle extents until at most idle_bytes of them remain. */
void		host_memory_trim(host_memory *memory, uint64_t idle_bytes);

#endif							/* GSORT_HOST_MEMORY_H */
