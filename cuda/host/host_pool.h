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

/* Starts the threads with all signals blocked; nice is added to the caller's
 * nice value.  NULL on failure. */
host_pool  *host_pool_start(int threads, int nice);

/* Waits for the running tasks, joins the threads and frees the pool.  Returns
 * the tasks that never ran. */
host_task  *host_pool_stop(host_pool *pool);

int			host_pool_threads(const host_pool *pool);

void		host_pool_submit(host_pool *pool, host_task *task);

/*
 * Runs part(arg, 0) to part(arg, parts - 1) and returns when all have ended.
 * The calling thread claims parts like the idle threads, so the loop ends even
 * if no other thread is ever free.
 */
void		host_pool_for(host_pool *pool, uint32_t parts,
						  void (*part) (void *arg, uint32_t part), void *arg);

#endif							/* GSORT_HOST_POOL_H */
