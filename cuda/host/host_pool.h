/*
 * host_pool.h
 *	  The host device's threads.
 *
 * In:  tasks, which run once each, and loops, whose parts any idle thread may
 *	    take.
 * Out: nothing; a task tells of its end itself.
 *
 * The submitter owns a task's memory until it runs; from then on the task does.
 * Light tasks go first.  Heavy ones never take the last thread, so light work
 * waits for one part of a loop at most, not for a whole sort.
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

/* Starts the threads, all signals blocked in them, at the caller's nice value
 * and so much more; NULL if that fails. */
host_pool  *host_pool_start(int threads, int nice);

/* Waits for the tasks under way, joins the threads and frees the pool; returns
 * the tasks that never ran. */
host_task  *host_pool_stop(host_pool *pool);

int			host_pool_threads(const host_pool *pool);

void		host_pool_submit(host_pool *pool, host_task *task);

/*
 * Runs part(arg, 0) to part(arg, parts - 1) and returns when all have ended.
 * The caller, a task or any other thread, takes parts as the idle threads do,
 * so the loop ends even if no other thread is ever free.
 */
void		host_pool_for(host_pool *pool, uint32_t parts,
						  void (*part) (void *arg, uint32_t part), void *arg);

#endif							/* GSORT_HOST_POOL_H */
