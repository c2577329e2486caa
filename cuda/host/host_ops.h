/*
 * host_ops.h
 *	  The host device's operations: the way of requested work to the threads,
 *	  and of its completion back to the caller.
 *
 * In:  operations, made by the calling thread with copies of all their inputs.
 * Out: completed operations on the device's list, and a readable eventfd.
 *
 * A job's appends run side by side, and so do its fetches.  Any other operation
 * of a job runs alone: it waits for earlier ones, and later ones wait for it.
 * Jobs are independent of each other.  The calling thread owns an operation
 * until it is enqueued, then the threads do, and the calling thread again once
 * it is on the list of completed ones.
 *
 * Access: the common part of a device or a job belongs to the calling thread.
 * A job's run and its retained keys belong to its operations.  As an exception,
 * the calling thread makes extents in the run while the job is fed, and
 * releases memory when it returns a finish's event.  A comment that names a
 * lock precedes the fields that the lock guards.
 */
#ifndef GSORT_HOST_OPS_H
#define GSORT_HOST_OPS_H

#include <pthread.h>
#include <stdatomic.h>

#include "api/gsort_device.h"
#include "host/host_run.h"
#include "host/host_memory.h"
#include "host/host_merge.h"
#include "host/host_limits.h"
#include "host/host_pool.h"
#include "host/host_sort.h"

typedef struct host_job host_job;

typedef struct host_finish
{
	gsort_finish_how how;
	key_plan	plan;
	tie_rule	ties;
	uint64_t	rows;
	host_begins begins;
} host_finish;

typedef struct host_next_run
{
	gsort_retain	retain;
	int			retained;
} host_next_run;

typedef struct host_fetch
{
	gsort_block block;
	uint64_t	units_before;	/* of its split row, in earlier blocks */
	uint64_t   *to;
} host_fetch;

/* One operation: a task of the pool, then a pending event. */
typedef struct host_op host_op;
struct host_op
{
	host_task	task;			/* must be first; lists of operations are lists of these */
	void		(*work) (host_op *op);	/* skipped if the job is closing */
	host_job   *job;
	gsort_event_kind kind;
	gsort_status status;
	uint64_t	tag;
	uint64_t	limit_bytes;	/* of the device's memory, as it was enqueued */
	double		ms;				/* time of the work */
	union
	{
		host_chunk	chunk;
		host_finish	finish;
		host_next_run next_run;
		key_plan	merge;
		host_fetch	fetch;
	}			u;
};

typedef struct host_device
{
	gsort_device common;		/* must be first */
	host_pool  *pool;
	host_memory memory;
	host_limits limits;			/* at gsort_open */
	host_limits limits_now;		/* at the latest check */
	double		looked_ms;
	int			event_fd;
	int			pinned;
	host_job   *jobs;			/* owned by the calling thread */
	atomic_int	open_jobs;

	pthread_mutex_t lock;
	/* guarded by lock */
	host_task_list done;		/* operations */
} host_device;

struct host_job
{
	gsort_job	common;			/* must be first */
	host_job   *next;
	host_run	run;
	host_retained	retained;
	atomic_int	closing;
	host_op		close;
	/* guarded by the device's lock */
	host_task_list waiting;		/* operations that must run alone, or behind one that must */
	int			alone;			/* such an operation is running */
	uint32_t	in_pool;
};

static inline host_device *
host_device_of(const host_job *job)
{
	return (host_device *) job->common.device;
}

/* Frees a job that no thread touches any more. */
void		host_job_free(host_job *job);

int			host_poll(gsort_device *device, gsort_event *out, int max);

void		host_op_list_free(host_task_list *list);

/* --- an operation from start to end --------------------------------------- */

/* rows: those that it works on by itself, which tell whether it is heavy.
 * NULL: out of memory. */
host_op    *host_op_new(host_job *job, gsort_event_kind kind, uint64_t tag, uint64_t rows,
						void (*work) (host_op *op));

double		host_now_ms(void);

/* Submits the operation behind those of the job that it must wait for. */
void		host_op_enqueue(host_op *op);

/* Completes the operation, on a thread. */
void		host_op_done(host_op *op);

/* Ends the job: drops its waiting operations; its close follows the others. */
void		host_op_close_job(host_job *job);

void		host_op_free(host_op *op);

#endif							/* GSORT_HOST_OPS_H */
