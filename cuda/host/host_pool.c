/*
 * host_pool.c
 *	  Threads, a queue of light tasks, a queue of heavy tasks, and a list of
 *	  loops with unclaimed parts.
 *
 * One mutex guards everything.  Contention is low: a task moves a buffer or
 * sorts a run, and a part covers tens of thousands of rows.
 */
#include "host/host_pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* The deepest user, a block of the merge, needs 600 kB; some C libraries give a
 * thread only 128 kB. */
#define STACK_BYTES		(1u << 20)

/* Lives on the stack of host_pool_for; listed while it has unclaimed parts. */
typedef struct loop
{
	struct loop *next;
	void		(*part) (void *arg, uint32_t part);
	void	   *arg;
	uint32_t	parts;
	uint32_t	taken;
	uint32_t	ended;
} loop;

struct host_pool
{
	pthread_mutex_t lock;
	pthread_cond_t work;		/* signals new work, or stop */
	pthread_cond_t part_ended;
	host_task_list light;
	host_task_list heavy;
	int			heavy_running;
	loop	   *loops;
	int			stop;
	int			threads;
	int			nice;
	pthread_t  *ids;
};

void
host_task_list_add(host_task_list *list, host_task *task)
{
	task->next = NULL;
	if (list->first == NULL)
		list->first = task;
	else
		list->last->next = task;
	list->last = task;
}

host_task *
host_task_list_take(host_task_list *list)
{
	host_task  *task = list->first;

	if (task != NULL)
		list->first = task->next;
	return task;
}

/* Runs one part of a listed loop.  The lock is held on entry and on return. */
static void
run_part(host_pool *pool, loop *from)
{
	uint32_t	part = from->taken++;

	if (from->taken == from->parts)
	{
		loop	  **link = &pool->loops;

		while (*link != from)
			link = &(*link)->next;
		*link = from->next;
	}
	pthread_mutex_unlock(&pool->lock);
	from->part(from->arg, part);
	pthread_mutex_lock(&pool->lock);
	if (++from->ended == from->parts)
		pthread_cond_broadcast(&pool->part_ended);
}

static void
run_task(host_pool *pool, host_task *task)
{
	int			heavy = task->heavy;

	pool->heavy_running += heavy;
	pthread_mutex_unlock(&pool->lock);
	task->run(task);
	pthread_mutex_lock(&pool->lock);
	pool->heavy_running -= heavy;
}

/* The body of a thread: light tasks first, then heavy ones unless it is the
 * last free thread, then parts of loops. */
static void *
thread_main(void *arg)
{
	host_pool  *pool = arg;

	/* on Linux each thread has its own nice value; a failure is harmless */
	(void) !nice(pool->nice);
	pthread_mutex_lock(&pool->lock);
	while (!pool->stop)
	{
		if (pool->light.first != NULL)
			run_task(pool, host_task_list_take(&pool->light));
		else if (pool->heavy.first != NULL && pool->heavy_running < pool->threads - 1)
			run_task(pool, host_task_list_take(&pool->heavy));
		else if (pool->loops != NULL)
			run_part(pool, pool->loops);
		else
			pthread_cond_wait(&pool->work, &pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Starts the threads; pool->threads is set before the first of them reads
 * it. */
static int
start_threads(host_pool *pool, int threads)
{
	sigset_t	all;
	sigset_t	before;
	pthread_attr_t attributes;
	int			started = 0;

	if (pthread_attr_init(&attributes) != 0)
		return 0;
	(void) pthread_attr_setstacksize(&attributes, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pool->threads = threads;
	while (started < threads &&
		   pthread_create(&pool->ids[started], &attributes, thread_main, pool) == 0)
		started++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return started;
}

/* Ends the threads and frees the pool.  Returns the tasks that never ran, light
 * ones first. */
static host_task_list
join_and_free(host_pool *pool, int started)
{
	host_task_list unrun;
	host_task  *task;

	pthread_mutex_lock(&pool->lock);
	pool->stop = 1;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (int i = 0; i < started; i++)
		pthread_join(pool->ids[i], NULL);
	unrun = pool->light;
	while ((task = host_task_list_take(&pool->heavy)) != NULL)
		host_task_list_add(&unrun, task);
	pthread_cond_destroy(&pool->work);
	pthread_cond_destroy(&pool->part_ended);
	pthread_mutex_destroy(&pool->lock);
	free(pool->ids);
	free(pool);
	return unrun;
}

host_pool *
host_pool_start(int threads, int nice)
{
	host_pool  *pool = calloc(1, sizeof(*pool));
	int			started;

	if (pool == NULL)
		return NULL;
	pool->ids = calloc((size_t) threads, sizeof(*pool->ids));
	if (pool->ids == NULL)
	{
		free(pool);
		return NULL;
	}
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->part_ended, NULL);
	pool->nice = nice;
	started = start_threads(pool, threads);
	if (started < threads)
	{
		join_and_free(pool, started);
		return NULL;
	}
	return pool;
}

host_task_list
host_pool_stop(host_pool *pool)
{
	return join_and_free(pool, pool->threads);
}

int
host_pool_threads(const host_pool *pool)
{
	return pool->threads;
}

void
host_pool_submit(host_pool *pool, host_task *task)
{
	pthread_mutex_lock(&pool->lock);
	host_task_list_add(task->heavy ? &pool->heavy : &pool->light, task);
	pthread_cond_signal(&pool->work);
	pthread_mutex_unlock(&pool->lock);
}

void
host_pool_for(host_pool *pool, uint32_t parts, void (*part) (void *arg, uint32_t part), void *arg)
{
	loop		mine = {.part = part, .arg = arg, .parts = parts};

	if (parts <= 1)
	{
		if (parts == 1)
			part(arg, 0);
		return;
	}
	pthread_mutex_lock(&pool->lock);
	mine.next = pool->loops;
	pool->loops = &mine;
	pthread_cond_broadcast(&pool->work);
	while (mine.taken < mine.parts)
		run_part(pool, &mine);
	while (mine.ended < mine.parts)
		pthread_cond_wait(&pool->part_ended, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}

typedef struct row_loop
{
	uint64_t	n;
	uint32_t	parts;
	void		(*rows) (void *arg, uint64_t begin, uint64_t end);
	void	   *arg;
} row_loop;

static void
run_rows(void *arg, uint32_t part)
{
	const row_loop *rows = arg;

	rows->rows(rows->arg, host_part_begin(rows->n, rows->parts, part),
			   host_part_begin(rows->n, rows->parts, part + 1));
}

void
host_pool_for_rows(host_pool *pool, uint64_t n,
				   void (*rows) (void *arg, uint64_t begin, uint64_t end), void *arg)
{
	row_loop	loop = {n, host_parts(pool, n), rows, arg};

	host_pool_for(pool, loop.parts, run_rows, &loop);
}
