/*
 * host_pool.h
 *	  The host device's threads.
 *
 * In:  tasks, which run once each, and loops, whose parts any idle thread may
 *	    claim.
 * Out: none; each task reports its own completion.
 *
 * The submitter owns a task's memory until the task runs; then the task owns
 * it.  Light tasks go first.  Heavy tasks never take the last thread, so that a
 * light task waits for one part of a loop at most, not for a whole sort.
 */
#ifndef GSORT_HOST_POOL_H
#define GSORT_HOST_POOL_H

#include <stdint.h>

typedef struct host_pool host_pool;

typedef struct host_task
{
	struct host_task *next;
	void		(*run) (struct host_task *task);
	int			heavy;
} host_task;

/* Tasks in order; all 0: empty.  Whoever uses it locks it. */
typedef struct host_task_list
{
	host_task  *first;
	host_task  *last;
} host_task_list;

void		host_task_list_add(host_task_list *list, host_task *task);

/* Removes the first one; NULL if the list is empty. */
host_task  *host_task_list_take(host_task_list *list);

/* Starts the threads with all signals blocked; nice is added to the caller's
 * nice value.  NULL on failure. */
host_pool  *host_pool_start(int threads, int nice);

/* Waits for the running tasks, joins the threads and frees the pool.  Returns
 * the tasks that never ran. */
host_task_list host_pool_stop(host_pool *pool);

int			host_pool_threads(const host_pool *pool);

void		host_pool_submit(host_pool *pool, host_task *task);

/*
 * Runs part(arg, 0) to part(arg, parts - 1) and returns when all have ended.
 * The calling thread claims parts like the idle threads, so the loop ends even
 * if no other thread is ever free.
 */
void		host_pool_for(host_pool *pool, uint32_t parts,
						  void (*part) (void *arg, uint32_t part), void *arg);

/* --- passes over rows ----------------------------------------------------- */

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

/* Runs rows(arg, begin, end) for parts that cover the n rows. */
void		host_pool_for_rows(host_pool *pool, uint64_t n,
							   void (*rows) (void *arg, uint64_t begin, uint64_t end), void *arg);

#endif							/* GSORT_HOST_POOL_H */
