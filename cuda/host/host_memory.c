/*
 * host_memory.c
 *	  mmap behind a list of idle extents.  Page faults of fresh memory cost more
 *	  than copying rows into it, so extents are reused.
 *
 * Mappings of 2 MiB and more are aligned to huge pages and request them.  Rows
 * are gathered in random order, and with small pages each row would cost a TLB
 * miss.
 */
#include "host/host_memory.h"

#include <sys/mman.h>

#define HUGE_PAGE_BYTES	(2u << 20)

void
host_memory_init(host_memory *memory, gsort_faults *faults)
{
	*memory = (host_memory) {.faults = faults};
	pthread_mutex_init(&memory->lock, NULL);
}

void
host_memory_destroy(host_memory *memory)
{
	host_memory_trim(memory, 0);
	pthread_mutex_destroy(&memory->lock);
}

uint64_t
host_memory_used(host_memory *memory)
{
	uint64_t	used;

	pthread_mutex_lock(&memory->lock);
	used = memory->used_bytes;
	pthread_mutex_unlock(&memory->lock);
	return used;
}

size_t
host_extent_bytes(int kind)
{
	size_t		columns = (size_t) (kind + 1) / 2;
	size_t		nulls_bytes = kind % 2 == 0 ? sizeof(uint32_t) : 0;

	if (kind == HOST_EXTENT_ROWS)
		return GSORT_EXTENT_BYTES;
	return GSORT_KEY_EXTENT_ROWS * ((1 + columns) * sizeof(uint64_t) + nulls_bytes);
}

static void *
map_pages(size_t bytes)
{
	void	   *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
							 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

/* Maps pages; a mapping of a huge page or more is aligned to it and requests
 * huge pages. */
static void *
map_aligned(size_t bytes)
{
	char	   *pages;
	size_t		before;

	if (bytes < HUGE_PAGE_BYTES)
		return map_pages(bytes);
	pages = map_pages(bytes + HUGE_PAGE_BYTES);
	if (pages == NULL)
		return NULL;
	before = HUGE_PAGE_BYTES - (uintptr_t) pages % HUGE_PAGE_BYTES;
	munmap(pages, before);
	pages += before;
	if (before < HUGE_PAGE_BYTES)
		munmap(pages + bytes, HUGE_PAGE_BYTES - before);
	/* a hint only: small pages work too, but slower */
	madvise(pages, bytes, MADV_HUGEPAGE);
	return pages;
}

/* --- under the lock ------------------------------------------------------- */

static void *
idle_pop(host_memory *memory, int kind)
{
	void	   *extent = memory->idle[kind];

	if (extent != NULL)
	{
		memory->idle[kind] = *(void **) extent;
		memory->idle_bytes -= host_extent_bytes(kind);
	}
	return extent;
}

static void
trim_idle(host_memory *memory, uint64_t idle_bytes)
{
	for (int kind = 0; kind < HOST_EXTENT_KINDS; kind++)
	{
		while (memory->idle_bytes > idle_bytes && memory->idle[kind] != NULL)
		{
			munmap(idle_pop(memory, kind), host_extent_bytes(kind));
			memory->used_bytes -= host_extent_bytes(kind);
		}
	}
}

/* Maps pages.  First unmaps idle extents if the limit would be exceeded. */
static void *
map_within(host_memory *memory, size_t bytes, uint64_t limit_bytes)
{
	void	   *pages;

	if (memory->used_bytes + bytes > limit_bytes)
	{
		uint64_t	excess = memory->used_bytes + bytes - limit_bytes;

		trim_idle(memory, memory->idle_bytes > excess ? memory->idle_bytes - excess : 0);
	}
	pages = map_aligned(bytes);
	if (pages != NULL)
		memory->used_bytes += bytes;
	return pages;
}

static int
may_allocate(host_memory *memory)
{
	return !gsort_fails_now(memory->faults, GSORT_FAIL_ALLOCATIONS);
}

static void
charge(host_account *account, size_t bytes)
{
	account->bytes += bytes;
	if (account->bytes > account->peak_bytes)
		account->peak_bytes = account->bytes;
}

/* --- public --------------------------------------------------------------- */

void *
host_extent_take(host_memory *memory, host_account *account, int kind, uint64_t limit_bytes)
{
	void	   *extent = NULL;

	pthread_mutex_lock(&memory->lock);
	if (may_allocate(memory))
	{
		extent = idle_pop(memory, kind);
		if (extent == NULL)
			extent = map_within(memory, host_extent_bytes(kind), limit_bytes);
	}
	if (extent != NULL)
		charge(account, host_extent_bytes(kind));
	pthread_mutex_unlock(&memory->lock);
	return extent;
}

void
host_extent_give(host_memory *memory, host_account *account, int kind, void *extent)
{
	pthread_mutex_lock(&memory->lock);
	*(void **) extent = memory->idle[kind];
	memory->idle[kind] = extent;
	memory->idle_bytes += host_extent_bytes(kind);
	account->bytes -= host_extent_bytes(kind);
	pthread_mutex_unlock(&memory->lock);
}

void *
host_block_take(host_memory *memory, host_account *account, size_t bytes, uint64_t limit_bytes)
{
	void	   *block = NULL;

	bytes = whole_pages(bytes);
	pthread_mutex_lock(&memory->lock);
	if (may_allocate(memory))
		block = map_within(memory, bytes, limit_bytes);
	if (block != NULL)
		charge(account, bytes);
	pthread_mutex_unlock(&memory->lock);
	return block;
}

void
host_block_give(host_memory *memory, host_account *account, void *block, size_t bytes)
{
	if (block == NULL || bytes == 0)
		return;
	bytes = whole_pages(bytes);
	munmap(block, bytes);
	pthread_mutex_lock(&memory->lock);
	memory->used_bytes -= bytes;
	account->bytes -= bytes;
	pthread_mutex_unlock(&memory->lock);
}

void
host_memory_trim(host_memory *memory, uint64_t idle_bytes)
{
	pthread_mutex_lock(&memory->lock);
	trim_idle(memory, idle_bytes);
	pthread_mutex_unlock(&memory->lock);
}
